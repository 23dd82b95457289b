"""Writes cpio archives in the format of initial file systems, ``newc``.

The same members give the same bytes: times are zero, owners are root, members are in the order of their names.
"""

import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

_MAGIC = "070701"
_BLOCK = 512
"""The end is padded to this, as `cpio` does."""
_CHUNK = 1 << 20
_SIZE_MAX = (1 << 32) - 1


@dataclass(frozen=True)
class File:
    """A regular file: its content, or the host's file that has it."""

    content: bytes | Path
    executable: bool = False


@dataclass(frozen=True)
class Link:
    """A symbolic link."""

    target: str


@dataclass(frozen=True)
class Device:
    """A character device."""

    major: int
    minor: int


Member = File | Link | Device


def write_archive(file: BinaryIO, members: Mapping[str, Member]) -> None:
    """Write `members` by absolute path; the folders that they need are added."""
    archive = _Writer(file)
    for path in members:
        assert path.startswith("/"), path
        assert str(PurePosixPath(path)) == path, path
    folders = {str(parent) for path in members for parent in PurePosixPath(path).parents} - {"/"}
    assert not folders & set(members), folders & set(members)
    for path in sorted(folders | set(members)):
        archive.add(path, members.get(path))
    archive.end()


class _Writer:
    """Appends members to a file, with inode numbers in order."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._inode = 0
        self._written = 0

    def add(self, path: str, member: Member | None) -> None:
        """Append one member; None is a folder."""
        match member:
            case None:
                self._header(path, stat.S_IFDIR | 0o755, 0)
            case Device(major, minor):
                self._header(path, stat.S_IFCHR | 0o600, 0, (major, minor))
            case Link(target):
                text = target.encode()
                self._header(path, stat.S_IFLNK | 0o777, len(text))
                self._data(iter([text]))
            case File(content, executable):
                size = len(content) if isinstance(content, bytes) else content.stat().st_size
                assert size <= _SIZE_MAX, path
                self._header(path, stat.S_IFREG | (0o755 if executable else 0o644), size)
                self._data(_chunks(content, size))

    def end(self) -> None:
        """Append the trailer."""
        self._inode = -1
        self._header("TRAILER!!!", 0, 0)
        self._pad(_BLOCK)

    def _header(self, path: str, mode: int, size: int, device: tuple[int, int] = (0, 0)) -> None:
        self._inode += 1
        name = path.lstrip("/").encode() + b"\0"
        # inode, mode, owner, group, links, time, size, device of the file system, device, length of the name, check
        fields = (self._inode, mode, 0, 0, 1, 0, size, 0, 0, *device, len(name), 0)
        self._write((_MAGIC + "".join(f"{field:08x}" for field in fields)).encode() + name)
        self._pad(4)

    def _data(self, chunks: Iterator[bytes]) -> None:
        for chunk in chunks:
            self._write(chunk)
        self._pad(4)

    def _pad(self, to: int) -> None:
        self._write(bytes(-self._written % to))

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._written += len(data)


def _chunks(content: bytes | Path, size: int) -> Iterator[bytes]:
    """Yield exactly `size` bytes; a file that changes meanwhile must not break the archive."""
    if isinstance(content, bytes):
        yield content
        return
    with content.open("rb") as file:
        left = size
        while left:
            chunk = file.read(min(left, _CHUNK))
            if not chunk:
                raise OSError(f"{content}: became shorter while it was read")
            left -= len(chunk)
            yield chunk
