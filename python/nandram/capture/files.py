"""Files of a captured command: names, sizes and extents of data.

A file is followed through renames and hard links, and lives until its last name and its last open descriptor are
gone; then its blocks are free, and a file system mounted with ``discard`` would trim them.
"""

import fnmatch
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_MEMORY = ("/dev/", "/proc/", "/sys/", "/memfd:", "/SYSV")
"""What lies below these is not on a drive."""


@dataclass(slots=True, eq=False)
class File:
    """One regular file."""

    number: int
    """Counted from 0 in the order in which the files were met; the same in each pass over a log."""
    first_path: str
    """The path under which it was met first; the trace names it after this one."""
    selected: bool
    """Whether the file is selected for the trace."""
    names: set[str] = field(default_factory=set)
    size_bytes: int = 0
    """At least this, until the log has said (`size_known`)."""
    size_known: bool = False
    high_bytes: int = 0
    """Data or reserved blocks may lie below this."""
    references: int = 0
    """Open descriptions that refer to it."""
    appended_bytes: int = 0
    """Appended while the size was not known."""

    def extend(self, end: int) -> None:
        """Note that the file holds data up to `end`."""
        self.size_bytes = max(self.size_bytes, end)
        self.high_bytes = max(self.high_bytes, end)

    def resize(self, size: int) -> None:
        """Note how large the file is."""
        self.size_bytes = size
        self.size_known = True

    @property
    def gone(self) -> bool:
        """Whether the file is no longer reachable."""
        return not self.names and self.references == 0


class Selection:
    """Which files the user wants: those that an include pattern matches, if there is one, and no exclude pattern.

    A pattern is a shell glob. It is compared with the file's path, with its path below the working folder, and with
    its name alone; ``*`` matches slashes too.
    """

    def __init__(self, include: list[str], exclude: list[str], folder: str) -> None:
        self._include = include
        self._exclude = exclude
        self._folder = folder.rstrip("/") + "/"

    def __contains__(self, path: str) -> bool:
        forms = [path, path.removeprefix(self._folder), os.path.basename(path)]

        def any_of(patterns: list[str]) -> bool:
            return any(fnmatch.fnmatchcase(form, pattern) for pattern in patterns for form in forms)

        return (not self._include or any_of(self._include)) and not any_of(self._exclude)


def on_a_drive(path: str) -> bool:
    """Whether `path`, as strace shows a descriptor, can be a regular file on a drive."""
    if not path.startswith("/") or path.startswith(_MEMORY):
        return False
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return True  # removed since: files are far more often removed than pipes


class FileTable:
    """The files by name."""

    def __init__(self, selection: Selection, on_gone: Callable[[File], None]) -> None:
        self._selection = selection
        self._on_gone = on_gone
        self._by_path: dict[str, File] = {}
        self._count = 0
        self.initial_sizes: dict[int, int] = {}
        """The size a file had when it was met, by its number, as an earlier pass found out."""

    def find(self, path: str) -> File | None:
        """Return the file that has this name now."""
        return self._by_path.get(path)

    def obtain(self, path: str, *, named: bool = True) -> File:
        """Return the file of this name, a new one if it was not met before; not `named`: it has no name (any more)."""
        known = self._by_path.get(path) if named else None
        if known is not None:
            return known
        file = File(self._count, path, path in self._selection)
        self._count += 1
        if file.number in self.initial_sizes:
            file.resize(self.initial_sizes[file.number])
        if named:
            file.names.add(path)
            self._by_path[path] = file
        return file

    def __iter__(self) -> Iterator[File]:
        """Yield the files that have a name."""
        return iter(self._by_path.values())

    def release(self, file: File) -> None:
        """Drop one reference of an open description."""
        assert file.references > 0
        file.references -= 1
        if file.gone:
            self._on_gone(file)

    def unlink(self, path: str) -> None:
        """Take the name `path` away."""
        file = self._by_path.pop(path, None)
        if file is None:
            return
        file.names.discard(path)
        if file.gone:
            self._on_gone(file)

    def link(self, old: str, new: str) -> None:
        """Give the file `old` the further name `new`."""
        file = self.obtain(old)
        file.names.add(new)
        self._by_path[new] = file

    def rename(self, old: str, new: str) -> None:
        """Rename a file or a folder; what `new` named loses that name."""
        if old == new or (old in self._by_path and self._by_path.get(new) is self._by_path[old]):
            return  # rename(2) does nothing when both are names of one file
        self.unlink(new)
        self._move(old, new)

    def exchange(self, one: str, other: str) -> None:
        """Exchange two names."""
        between = one + "\0"
        self._move(one, between)
        self._move(other, one)
        self._move(between, other)

    def _move(self, old: str, new: str) -> None:
        below = old + "/"
        for path in [path for path in self._by_path if path == old or path.startswith(below)]:
            file = self._by_path.pop(path)
            moved = new + path[len(old) :]
            file.names.discard(path)
            file.names.add(moved)
            self._by_path[moved] = file
