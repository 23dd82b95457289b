"""The output that a guest hands over."""

import io
import tarfile
from pathlib import Path

import pytest

from nandram.guest.errors import GuestError
from nandram.guest.results import Status, Tail, unpack


def test_a_tail_passes_on_what_is_appended(tmp_path: Path) -> None:
    path, seen = tmp_path / "file", bytearray()
    path.write_text("of an earlier run")
    tail = Tail(path, seen.extend)
    with path.open("ab") as file:
        for part in (b"one\n", b"tw", b"", b"o\n" * 100_000):
            file.write(part)
            file.flush()
            tail.poll()
            assert seen.endswith(part)
    tail.close()
    assert bytes(seen) == b"one\ntw" + b"o\n" * 100_000


def test_phases_follow_whole_lines() -> None:
    status = Status()
    assert status.phase == "booting Linux"
    for data, phase in (
        (b"runn", "booting Linux"),
        (b"ing\n", "running"),
        (b"exit 12", "running"),
        (b"3\n", "bringing files back"),
    ):
        status.append(data)
        assert status.phase == phase
    assert status.exit_status == 123
    assert not status.is_complete
    status.append(b"done\n")
    assert status.is_complete
    assert status.failure() is None


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("drive /dev/nvme0n1\n", "the guest found no /dev/nvme0n1 within 60 s of its time (see kernel.txt)"),
        ("module a.ko: Invalid argument\n", "the guest could not load the module a.ko: Invalid argument"),
        ("running\nexit 0\ntar No space left\n", "the guest could not pack /out: No space left"),
    ],
)
def test_failures_are_reported(text: str, failure: str) -> None:
    status = Status()
    status.append(text.encode())
    assert status.failure() == failure


def packed(path: Path, members: list[tarfile.TarInfo], content: bytes = b"content") -> Path:
    with tarfile.open(path, "w") as tar:
        for member in members:
            member.size = len(content) if member.isreg() else 0
            tar.addfile(member, io.BytesIO(content) if member.isreg() else None)
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname = kind, target
    return found


def test_files_arrive_and_nothing_leaves_the_folder(tmp_path: Path) -> None:
    archive = packed(
        tmp_path / "a.tar",
        [
            member("./", tarfile.DIRTYPE),
            member("./d", tarfile.DIRTYPE),
            member("./d/file"),
            member("./link", tarfile.SYMTYPE, "d/file"),
            member("../above"),
            member("./passwd", tarfile.SYMTYPE, "/etc/passwd"),
            member("./up", tarfile.SYMTYPE, "../.."),
            member("./null", tarfile.CHRTYPE),
        ],
    )
    files, refused = unpack(archive, tmp_path / "out")
    assert files == ["d/file", "link"]
    assert refused == ["../above", "null", "passwd", "up"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.tar", "d", "file", "link", "out"]
    assert (tmp_path / "out" / "link").read_bytes() == b"content"


def test_nothing_is_created_for_an_empty_folder(tmp_path: Path) -> None:
    assert unpack(packed(tmp_path / "a.tar", [member(".", tarfile.DIRTYPE)]), tmp_path / "out") == ([], [])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("cut", [0, 100, 700, 1024])
def test_a_damaged_archive(tmp_path: Path, cut: int) -> None:
    archive = packed(tmp_path / "a.tar", [member("./file")], b"x" * 2000)
    archive.write_bytes(archive.read_bytes()[:cut])
    with pytest.raises(GuestError):
        unpack(archive, tmp_path / "out")
