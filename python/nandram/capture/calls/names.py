"""Calls that name, size and free files, and those that tell how large a file is."""

from nandram.capture.calls.arguments import fields, number, split, unescape
from nandram.capture.calls.lines import Call
from nandram.capture.calls.state import State
from nandram.capture.calls.tables import Process


def _unlink(state: State, process: Process, call: Call) -> None:
    """unlink, unlinkat; a folder that unlinkat removes has no entry."""
    parts = split(call.arguments)
    path = state.path(process, None, parts[0]) if call.name == "unlink" else state.path(process, *parts[:2])
    if path is not None:
        state.files.unlink(path)


def _two_paths(state: State, process: Process, call: Call) -> tuple[str | None, str | None]:
    parts = split(call.arguments)
    if call.name in ("rename", "link"):
        return state.path(process, None, parts[0]), state.path(process, None, parts[1])
    return state.path(process, parts[0], parts[1]), state.path(process, parts[2], parts[3])


def _rename(state: State, process: Process, call: Call) -> None:
    old, new = _two_paths(state, process, call)
    if old is None or new is None:
        return
    if call.arguments.endswith("RENAME_EXCHANGE"):
        state.files.exchange(old, new)
    else:
        state.files.rename(old, new)


def _link(state: State, process: Process, call: Call) -> None:
    old, new = _two_paths(state, process, call)
    if old is not None and new is not None and state.files.find(old) is not None:
        state.files.link(old, new)


def _truncate(state: State, process: Process, call: Call) -> None:
    parts = split(call.arguments)
    path = state.path(process, None, parts[0])
    size = number(parts[1])
    file = state.files.find(path) if path is not None else None
    if file is not None and size is not None:
        state.truncate(call.at_us, file, size)


def _ftruncate(state: State, _process: Process, call: Call) -> None:
    assert call.bound is not None
    size = number(split(call.arguments)[1])
    if call.bound.file is not None and size is not None:
        state.truncate(call.at_us, call.bound.file, size)


def _fallocate(state: State, _process: Process, call: Call) -> None:
    assert call.bound is not None
    file = call.bound.file
    parts = split(call.arguments)
    offset, length = number(parts[2]), number(parts[3])
    if file is None or offset is None or length is None:
        return
    mode = parts[1]
    if "PUNCH_HOLE" in mode or "ZERO_RANGE" in mode:
        # A range set to zero is a hole to the drive too: file systems mark its blocks as not written.
        state.trim(call.at_us, file, offset, offset + length)
    elif "COLLAPSE_RANGE" in mode or "INSERT_RANGE" in mode:
        file.size_bytes += length if "INSERT_RANGE" in mode else -length
        return
    if "PUNCH_HOLE" not in mode:
        file.high_bytes = max(file.high_bytes, offset + length)
        if "KEEP_SIZE" not in mode:
            file.extend(offset + length)


def _fstat(state: State, process: Process, call: Call) -> None:
    """fstat, and newfstatat of a descriptor itself."""
    parts = split(call.arguments)
    if call.name == "newfstatat" and parts[1] != '""':
        return
    description = state.bind(process, parts[0])
    file = description.file
    found = fields(parts[-2] if call.name == "newfstatat" else parts[-1])
    mode = found.get("st_mode", "")
    if file is None:
        return
    if mode and not mode.startswith("S_IFREG"):
        state.forget(description)
        return
    size = number(found.get("st_size", ""))
    if size is not None:
        state.observe_size(file, size)


def _chdir(state: State, process: Process, call: Call) -> None:
    path = state.path(process, None, call.arguments)
    if path is not None:
        process.folder.path = path


def _fchdir(_state: State, process: Process, call: Call) -> None:
    assert call.bound is not None
    if call.bound.shown:
        process.folder.path = unescape(call.bound.shown)


HANDLERS = {
    "unlink": _unlink,
    "unlinkat": _unlink,
    "rename": _rename,
    "renameat": _rename,
    "renameat2": _rename,
    "link": _link,
    "linkat": _link,
    "truncate": _truncate,
    "truncate64": _truncate,
    "ftruncate": _ftruncate,
    "ftruncate64": _ftruncate,
    "fallocate": _fallocate,
    "fstat": _fstat,
    "fstat64": _fstat,
    "newfstatat": _fstat,
    "chdir": _chdir,
    "fchdir": _fchdir,
}
"""What each call does when it has succeeded."""
