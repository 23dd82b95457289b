"""Arguments of simulations: numbers, times, operations, and columns."""

from typing import Any

from nandram.errors import UserError
from nandram.options import not_one_of, text_of
from nandram.simulation.completions import OPS

NUMBER_MAX = (1 << 64) - 1
"""Largest number of the native module."""


def whole(name: str, value: object, least: int, most: int = NUMBER_MAX) -> int:
    """Return `value` if it is a whole number within bounds. Raises `UserError`."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise UserError(f"{name}: found {value!r}, expected a whole number from {least} to {most}")
    return value


def device_index(device: object) -> int:
    """Return the index of a device. Raises `UserError`."""
    return whole("device", device, 0, (1 << 32) - 1)


def number(name: str, value: object) -> int:
    """Return `value` if it is a whole number from 0. Raises `UserError`."""
    return whole(name, value, 0)


def time_ps(name: str, text: str) -> int:
    """Return the picoseconds of a time with its unit. Raises `UserError`."""
    from nandram import _core

    return _core.Stepping.time_ps(name, text)


def until_ps(until: int | str | None) -> int | None:
    """Return the picoseconds until which to advance, or None. Raises `UserError`."""
    if until is None:
        return None
    return time_ps("until", until) if isinstance(until, str) else number("until", until)


def op_code(op: str) -> int:
    """Return the number of an operation. Raises `UserError`."""
    try:
        return OPS.index(op)
    except ValueError:
        raise UserError(not_one_of("op", op, OPS)) from None


def op_codes(op: object) -> Any:
    """Return operations as their numbers: one, or an array."""
    if isinstance(op, str):
        return op_code(op)
    if isinstance(op, (list, tuple)) and any(isinstance(one, str) for one in op):
        return column("op", [op_code(text_of("op", one)) for one in op])
    return column("op", op)


def column(name: str, value: object) -> Any:
    """Return a number, or an array of 64-bit numbers. Raises `UserError` for anything else."""
    if type(value) is int:
        return number(name, value)
    import numpy as np

    found = np.asarray(value)
    if found.ndim == 0 and found.dtype.kind in "iu":
        return number(name, int(found))
    if found.ndim != 1 or (found.dtype.kind not in "iu" and len(found) > 0):
        shape = f"an array of {found.dtype}" if found.ndim == 1 else repr(value)
        raise UserError(f"{name}: found {shape}, expected whole numbers from 0: one, a list or an array")
    if found.dtype.kind == "i" and len(found) > 0 and found.min() < 0:
        raise UserError(f"{name}: found {found.min()}, expected whole numbers from 0")
    return np.ascontiguousarray(found, dtype=np.uint64)
