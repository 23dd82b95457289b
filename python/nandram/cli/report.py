"""``nandram report``: write papers and runs to one page."""

from pathlib import Path
from typing import Annotated

import typer

from nandram.cli.run import whole_number


def report(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PAPER|DIR", help="A paper, an experiment file or a folder of results. [default: all papers]"
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="HTML file to write; it needs no network.")
    ] = Path("report.html"),
    quick: Annotated[bool, typer.Option("--quick", help="Use the shorter runs that the experiments define.")] = False,
    sensitivity: Annotated[
        bool,
        typer.Option(
            "--sensitivity/--no-sensitivity", help="Include the sensitivity of claims to parameters, from quick runs."
        ),
    ] = True,
    jobs: Annotated[
        str | None, typer.Option(metavar="N", help="Number of parallel runs. [default: one per processor]")
    ] = None,
    cache: Annotated[
        str | None,
        typer.Option(metavar="DIR|none", help="Cache folder for runs. [default: $NANDRAM_CACHE, or ~/.cache/nandram]"),
    ] = None,
) -> None:
    """Write papers and results as one HTML page.

    For a paper: its claims, its figures redrawn from our runs, its systems, the sensitivity of its claims, and the
    basis of all values. For a run: response times, throughput, utilization of each part, energy and wear.

    Example: nandram report results -o report.html
    """
    from nandram.cli.terminal.progress import counted_progress
    from nandram.report import write_report

    with counted_progress("runs") as progress:
        print(
            write_report(
                *(what or []),
                output=output,
                quick=quick,
                sensitivity=sensitivity,
                jobs=None if jobs is None else whole_number("--jobs", jobs),
                cache="default" if cache is None else None if cache == "none" else cache,
                report=progress,
            )
        )
