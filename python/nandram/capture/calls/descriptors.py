"""Calls that make, share and close descriptors, and that start programs."""

from nandram.capture.calls.arguments import descriptor, fields, flags, number, split, unescape
from nandram.capture.calls.lines import Call
from nandram.capture.calls.state import State
from nandram.capture.calls.tables import Folder, Process


def _open(state: State, process: Process, call: Call) -> None:
    parts = split(call.arguments)
    if call.name == "creat":
        words = frozenset({"O_WRONLY", "O_CREAT", "O_TRUNC"})
    elif call.name == "openat2":
        words = flags(fields(parts[2]).get("flags", ""))
    else:
        words = flags(parts[2 if call.name == "openat" else 1])
    assert call.value is not None
    shown = call.path or ""
    path = unescape(shown)
    if "O_EXCL" in words and "O_CREAT" in words:
        # The file did not exist: an untraced process removed an earlier file of this name.
        state.files.unlink(path)
    named = "O_TMPFILE" not in words
    description = state.describe(shown, path, named=named)
    description.append = "O_APPEND" in words
    # strace prints O_SYNC for O_SYNC, which holds the bit of O_DSYNC.
    description.sync = "sync" if "O_SYNC" in words else "datasync" if "O_DSYNC" in words else None
    file = description.file
    if file is not None:
        if "O_TRUNC" in words and "O_RDONLY" not in words:
            state.truncate(call.at_us, file, 0)
        elif not named or ("O_EXCL" in words and "O_CREAT" in words):
            file.resize(0)
    state.install(process, call.value, description, on_exec="O_CLOEXEC" in words)


def _duplicate(state: State, process: Process, call: Call) -> None:
    """dup, dup2, dup3."""
    assert call.bound is not None
    assert call.value is not None
    if process.descriptors.open.get(call.value) is not call.bound:
        state.install(process, call.value, call.bound, on_exec="O_CLOEXEC" in call.arguments)


def _fcntl(state: State, process: Process, call: Call) -> None:
    assert call.bound is not None
    assert call.value is not None
    parts = split(call.arguments)
    command = parts[1] if len(parts) > 1 else ""
    if command in ("F_DUPFD", "F_DUPFD_CLOEXEC"):
        state.install(process, call.value, call.bound, on_exec=command == "F_DUPFD_CLOEXEC")
    elif command == "F_SETFL":
        call.bound.append = "O_APPEND" in flags(parts[2])
    elif command == "F_SETFD":
        number_ = descriptor(parts[0])[0]
        if "FD_CLOEXEC" in parts[2]:
            process.descriptors.close_on_exec.add(number_)
        else:
            process.descriptors.close_on_exec.discard(number_)


def close(state: State, process: Process, call: Call) -> None:
    """Close a descriptor: as the call begins, since another thread may get its number before it returns."""
    state.close(process, descriptor(call.arguments)[0])


def _close_range(state: State, process: Process, call: Call) -> None:
    parts = split(call.arguments)
    first = number(parts[0].partition("<")[0])
    last = number(parts[1].partition("<")[0])
    if first is None or last is None:
        return
    if "CLOSE_RANGE_UNSHARE" in parts[2]:
        _unshare(state, process)
    chosen = [fd for fd in process.descriptors.open if first <= fd <= last]
    for fd in chosen:
        if "CLOSE_RANGE_CLOEXEC" in parts[2]:
            process.descriptors.close_on_exec.add(fd)
        else:
            state.close(process, fd)


def _unshare(_state: State, process: Process) -> None:
    if process.descriptors.users > 1:
        process.descriptors.users -= 1
        process.descriptors = process.descriptors.copy()


def _unshare_call(state: State, process: Process, call: Call) -> None:
    words = flags(call.arguments)
    if "CLONE_FILES" in words:
        _unshare(state, process)
    if "CLONE_FS" in words:
        process.folder = Folder(process.folder.path)


def _clone(state: State, process: Process, call: Call) -> None:
    if call.value:
        state.started(process, call.value)


def _execve(state: State, process: Process, _call: Call) -> None:
    _unshare(state, process)
    for fd in list(process.descriptors.close_on_exec):
        state.close(process, fd)
    process.mappings = type(process.mappings)()


HANDLERS = {
    "open": _open,
    "openat": _open,
    "openat2": _open,
    "creat": _open,
    "dup": _duplicate,
    "dup2": _duplicate,
    "dup3": _duplicate,
    "fcntl": _fcntl,
    "fcntl64": _fcntl,
    "close_range": _close_range,
    "unshare": _unshare_call,
    "fork": _clone,
    "vfork": _clone,
    "clone": _clone,
    "clone3": _clone,
    "execve": _execve,
    "execveat": _execve,
}
"""What each call does when it has succeeded."""
