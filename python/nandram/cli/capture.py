"""``nandram capture``: traces of real programs."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandram.cli import capture_emulated
from nandram.cli.progress import progress_bar

if TYPE_CHECKING:
    from nandram.capture import Capture

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Record what a program does, to replay it on a simulated machine."
)


@app.command(context_settings={"allow_interspersed_args": False})
def block(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND", help="The command and its arguments, after `--`.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="The trace; compressed if it ends in .gz or .zst."),
    ] = Path("capture.iolog.zst"),
    include: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="Only files that match, by path or name; may be given again."),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="No files that match; may be given again.")
    ] = None,
) -> None:
    """Record the file I/O of a command as a block trace.

    The reads, writes and syncs of the command and its children are recorded as it asks for them, before the page
    cache. The trace is an fio iolog of version 3. The command runs under strace, and slower for it: a command of one
    thread is disturbed least on one core, `taskset -c 1 nandram capture ...`. Exits with the command's status.
    """
    from nandram.capture import capture_block

    with progress_bar("reading the log") as progress:
        result = capture_block(command, output, include=include, exclude=exclude, progress=progress)
    print("\n".join(summary(result)), file=sys.stderr)
    raise typer.Exit(result.exit_status)


app.command(context_settings={"allow_interspersed_args": False})(capture_emulated.pages)
app.command(context_settings={"allow_interspersed_args": False})(capture_emulated.memory)


def summary(capture: "Capture") -> list[str]:
    """Say what was recorded, and what was seen and could not be."""
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
        lines.append(f"not recorded: what was stored through memory maps of {', '.join(names[:3])}{more}")
    if notes.loaded_through_maps:
        lines.append(
            f"not recorded: what was read through memory maps of {count(len(notes.loaded_through_maps), 'file')}"
        )
    if notes.io_uring:
        lines.append("not recorded: what the program did through io_uring, which strace cannot see")
    if notes.range_syncs:
        lines.append(
            f"not recorded: {count(notes.range_syncs, 'sync_file_range')}, which start writing and flush no drive"
        )
    if notes.assumed_offsets:
        lines.append(
            f"assumed: {count(notes.assumed_offsets, 'file')} started at offset 0; strace did not show where they were"
        )
    if notes.unknown_lines:
        lines.append(f"not recorded: {count(notes.unknown_lines, 'line')} of strace's log that could not be read")
    if not (capture.reads or capture.writes or capture.syncs or capture.trims):
        lines.append("the trace is empty: the command did no file I/O, or none in the files chosen")
    if capture.exit_status:
        lines.append(f"the command exited with status {capture.exit_status}")
    return lines
