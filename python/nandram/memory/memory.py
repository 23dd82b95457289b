"""Memory in a file or on a block device, larger than DRAM, with incremental checkpoints."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, cast, overload

from nandram.errors import MissingNameError, UserError
from nandram.memory.calls import Opened, bytes_of, count, size_text
from nandram.options import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, DTypeLike, NDArray
    from typing_extensions import Buffer

    from nandram._core import MemoryFile
    from nandram.memory.calls import Data


SEGMENT_BYTES = 4096
"""Unit of reads and writes."""


class Memory(Opened):
    """Memory in a file: pages of 64 KiB to allocate, read, write, sync and roll back, and arrays in them.

    Writes are durable after `sync`: after a crash, and after `close`, the memory opens in the state of the last
    completed sync, rollback or drop. Only one process can open it at a time; threads may share it, and their calls are
    serialized. All calls raise `nandram.UserError` for mistakes of the caller, and `nandram.StorageError` if the file
    cannot be read or written.
    """

    _file: "MemoryFile"

    def __init__(
        self,
        path: str | os.PathLike[str],
        capacity: "str | int | None" = None,
        dram: "str | int | None" = None,
        *,
        space: "str | int | None" = None,
        tokens: int | None = None,
    ) -> None:
        """Open the memory in `path`, or create it if the file does not exist or the drive begins with zeros.

        Sizes are texts with a unit, such as ``"1TiB"``, or whole numbers of bytes. `capacity`: bytes that can be
        allocated; optional for an existing memory. `dram`: size of the cache, by default ``"256MiB"``. For a new memory
        only: `space`, bytes in the file for data and saved states (by default twice the capacity; unwritten space takes
        no disk space), and `tokens`, the maximum number of live tokens (by default 256).
        """
        try:
            from nandram._core import MemoryFile
        except ImportError as error:
            raise UserError("Memory needs Linux") from error

        in_file, in_dram = size_text("capacity", capacity), size_text("dram", dram)
        name = os.fspath(path)
        make = not Path(name).exists() or (capacity is not None and _is_empty_drive(name))
        if make and capacity is None:
            raise UserError(f"{name}: there is no memory, and a new one needs a capacity")
        if not make and (space is not None or tokens is not None):
            raise UserError(f"{name}: the memory is there already: space and tokens are what it was made with")
        self._file = MemoryFile.open(name, make, in_file, in_dram, size_text("space", space), tokens)
        self.path = name

    def alloc(self, size: int, *, name: str | None = None, temporary: bool = False) -> int:
        """Allocate `size` zero bytes in contiguous pages, optionally with a name; return their address.

        Temporary areas do not survive closing the memory.
        """
        address = self._file.alloc(count("size", size), temporary)
        if name is not None:
            try:
                self._file.name(name, address, size)
            except BaseException:
                self._file.delete(address, size)
                raise
        return address

    def array(
        self,
        shape: "SupportsIndex | Sequence[SupportsIndex]",
        dtype: "DTypeLike" = float,
        *,
        name: str | None = None,
        temporary: bool = False,
        order: Literal["C", "F"] = "C",
    ) -> "NDArray[Any]":
        """Return a new array of zeros in the memory, cached in DRAM up to `dram`.

        `shape`: a whole number or a sequence of whole numbers; `order`: ``"C"`` (rows) or ``"F"`` (columns, as in
        Fortran), as in NumPy. The data begin at a page of 4 KiB.

        ``memory[name]`` finds it by its name, also after the memory is reopened. After a rollback it shows the restored
        values. An access to a page that cannot be read, or that a rollback or `delete` removed, ends the process with a
        message, because loads and stores cannot raise exceptions. The memory cannot be closed while the array is alive.
        The first array maps the memory with userfaultfd(2).
        """
        from nandram.memory import mapping

        if order not in ("C", "F"):
            raise UserError(f'order is {order!r}, expected "C" or "F"')
        header, size = mapping.header(shape, dtype, fortran=order == "F")
        address = self.alloc(len(header) + size, name=name, temporary=temporary)
        try:
            self._file.write(address, memoryview(header))
            found = mapping.array_at(self._file, address, len(header) + size)
        except BaseException:
            self._file.delete(address, len(header) + size)
            raise
        return cast("NDArray[Any]", found)

    def buffer(self, size: int, *, name: str | None = None, temporary: bool = False) -> memoryview:
        """Return a writable buffer of `size` zero bytes in the memory; see `array`."""
        from nandram.memory import mapping

        address = self.alloc(size, name=name, temporary=temporary)
        try:
            return memoryview(cast("Buffer", mapping.area(self._file, address, size)))
        except BaseException:
            self._file.delete(address, size)
            raise

    def __getitem__(self, name: str) -> "NDArray[Any] | memoryview":
        """Return the named array, or a buffer if the named area holds no array. Raises `KeyError` for other names."""
        from nandram.memory import mapping

        return mapping.array_at(self._file, *self._named(name))

    def __setitem__(self, name: str, values: "ArrayLike") -> None:
        """Copy an array into the named one, which must have its shape and type, or into a new one of this name."""
        data = _array_of(values)
        if text_of("name", name) not in self:
            columns = data.flags.f_contiguous and not data.flags.c_contiguous
            self.array(data.shape, data.dtype, name=name, order="F" if columns else "C")[...] = data
            return
        found = self[name]
        if isinstance(found, memoryview) or (found.shape, found.dtype) != (data.shape, data.dtype):
            kind = "a buffer" if isinstance(found, memoryview) else f"an array of {found.dtype}, shape {found.shape}"
            raise UserError(f"{name!r} is {kind}, found {data.dtype}, shape {data.shape}: delete it first")
        found[...] = data

    def __delitem__(self, name: str) -> None:
        """Delete a named area. Raises `KeyError` for other names."""
        self._file.delete(*self._named(name))

    def _named(self, name: str) -> tuple[int, int]:
        if not isinstance(name, str):
            raise UserError(f"found {name!r}, expected a name")
        if name not in self:
            raise MissingNameError(f'name "{name}": no area has this name')
        return self._file.find(name)

    def __len__(self) -> int:
        """Return the number of named areas."""
        return len(self.names())

    def __bool__(self) -> bool:
        """Return true: a memory without names is a memory."""
        return True

    def __contains__(self, name: object) -> bool:
        """Return whether an area has this name."""
        return name in self.names()

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of areas."""
        return iter(self.names())

    def advise(self, target: "str | Data", how: str) -> None:
        """Announce the access pattern of an array or buffer in the memory, or of a named area.

        ``"normal"``: detect patterns and read ahead; ``"sequential"``: read ahead in order; ``"random"``: do not read
        ahead; ``"willneed"``: read the data now; ``"dontneed"``: evict the data from DRAM without losing it.
        """
        from nandram.memory import mapping

        found = self._file.find(target) if isinstance(target, str) else mapping.extent(self._file, target)
        self._file.advise(*found, how)

    def name(self, name: str, address: int, size: int) -> None:
        """Name an area, so that it can be found after the memory is reopened."""
        self._file.name(text_of("name", name), count("address", address), count("size", size))

    def delete(self, address: int, size: int) -> None:
        """Delete the pages of a range and the names of areas in it. States saved by tokens keep them."""
        self._file.delete(count("address", address), count("size", size))

    def setperms(
        self, address: int, size: int, *, read: bool = True, write: bool = True, permanent: bool = True
    ) -> None:
        """Set read and write permission of the pages of a range, and whether they are permanent."""
        self._file.set_permissions(count("address", address), count("size", size), (read, write, permanent))

    def write(self, address: int, data: "Data") -> None:
        """Write bytes or a contiguous array at `address`."""
        self._file.write(count("address", address), bytes_of(data))

    @overload
    def sync(self, name: str | None = None) -> int: ...
    @overload
    def sync(self, *, keep: Literal[False]) -> None: ...
    @overload
    def sync(self, name: str | None = None, *, keep: bool) -> int | None: ...
    def sync(self, name: str | None = None, *, keep: bool = True) -> int | None:
        """Make all writes durable; return a token for this state, optionally with a name.

        Each token keeps its state until it is dropped, up to the maximum number of tokens. With ``keep=False`` there is
        no token, and nothing to drop: after a crash the memory opens in this state, but no rollback leads to it.
        """
        if keep:
            return self._file.sync(None if name is None else text_of("name", name))
        if name is not None:
            raise UserError(f"the name {name!r} needs a token, and keep=False makes none")
        self._file.flush()
        return None

    def rollback(self, token: int | str) -> None:
        """Restore the state of a token, given by number or name. Newer data and tokens are lost."""
        self._file.rollback(self._token(token))

    def drop(self, token: int | str) -> None:
        """Drop a token and free the space that only its state uses."""
        self._file.drop_token(self._token(token))

    def _token(self, token: int | str) -> int:
        return self._file.token(token) if isinstance(token, str) else count("token", token)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[int]:
        """Run a block atomically: its changes are synced at the end, or rolled back on an exception."""
        token = self.sync()
        try:
            yield token
            done = self.sync()
        except BaseException:
            self.rollback(token)
            self.drop(token)
            raise
        self.drop(token)
        self.drop(done)

    def verify(self) -> list[str]:
        """Read all data; return one line per unreadable segment."""
        return self._file.verify()[0]

    def export(self, to: str | os.PathLike[str], name: str | None = None) -> int:
        """Write the area `name`, or all pages at their addresses, in the state of the last sync to a new file."""
        from nandram.memory.reader import MemoryReader

        with MemoryReader(self.path, "16MiB") as reader:
            return reader.export(to, name)

    def backup(self, to: str | os.PathLike[str]) -> list[str]:
        """Copy the last sync with its tokens to the new file `to`; return one line per unreadable segment."""
        from nandram.memory.reader import backup

        return backup(self.path, to)

    def compact(self) -> None:
        """Move live data together and return the free space of the file to the disk."""
        self._file.compact()

    def grow(self, capacity: "str | int | None" = None, space: "str | int | None" = None) -> None:
        """Enlarge the memory: the bytes that can be allocated, and those in the file for data and saved states.

        Sizes are as on creation. A size that is not given stays, but `space` becomes at least twice the capacity.
        Syncs, and copies all data to a new file that then takes the place of the old one, so the disk needs room for
        both. Tokens, names and addresses stay; temporary areas are gone, as after closing. Arrays and buffers must be
        deleted before, as for closing. If it fails or is killed, the memory is unchanged.
        """
        self._file.grow(size_text("capacity", capacity), size_text("space", space))

    def stats(self) -> dict[str, float]:
        """Return counters since the memory was opened, and its occupancy.

        ``amplification``: bytes written to the file per byte of data; 0 before the first write.
        """
        stats: dict[str, float] = dict(self._file.stats())
        data = stats["data_segments"] * SEGMENT_BYTES
        return stats | {"amplification": stats["written_bytes"] / data if data else 0.0}

    def prometheus(self) -> str:
        """Return the statistics in the text format of Prometheus."""
        gauges = {"amplification", "dirty_segments", "dram_bytes", "mapped_bytes", "needed_bytes", "space_bytes"}
        label = self.path.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
        lines = []
        for name, value in self.stats().items():
            gauge = name in gauges
            metric = f"nandram_memory_{name}" + ("" if gauge else "_total")
            lines += [f"# TYPE {metric} {'gauge' if gauge else 'counter'}", f'{metric}{{path="{label}"}} {value}']
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        return f"<Memory in {self.path}>"


def _array_of(values: "ArrayLike") -> "NDArray[Any]":
    """Return values as an array of NumPy, without a copy if they are one."""
    import numpy as np

    return np.asanyarray(values)


def _is_empty_drive(path: str) -> bool:
    """Return whether a path is a block device that begins with zeros."""
    with contextlib.suppress(OSError):
        if Path(path).is_block_device():
            with Path(path).open("rb") as drive:
                return not any(drive.read(1 << 16))
    return False
