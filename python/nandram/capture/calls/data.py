"""Calls that move data or make it durable."""

from nandram.capture.calls.arguments import fields, number, pointed, split
from nandram.capture.calls.lines import Call
from nandram.capture.calls.state import State
from nandram.capture.calls.tables import Description, Process
from nandram.capture.records import Action


def _bound(call: Call) -> Description:
    assert call.bound is not None
    return call.bound


def _count(call: Call) -> int:
    assert call.value is not None
    return call.value


def _read(state: State, _process: Process, call: Call) -> None:
    description = _bound(call)
    if description.file is not None:
        state.transfer(call.at_us, Action.READ, description.file, description.offset_bytes, _count(call))
        description.offset_bytes += _count(call)


def _read_at(state: State, _process: Process, call: Call) -> None:
    """pread64, preadv: the offset is the last argument."""
    file = _bound(call).file
    offset = number(call.arguments.rpartition(", ")[2])
    if file is not None and offset is not None:
        state.transfer(call.at_us, Action.READ, file, offset, _count(call))


def _read_at_with_flags(state: State, process: Process, call: Call) -> None:
    """preadv2: the offset, -1 for the current one, then flags."""
    file = _bound(call).file
    offset = number(call.arguments.rsplit(", ", 2)[1])
    if offset == -1:
        _read(state, process, call)
    elif file is not None and offset is not None:
        state.transfer(call.at_us, Action.READ, file, offset, _count(call))


def _put(
    state: State,
    call: Call,
    description: Description,
    offset: int | None,
    *,
    append: bool = False,
    overwrite: bool = False,
    sync: str | None = None,
) -> None:
    """Record a write at `offset`, or at the current one, or at the end of a file opened to append."""
    file = description.file
    length = _count(call)
    if file is None or length == 0:
        return
    current = offset is None
    if append or (description.append and not overwrite):
        # Linux appends whatever offset pwrite names (pwrite(2), BUGS).
        offset = state.append_offset(file, length)
    elif offset is None:
        offset = description.offset_bytes
    state.transfer(call.at_us, Action.WRITE, file, offset, length)
    if current:
        description.offset_bytes = offset + length
    sync = sync or description.sync
    if sync is not None:
        state.sync(call.at_us, Action(sync), file)


def _write(state: State, _process: Process, call: Call) -> None:
    _put(state, call, _bound(call), None)


def _write_at(state: State, _process: Process, call: Call) -> None:
    """pwrite64, pwritev: the offset is the last argument."""
    offset = number(call.arguments.rpartition(", ")[2])
    if offset is not None:
        _put(state, call, _bound(call), offset)


def _write_at_with_flags(state: State, _process: Process, call: Call) -> None:
    """pwritev2: the offset, -1 for the current one, then flags, some of which imply a sync or an append."""
    _, at, words = call.arguments.rsplit(", ", 2)
    offset = number(at)
    given = words.split("|")
    sync = "sync" if "RWF_SYNC" in given else "datasync" if "RWF_DSYNC" in given else None
    if offset is not None:
        _put(
            state,
            call,
            _bound(call),
            None if offset == -1 else offset,
            append="RWF_APPEND" in given,
            overwrite="RWF_NOAPPEND" in given,
            sync=sync,
        )


def _seek(state: State, _process: Process, call: Call) -> None:
    description = _bound(call)
    result = _count(call)
    if call.name == "_llseek":  # 32-bit: the result is written through a pointer, [123]
        parts = split(call.arguments)
        written = pointed(parts[2]) if len(parts) > 2 else None
        if written is None:
            return
        result = written
    description.offset_bytes = result
    if description.file is not None and call.arguments.endswith("SEEK_END"):
        distance = number(split(call.arguments)[1])
        if distance is not None:
            state.observe_size(description.file, result - distance)


def _fsync(state: State, _process: Process, call: Call) -> None:
    file = _bound(call).file
    if file is not None:
        state.sync(call.at_us, Action.SYNC if call.name == "fsync" else Action.DATASYNC, file)


def _sync_all(state: State, _process: Process, call: Call) -> None:
    """sync, syncfs: one flush of the drive, noted at the file written last."""
    if state.written_last is not None:
        state.sync(call.at_us, Action.SYNC, state.written_last)


def _sync_file_range(state: State, _process: Process, call: Call) -> None:
    file = _bound(call).file
    if file is not None and file.selected:
        state.notes.range_syncs += 1


def _copy(state: State, call: Call, source: Description, from_: str, target: Description, to: str) -> None:
    """Record a copy inside the kernel: a read, a write, or both, at the offsets given or the current ones."""
    length = _count(call)
    if length <= 0:
        return
    if source.file is not None:
        offset = pointed(from_)
        state.transfer(call.at_us, Action.READ, source.file, source.offset_bytes if offset is None else offset, length)
        if offset is None:
            source.offset_bytes += length
    if target.file is not None:
        _put(state, call, target, pointed(to))


def _copy_range(state: State, process: Process, call: Call) -> None:
    """copy_file_range, splice: (source, offset, target, offset, length, flags)."""
    parts = split(call.arguments)
    if len(parts) >= 4:
        _copy(state, call, _bound(call), parts[1], state.bind(process, parts[2]), parts[3])


def _sendfile(state: State, process: Process, call: Call) -> None:
    """sendfile: (target, source, offset, length)."""
    parts = split(call.arguments)
    if len(parts) >= 4:
        _copy(state, call, state.bind(process, parts[1]), parts[2], _bound(call), "NULL")


def _vector_bytes(text: str) -> int:
    """Add up the lengths of ``[{iov_base=..., iov_len=512}, ...]``."""
    lengths = (number(fields(part).get("iov_len", "")) for part in split(text.strip()[1:-1]))
    return sum(length for length in lengths if length is not None)


def _io_submit(state: State, process: Process, call: Call) -> None:
    """io_submit: (context, count, [control blocks]); the first `value` of them were taken."""
    parts = split(call.arguments)
    if len(parts) < 3 or not parts[2].startswith("["):
        return
    for text in split(parts[2][1:-1])[: _count(call)]:
        block = fields(text)
        command = block.get("aio_lio_opcode", "").removeprefix("IOCB_CMD_")
        description = state.bind(process, block.get("aio_fildes", ""))
        file = description.file
        if file is None:
            continue
        if command in ("FSYNC", "FDSYNC"):
            state.sync(call.at_us, Action.SYNC if command == "FSYNC" else Action.DATASYNC, file)
            continue
        offset = number(block.get("aio_offset", ""))
        length = _vector_bytes(block.get("aio_buf", "[]")) if command.endswith("V") else number(block["aio_nbytes"])
        if offset is None or length is None:
            continue
        if command.startswith("PREAD"):
            state.transfer(call.at_us, Action.READ, file, offset, length)
        elif command.startswith("PWRITE"):
            state.transfer(call.at_us, Action.WRITE, file, offset, length)
            if description.sync is not None:
                state.sync(call.at_us, Action(description.sync), file)


def _io_uring_setup(state: State, _process: Process, _call: Call) -> None:
    state.notes.io_uring = True


HANDLERS = {
    "read": _read,
    "readv": _read,
    "pread64": _read_at,
    "preadv": _read_at,
    "preadv2": _read_at_with_flags,
    "write": _write,
    "writev": _write,
    "pwrite64": _write_at,
    "pwritev": _write_at,
    "pwritev2": _write_at_with_flags,
    "lseek": _seek,
    "_llseek": _seek,
    "fsync": _fsync,
    "fdatasync": _fsync,
    "sync": _sync_all,
    "syncfs": _sync_all,
    "sync_file_range": _sync_file_range,
    "copy_file_range": _copy_range,
    "splice": _copy_range,
    "sendfile": _sendfile,
    "sendfile64": _sendfile,
    "io_submit": _io_submit,
    "io_uring_setup": _io_uring_setup,
}
"""What each call does when it has succeeded."""
