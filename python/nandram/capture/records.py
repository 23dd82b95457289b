"""The records of a block trace, put back into the order of time.

Calls are known when they end but stand where they began: a record waits until no earlier call is under way.
"""

import heapq
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from nandram.capture.files import File


class Action(StrEnum):
    """An action on a file, as named in fio's iolog."""

    READ = "read"
    WRITE = "write"
    SYNC = "sync"
    DATASYNC = "datasync"
    TRIM = "trim"


class Record(NamedTuple):
    """One line of a block trace."""

    at_us: int
    sequence: int
    """Orders records of the same microsecond, and keeps the comparison from reaching the file."""
    action: Action
    file: File
    offset_bytes: int
    length_bytes: int


class InOrder:
    """Hands records on in the order of their times."""

    def __init__(self, write: Callable[[Record], None]) -> None:
        self._write = write
        self._waiting: list[Record] = []
        self._under_way: dict[int, int] = {}
        self._sequence = 0

    def begin(self, pid: int, at_us: int) -> None:
        """A call of `pid` began that may become a record."""
        self._under_way[pid] = at_us

    def end(self, pid: int) -> None:
        """The call of `pid` ended; its records have been added."""
        if self._under_way.pop(pid, None) is not None and self._waiting:
            self._release(min(self._under_way.values(), default=None))

    def add(self, at_us: int, action: Action, file: File, offset_bytes: int, length_bytes: int) -> None:
        """Add a record."""
        heapq.heappush(self._waiting, Record(at_us, self._sequence, action, file, offset_bytes, length_bytes))
        self._sequence += 1

    def finish(self) -> None:
        """Hand on what still waits."""
        self._under_way.clear()
        self._release(None)

    def _release(self, before_us: int | None) -> None:
        while self._waiting and (before_us is None or self._waiting[0].at_us < before_us):
            self._write(heapq.heappop(self._waiting))
