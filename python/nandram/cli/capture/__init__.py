"""``nandram capture``: record traces of real programs."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandram.cli.capture import emulated
from nandram.cli.terminal.progress import progress_bar

if TYPE_CHECKING:
    from nandram.capture import Capture

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Record a program's I/O, code pages or memory accesses.\n\nExample: nandram capture block -- sqlite3 bank.db",
)


@app.command(context_settings={"allow_interspersed_args": False})
def block(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND", help="The command and its arguments, after `--`.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Trace to write; compressed if its name ends in .gz or .zst."
        ),
    ] = Path("capture.iolog.zst"),
    include: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="Record only files whose path or name matches; repeatable."),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Skip files whose path or name matches; repeatable.")
    ] = None,
) -> None:
    """Record the file I/O of a command as a block trace.

    Records the read, write and sync calls of the command and its children, above the page cache. The trace is an fio
    iolog of version 3. strace slows the command down; a single-threaded command is disturbed least on one core,
    `taskset -c 1 nandram capture ...`. Exits with the command's status.
    """
    from nandram.capture import capture_block

    with progress_bar("reading the log") as progress:
        result = capture_block(command, output, include=include, exclude=exclude, progress=progress)
    print("\n".join(summary(result)), file=sys.stderr)
    raise typer.Exit(result.exit_status)


app.command(context_settings={"allow_interspersed_args": False})(emulated.pages)
app.command(context_settings={"allow_interspersed_args": False})(emulated.memory)


def summary(capture: "Capture") -> list[str]:
    """Return lines that list what the trace holds and what was seen but could not be recorded."""
    from nandram.units import count, size

    lines = [
        f"{capture.path}: {count(capture.files, 'file')}, {count(capture.reads, 'read')} ({size(capture.read_bytes)}), "
        f"{count(capture.writes, 'write')} ({size(capture.written_bytes)}), {count(capture.syncs, 'sync')}, "
        f"{count(capture.trims, 'trim')} ({size(capture.trimmed_bytes)}) in {capture.duration_s:.3f} s"
    ]
    notes = capture.notes
    if notes.stored_through_maps:
        names = list(notes.stored_through_maps)
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        lines.append(f"not recorded: stores through memory maps of {', '.join(names[:3])}{more}")
    if notes.loaded_through_maps:
        lines.append(f"not recorded: loads through memory maps of {count(len(notes.loaded_through_maps), 'file')}")
    if notes.io_uring:
        lines.append("not recorded: requests through io_uring, which strace cannot see")
    if notes.range_syncs:
        lines.append(
            f"not recorded: {count(notes.range_syncs, 'call')} of sync_file_range, "
            "which starts write-back without flushing the drive"
        )
    if notes.assumed_offsets:
        lines.append(
            f"assumed: {count(notes.assumed_offsets, 'file')} started at offset 0; strace did not show their offsets"
        )
    if notes.unknown_lines:
        lines.append(f"not recorded: {count(notes.unknown_lines, 'unreadable line')} of strace's log")
    if not (capture.reads or capture.writes or capture.syncs or capture.trims):
        lines.append("the trace is empty: the command did no I/O on the selected files")
    if capture.exit_status:
        lines.append(f"the command exited with status {capture.exit_status}")
    return lines
