"""``nandram reproduce``: compare papers' claims with the simulator's results."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandram.cli.run import whole_number

if TYPE_CHECKING:
    from rich.console import Console

    from nandram.papers import Reproduction
    from nandram.papers.bands import BandTable
    from nandram.papers.verdict import Row, Verdict


def reproduce(
    papers: Annotated[
        list[str] | None,
        typer.Argument(metavar="PAPER", help="A paper's name or an experiment file. [default: all papers]"),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Use the shorter runs that the experiments define.")] = False,
    claims: Annotated[
        str | None, typer.Option("--claims", metavar="GLOB", help="Evaluate only claims whose id matches.")
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

    Prints one row per claim: the paper's figure, ours, the deviation, the verdict and the basis of our figure. Claims
    without a figure of ours are listed as not comparable. Without --check, the exit status is 0 whatever the verdicts.
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
        )
    if as_json:
        print(found.json, end="")
    else:
        show(found)
    if check and found.counts["missed"]:
        raise typer.Exit(1)


def show(found: "Reproduction") -> None:
    """Print one table per paper with notes on its rows, and the summary."""
    from nandram.cli.terminal.console import output

    console = output(160)
    for paper, title in found.titles.items():
        rows = found.of(paper)
        if rows:
            console.print(f"{paper}: {title}", markup=False, soft_wrap=True)
            _table(console, paper, rows)
            _notes(console, paper, rows)
            for table in found.bands:
                if table.paper == paper:
                    _band(console, table)
            console.print()
    if sum(bool(found.of(paper)) for paper in found.titles) > 1:
        _summary(console, found)
    counts = ", ".join(f"{number} {verdict}" for verdict, number in found.counts.items())
    console.print(f"{len(found)} claims{_quick(found)}: {counts}", markup=False)


def _quick(found: "Reproduction") -> str:
    if not found.quick:
        return ""
    if not found.left_out:
        return " (quick: shorter runs)"
    return f" (quick: shorter runs, {found.left_out} of {found.points + found.left_out} left out)"


def _summary(console: "Console", found: "Reproduction") -> None:
    """Print the number of claims by paper and verdict."""
    from collections import Counter

    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("paper")
    for title in ("claims", *found.counts):
        table.add_column(title, justify="right")
    for paper in found.titles:
        rows = found.of(paper)
        counted = Counter(row.verdict for row in rows)
        table.add_row(paper, str(len(rows)), *(str(counted[verdict]) for verdict in STYLES))
    console.print(table)


STYLES: "dict[Verdict, str]" = {"held": "green", "missed": "red", "calibrated": "yellow", "not-comparable": "dim"}


def _table(console: "Console", paper: str, rows: "list[Row]") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title, justify in (("claim", "left"), ("paper", "right"), ("ours", "right"), ("unit", "left")):
        table.add_column(title, justify="right" if justify == "right" else "left", no_wrap=True)
    table.add_column("deviation", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("rests on", overflow="fold")
    for row in rows:
        holds = row.unit == "holds"
        table.add_row(
            row.id.removeprefix(f"{paper}."),
            "holds" if holds else figure(row.paper),
            ("" if row.ours is None else "holds" if row.ours else "does not") if holds else figure(row.ours),
            "" if holds else row.unit,
            "" if row.deviation is None else f"{100 * row.deviation:+.1f} %",
            Text(row.verdict, STYLES[row.verdict]),
            row.rests_on.brief,
        )
    console.print(table)


def _notes(console: "Console", paper: str, rows: "list[Row]") -> None:
    names: dict[str, list[str]] = {}
    for row in rows:
        if row.rests_on.note:
            names.setdefault(row.rests_on.note, []).append(row.id.removeprefix(f"{paper}."))
    for note, (first, *others) in names.items():
        more = f" and {len(others)} more" if others else ""
        console.print(f"  {first}{more}: {note}", markup=False, soft_wrap=True)


def _band(console: "Console", band: "BandTable") -> None:
    """Print a table of the paper with our results: the paper's figure, our median and our range."""
    from rich.table import Table

    console.print(f"\n  {band.title}; ours: median and range of {band.count} values by {band.over}", markup=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for axis in band.cells[0].place:
        table.add_column(axis)
    for title in ("paper", "ours", "from", "to"):
        table.add_column(title, justify="right")
    for cell in band.cells:
        numbers = (cell.paper, cell.median, cell.low, cell.high)
        table.add_row(*(str(each) for each in cell.place.values()), *(f"{number:.2f}" for number in numbers))
    console.print(table)


def figure(value: float | tuple[float, float] | None) -> str:
    """Return a number with four significant digits; whole numbers unchanged."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return f"{figure(value[0])} to {figure(value[1])}"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value)}"
    if abs(value) >= 1000:
        return f"{value:.1f}"
    return f"{value:.4g}"
