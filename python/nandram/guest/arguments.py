"""The values of options: sizes, durations, and files to copy."""

import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from nandram.errors import UserError
from nandram.guest.initramfs import Copy, is_reserved

MEMORY_MIN_MIB, MEMORY_MAX_MIB = 256, 64 * 1024
PARAMETERS_MAX = 1900
"""Bytes of kernel parameters: x86's kernel reads 2,047, among which are some that every guest has."""
_SIZE = re.compile(r"([1-9][0-9]{0,8})(M|MiB|G|GiB)")
_TIME = re.compile(r"([1-9][0-9]{0,5})(s|m|min|h)")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600}
_LINKED = re.compile(r"^/(?=(?:bin|sbin|lib)/)")


def memory_mib(text: str) -> int:
    """Parse the size of a guest's memory, in MiB. Raises `UserError`."""
    match = _SIZE.fullmatch(text)
    size = int(match[1]) * (1024 if match[2].startswith("G") else 1) if match else 0
    if not MEMORY_MIN_MIB <= size <= MEMORY_MAX_MIB:
        raise UserError(f"--memory: found `{text}`, expected a size from 256MiB to 64GiB, such as 1GiB")
    return size


def seconds(text: str) -> int:
    """Parse a time limit. Raises `UserError`."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise UserError(f"--time-limit: found `{text}`, expected a duration such as 90s, 10m or 2h")
    return int(match[1]) * _SECONDS[match[2]]


def parameters(texts: Iterable[str]) -> list[str]:
    """Split kernel parameters at blanks. Raises `UserError`."""
    found = [word for text in texts for word in text.split()]
    for word in found:
        if not word.isascii() or not word.isprintable():
            shown = word.encode("unicode_escape").decode()
            raise UserError(f"--append: found `{shown}`, expected a parameter of the kernel in ASCII, such as nohz=on")
    length = sum(len(word) + 1 for word in found)
    if length > PARAMETERS_MAX:
        raise UserError(f"--append: found {length} bytes, expected at most {PARAMETERS_MAX}")
    return found


def copies(texts: Iterable[str]) -> list[Copy]:
    """Parse files to copy, each ``FILE`` or ``FILE:PATH``. Raises `UserError`."""
    found: dict[str, Copy] = {}
    for text in texts:
        copy = _copy(text)
        if copy.path in found:
            raise UserError(f"--copy: found {found[copy.path].source} and {copy.source} for {copy.path}, expected one")
        found[copy.path] = copy
    return list(found.values())


def _copy(text: str) -> Copy:
    name, _, path = text.rpartition(":") if re.search(r":/[^:]*$", text) else (text, "", "")
    source = Path(name)
    try:
        if not source.is_file():
            reason = "found a folder or device, expected a file" if source.exists() else "no such file"
            raise UserError(f"--copy: {name}: {reason}")
        source.open("rb").close()
    except OSError as error:
        raise UserError(f"--copy: {name}: {error.strerror}") from error
    path = path or f"/{source.name}"
    if str(PurePosixPath(path)) != path or os.path.normpath(path) != path or path == "/":
        raise UserError(f"--copy: found the path `{path}`, expected the full path of a file, such as /job.fio")
    if is_reserved(path):
        raise UserError(f"--copy: {path}: belongs to the guest's own files, expected another path")
    return Copy(source, _LINKED.sub("/usr/", path, count=1))
