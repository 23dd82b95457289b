"""The archive writer, against a reader of its own."""

import io
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guest.cpio_reader import read_archive
from nandram.guest.cpio import Device, File, Link, Member, write_archive


def archive(members: dict[str, Member]) -> bytes:
    file = io.BytesIO()
    write_archive(file, members)
    return file.getvalue()


def test_members_of_each_kind(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"from the host" * 100_000)
    written = read_archive(
        archive(
            {
                "/init": File(b"#!/bin/sh\n", executable=True),
                "/a/b/file": File(source),
                "/bin": Link("usr/bin"),
                "/dev/console": Device(5, 1),
            }
        )
    )
    found = {entry.name: entry for entry in written}
    assert list(found) == ["a", "a/b", "a/b/file", "bin", "dev", "dev/console", "init"]
    assert found["a/b"].mode == stat.S_IFDIR | 0o755
    assert found["a/b/file"].mode == stat.S_IFREG | 0o644
    assert found["a/b/file"].data == source.read_bytes()
    assert found["init"].mode == stat.S_IFREG | 0o755
    assert (found["bin"].mode, found["bin"].data) == (stat.S_IFLNK | 0o777, b"usr/bin")
    assert (found["dev/console"].mode, found["dev/console"].device) == (stat.S_IFCHR | 0o600, (5, 1))


# Folders are upper case, so that no file is the folder of another.
NAMES = st.lists(st.text("AB", min_size=1, max_size=3), max_size=3).map(lambda parts: "".join(f"/{p}" for p in parts))
FILES = st.dictionaries(st.tuples(NAMES, st.text("ab", min_size=1, max_size=5)), st.binary(max_size=40), max_size=8)


@given(FILES)
def test_what_is_written_is_read(files: dict[tuple[str, str], bytes]) -> None:
    members = {f"{folder}/{name}": content for (folder, name), content in files.items()}
    found = read_archive(archive({path: File(content) for path, content in members.items()}))
    assert {f"/{each.name}": each.data for each in found if stat.S_ISREG(each.mode)} == members
    # A folder precedes what it holds, and no two members share an inode.
    assert [each.name for each in found] == sorted(each.name for each in found)
    assert len({each.inode for each in found}) == len(found)


def test_order_and_times_do_not_matter(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("same")
    two.write_text("same")
    two.chmod(0o600)
    first = archive({"/x": File(one), "/y": Link("x"), "/d/z": File(b"z")})
    assert first == archive({"/d/z": File(b"z"), "/y": Link("x"), "/x": File(two)})
    assert {entry.time for entry in read_archive(first)} == {0}
    assert len(first) % 512 == 0


def test_a_file_that_shrinks_does_not_corrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"12345678")
    status = source.stat()
    source.write_bytes(b"1234")
    monkeypatch.setattr(Path, "stat", lambda _: status)
    with pytest.raises(OSError, match="became shorter"):
        archive({"/x": File(source)})


@pytest.mark.parametrize("path", ["x", "/x/", "/a//b"])
def test_paths_are_absolute_and_plain(path: str) -> None:
    with pytest.raises(AssertionError):
        archive({path: File(b"")})


def test_a_file_is_no_folder() -> None:
    with pytest.raises(AssertionError):
        archive({"/a": File(b""), "/a/b": File(b"")})
