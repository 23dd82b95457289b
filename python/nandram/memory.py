"""Memory on a file or a block device, larger than DRAM, with checkpoints that cost what changed."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from nandram.errors import UserError
from nandram.memory_calls import Opened, bytes_of, check_sizes, count
from nandram.options import text_of

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray
    from typing_extensions import Buffer

    from nandram._core import MemoryFile
    from nandram.memory_calls import Data


SEGMENT_BYTES = 4096
"""What is read and written at a time."""


class Memory(Opened):
    """Memory in a file: pages of 64 KiB that are allocated, read, written, synced and rolled back, and arrays on them.

    What is written counts from `sync` on: after a crash, and after `close`, the memory opens as the last completed
    sync, rollback or drop left it. One process has it open at a time; threads may share it, and call one after the
    other. All calls raise `nandram.UserError` for what the caller did wrong, and `nandram.StorageError` if the file
    cannot be read or written.
    """

    _file: "MemoryFile"

    def __init__(
        self,
        path: str | os.PathLike[str],
        capacity: str | None = None,
        dram: str | None = None,
        *,
        space: str | None = None,
        tokens: int | None = None,
    ) -> None:
        """Open the memory in `path`, or make it: a file that is not there, or a drive that begins with zeros.

        `capacity`: what can be allocated, ``"1TiB"``; when it is opened again it may be left out. `dram`: of the cache,
        ``"256MiB"`` unless given. When it is made: `space`, room in the file for data and what tokens keep (twice the
        capacity; what was never written takes none of the disk's), and how many `tokens` may be live (256).
        """
        try:
            from nandram._core import MemoryFile
        except ImportError as error:
            raise UserError("Memory needs Linux") from error

        check_sizes(capacity=capacity, dram=dram, space=space)
        name = os.fspath(path)
        make = not Path(name).exists() or (capacity is not None and _is_empty_drive(name))
        if make and capacity is None:
            raise UserError(f"{name}: there is no memory, and a new one needs a capacity")
        if not make and (space is not None or tokens is not None):
            raise UserError(f"{name}: the memory is there already: space and tokens are what it was made with")
        self._file = MemoryFile.open(name, make, capacity, dram, space, tokens)
        self.path = name

    def alloc(self, size: int, *, name: str | None = None, temporary: bool = False) -> int:
        """Return the address of `size` zeros: whole pages in a row, by a name if one is given.

        Temporary ones are gone when the memory is opened again.
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
        shape: int | tuple[int, ...],
        dtype: "DTypeLike" = float,
        *,
        name: str | None = None,
        temporary: bool = False,
    ) -> "NDArray[Any]":
        """Return an array of zeros that is on the memory: in DRAM as far as `dram` goes, else in the file.

        By its name ``memory[name]`` finds it, now and when the memory is opened again. After a rollback it shows the
        restored values. An access that cannot be served (a page that cannot be read, one that a rollback or `delete`
        took away) ends the process with a line that says why: loads and stores raise nothing. While the array is alive,
        the memory cannot be closed. The first array maps the memory, by userfaultfd(2).
        """
        from nandram import mapping

        header, size = mapping.header(shape, dtype)
        address = self.alloc(len(header) + size, name=name, temporary=temporary)
        try:
            self._file.write(address, memoryview(header))
            found = mapping.array_at(self._file, address, len(header) + size)
        except BaseException:
            self._file.delete(address, len(header) + size)
            raise
        return cast("NDArray[Any]", found)

    def buffer(self, size: int, *, name: str | None = None, temporary: bool = False) -> memoryview:
        """Return `size` bytes of zeros that are on the memory, as `array` does: a buffer that can be written."""
        from nandram import mapping

        address = self.alloc(size, name=name, temporary=temporary)
        try:
            return memoryview(cast("Buffer", mapping.area(self._file, address, size)))
        except BaseException:
            self._file.delete(address, size)
            raise

    def __getitem__(self, name: str) -> "NDArray[Any] | memoryview":
        """Return the array of that name; of an area that has none, its bytes as a buffer."""
        from nandram import mapping

        if not isinstance(name, str):
            raise UserError(f"found {name!r}, expected a name")
        return mapping.array_at(self._file, *self._file.find(name))

    def __delitem__(self, name: str) -> None:
        """Delete the area of that name."""
        self._file.delete(*self._file.find(name))

    def __contains__(self, name: object) -> bool:
        """Whether there is an area of that name."""
        return name in self.names()

    def __iter__(self) -> Iterator[str]:
        """Go through the names of areas."""
        return iter(self.names())

    def advise(self, target: "str | Data", how: str) -> None:
        """Say how an array or buffer on the memory, or the area of a name, will be used.

        ``"normal"``: what is done is looked at, and what comes next read before it is asked for; ``"sequential"``: in
        order; ``"random"``: nothing is read that was not asked for; ``"willneed"``: it is read now; ``"dontneed"``: it
        leaves DRAM, and nothing of it is lost.
        """
        from nandram import mapping

        found = self._file.find(target) if isinstance(target, str) else mapping.extent(self._file, target)
        self._file.advise(*found, how)

    def name(self, name: str, address: int, size: int) -> None:
        """Give an area a name, by which it is found when the memory is opened again."""
        self._file.name(text_of("name", name), count("address", address), count("size", size))

    def delete(self, address: int, size: int) -> None:
        """Delete the pages of a range, and names of areas in them. States that tokens stand for still have them."""
        self._file.delete(count("address", address), count("size", size))

    def setperms(
        self, address: int, size: int, *, read: bool = True, write: bool = True, permanent: bool = True
    ) -> None:
        """Set what may be done with the pages of a range, and whether they stay."""
        self._file.set_permissions(count("address", address), count("size", size), (read, write, permanent))

    def write(self, address: int, data: "Data") -> None:
        """Write bytes, or an array that is contiguous, to `address` on."""
        self._file.write(count("address", address), bytes_of(data))

    def sync(self, name: str | None = None) -> int:
        """Make all that was written durable; return a token to come back to it, which may have a name."""
        return self._file.sync(None if name is None else text_of("name", name))

    def rollback(self, token: int | str) -> None:
        """Go back to what a token, or the name of one, stands for. What is newer is forgotten, tokens too."""
        self._file.rollback(self._token(token))

    def drop(self, token: int | str) -> None:
        """Forget a token: what only it needs is room again."""
        self._file.drop_token(self._token(token))

    def _token(self, token: int | str) -> int:
        return self._file.token(token) if isinstance(token, str) else count("token", token)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[int]:
        """Sync; on an exception go back to that, else sync again: all of what is done within, or nothing of it."""
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
        """Read all that is there; return a line for each segment that cannot be read."""
        return self._file.verify()[0]

    def export(self, to: str | os.PathLike[str], name: str | None = None) -> int:
        """Write what the last sync left of the area `name` to a new file, or all pages, each at its address."""
        from nandram.memory_reader import MemoryReader

        with MemoryReader(self.path, "16MiB") as reader:
            return reader.export(to, name)

    def backup(self, to: str | os.PathLike[str]) -> list[str]:
        """Make the new file `to` a memory as the last sync left this one, tokens too; return what cannot be read."""
        from nandram.memory_reader import backup

        return backup(self.path, to)

    def compact(self) -> None:
        """Gather what is needed, and give the rest of the file's space back to the disk."""
        self._file.compact()

    def stats(self) -> dict[str, float]:
        """Return what was done since it was opened, and how full it is.

        ``amplification``: bytes written to the file over those of data among them; 0 before any were.
        """
        stats: dict[str, float] = dict(self._file.stats())
        data = stats["data_segments"] * SEGMENT_BYTES
        return stats | {"amplification": stats["written_bytes"] / data if data else 0.0}

    def prometheus(self) -> str:
        """Return the same in Prometheus' text format."""
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


def _is_empty_drive(path: str) -> bool:
    """Whether it is a block device that begins with zeros."""
    with contextlib.suppress(OSError):
        if Path(path).is_block_device():
            with Path(path).open("rb") as drive:
                return not any(drive.read(1 << 16))
    return False
