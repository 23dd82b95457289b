"""The state that system calls act on: the processes, their descriptors, the files, and what goes into the trace."""

import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from nandram.capture.calls.arguments import AT_FDCWD, descriptor, flags, string, unescape
from nandram.capture.calls.lines import Call
from nandram.capture.calls.tables import Description, Descriptors, Folder, Mappings, Process
from nandram.capture.files import File, FileTable, Selection, on_a_drive
from nandram.capture.records import Action, InOrder, Record

BLOCK_BYTES = 4096
"""File systems free whole blocks; a trim covers the whole blocks of what was freed."""
_TRIM_BYTES_MAX = 1 << 31
"""fio reads a length as 32 bits."""


@dataclass
class Notes:
    """Activity that a capture saw but cannot record in the trace."""

    stored_through_maps: dict[str, None] = field(default_factory=dict)
    """Files mapped shared and writable (a set that keeps its order)."""
    loaded_through_maps: set[str] = field(default_factory=set)
    """Files mapped to be read, other than programs and their libraries."""
    io_uring: bool = False
    range_syncs: int = 0
    """sync_file_range(2): starts writing back, flushes no drive."""
    assumed_offsets: int = 0
    """Reads and writes whose offset rests on an assumption."""
    unknown_lines: int = 0


@dataclass
class Knowledge:
    """Facts that are needed before the log reports them."""

    parents: dict[int, deque[int]] = field(default_factory=dict)
    """For each thread the one that started it; several times if its number was used again."""
    initial_sizes: dict[int, int] = field(default_factory=dict)
    """Sizes of files that were appended to before the log said how large they are, by `File.number`."""


class State:
    """State that system calls read and change."""

    def __init__(
        self,
        write: Callable[[Record], None],
        selection: Selection,
        folder: str,
        knowledge: Knowledge,
        inherited: dict[int, tuple[str, int, bool]],
    ) -> None:
        self.now_us = 0
        self.notes = Notes()
        self.files = FileTable(selection, self._file_gone)
        self.files.initial_sizes = knowledge.initial_sizes
        self.found_sizes: dict[int, int] = {}
        self.order = InOrder(write)
        self.written_last: File | None = None
        self.clones: dict[int, Call] = {}
        """Calls under way that start a thread or a process, by the caller."""
        self._folder = folder
        self._parents = {pid: deque(parents) for pid, parents in knowledge.parents.items()}
        self._inherited = inherited
        self._processes: dict[int, Process] = {}
        self._on_a_drive: dict[str, bool] = {}
        self._appended: dict[int, File] = {}

    # -- processes

    def process(self, pid: int) -> Process:
        """Return the thread `pid`; one not heard of before inherits from the one that is starting it."""
        known = self._processes.get(pid)
        if known is not None:
            return known
        parents = self._parents.get(pid)
        parent = self._processes.get(parents.popleft()) if parents else None
        if parent is not None:
            return self.start(parent, pid)
        process = Process(pid, Descriptors(), Mappings(), Folder(self._folder))
        if not self._processes:
            self._inherit(process)
        self._processes[pid] = process
        return process

    def _inherit(self, process: Process) -> None:
        """Give the traced command the files that its standard streams were redirected to."""
        shared: dict[tuple[str, int, bool], Description] = {}
        for number, stream in self._inherited.items():
            path, offset, append = stream
            description = shared.get(stream)
            if description is None:
                description = self.describe(path, path, named=True)
                description.offset_bytes, description.append = offset, append
                shared[stream] = description
            self.install(process, number, description)

    def start(self, parent: Process, pid: int) -> Process:
        """Start a thread or a process; the flags of the clone under way say what it shares."""
        call = self.clones.get(parent.pid)
        words = _clone_flags(call) if call is not None else frozenset()
        descriptors = parent.descriptors
        if "CLONE_FILES" in words:
            descriptors.users += 1
        else:
            descriptors = descriptors.copy()
        mappings = parent.mappings if "CLONE_VM" in words else parent.mappings.copy()
        folder = parent.folder if "CLONE_FS" in words else Folder(parent.folder.path)
        process = Process(pid, descriptors, mappings, folder)
        self._processes[pid] = process
        return process

    def started(self, parent: Process, pid: int) -> None:
        """The call that starts `pid` returned; the child may have been heard of before."""
        if pid not in self._processes:
            parents = self._parents.get(pid)
            if parents:
                parents.popleft()
            self.start(parent, pid)

    def exit(self, pid: int) -> None:
        """Remove a thread that exited."""
        process = self._processes.pop(pid, None)
        self.clones.pop(pid, None)
        self.order.end(pid)
        if process is None:
            return
        process.descriptors.users -= 1
        if process.descriptors.users == 0:
            for description in process.descriptors.open.values():
                self.release(description)

    def finish(self) -> None:
        """Finish the log: determine sizes that it did not report, and write pending records."""
        for file in self._appended.values():
            name = next(iter(file.names), None)
            try:
                if not file.size_known and name is not None:
                    self.observe_size(file, os.stat(name).st_size)
            except OSError:
                self.notes.assumed_offsets += 1
        self.order.finish()

    # -- descriptors

    def describe(self, shown: str, path: str, *, named: bool) -> Description:
        """Open `path`."""
        tracked = self._on_a_drive.get(path)
        if tracked is None:
            tracked = self._on_a_drive[path] = on_a_drive(path)
        if not tracked:
            return Description(None, shown)
        file = self.files.obtain(path, named=named)
        file.references += 1
        return Description(file, shown)

    def install(self, process: Process, number: int, description: Description, *, on_exec: bool = False) -> None:
        """Let `number` refer to `description`, closing what it referred to."""
        description.references += 1
        self.close(process, number)
        process.descriptors.open[number] = description
        if on_exec:
            process.descriptors.close_on_exec.add(number)

    def close(self, process: Process, number: int) -> None:
        """Close a descriptor, if it is open."""
        description = process.descriptors.open.pop(number, None)
        process.descriptors.close_on_exec.discard(number)
        if description is not None:
            self.release(description)

    def release(self, description: Description) -> None:
        """Drop one reference to an open description."""
        description.references -= 1
        file = description.file
        if description.references > 0 or file is None:
            return
        self.files.release(file)

    def bind(self, process: Process, text: str) -> Description:
        """Return what a descriptor argument, ``3</path>``, refers to."""
        number, shown, deleted = descriptor(text)
        shown = shown or ""
        known = process.descriptors.open.get(number)
        if known is not None and known.shown == shown:
            return known
        path = unescape(shown)
        if known is not None:
            file = known.file
            # The file was renamed, or an untraced call replaced the descriptor.
            same = file is None and not path.startswith("/")
            if same or (file is not None and (deleted or path in file.names)):
                known.shown = shown
                return known
        description = self.describe(shown, path, named=not deleted)
        if description.file is not None and number > 2:
            self.notes.assumed_offsets += 1
        self.install(process, number, description)
        return description

    def forget(self, description: Description) -> None:
        """`description` turned out not to be a regular file."""
        file = description.file
        if file is None:
            return
        description.file = None
        file.high_bytes = 0
        self._on_a_drive[unescape(description.shown)] = False
        self.files.release(file)

    # -- paths

    def path(self, process: Process, folder: str | None, text: str) -> str | None:
        """Read a path argument relative to a folder descriptor argument; None if it cannot be read."""
        path = string(text)
        if not path:
            return None
        base = process.folder.path
        if folder is not None:
            number, shown, _ = descriptor(folder)
            if shown is not None:
                base = unescape(shown)
                if number == AT_FDCWD:
                    process.folder.path = base
        parent, name = os.path.split(os.path.join(base, path))
        return os.path.normpath(os.path.join(os.path.realpath(parent), name))

    # -- what goes into the trace

    def transfer(self, at_us: int, action: Action, file: File, offset: int, length: int) -> None:
        """Record a read or a write."""
        if length <= 0:
            return
        end = offset + length
        if action is Action.WRITE:
            self.written_last = file
        elif end > file.size_bytes:
            self._at_least(file, end)
        file.extend(end)
        if file.selected:
            self.order.add(at_us, action, file, offset, length)

    def append_offset(self, file: File, length: int) -> int:
        """Return where `length` bytes appended to `file` go."""
        if not file.size_known:
            file.appended_bytes += length
            self._appended[file.number] = file
        return file.size_bytes

    def observe_size(self, file: File, size: int) -> None:
        """The log says how large the file is now."""
        if size > file.size_bytes:
            self._at_least(file, size)
        file.resize(size)
        file.high_bytes = max(file.high_bytes, size)

    def _at_least(self, file: File, size: int) -> None:
        """The file is larger than what was written to it explains: it must have been that much larger at first."""
        if not file.size_known and file.appended_bytes:
            self.found_sizes[file.number] = size - file.appended_bytes

    def sync(self, at_us: int, action: Action, file: File) -> None:
        """Record a sync."""
        if file.selected:
            self.order.add(at_us, action, file, 0, 0)

    def trim(self, at_us: int, file: File, start: int, end: int) -> None:
        """Record that the whole blocks within a range hold no data any more."""
        first = -(-start // BLOCK_BYTES) * BLOCK_BYTES
        # The last block of a file is freed with it.
        last = -(-end // BLOCK_BYTES) * BLOCK_BYTES if end >= file.high_bytes else end // BLOCK_BYTES * BLOCK_BYTES
        if not file.selected:
            return
        for offset in range(first, last, _TRIM_BYTES_MAX):
            self.order.add(at_us, Action.TRIM, file, offset, min(_TRIM_BYTES_MAX, last - offset))

    def truncate(self, at_us: int, file: File, size: int) -> None:
        """Cut the file, or make it longer with a hole."""
        if size < file.high_bytes:
            self.trim(at_us, file, size, file.high_bytes)
            file.high_bytes = size
        file.resize(size)

    def _file_gone(self, file: File) -> None:
        self.trim(self.now_us, file, 0, file.high_bytes)
        file.high_bytes = 0


def _clone_flags(call: Call) -> frozenset[str]:
    """Read the flags of clone and clone3: ``flags=A|B``."""
    if call.name == "vfork":
        return frozenset({"CLONE_VM", "CLONE_VFORK"})
    _, found, rest = call.arguments.partition("flags=")
    if not found:
        return frozenset()
    end = min((cut for cut in map(rest.find, ", })") if cut >= 0), default=len(rest))
    return flags(rest[:end])
