"""A second implementation of cpio's `newc` format, which reads it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    name: str
    mode: int
    inode: int
    time: int
    device: tuple[int, int]
    data: bytes


def read_archive(archive: bytes) -> list[Entry]:
    """Return the members up to the trailer, and check that only padding follows."""
    entries: list[Entry] = []
    at = 0
    while True:
        assert archive[at : at + 6] == b"070701", at
        numbers = [int(archive[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        inode, mode, _owner, _group, _links, time, size, _major, _minor, major, minor, length, check = numbers
        assert check == 0
        name = archive[at + 110 : at + 110 + length]
        assert name.endswith(b"\0")
        at = (at + 110 + length + 3) // 4 * 4
        data = archive[at : at + size]
        assert len(data) == size
        at = (at + size + 3) // 4 * 4
        if name == b"TRAILER!!!\0":
            assert set(archive[at:]) <= {0}
            return entries
        entries.append(Entry(name[:-1].decode(), mode, inode, time, (major, minor), data))
