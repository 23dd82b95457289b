"""Unpacks the archive that a guest sends back. Everything in it is hostile.

The archive is as busybox's and GNU's ``tar`` write it: headers of POSIX.1-1988 with GNU's long names, or the extended
headers of POSIX.1-2001. Only regular files and folders are unpacked; every other kind of member is named. Each name is
opened component by component beneath the output folder, without following links, so that nothing outside the folder is
created, changed or read.
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from nandram.guest.errors import GuestError

MEMBERS_MAX = 1 << 20
"""Most members of an archive."""
NAME_MAX = 4096
"""Longest name, the most that Linux takes."""
NAMES_MAX = 1 << 24
"""Most bytes of all names together."""
EXTENDED_MAX = 1 << 16
"""Longest extended header: a name and some times."""
DEPTH_MAX = 256
"""Most folders above a member."""
_BLOCK = 512
_CHUNK = 1 << 20
_REGULAR = (b"0", b"\0", b"7")
_FOLDER = b"5"
_WITHOUT_CONTENT = (b"1", b"2", b"3", b"4", _FOLDER, b"6")
"""Links, devices, folders and pipes: whatever size they state."""
_LONG_NAME, _LONG_TARGET = b"L", b"K"
_EXTENDED, _GLOBAL = b"x", b"g"
_ITS_OWN_FAULT = (
    errno.ENAMETOOLONG,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ELOOP,
    errno.EEXIST,
    errno.ENOTEMPTY,
    errno.EINVAL,
    errno.EILSEQ,
)
"""Errors that a member's name causes, and not the host."""


@dataclass(frozen=True)
class _Member:
    name: bytes
    kind: bytes
    size: int
    mode: int


def unpack(archive: Path, into: Path) -> tuple[list[str], list[str]]:
    """Unpack a guest's ``/out``; return the names of its files, and of members that were left out, each in order.

    The latter are neither files nor folders, or have names that cannot be made in the folder. Raises `GuestError` for a
    damaged archive, and where the folder cannot be written.
    """
    files: list[str] = []
    refused: list[str] = []
    try:
        with archive.open("rb") as file, contextlib.ExitStack() as opened:
            top: int | None = None
            for member in _members(file):
                parts = _parts(member.name)
                if parts == []:
                    continue
                if parts is None or member.kind not in (*_REGULAR, _FOLDER):
                    refused.append(shown(member.name))
                    continue
                if top is None:
                    into.mkdir(parents=True, exist_ok=True)
                    top = os.open(into, os.O_RDONLY | os.O_DIRECTORY)
                    opened.callback(os.close, top)
                if not _unpacked(member, parts, top, file):
                    refused.append(shown(member.name))
                elif member.kind != _FOLDER:
                    files.append(shown(member.name))
    except OSError as error:
        raise GuestError(f"{into}: cannot be written: {error.strerror or error}") from error
    return sorted(set(files)), sorted(set(refused))


def shown(name: bytes) -> str:
    """Return a member's name for a terminal: without what one would obey."""
    text = name.removeprefix(b"./").rstrip(b"/").decode("utf-8", "backslashreplace")
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def _parts(name: bytes) -> list[bytes] | None:
    """Return the components of a name, none for the archive's own folder; None if it leads elsewhere."""
    parts = [part for part in name.split(b"/") if part not in (b"", b".")]
    if name.startswith(b"/") or b"\0" in name or b".." in parts or len(parts) > DEPTH_MAX:
        return None
    return parts


def _unpacked(member: _Member, parts: list[bytes], top: int, file: BinaryIO) -> bool:
    """Create a member beneath the folder `top`. Returns False if its name does not permit that."""
    try:
        with contextlib.ExitStack() as opened:
            folders = parts if member.kind == _FOLDER else parts[:-1]
            folder = top
            for part in folders:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=folder)
                folder = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
                opened.callback(os.close, folder)
            if member.kind != _FOLDER:
                _write(member, parts[-1], folder, file)
    except OSError as error:
        if error.errno in _ITS_OWN_FAULT:
            return False
        raise
    return True


def _write(member: _Member, name: bytes, folder: int, file: BinaryIO) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
    mode = 0o777 if member.mode & 0o100 else 0o666
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, mode, dir_fd=folder), "wb") as target:
        left = member.size
        while left > 0:
            chunk = file.read(min(left, _CHUNK))
            target.write(chunk)
            left -= len(chunk)


def _members(file: BinaryIO) -> Iterator[_Member]:
    """Yield the members of an archive; the file is at the content of the last one.

    Raises `GuestError` if it is damaged.
    """
    end = os.fstat(file.fileno()).st_size
    names: dict[bytes, bytes] = {}
    at, extended_size, count, names_bytes = 0, None, 0, 0
    while True:
        file.seek(at)
        header = file.read(_BLOCK)
        if len(header) < _BLOCK:
            raise _damaged("it ends early" if end else "it is empty")
        if header.count(0) == _BLOCK:
            return
        _check_sum(header)
        kind = header[156:157]
        size = _number(header[124:136])
        if kind in _REGULAR and extended_size is not None:
            size = extended_size
        content = 0 if kind in _WITHOUT_CONTENT else size
        at += _BLOCK
        if content > end - at:
            raise _damaged("it ends within a member")
        count += 1
        if count > MEMBERS_MAX:
            raise _damaged(f"it has more than {MEMBERS_MAX:,} members")
        if kind in (_LONG_NAME, _LONG_TARGET):
            if size > NAME_MAX:
                raise _damaged(f"a name has {size:,} bytes")
            names[kind] = file.read(size).rstrip(b"\0")
        elif kind in (_EXTENDED, _GLOBAL):
            if size > EXTENDED_MAX:
                raise _damaged(f"an extended header has {size:,} bytes")
            records = _records(file.read(size))
            if kind == _EXTENDED:
                if len(records.get(b"path", b"")) > NAME_MAX:
                    raise _damaged(f"a name has {len(records[b'path']):,} bytes")
                if b"path" in records:
                    names[_LONG_NAME] = records[b"path"]
                if b"size" in records:
                    extended_size = _decimal(records[b"size"])
        else:
            name = names.get(_LONG_NAME) or _short_name(header)
            names_bytes += len(name)
            if names_bytes > NAMES_MAX:
                raise _damaged(f"its names have more than {NAMES_MAX:,} bytes")
            yield _Member(name, kind, content, _number(header[100:108]))
            names, extended_size = {}, None
        at += -(-content // _BLOCK) * _BLOCK


def _check_sum(header: bytes) -> None:
    stated = _number(header[148:156])
    # The sum counts its own place as spaces. Old programs added signed bytes.
    bytes_ = header[:148] + b" " * 8 + header[156:]
    signed = sum(each - 256 if each > 127 else each for each in bytes_)
    if stated not in (sum(bytes_), signed):
        raise _damaged("a header's sum is wrong")


def _number(field: bytes) -> int:
    """Return a number of a header: octal digits, or GNU's binary form for large ones."""
    if field[0] & 0x80:
        value = int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
        if value >> 63:
            raise _damaged("a number of a header is out of range")
        return value
    text = field.split(b"\0")[0].strip(b" ")
    if not text:
        return 0
    if text.strip(b"01234567"):
        raise _damaged("a number of a header has other digits than 0 to 7")
    return int(text, 8)


def _decimal(text: bytes) -> int:
    if not text.isdigit() or len(text) > 18:
        raise _damaged("a size of an extended header is no number")
    return int(text)


def _records(data: bytes) -> dict[bytes, bytes]:
    """Return the records of an extended header: ``LENGTH KEY=VALUE`` and a line feed each."""
    found = {}
    while data:
        digits, _, _ = data.partition(b" ")
        if not digits.isdigit() or len(digits) > 6 or not len(digits) + 3 <= int(digits) <= len(data):
            raise _damaged("an extended header's record has a wrong length")
        record, data = data[len(digits) + 1 : int(digits)], data[int(digits) :]
        key, equals, value = record.removesuffix(b"\n").partition(b"=")
        if not equals or not record.endswith(b"\n"):
            raise _damaged("an extended header's record has no value")
        found[key] = value
    return found


def _short_name(header: bytes) -> bytes:
    name = header[:100].split(b"\0")[0]
    # POSIX headers have a prefix; GNU's use its place for other things.
    prefix = header[345:500].split(b"\0")[0] if header[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _damaged(how: str) -> GuestError:
    return GuestError(f"the archive of /out is damaged: {how}")
