"""Arrays in a memory, stored in .npy format, which preserves shape and type."""

import io
import math
import warnings
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

import numpy as np
from numpy.lib import format as npy

from nandram.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray
    from typing_extensions import Buffer

    from nandram._core import MemoryArea, MemoryFile


class NoSystemCallsWarning(RuntimeWarning):
    """System calls on addresses of a mapped memory fail unless the pages are in DRAM."""


ALIGNMENT = 4096
"""Data of arrays begin at a multiple of this many bytes: a page of the processor, and a segment of the memory."""

HEADER_MAX = 1 << 16
"""Size of the largest header in version 1.0 of the format."""


def header(
    shape: "SupportsIndex | Sequence[SupportsIndex]", dtype: "DTypeLike", *, fortran: bool = False
) -> tuple[bytes, int]:
    """Return the .npy header of an array, padded to whole pages, and the size of the array's data in bytes.

    Raises `UserError` for a shape or type that a file cannot hold.
    """
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise UserError(f"dtype {kind} holds Python objects, which exist in this process only")
    sizes: tuple[object, ...] = tuple(shape) if isinstance(shape, tuple | list | np.ndarray) else (shape,)
    whole = tuple(int(size) for size in sizes if isinstance(size, int | np.integer) and size >= 0)
    if len(whole) < len(sizes):
        raise UserError(f"shape is {shape!r}, expected whole numbers from 0 on")
    into = io.BytesIO()
    fields = {"descr": npy.dtype_to_descr(kind), "fortran_order": fortran, "shape": whole}
    try:
        npy.write_array_header_1_0(into, fields)
    except ValueError as error:
        raise UserError(f"dtype {kind} has too many fields for the header of an array: {error}") from error
    return padded(into.getvalue()), math.prod(whole) * kind.itemsize


def padded(start: bytes) -> bytes:
    """Pad a header of version 1.0 to whole pages: the format allows spaces before its final newline."""
    text = start[npy.MAGIC_LEN + 2 :].rstrip()
    total = -(-(npy.MAGIC_LEN + 2 + len(text) + 1) // ALIGNMENT) * ALIGNMENT
    length = total - npy.MAGIC_LEN - 2
    return start[: npy.MAGIC_LEN] + length.to_bytes(2, "little") + text.ljust(length - 1) + b"\n"


def area(file: "MemoryFile", address: int, size: int) -> "MemoryArea":
    """Map a range; at the first mapping, warn if system calls cannot use it."""
    before = file.serves_system_calls()
    found = file.area(address, size)
    if before is None and file.serves_system_calls() is False:
        warnings.warn(
            "this process may only handle its own page faults (vm.unprivileged_userfaultfd is 0): system calls on an "
            "array in the memory, such as tofile, fail with 'Bad address' for pages that are not in DRAM; pass a copy",
            NoSystemCallsWarning,
            stacklevel=3,
        )
    return found


def array_at(file: "MemoryFile", address: int, size: int) -> "NDArray[Any] | memoryview":
    """Return the array stored in a range, or a buffer if the range holds no array."""
    # Read by a call, which raises an exception for unreadable data.
    first = file.read(address, min(size, ALIGNMENT))
    length = npy.MAGIC_LEN + 2 + int.from_bytes(first[npy.MAGIC_LEN : npy.MAGIC_LEN + 2], "little")
    if first.startswith(npy.MAGIC_PREFIX) and len(first) < length <= size:
        first = file.read(address, length)
    start = io.BytesIO(first)
    view = memoryview(cast("Buffer", area(file, address, size)))
    try:
        version = npy.read_magic(start)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, kind = read(start, max_header_size=HEADER_MAX)
    except ValueError:
        return view
    flat = np.frombuffer(view, kind, offset=start.tell()) if size > start.tell() else np.zeros(0, kind)
    return flat.reshape(shape, order="F" if fortran else "C")


def extent(file: "MemoryFile", target: Any) -> tuple[int, int]:
    """Return the address and size of an array or a buffer in the memory."""
    data = np.asarray(target)
    if not (data.flags.c_contiguous or data.flags.f_contiguous):
        raise UserError(f"the array of shape {data.shape} is not contiguous")
    address = file.address_of(data.__array_interface__["data"][0])
    if address is None:
        raise UserError("the array is not in this memory")
    return address, data.nbytes
