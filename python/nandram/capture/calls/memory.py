"""Calls that map files into memory. What is loaded and stored through a mapping makes no call and is not seen."""

from nandram.capture.calls.arguments import flags, number, split
from nandram.capture.calls.lines import Call
from nandram.capture.calls.state import State
from nandram.capture.calls.tables import Process
from nandram.capture.records import Action


def _mmap(state: State, process: Process, call: Call) -> None:
    """(address, length, protection, flags, descriptor, offset) = address."""
    parts = split(call.arguments)
    length = number(parts[1])
    assert call.value is not None
    if length is None:
        return
    words = flags(parts[3])
    process.mappings.remove(call.value, length)  # MAP_FIXED replaces what was there
    if "MAP_ANONYMOUS" in words:
        return
    file = state.bind(process, parts[4]).file
    if file is None or not file.selected:
        return
    shared = "MAP_SHARED" in words or "MAP_SHARED_VALIDATE" in words
    if shared and "PROT_WRITE" in flags(parts[2]):
        state.notes.stored_through_maps[file.first_path] = None
        process.mappings.add(call.value, length, file)
    elif "MAP_DENYWRITE" not in words:  # the mark of the dynamic linker
        state.notes.loaded_through_maps.add(file.first_path)


def _munmap(_state: State, process: Process, call: Call) -> None:
    start, length = (number(part) for part in split(call.arguments))
    if start is not None and length is not None:
        process.mappings.remove(start, length)


def _mremap(_state: State, process: Process, call: Call) -> None:
    """(old address, old length, new length, flags) = new address."""
    old, old_length, length = (number(part) for part in split(call.arguments)[:3])
    if old is None or old_length is None or length is None or call.value is None:
        return
    files = process.mappings.within(old, old_length)
    process.mappings.remove(old, old_length)
    for file in files:
        process.mappings.add(call.value, length, file)


def _msync(state: State, process: Process, call: Call) -> None:
    """MS_SYNC makes the mapped range of the file durable; MS_ASYNC does nothing on Linux (msync(2), NOTES)."""
    parts = split(call.arguments)
    start, length = number(parts[0]), number(parts[1])
    if start is None or length is None or "MS_SYNC" not in flags(parts[2]):
        return
    for file in process.mappings.within(start, length):
        state.sync(call.at_us, Action.DATASYNC, file)


HANDLERS = {"mmap": _mmap, "mmap2": _mmap, "munmap": _munmap, "mremap": _mremap, "msync": _msync}
"""What each call does when it has succeeded."""
