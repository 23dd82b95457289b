"""Readers of a memory in a file, concurrent with its writer; export and backup of the last sync."""

import os
from typing import TYPE_CHECKING

from nandram.errors import UserError
from nandram.memory.calls import Opened, count, size_text

if TYPE_CHECKING:
    from nandram._core import MemoryReading


class MemoryReader(Opened):
    """Read access to the last sync of a memory in a file, concurrent with a writer.

    Later syncs become visible with `refresh`. The writer preserves the data of readers as long as it has other free
    space; after that, reads raise `nandram.StorageError`, and `refresh` continues at the newest sync. Threads may share
    a reader.
    """

    _file: "MemoryReading"

    def __init__(self, path: str | os.PathLike[str], dram: "str | int | None" = None) -> None:
        """Open the memory in `path`; `dram` is the size of the cache, by default ``"256MiB"``."""
        try:
            from nandram._core import MemoryReading
        except ImportError as error:
            raise UserError("MemoryReader needs Linux") from error

        self.path = os.fspath(path)
        self._file = MemoryReading.open(self.path, size_text("dram", dram))

    def go_to(self, token: int | str) -> None:
        """Switch to the state of a token, given by number or name. The memory itself does not change."""
        self._file.go_to(self._file.token(token) if isinstance(token, str) else count("token", token))

    def refresh(self) -> None:
        """Switch to the newest sync."""
        self._file.refresh()

    def verify(self) -> list[str]:
        """Read all data; return one line per unreadable segment."""
        return self._file.verify()

    def export(self, to: str | os.PathLike[str], name: str | None = None) -> int:
        """Write the area `name`, or all pages at their addresses, to a new file; return the number of bytes."""
        return self._file.export(os.fspath(to), name)

    def __repr__(self) -> str:
        """Return the class and the file."""
        return f"<MemoryReader of {self.path}>"


def backup(path: str | os.PathLike[str], to: str | os.PathLike[str]) -> list[str]:
    """Copy the last sync of the memory in `path` with its tokens to the new file `to`, concurrent with its writer.

    Returns one line per unreadable segment; the copy holds everything else.
    """
    try:
        from nandram._core import memory_backup
    except ImportError as error:
        raise UserError("backup needs Linux") from error

    return memory_backup(os.fspath(path), os.fspath(to))
