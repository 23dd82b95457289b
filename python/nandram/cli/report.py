"""``nandram report``: papers and runs in one page."""

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
        Path, typer.Option("--output", "-o", metavar="FILE", help="The HTML file; it opens without a network.")
    ] = Path("report.html"),
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs, as the experiments declare them.")] = False,
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity/--no-sensitivity", help="Which parameter moves which claim, from quick runs.")
    ] = True,
    jobs: Annotated[str | None, typer.Option(metavar="N", help="Runs at a time. [default: one a processor]")] = None,
    cache: Annotated[
        str | None,
        typer.Option(metavar="DIR|none", help="Where runs are kept. [default: $NANDRAM_CACHE, or ~/.cache/nandram]"),
    ] = None,
) -> None:
    """Write papers and results as one HTML page.

    Of a paper: its claims, its figures drawn anew, its systems, what moves its claims, and what all rests on. Of a run:
    response times, throughput, how busy each part was, energy and wear.
    """
    from nandram.cli.progress import counted_progress
    from nandram.report import write_report

    with counted_progress("runs") as told:
        print(
            write_report(
                *(what or []),
                output=output,
                quick=quick,
                sensitivity=sensitivity,
                jobs=None if jobs is None else whole_number("--jobs", jobs),
                cache="default" if cache is None else None if cache == "none" else cache,
                report=told,
            )
        )
