"""``nandram sweep``: run many configurations, here or on a cluster."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    as_json: Annotated[bool, typer.Option("--json", help="Print the evaluation as a JSON object.")] = False,
) -> None:
    """Run many configurations of a system and a workload.

    Each result is saved when its run ends; the same command resumes an interrupted sweep. Ctrl-C prints the evaluation
    of the finished runs.

    Example: nandram sweep space.toml -o results
    """
    from nandram.cli.terminal.progress import counted_progress
    from nandram.sweep import read_sweep, run_sweep

    folder = output or file.with_suffix("")
    shown = show_json if as_json else show
    try:
        with counted_progress("runs", rate=True) as progress:
            found = run_sweep(
                file,
                folder,
                jobs=None if jobs is None else whole_number("--jobs", jobs),
                dask=dask,
                workers=None if workers is None else whole_number("--workers", workers),
                cache="default" if cache is None else None if cache == "none" else cache,
                report=progress,
            )
    except KeyboardInterrupt:
        if (folder / "plan.parquet").is_file():
            found = read_sweep(folder)
            if found.done:
                shown(found)
        raise
    shown(found)


def show_json(found: "Sweep") -> None:
    """Print the evaluation: finished rows, notes, the Pareto front, sensitivities, seeds that fall into groups."""
    import json
    from dataclasses import asdict

    shown = {
        "folder": str(found.folder),
        "rows": found.done,
        "rows_planned": len(found.table),
        "axes": found.axes,
        "objectives": found.objectives,
        "notes": found.notes(),
        "pareto": found.pareto().to_dicts() if found.objectives else [],
        "sensitivity": found.sensitivity().to_dicts(),
        "disagreements": [asdict(each) for each in found.disagreements()],
    }
    print(json.dumps(_finite(shown), indent=2))


def _finite(value: Any) -> Any:
    """Return a value for JSON, whose undefined and infinite numbers are null."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
        rows = moved.filter(moved["measure"] == name).sort("share", descending=True, nulls_last=True).to_dicts()
        if rows:
            console.print(f"{name} {sensitivity(rows)}", markup=False, soft_wrap=True)
    for each in found.disagreements(*found.objectives):
        console.print(f"{each.where}: {each}", markup=False, soft_wrap=True)


def sensitivity(rows: list[dict[str, Any]]) -> str:
    """Return what a measure varies with: the axes beyond chance with their intervals, then the others."""
    named = [
        f"{row['axis']} {100 * row['share']:.0f} % ({100 * row['low']:.0f} to {100 * row['high']:.0f} %)"
        for row in rows
        if row["low"]
    ]
    chance = [row["axis"] for row in rows if row["low"] == 0]
    alone = [row["axis"] for row in rows if row["low"] is None]
    parts = [f"varies with {', '.join(named)}"] if named else []
    parts += [f"no effect told from chance: {', '.join(chance)}"] if chance else []
    parts += [f"one configuration per value: {', '.join(alone)}"] if alone else []
    return "; ".join(parts)
