"""``nandram reproduce``: what papers claim, and what the simulator gives."""

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
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs, as the experiments declare them.")] = False,
    claims: Annotated[
        str | None, typer.Option("--claims", metavar="GLOB", help="Only the claims whose id matches.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print an array of objects, one a claim.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 if a claim is missed.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Write claims.json, values.json and every run's results there."
        ),
    ] = None,
    jobs: Annotated[str | None, typer.Option(metavar="N", help="Runs at a time. [default: one a processor]")] = None,
    cache: Annotated[
        str | None,
        typer.Option(metavar="DIR|none", help="Where runs are kept. [default: $NANDRAM_CACHE, or ~/.cache/nandram]"),
    ] = None,
) -> None:
    """Show papers' claims beside our figures.

    One row a claim: the paper's figure, ours, the deviation, the verdict, and what the figure rests on. Every claim is
    shown; one without a figure of ours is not comparable. Exits with 0 whatever the verdicts are, unless --check.
    """
    from nandram.cli.progress import counted_progress
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
    """Print a table a paper, what is to be known of its rows, and the summary."""
    from nandram.cli.console import output

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
        return " (quick: runs are shorter)"
    return f" (quick: runs are shorter, and {found.left_out} of {found.points + found.left_out} are left out)"


def _summary(console: "Console", found: "Reproduction") -> None:
    """Print how many claims of each paper have which verdict."""
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
    """Print a table of the paper beside ours: the paper's figure, our median, and our range."""
    from rich.table import Table

    console.print(f"\n  {band.title}; ours: the median of {band.count} by {band.over}, and the range", markup=False)
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
    """Four significant digits, and whole numbers as they are."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return f"{figure(value[0])} to {figure(value[1])}"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value)}"
    if abs(value) >= 1000:
        return f"{value:.1f}"
    return f"{value:.4g}"
