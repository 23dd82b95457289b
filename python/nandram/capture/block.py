"""``nandram capture block``: run a command, record its file I/O, write it as a block trace."""

import fcntl
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nandram.capture import strace
from nandram.capture.calls.recorder import parents, record
from nandram.capture.calls.state import Knowledge, Notes
from nandram.capture.files import Selection
from nandram.capture.iolog import IologWriter
from nandram.capture.records import Action
from nandram.errors import UserError


@dataclass(frozen=True)
class Capture:
    """Summary of a captured block trace."""

    path: Path
    exit_status: int
    """The command's; 128 + n if signal n ended it."""
    files: int
    reads: int
    read_bytes: int
    writes: int
    written_bytes: int
    syncs: int
    """fsync and fdatasync, and what O_SYNC, O_DSYNC, msync and sync amount to."""
    trims: int
    trimmed_bytes: int
    duration_s: float
    """From the first record to the last."""
    notes: Notes
    """Activity that was seen but could not be recorded."""


def capture_block(
    command: list[str],
    output: str | os.PathLike[str],
    *,
    include: list[str] | None = None,
    exclude: list[str] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Capture:
    """Run `command` and write its file reads, writes and syncs, and its children's, to `output`.

    The calls are recorded, before the page cache: a read that the page cache answers is in the trace, and so
    is a write that never reaches a drive because the file was removed first. Regular files only. A file whose last
    name and descriptor are gone, that is cut short or punched, is trimmed, as on a file system mounted with
    ``discard``. A file keeps the name under which it was met first, whatever it is renamed to. The command runs slower
    than alone, and so do the times in the trace.

    Not recorded: what is loaded and stored through memory maps, what io_uring does, syncs of folders. `Capture.notes`
    says what of this was seen.

    `include`, `exclude`: globs (see `Selection`). `progress` is called with the fraction of the log read, once the
    command has ended. Raises `UserError` if strace or the command cannot be started, or `output` not be written.
    """
    path = Path(output)
    folder = os.getcwd()
    selection = Selection(include or [], exclude or [], folder)
    inherited = _standard_streams()
    strace.check_command(command)
    tracer = strace.find()
    _check_writable(path)
    with tempfile.TemporaryDirectory(prefix="nandram-capture-") as scratch:
        log = Path(scratch) / "strace.log"
        status = strace.run(tracer, command, log)
        knowledge = Knowledge(parents(_lines(log, None)))
        notes, writer = _decode(log, path, folder, selection, knowledge, inherited, progress)
        if knowledge.initial_sizes:
            notes, writer = _decode(log, path, folder, selection, knowledge, inherited, progress)
    counts, sizes = writer.counts, writer.bytes
    return Capture(
        path=path,
        exit_status=status,
        files=writer.files,
        reads=counts[Action.READ],
        read_bytes=sizes[Action.READ],
        writes=counts[Action.WRITE],
        written_bytes=sizes[Action.WRITE],
        syncs=counts[Action.SYNC] + counts[Action.DATASYNC],
        trims=counts[Action.TRIM],
        trimmed_bytes=sizes[Action.TRIM],
        duration_s=(writer.last_us - (writer.first_us or 0)) / 1e6,
        notes=notes,
    )


def _check_writable(path: Path) -> None:
    """Check that the trace is writable before the command runs, keeping an existing file. Raises `UserError`."""
    existed = path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error
    if not existed:
        path.unlink()


def _decode(
    log: Path,
    path: Path,
    folder: str,
    selection: Selection,
    knowledge: Knowledge,
    inherited: dict[int, tuple[str, int, bool]],
    progress: Callable[[float], None] | None,
) -> tuple[Notes, IologWriter]:
    """Write the trace; sizes that the log says too late are added to `knowledge`, for a second pass."""
    with IologWriter(path, folder) as writer:
        notes, sizes = record(_lines(log, progress), writer.write, selection, folder, knowledge, inherited)
    knowledge.initial_sizes = sizes
    return notes, writer


def _lines(log: Path, progress: Callable[[float], None] | None) -> Iterator[str]:
    """Yield the lines of the log; strace writes ASCII."""
    total = log.stat().st_size
    done = 0
    with log.open(encoding="ascii", errors="surrogateescape", newline="\n") as file:
        for number, line in enumerate(file):
            done += len(line)
            if progress is not None and number % 10_000 == 0:
                progress(done / total)
            yield line


def _standard_streams() -> dict[int, tuple[str, int, bool]]:
    """Return path, offset and O_APPEND of each standard stream that is a regular file; the command inherits them."""
    streams = {}
    for number in range(3):
        try:
            if stat.S_ISREG(os.fstat(number).st_mode):
                path = os.readlink(f"/proc/self/fd/{number}")
                append = bool(fcntl.fcntl(number, fcntl.F_GETFL) & os.O_APPEND)
                streams[number] = (path, os.lseek(number, 0, os.SEEK_CUR), append)
        except OSError:
            continue
    return streams
