"""The archive that a guest sends back: what arrives, and that nothing leaves the folder."""

import io
import os
import random
import tarfile
from pathlib import Path

import pytest

from nandram.guest.errors import GuestError
from nandram.guest.output import archive as reader
from nandram.guest.output.archive import unpack

CONTENT = b"content"
KINDS = {
    tarfile.REGTYPE,
    tarfile.AREGTYPE,
    tarfile.CONTTYPE,
    tarfile.DIRTYPE,
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.CHRTYPE,
    tarfile.BLKTYPE,
    tarfile.FIFOTYPE,
}
MUTANTS = 10_000


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname, found.mode = kind, target, mode
    return found


def packed(
    path: Path, members: list[tarfile.TarInfo], content: bytes = CONTENT, form: int = tarfile.GNU_FORMAT
) -> Path:
    with tarfile.open(path, "w", format=form) as tar:
        for each in members:
            each.size = len(content) if each.isreg() else 0
            tar.addfile(each, io.BytesIO(content) if each.isreg() else None)
    return path


def test_files_arrive_and_nothing_leaves_the_folder(tmp_path: Path) -> None:
    archive = packed(
        tmp_path / "a.tar",
        [
            member("./", tarfile.DIRTYPE),
            member("./d", tarfile.DIRTYPE),
            member("./d/file"),
            member("./link", tarfile.SYMTYPE, "d/file"),
            member("../above"),
            member("/absolute"),
            member("./d/../inside"),
            member("./passwd", tarfile.SYMTYPE, "/etc/passwd"),
            member("./same", tarfile.LNKTYPE, "./d/file"),
            member("./dangling", tarfile.LNKTYPE, "./nothing"),
            member("./null", tarfile.CHRTYPE),
        ],
    )
    files, refused = unpack(archive, tmp_path / "out")
    assert files == ["d/file"]
    assert refused == ["../above", "/absolute", "d/../inside", "dangling", "link", "null", "passwd", "same"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.tar", "d", "file", "out"]
    assert (tmp_path / "out" / "d" / "file").read_bytes() == CONTENT


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_and_modes_arrive_in_every_format(tmp_path: Path, form: int) -> None:
    deep = "/".join(["a" * 60] * 3)
    names = [deep, "short"] if form == tarfile.USTAR_FORMAT else [deep, "short", "b" * 180, "\u00e9" * 90]
    archive = packed(tmp_path / "a.tar", [member(f"./{name}", mode=0o4755) for name in names], form=form)
    assert unpack(archive, tmp_path / "out") == (sorted(names), [])
    for name in names:
        mode = (tmp_path / "out" / name).stat().st_mode
        assert mode & 0o100
        assert not mode & 0o6000, "no file runs as another user"


def test_a_link_that_lies_in_the_folder_is_not_followed(tmp_path: Path) -> None:
    """As an earlier member might have made, had links been unpacked."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_bytes(b"mine")
    out = tmp_path / "out"
    out.mkdir()
    (out / "up").symlink_to(outside)
    (out / "file").symlink_to(outside / "kept")
    archive = packed(tmp_path / "a.tar", [member("./up/kept"), member("./up", tarfile.DIRTYPE), member("./file")])
    assert unpack(archive, out) == (["file"], ["up", "up/kept"])
    assert (outside / "kept").read_bytes() == b"mine"
    assert (out / "file").read_bytes() == CONTENT


def test_members_that_contradict_each_other(tmp_path: Path) -> None:
    members = [
        member("./a"),
        member("./a/b"),
        member("./a", tarfile.DIRTYPE),
        member("./d/e"),
        member("./d"),
        member("./a"),
    ]
    assert unpack(packed(tmp_path / "a.tar", members), tmp_path / "out") == (["a", "d/e"], ["a", "a/b", "d"])


def test_names_beyond_what_a_host_takes(tmp_path: Path) -> None:
    members = [member("./" + "n" * 300), member("/".join("x" * 300)), member("./" + "\u001b[31m"), member("./fine")]
    files, refused = unpack(packed(tmp_path / "a.tar", members), tmp_path / "out")
    assert files == ["\\x1b[31m", "fine"]
    assert len(refused) == 2


def test_nothing_is_created_for_an_empty_folder(tmp_path: Path) -> None:
    assert unpack(packed(tmp_path / "a.tar", [member(".", tarfile.DIRTYPE)]), tmp_path / "out") == ([], [])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("cut", [0, 100, 700, 1024])
def test_a_damaged_archive(tmp_path: Path, cut: int) -> None:
    archive = packed(tmp_path / "a.tar", [member("./file")], b"x" * 2000)
    archive.write_bytes(archive.read_bytes()[:cut])
    with pytest.raises(GuestError, match="the archive of /out is damaged: it"):
        unpack(archive, tmp_path / "out")


def header(name: bytes, kind: bytes, size: int) -> bytes:
    """Return a header with a right sum."""
    found = bytearray(512)
    found[: len(name)] = name
    found[100:108] = b"0000644\0"
    found[124:136] = b"%011o\0" % size
    found[156:157] = kind
    found[148:156] = b" " * 8
    found[148:156] = b"%06o\0 " % sum(found)
    return bytes(found)


HOSTILE = {
    "a chain of long names": (
        b"".join(header(b"n", b"L", 2) + b"a\0".ljust(512, b"\0") for _ in range(5000)),
        "ends early",
    ),
    "a long name of a gigabyte": (header(b"n", b"L", 1 << 30), "ends within a member"),
    "a long name of a megabyte": (header(b"n", b"L", 1 << 20) + bytes(1 << 20), "a name has 1,048,576 bytes"),
    "an extended header of a megabyte": (header(b"n", b"x", 1 << 20) + bytes(1 << 20), "an extended header has"),
    "a file larger than the archive": (header(b"n", b"0", 8 << 30), "ends within a member"),
    "a record without length": (header(b"n", b"x", 4) + b"path".ljust(512, b"\0"), "record has a wrong length"),
    "a record without value": (header(b"n", b"x", 7) + b"7 path\n".ljust(512, b"\0"), "record has no value"),
    "a size that is no number": (header(b"n", b"x", 9) + b"9 size=x\n".ljust(512, b"\0"), "is no number"),
    "another sum": (header(b"n", b"0", 0)[:-1] + b"x", "a header's sum is wrong"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_headers_take_one_line_and_little_memory(tmp_path: Path, name: str) -> None:
    data, expected = HOSTILE[name]
    (tmp_path / "a.tar").write_bytes(data)
    with pytest.raises(GuestError, match=expected) as error:
        unpack(tmp_path / "a.tar", tmp_path / "out")
    assert "\n" not in str(error.value)


def test_members_and_names_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = packed(tmp_path / "a.tar", [member(f"./{number}") for number in range(20)], b"")
    monkeypatch.setattr(reader, "MEMBERS_MAX", 19)
    with pytest.raises(GuestError, match="more than 19 members"):
        unpack(archive, tmp_path / "out")
    monkeypatch.undo()
    monkeypatch.setattr(reader, "NAMES_MAX", 60)
    with pytest.raises(GuestError, match="names have more than 60 bytes"):
        unpack(archive, tmp_path / "out")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GuestError, match="cannot be written: Not a directory"):
        unpack(packed(tmp_path / "a.tar", [member("./a")]), tmp_path / "file" / "out")


def hostile(rng: random.Random) -> list[tarfile.TarInfo]:
    """Draw members of every kind with names that collide, climb and point outside."""
    parts = ["a", "b", "..", ".", "", "kept", "c" * 120, "outside"]

    def name() -> str:
        return "/".join(rng.choices(parts, k=rng.randint(1, 5)))

    targets = ["../outside/kept", "../../outside", "/etc/passwd", "a", "b/a"]
    return [
        member(rng.choice(["./", "", "/"]) + name(), rng.choice(sorted(KINDS)), rng.choice(targets))
        for _ in range(rng.randint(1, 8))
    ]


def test_mutated_archives_write_nothing_outside(tmp_path: Path) -> None:
    """Drawn archives of every kind of member, of which bytes are changed and whose sums are mostly put right again."""
    rng = random.Random(1)
    outside, out = tmp_path / "outside", tmp_path / "place" / "out"
    outside.mkdir()
    (outside / "kept").write_bytes(b"mine")
    damaged, unpacked = 0, 0
    for number in range(MUTANTS):
        if number % 20 == 0:
            form = rng.choice([tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
            try:
                whole = packed(tmp_path / "whole.tar", hostile(rng), form=form).read_bytes()
            except ValueError:
                whole = packed(tmp_path / "whole.tar", hostile(rng)).read_bytes()
        data = bytearray(whole)
        for _ in range(rng.randint(0, 6)):
            at = rng.randrange(len(data)) // 512 * 512 + rng.choice([rng.randrange(512), rng.randrange(160)])
            data[at] = rng.choice([0, 1, 46, 47, 53, 76, 120, 128, 255, rng.randrange(256)])
            if rng.random() < 0.8:
                start = at // 512 * 512
                data[start + 148 : start + 156] = b" " * 8
                data[start + 148 : start + 156] = b"%06o\0 " % (sum(data[start : start + 512]) % (1 << 18))
        archive = tmp_path / "a.tar"
        archive.write_bytes(data[: rng.choice([len(data), rng.randrange(len(data) + 1)])] if number % 3 else data)
        lines = []
        try:
            files, refused = unpack(archive, out)
            unpacked += 1
            lines = files + refused
        except GuestError as error:
            damaged += 1
            lines = [str(error)]
        assert all(line.isprintable() for line in lines)
        assert sorted(os.listdir(tmp_path)) == ["a.tar", "outside", *(["place"] if out.exists() else []), "whole.tar"]
        assert os.listdir(outside) == ["kept"]
    assert (outside / "kept").read_bytes() == b"mine"
    assert not any(path.is_symlink() for path in out.rglob("*"))
    assert damaged > MUTANTS / 10
    assert unpacked > MUTANTS / 10
