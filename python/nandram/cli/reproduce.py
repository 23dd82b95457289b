"""``nandram reproduce``: compare papers' claims with the simulator's results."""

from pathlib import Path
from typing import Annotated

import typer

from nandram.cli.run import whole_number
from nandram.cli.terminal import completion
from nandram.cli.terminal.claims import show


def reproduce(
    papers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PAPER",
            help="A paper's name or an experiment file. [default: all papers]",
            autocompletion=completion.papers,
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Use the shorter runs that the experiments define.")] = False,
    claims: Annotated[
        str | None, typer.Option("--claims", metavar="GLOB", help="Evaluate only claims whose id matches.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Print every claim with its notes, not only the first of each paper.")
    ] = False,
    draws: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Also evaluate the claims in N joint draws of everything assumed, and in their counter-models.",
        ),
    ] = None,
    variants: Annotated[
        bool, typer.Option("--variants", help="Also evaluate all claims in each variant that an experiment declares.")
    ] = False,
    traces: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of your own page traces; each replaces the experiment's of its name (djpeg-O2.pages.zst).",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array with one object per claim.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit with status 1 if a claim is missed.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Write claims.json, values.json and the results of all runs to this folder.",
        ),
    ] = None,
    jobs: Annotated[
        str | None, typer.Option(metavar="N", help="Number of parallel runs. [default: one per processor]")
    ] = None,
    cache: Annotated[
        str | None,
        typer.Option(metavar="DIR|none", help="Cache folder for runs. [default: $NANDRAM_CACHE, or ~/.cache/nandram]"),
    ] = None,
) -> None:
    """Compare papers' claims with the simulator's results.

    Prints a table per paper: the paper's figure, ours, the deviation, the verdict, the share of plausible settings in
    which the claim holds, and the basis of our figure. The cells of a printed table share one row, and at most 20 rows
    are shown per paper; --all shows everything. Without --check, the exit status is 0 whatever the verdicts.

    Example: nandram reproduce hmb --quick
    """
    from nandram.cli.terminal.progress import counted_progress
    from nandram.papers import reproduce as evaluate

    with counted_progress("runs") as report:
        found = evaluate(
            *(papers or []),
            quick=quick,
            claims=claims,
            jobs=None if jobs is None else whole_number("--jobs", jobs),
            cache="default" if cache is None else None if cache == "none" else cache,
            output=output,
            report=report,
            draws=None if draws is None else whole_number("--draws", draws),
            variants=variants,
            traces=traces,
        )
    if as_json:
        print(found.json, end="")
    else:
        show(found, every=every)
    if check and found.counts["missed"]:
        raise typer.Exit(1)
