"""``nandram sweep``: run many configurations, here or on a cluster."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandram.cli.run import whole_number

if TYPE_CHECKING:
    from nandram.sweep import Sweep

SHOWN = 10
"""Maximum number of printed rows of a Pareto front."""


def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Sweep file: the axes, the system and the workload.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Folder of the results. [default: FILE without .toml]"),
    ] = None,
    jobs: Annotated[
        str | None, typer.Option(metavar="N", help="Number of parallel runs. [default: one per processor]")
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS|slurm|pbs", help="Run on the workers of a Dask scheduler or of a batch queue."),
    ] = None,
    workers: Annotated[
        str | None, typer.Option(metavar="N", help="With slurm or pbs: number of batch jobs to request. [default: 1]")
    ] = None,
    cache: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|none",
            help="Cache folder for prepared drives. [default: none if the configurations differ in the system]",
        ),
    ] = None,
) -> None:
    """Run many configurations of a system and a workload.

    Each result is saved when its run ends; the same command resumes an interrupted sweep.
    """
    from nandram.cli.terminal.progress import counted_progress
    from nandram.sweep import run_sweep

    with counted_progress("runs", rate=True) as progress:
        found = run_sweep(
            file,
            output or file.with_suffix(""),
            jobs=None if jobs is None else whole_number("--jobs", jobs),
            dask=dask,
            workers=None if workers is None else whole_number("--workers", workers),
            cache="default" if cache is None else None if cache == "none" else cache,
            report=progress,
        )
    show(found)


def show(found: "Sweep") -> None:
    """Print the location of the results, the Pareto front and the sensitivity of the objectives."""
    from rich.table import Table

    from nandram.cli.terminal.claims import figure
    from nandram.cli.terminal.console import output

    console = output(120)
    console.print(f"{found.done:,} rows over {', '.join(found.axes)} in {found.folder}", markup=False, soft_wrap=True)
    for kind, count in found.notes().items():
        console.print(f"{kind}: {count:,} of {found.done:,} rows", markup=False, soft_wrap=True)
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
