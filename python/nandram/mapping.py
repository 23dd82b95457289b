"""Arrays on a memory: each lies there as a .npy file does, so that it is found with its shape and type."""

import io
import warnings
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.lib import format as npy

from nandram.errors import UserError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray
    from typing_extensions import Buffer

    from nandram._core import MemoryArea, MemoryFile


class NoSystemCallsWarning(RuntimeWarning):
    """System calls that are handed addresses of a mapped memory fail, unless what is there was just touched."""


def header(shape: int | tuple[int, ...], dtype: "DTypeLike") -> tuple[bytes, int]:
    """Return what stands before an array of that shape and type, and the array's bytes."""
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise UserError(f"dtype {kind} holds Python objects, which are at addresses of this process alone")
    sizes: tuple[object, ...] = shape if isinstance(shape, tuple) else (shape,)
    whole = tuple(int(size) for size in sizes if isinstance(size, int | np.integer) and size >= 0)
    if len(whole) < len(sizes):
        raise UserError(f"shape is {shape!r}, expected whole numbers from 0 on")
    into = io.BytesIO()
    fields = {"descr": npy.dtype_to_descr(kind), "fortran_order": False, "shape": whole}
    npy.write_array_header_1_0(into, fields)
    count = 1
    for size in whole:
        count *= size
    return into.getvalue(), count * kind.itemsize


def area(file: "MemoryFile", address: int, size: int) -> "MemoryArea":
    """Map a range; the first time it is said if system calls are not served."""
    before = file.serves_system_calls()
    found = file.area(address, size)
    if before is None and file.serves_system_calls() is False:
        warnings.warn(
            "this process may serve its own faults only (vm.unprivileged_userfaultfd is 0): system calls that are "
            "handed an array on the memory, as tofile is, fail with 'Bad address' where it is not in DRAM: hand them "
            "a copy",
            NoSystemCallsWarning,
            stacklevel=3,
        )
    return found


def array_at(file: "MemoryFile", address: int, size: int) -> "NDArray[Any] | memoryview":
    """Return the array that lies in a range; a buffer, if there is none."""
    # By a call: what cannot be read is told as an exception.
    start = io.BytesIO(file.read(address, min(size, 1 << 12)))
    view = memoryview(cast("Buffer", area(file, address, size)))
    try:
        version = npy.read_magic(start)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, kind = read(start)
    except ValueError:
        return view
    flat = np.frombuffer(view, kind, offset=start.tell()) if size > start.tell() else np.zeros(0, kind)
    return flat.reshape(shape, order="F" if fortran else "C")


def extent(file: "MemoryFile", target: Any) -> tuple[int, int]:
    """Return where in the memory an array or a buffer lies: address and size."""
    data = np.asarray(target)
    if not (data.flags.c_contiguous or data.flags.f_contiguous):
        raise UserError(f"the array of shape {data.shape} is not contiguous")
    address = file.address_of(data.__array_interface__["data"][0])
    if address is None:
        raise UserError("the array is not on this memory")
    return address, data.nbytes
