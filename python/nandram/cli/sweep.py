"""``nandram sweep``: many configurations, here or on a cluster."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandram.cli.run import whole_number

if TYPE_CHECKING:
    from nandram.sweeping import Sweep

SHOWN = 10
"""Rows of a Pareto front that are printed."""


def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What is varied, and what is run.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Where results are kept. [default: beside FILE, without .toml]"
        ),
    ] = None,
    jobs: Annotated[str | None, typer.Option(metavar="N", help="Runs at a time. [default: one a processor]")] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS|slurm|pbs", help="Make the runs on the workers of a Dask scheduler, or of a queue."
        ),
    ] = None,
    workers: Annotated[
        str | None, typer.Option(metavar="N", help="Jobs to ask a queue for, with slurm or pbs. [default: 1]")
    ] = None,
    cache: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|none",
            help="Where prepared drives are kept. [default: none where configurations differ in the system]",
        ),
    ] = None,
) -> None:
    """Run many configurations of a system and a workload.

    Results are kept as each run ends. One that was interrupted or killed goes on with the same command.
    """
    from nandram.cli.progress import counted_progress
    from nandram.sweeping import sweep as make

    with counted_progress("runs", rate=True) as told:
        found = make(
            file,
            output or file.with_suffix(""),
            jobs=None if jobs is None else whole_number("--jobs", jobs),
            dask=dask,
            workers=None if workers is None else whole_number("--workers", workers),
            cache="default" if cache is None else None if cache == "none" else cache,
            report=told,
        )
    show(found)


def show(found: "Sweep") -> None:
    """Print where the results are, the Pareto front and what moves the objectives."""
    from rich.table import Table

    from nandram.cli.console import output
    from nandram.cli.reproduce import figure

    console = output(120)
    console.print(f"{found.done:,} rows over {', '.join(found.axes)} in {found.folder}", markup=False, soft_wrap=True)
    if not found.objectives:
        return
    front = found.pareto()
    aims = ", ".join(f"{name} ({side})" for name, side in found.objectives.items())
    console.print(f"Pareto front of {aims}: {len(front)} of {len(found.means())} configurations", markup=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in (*found.axes, *found.objectives):
        table.add_column(name, justify="right", no_wrap=True)
    for row in front.head(SHOWN).to_dicts():
        cells = [row[name] for name in (*found.axes, *found.objectives)]
        table.add_row(*(each if isinstance(each, str) else figure(each) for each in cells))
    console.print(table)
    if len(front) > SHOWN:
        console.print(f"... and {len(front) - SHOWN} more")
    moved = found.sensitivity()
    for name in found.objectives:
        shares = moved.filter(moved["measure"] == name).sort("share", descending=True)
        parts = ", ".join(f"{row['axis']} {100 * row['share']:.0f} %" for row in shares.to_dicts())
        console.print(f"{name} varies with: {parts}", markup=False, soft_wrap=True)
