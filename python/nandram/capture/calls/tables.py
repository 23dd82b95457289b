"""The state of a process that its calls refer to: open file descriptions, descriptors, mappings, the working folder."""

from __future__ import annotations

from dataclasses import dataclass, field

from nandram.capture.files import File


@dataclass(slots=True, eq=False)
class Description:
    """An open file description (open(2)): what `dup` and `fork` share."""

    file: File | None
    """None if it is not a regular file."""
    shown: str
    """What strace showed for it last; if that changes, the file was renamed or the descriptor is another one."""
    offset_bytes: int = 0
    append: bool = False
    sync: str | None = None
    """The sync that each write implies: ``sync`` for O_SYNC, ``datasync`` for O_DSYNC."""
    references: int = 0


@dataclass(slots=True, eq=False)
class Descriptors:
    """A descriptor table; threads share one."""

    open: dict[int, Description] = field(default_factory=dict)
    close_on_exec: set[int] = field(default_factory=set)
    users: int = 1

    def copy(self) -> Descriptors:
        """Return what a forked child gets."""
        for description in self.open.values():
            description.references += 1
        return Descriptors(dict(self.open), set(self.close_on_exec))


@dataclass(slots=True)
class Mapping:
    """A shared mapping of a file into memory."""

    start: int
    end: int
    file: File


@dataclass(slots=True, eq=False)
class Mappings:
    """The shared file mappings of an address space."""

    shared: list[Mapping] = field(default_factory=list)

    def add(self, start: int, length: int, file: File) -> None:
        """Map `length` bytes at `start`."""
        self.remove(start, length)
        self.shared.append(Mapping(start, start + length, file))

    def remove(self, start: int, length: int) -> None:
        """Unmap a range, which may cut mappings."""
        end = start + length
        kept = []
        for old in self.shared:
            if old.end <= start or old.start >= end:
                kept.append(old)
                continue
            if old.start < start:
                kept.append(Mapping(old.start, start, old.file))
            if old.end > end:
                kept.append(Mapping(end, old.end, old.file))
        self.shared = kept

    def within(self, start: int, length: int) -> list[File]:
        """Return the files mapped into a range, in address order, each once."""
        end = start + length
        hit = [old for old in self.shared if old.start < end and old.end > start]
        hit.sort(key=lambda old: old.start)
        return list(dict.fromkeys(old.file for old in hit))

    def copy(self) -> Mappings:
        """Return what a forked child gets."""
        return Mappings([Mapping(old.start, old.end, old.file) for old in self.shared])


@dataclass(slots=True, eq=False)
class Folder:
    """A working folder; threads share one."""

    path: str


@dataclass(slots=True, eq=False)
class Process:
    """A thread, with what it shares with others."""

    pid: int
    descriptors: Descriptors
    mappings: Mappings
    folder: Folder
