"""Claims of papers on the terminal: a table per paper, and a summary in words."""

from collections import Counter
from typing import TYPE_CHECKING

from nandram import units

if TYPE_CHECKING:
    from rich.console import Console

    from nandram.papers import Reproduction
    from nandram.papers.bands import BandTable
    from nandram.papers.robustness.compared import VariantTable
    from nandram.papers.verdict import Row, Verdict

ROWS_MAX = 20
"""Maximum number of rows per paper without ``--all``."""
CELLS_MIN = 5
"""Minimum number of claims of a printed table that share one row."""
STYLES: "dict[Verdict, str]" = {
    "held": "green",
    "not-tested": "cyan",
    "same-order": "cyan",
    "trivial": "cyan",
    "missed": "red",
    "calibrated": "yellow",
    "read-back": "cyan",
    "arithmetic": "cyan",
    "not-comparable": "dim",
}


def show(found: "Reproduction", *, every: bool) -> None:
    """Print one table per paper and the summary. `every`: all rows, with their notes."""
    from nandram.cli.terminal.console import output

    console = output(160)
    for paper, title in found.titles.items():
        rows = found.of(paper)
        if rows:
            console.print(f"{paper}: {title}", markup=False, soft_wrap=True)
            _table(console, paper, rows, every=every)
            if every:
                _notes(console, paper, rows)
                for table in found.bands:
                    if table.paper == paper:
                        _band(console, table)
            for variants in found.variants:
                if variants.paper == paper:
                    _variants(console, variants)
            console.print()
    _summary(console, found)


def _quick(found: "Reproduction") -> str:
    if not found.quick:
        return ""
    if not found.left_out:
        return " (quick: shorter runs)"
    return f" (quick: shorter runs, {found.left_out} of {found.points + found.left_out} left out)"


def _number(count: int, one: str, many: str) -> str:
    """Return a number with its verb."""
    return f"{count} {one if count == 1 else many}"


def _summary(console: "Console", found: "Reproduction") -> None:
    """Print what the verdicts amount to: in words, by paper, and a sentence per paper."""
    from rich.table import Table

    from nandram.papers.verdict import SIMULATED

    counts = found.counts
    simulated = sum(counts[verdict] for verdict in SIMULATED)
    unproven = _number(simulated - counts["held"] - counts["missed"], "agrees", "agree")
    held = _number(counts["held"], "holds", "hold")
    console.print(
        f"{len(found)} claims{_quick(found)}, of which {_number(simulated, 'compares', 'compare')} a simulation with a "
        f"paper: {held} and could have failed, {unproven} without such proof, and "
        f"{_number(counts['missed'], 'does', 'do')} not hold.",
        markup=False,
        soft_wrap=True,
    )
    if counts["calibrated"] or counts["read-back"] or counts["arithmetic"] or counts["not-comparable"]:
        fitted, read = _number(counts["calibrated"], "was", "were"), _number(counts["read-back"], "reads", "read")
        console.print(
            f"The others do not test the model: {fitted} fitted to, {read} an input back, "
            f"{_number(counts['arithmetic'], 'is', 'are')} arithmetic, and {counts['not-comparable']} cannot be "
            "compared.",
            markup=False,
            soft_wrap=True,
        )
    papers = [paper for paper in found.titles if found.of(paper)]
    if len(papers) < 2:
        return
    console.print()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("paper")
    titles = ("simulated", "held", "in how many draws", *(verdict for verdict in STYLES if verdict != "held"))
    for title in titles:
        table.add_column(title, justify="right")
    for paper in papers:
        rows = found.of(paper)
        counted = Counter(row.verdict for row in rows)
        of_model = sum(counted[verdict] for verdict in SIMULATED)
        others = (str(counted[verdict]) for verdict in STYLES if verdict != "held")
        table.add_row(paper, str(of_model), str(counted["held"]), median_share(rows), *others)
    console.print(table)
    console.print()
    for paper in papers:
        console.print(f"{paper}: {sentence(found.of(paper))}", markup=False, soft_wrap=True)


def median_share(rows: "list[Row]") -> str:
    """Return the median share of draws in which the held claims hold, in percent; empty without draws."""
    from statistics import median

    shares = [row.share for row in rows if row.verdict == "held" and row.share is not None]
    return f"{100 * median(shares):.0f} %" if shares else ""


def sentence(rows: "list[Row]") -> str:
    """Return what the verdicts on a paper amount to, in one sentence."""
    from nandram.papers.verdict import SIMULATED

    counted = Counter(row.verdict for row in rows)
    simulated = sum(counted[verdict] for verdict in SIMULATED)
    if not simulated:
        return "no claim is decided by a simulation."
    agree = simulated - counted["missed"]
    text = f"{agree} of {simulated} simulated claims hold"
    if agree > counted["held"]:
        text += f", {agree - counted['held']} of them without proof that they could fail"
    shares = [row.share for row in rows if row.verdict == "held" and row.share is not None]
    if shares:
        fragile = sum(share < 0.5 for share in shares)
        fails = "fail" if fragile > 1 else "fails"
        text += f"; {fragile or 'none'} of {len(shares)} held ones {fails} in most draws of what was assumed"
    return f"{text}."


def _table(console: "Console", paper: str, rows: "list[Row]", *, every: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title, justify in (("claim", "left"), ("paper", "right"), ("ours", "right"), ("unit", "left")):
        table.add_column(title, justify="right" if justify == "right" else "left", no_wrap=True)
    table.add_column("deviation", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("draws", justify="right", no_wrap=True)
    table.add_column("rests on", overflow="fold")
    groups = {} if every or len(rows) <= ROWS_MAX else _groups(rows)
    alone = [row for row in rows if _group(row) not in groups]
    shown = alone if every else alone[: ROWS_MAX - len(groups)]
    for row in shown:
        holds = row.unit == "holds"
        table.add_row(
            row.id.removeprefix(f"{paper}."),
            "holds" if holds else figure(row.paper),
            ("" if row.ours is None else "holds" if row.ours else "does not") if holds else figure(row.ours),
            "" if holds else row.unit,
            "" if row.deviation is None else f"{100 * row.deviation:+.1f} %",
            Text(row.verdict, STYLES[row.verdict]),
            row.robustness,
            row.rests_on.brief,
        )
    for name, cells in groups.items():
        counted = Counter(row.verdict for row in cells)
        verdicts = ", ".join(f"{counted[verdict]} {verdict}" for verdict in STYLES if counted[verdict])
        table.add_row(f"{name.removeprefix(f'{paper}.')}.*", "", "", "", "", "", "", f"{len(cells)} cells: {verdicts}")
    console.print(table)
    if len(shown) < len(alone):
        console.print(f"  ... and {len(alone) - len(shown)} more claims: --all", markup=False)


def _group(row: "Row") -> str:
    """Return the name of the printed table that a claim is a cell of: the first two parts of its id."""
    return ".".join(row.id.split(".")[:2])


def _groups(rows: "list[Row]") -> "dict[str, list[Row]]":
    """Return the claims that share a row, by the name of their table."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.id.count(".") > 2:
            found.setdefault(_group(row), []).append(row)
    return {name: cells for name, cells in found.items() if len(cells) >= CELLS_MIN}


def _notes(console: "Console", paper: str, rows: "list[Row]") -> None:
    names: dict[str, list[str]] = {}
    for row in rows:
        if row.rests_on.note:
            names.setdefault(row.rests_on.note, []).append(row.id.removeprefix(f"{paper}."))
    for note, (first, *others) in names.items():
        more = f" and {len(others)} more" if others else ""
        console.print(f"  {first}{more}: {note}", markup=False, soft_wrap=True)


def _variants(console: "Console", found: "VariantTable") -> None:
    """Print our figures of all claims by variant; those in which the claim holds are marked."""
    from rich.table import Table

    names = list(next(iter(found.claims.values()), {}))
    console.print("\n  All claims in each variant; * where the claim holds", markup=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("claim", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for claim, figures in found.claims.items():
        cells = [f"{figure(ours)}{' *' if holds else '  '}" for ours, holds in figures.values()]
        table.add_row(claim.removeprefix(f"{found.paper}."), *cells)
    table.add_row("claims that hold", *(f"{found.held(name)}  " for name in names))
    console.print(table)
    if not found.always:
        console.print("  No variant holds in every claim that holds in some variant.", markup=False)
    for name, why in found.whys.items():
        console.print(f"  {name}: {why}", markup=False, soft_wrap=True)


def _band(console: "Console", band: "BandTable") -> None:
    """Print a table of the paper with our results: the paper's figure, our median, its error and our range."""
    from rich.table import Table

    console.print(f"\n  {band.title}; ours: median and range of {band.count} values by {band.over}", markup=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for axis in band.cells[0].place:
        table.add_column(axis)
    for title in ("paper", "ours", "error", "from", "to"):
        table.add_column(title, justify="right")
    for cell in band.cells:
        paper, ours, low, high = (f"{number:.2f}" for number in (cell.paper, cell.median, cell.low, cell.high))
        error = "" if cell.error is None else f"{100 * cell.error:+.1f} %"
        table.add_row(*(str(each) for each in cell.place.values()), paper, ours, error, low, high)
    console.print(table)


def figure(value: float | tuple[float, float] | None) -> str:
    """Return a number with four significant digits, or a range of two; whole numbers unchanged."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return f"{figure(value[0])} to {figure(value[1])}"
    return units.figure(value)
