"""A reader beside the writer of a memory on a file, which exports and backs up what the last sync left."""

import os
from typing import TYPE_CHECKING

from nandram.errors import UserError
from nandram.memory_calls import Opened, check_sizes, count

if TYPE_CHECKING:
    from nandram._core import MemoryReading


class MemoryReader(Opened):
    """A memory on a file as its last sync left it, to be read, whether or not somebody writes to it meanwhile.

    What the writer does shows at the next `refresh`. The writer keeps what is read as long as it has other room; has it
    none, reading raises `nandram.StorageError`, and `refresh` goes on from the newest sync. Threads may share a reader.
    """

    _file: "MemoryReading"

    def __init__(self, path: str | os.PathLike[str], dram: str | None = None) -> None:
        """Open the memory in `path`; `dram`: of the cache, ``"256MiB"`` unless given."""
        try:
            from nandram._core import MemoryReading
        except ImportError as error:
            raise UserError("MemoryReader needs Linux") from error

        check_sizes(dram=dram)
        self.path = os.fspath(path)
        self._file = MemoryReading.open(self.path, dram)

    def go_to(self, token: int | str) -> None:
        """Read from now on what a token, or the name of one, stands for. The memory itself is not changed."""
        self._file.go_to(self._file.token(token) if isinstance(token, str) else count("token", token))

    def refresh(self) -> None:
        """Read from now on what the newest sync left."""
        self._file.refresh()

    def verify(self) -> list[str]:
        """Read all that is there; return a line for each segment that cannot be read."""
        return self._file.verify()

    def export(self, to: str | os.PathLike[str], name: str | None = None) -> int:
        """Write the bytes of the area `name` to a new file, or of all pages, each at its address; return how many."""
        return self._file.export(os.fspath(to), name)

    def __repr__(self) -> str:
        """Name its file."""
        return f"<MemoryReader of {self.path}>"


def backup(path: str | os.PathLike[str], to: str | os.PathLike[str]) -> list[str]:
    """Make the new file `to` a memory as the last sync left that in `path`, with its tokens, while its writer goes on.

    Returns a line for each segment that cannot be read; the copy is there all the same.
    """
    try:
        from nandram._core import memory_backup
    except ImportError as error:
        raise UserError("backup needs Linux") from error

    return memory_backup(os.fspath(path), os.fspath(to))
