"""From the lines of strace's log to the records of a block trace."""

from collections import deque
from collections.abc import Callable, Iterable

from nandram.capture.calls import data, descriptors, memory, names
from nandram.capture.calls.lines import Call, Moment, events
from nandram.capture.calls.state import Knowledge, Notes, State
from nandram.capture.calls.tables import Process
from nandram.capture.files import Selection
from nandram.capture.records import Record

Handler = Callable[[State, Process, Call], None]

_HANDLERS: dict[str, Handler] = {
    **data.HANDLERS,
    **descriptors.HANDLERS,
    **names.HANDLERS,
    **memory.HANDLERS,
}
_OF_A_DESCRIPTOR = frozenset(
    """read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2 lseek _llseek fsync fdatasync syncfs
    sync_file_range copy_file_range splice sendfile sendfile64 dup dup2 dup3 fcntl fcntl64 ftruncate ftruncate64
    fallocate fchdir""".split()
)
"""Calls whose first argument is a descriptor; it means what it meant when the call began."""
_OF_OTHERS = frozenset(
    """close close_range open openat openat2 creat dup2 dup3 unlink unlinkat rename renameat renameat2 truncate
    truncate64 execve execveat io_submit sync msync copy_file_range splice sendfile sendfile64""".split()
)
"""Calls that can become a record of another file than that of their first argument."""
_STARTS = frozenset({"fork", "vfork", "clone", "clone3"})

CALLS = (*_HANDLERS, "close")
"""Every system call that the recorder understands."""


def parents(lines: Iterable[str]) -> dict[int, deque[int]]:
    """Find who started each thread: a child may be heard of before the call that started it returns."""
    found: dict[int, deque[int]] = {}
    starting = (line for line in lines if "clone" in line or "fork" in line or "+++" in line)
    for moment, call in events(starting):
        if moment is Moment.END and call.name in _STARTS and call.value:
            found.setdefault(call.value, deque()).append(call.pid)
    return found


def record(
    lines: Iterable[str],
    write: Callable[[Record], None],
    selection: Selection,
    folder: str,
    knowledge: Knowledge,
    inherited: dict[int, tuple[str, int, bool]],
) -> tuple[Notes, dict[int, int]]:
    """Write the records of a log in the order of time; return what could not be recorded, and sizes found late.

    `folder` is where the command was started; `inherited` says, for each standard stream that is a regular file, its
    path, its offset and whether it appends.
    """
    state = State(write, selection, folder, knowledge, inherited)
    for moment, call in events(lines):
        if moment is Moment.BEGIN:
            state.now_us = call.at_us
            _begin(state, call)
        elif moment is Moment.END:
            if call.value is not None:
                handler = _HANDLERS.get(call.name)
                if handler is not None:
                    state.now_us = call.at_us
                    handler(state, state.process(call.pid), call)
            if call.name in _STARTS:
                state.clones.pop(call.pid, None)
            _end(state, call)
        elif moment is Moment.ABANDONED:
            _end(state, call)
        elif moment is Moment.UNKNOWN:
            state.notes.unknown_lines += 1
        else:
            state.now_us = call.at_us
            state.exit(call.pid)
    state.finish()
    return state.notes, state.found_sizes


def _begin(state: State, call: Call) -> None:
    name = call.name
    process = state.process(call.pid)
    if name in _OF_A_DESCRIPTOR:
        description = call.bound = state.bind(process, call.arguments)
        description.references += 1  # the call keeps it open even if another thread closes the descriptor
        if description.file is not None:
            state.order.begin(call.pid, call.at_us)
    elif name in _STARTS:
        state.clones[call.pid] = call
    if name in _OF_OTHERS:
        state.order.begin(call.pid, call.at_us)
        if name == "close":
            descriptors.close(state, process, call)


def _end(state: State, call: Call) -> None:
    if call.bound is not None:
        state.release(call.bound)
    state.order.end(call.pid)
