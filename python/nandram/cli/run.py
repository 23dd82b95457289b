"""``nandram run``: a workload on a system."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandram.errors import UserError

if TYPE_CHECKING:
    from nandram.result import Result

SystemArgument = Annotated[str, typer.Argument(metavar="SYSTEM", help="A preset's name or a system file.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the system; may be given again."),
]

ScaleOption = Annotated[
    str | None,
    typer.Option(metavar="1/N", help="Use a smaller copy of the drive: blocks, capacity and caches together."),
]


def run(
    system: SystemArgument,
    workload: Annotated[str, typer.Argument(metavar="WORKLOAD", help="A fio job file or a trace.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Write summary.json, Parquet tables and report.html there."),
    ] = None,
    seed: Annotated[str, typer.Option(metavar="N", help="The same seed gives the same bytes.")] = "1",
    changes: SetOption = None,
    scale: ScaleOption = None,
    payload: Annotated[
        str, typer.Option(metavar="none|stamp", help="stamp: check every sector that is read.")
    ] = "none",
    timeline: Annotated[bool, typer.Option("--timeline", help="Write timeline.json for Perfetto; needs -o.")] = False,
    replay: Annotated[
        str | None,
        typer.Option(
            metavar="MODE",
            help="Traces: open (when they say), closed:DEPTH (as fast as served), scaled:FACTOR (times multiplied). "
            "[default: open]",
        ),
    ] = None,
    wrap: Annotated[
        bool, typer.Option("--wrap", help="Traces: wrap addresses beyond the drive into it; else they are an error.")
    ] = False,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Traces: where the fields of a line stand, such as time=0:us,op=2,offset=3:sectors,bytes=4.",
        ),
    ] = None,
    continue_on_error: Annotated[
        str | None,
        typer.Option(
            metavar="none|read|write|all",
            help="Count errors of these requests and go on, in traces and in jobs without the key; else the first "
            "error ends its job. [default: none]",
        ),
    ] = None,
    precondition: Annotated[
        str | None,
        typer.Option(
            metavar="none|fill|random|steady|rested",
            help="Before the run: fill the drive; and overwrite it until steady; or lay it out so, from theory; "
            "and after a pause. [default: none]",
        ),
    ] = None,
    warm_up: Annotated[
        str | None,
        typer.Option(
            metavar="detect|keep|TIME", help="What to cut off the beginning of the statistics. [default: detect]"
        ),
    ] = None,
    cache: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|none", help="Where prepared drives are kept. [default: $NANDRAM_CACHE, or ~/.cache/nandram]"
        ),
    ] = None,
) -> None:
    """Run a workload on a system, in virtual time."""
    from nandram.cli.progress import run_progress
    from nandram.simulate import run as simulate
    from nandram.system import System

    if timeline and output is None:
        raise UserError("--timeline: has nowhere to be written: give a folder with -o")
    with run_progress() as progress:
        result = simulate(
            System(system, tuple(split_changes(changes, scale))),
            workload,
            seed=whole_number("--seed", seed),
            payload=payload,
            timeline=timeline,
            output=output,
            replay=replay,
            wrap=wrap,
            columns=columns,
            continue_on_error=continue_on_error,
            precondition=precondition,
            warm_up=warm_up,
            cache="default" if cache is None else None if cache == "none" else cache,
            progress=progress,
        )
    show(result)
    if result.inside.get("failed_jobs"):
        # As fio, which exits with the number of such jobs.
        raise typer.Exit(1)


def whole_number(name: str, text: str) -> int:
    """Read an option's whole number. Raises `UserError`."""
    if text.isascii() and text.isdigit():
        return int(text)
    raise UserError(f"{name}: found `{text}`, expected a whole number")


def split_changes(changes: list[str] | None, scale: str | None = None) -> list[str]:
    """Check that each change has the form ``key=value``; return them, the scale last. Raises `UserError`."""
    for change in changes or []:
        key, equals, _ = change.partition("=")
        if not equals or not key.strip():
            raise UserError(f"--set: found `{change}`, expected KEY=VALUE")
    return [*(changes or []), *([] if scale is None else [f"scale={scale}"])]


def show(result: "Result") -> None:
    """Print the table and the notes."""
    from rich.table import Table

    from nandram.cli.console import output
    from nandram.result import TITLES

    console = output(120)
    console.print(f"{result.title}, seed {result.manifest['seed']}", markup=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, title in enumerate(TITLES):
        table.add_column(title, justify="left" if number < 2 else "right", no_wrap=True)
    for row in result.rows():
        table.add_row(*row)
    console.print(table)
    for note in result.notes:
        console.print(note, markup=False, soft_wrap=True)
    if result.output is not None:
        console.print(str(result.output / "report.html"), markup=False, soft_wrap=True)
