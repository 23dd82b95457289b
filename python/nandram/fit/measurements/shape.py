"""Shape of fio's JSON output: the type of each value that is read, where it is present."""

import math
from pathlib import Path
from typing import Any

from nandram.errors import UserError

ANY = "*"
"""Stands for every key of an object."""
NUMBER, COUNT, TEXT = "a number", "a whole number", "a text"
_TIMES = {"mean": NUMBER, "percentile": {ANY: NUMBER}}
_SIDE = {"total_ios": NUMBER, "iops": NUMBER, "lat_ns": _TIMES, "clat_ns": _TIMES, "slat_ns": _TIMES}
_OPTIONS = {ANY: TEXT}
OUTPUT = {"global options": _OPTIONS}
ENTRY = {
    "groupid": COUNT,
    "error": COUNT,
    "usr_cpu": NUMBER,
    "sys_cpu": NUMBER,
    "job options": _OPTIONS,
    "read": _SIDE,
    "write": _SIDE,
}


def expect(path: Path, place: str, value: Any, shape: Any) -> None:
    """Raise `UserError` for the first value within `value` that is not of its shape."""
    if isinstance(shape, str):
        if not _is(value, shape):
            raise UserError(f"{path}: {place}: found {value!r}, expected {shape}")
        return
    if not isinstance(value, dict):
        raise UserError(f"{path}: {place or 'the output'}: found {value!r}, expected an object")
    for key, each in value.items():
        part = shape.get(key, shape.get(ANY))
        if part is not None:
            expect(path, f"{place}.{key}" if place else key, each, part)


def _is(value: Any, shape: str) -> bool:
    if shape == TEXT:
        return isinstance(value, str)
    if isinstance(value, bool) or not isinstance(value, int if shape == COUNT else int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)
