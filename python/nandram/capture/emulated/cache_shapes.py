"""Sizes of caches and pages, as the user gives them."""

import re
from dataclasses import dataclass

from nandram.errors import UserError

_SIZE = re.compile(r"(\d+)(B|KiB|MiB|GiB)")
_SCALE = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_WAYS_MAX = 64


@dataclass(frozen=True)
class CacheShape:
    """A set-associative cache; the least recently used line of a set is replaced."""

    bytes: int
    ways: int
    line_bytes: int


def parse_size(name: str, text: str, smallest: int, largest: int) -> int:
    """Return the bytes of ``4KiB`` or ``16B``, a power of two within limits. Raises `UserError`."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise UserError(f"{name}: found `{text}`, expected a size with its unit, such as 16B, 4KiB or 2MiB")
    size = int(found[1]) * _SCALE[found[2]]
    if size & (size - 1) or not smallest <= size <= largest:
        raise UserError(
            f"{name}: found `{text}`, expected a power of two from {size_text(smallest)} to {size_text(largest)}"
        )
    return size


def size_text(size: int) -> str:
    """``16B``, ``4KiB``."""
    unit = next(unit for unit in ("GiB", "MiB", "KiB", "B") if size % _SCALE[unit] == 0)
    return f"{size // _SCALE[unit]}{unit}"


def parse_cache(name: str, text: str, line_bytes: int) -> CacheShape:
    """Return the cache that ``4KiB:4`` says, size and ways. Raises `UserError`."""
    size, colon, ways_text = text.partition(":")
    if not colon or not ways_text.isascii() or not ways_text.isdigit():
        raise UserError(f"{name}: found `{text}`, expected SIZE:WAYS, such as 4KiB:4")
    ways = int(ways_text)
    bytes_ = parse_size(name, size, line_bytes, 1 << 30)
    if not 1 <= ways <= _WAYS_MAX or bytes_ % (ways * line_bytes) or _odd(bytes_ // (ways * line_bytes)):
        raise UserError(
            f"{name}: found `{text}`, expected 1 to {_WAYS_MAX} ways that make sets of {line_bytes}-byte lines whose "
            "number is a power of two"
        )
    return CacheShape(bytes_, ways, line_bytes)


def _odd(sets: int) -> bool:
    return sets & (sets - 1) != 0
