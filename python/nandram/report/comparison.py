"""Report section of a comparison: differences in configuration, run and figures."""

import math
from typing import TYPE_CHECKING, Any

from nandram import units
from nandram.report import charts, overlay
from nandram.report.charts import Axis
from nandram.report.page import Figure, Heading, Notes, Section, Table

if TYPE_CHECKING:
    from nandram.results.comparison import Comparison, Difference

LEAST = 5.0
"""Minimum extent of the chart in percent to either side of 0, so that noise does not look like a difference."""
LONG = 40
"""Length from which values may wrap; shorter values stay side by side even on a phone."""
TICKS = 8
SHOWN_MAX = 10.0
"""Largest relative change to which the chart extends; the table has all."""


def section(found: "Comparison", anchor: str, letter: str = "B") -> Section:
    """Return the section on the differences between two systems or runs; `letter` names the second one."""
    page = Section(f"{found.a} and {found.b}", anchor)
    page.parts.append(f"A: {found.a}")
    page.parts.append(f"{letter}: {found.b}")
    page.parts += [f"{letter}: {line}" for line in found.followed]
    for title, settings in (("Systems", found.settings), ("Runs", found.runs)):
        page.parts.append(Heading(title))
        if settings:
            rows = [(each.key, each.a or "", each.b or "") for each in settings]
            long = tuple(name for at, name in ((1, "A"), (2, letter)) if any(len(row[at]) > LONG for row in rows))
            page.parts.append(Table(("key", "A", letter), rows, wide=long))
        else:
            page.parts.append("No difference.")
    if found.differences:
        page.parts.append(Heading("Figures"))
        columns = ("figure", "A", letter, "change", "95 % interval", "difference")
        page.parts.append(Table(columns, [_row(each) for each in found.differences]))
        if any(each.change == each.change for each in found.differences):
            page.parts.append(_chart(found, letter))
    if all(found.results):
        runs = dict(zip(("A", letter), found.results, strict=True))
        page.parts += overlay.figures(runs, f"A: {found.a}; {letter}: {found.b}")
    disagreements = found.disagreements()
    if disagreements:
        page.parts.append(Heading("Seeds that fall into groups"))
        page.parts.append(Notes([f"{_side(each.where, letter)}: {each}" for each in disagreements]))
    if found.notes:
        page.parts += [
            Heading("Validity"),
            Notes([f"{_side(note.side, letter)}: {note.text}" for note in found.notes]),
        ]
    return page


def _side(side: str, letter: str) -> str:
    return letter if side == "B" else side


def ticks(lowest: float, highest: float) -> tuple[float, ...]:
    """Return at most `TICKS` round numbers between two ends, including 0."""
    step = next(
        step
        for power in range(12)
        for step in (10.0**power, 2 * 10.0**power, 5 * 10.0**power)
        if (highest - lowest) / step < TICKS - 1 or power == 11
    )
    return tuple(step * number for number in range(math.ceil(lowest / step), math.floor(highest / step) + 1))


def _row(each: "Difference") -> tuple[Any, ...]:
    sides = ("groups" if value is None else value for value in (each.a, each.b))
    if each.change != each.change:
        return each.name, *sides, "", "", each.verdict
    interval = ""
    if each.low is not None and each.high is not None:
        interval = f"{units.change(each.low).removesuffix(' %')} to {units.change(each.high)}"
    return each.name, *sides, units.change(each.change), interval, each.verdict


def _chart(found: "Comparison", letter: str) -> Figure:
    rows: list[dict[str, Any]] = []
    table: list[tuple[Any, ...]] = []
    for each in found.differences:
        if each.change != each.change:
            continue
        most = max(SHOWN_MAX, each.change)
        low, high = (each.change if end is None else min(end, most) for end in (each.low, each.high))
        part = {"name": each.name, "series": each.verdict}
        rows.append(part | {"x": 100 * each.change, "low": 100 * low, "high": 100 * high})
        table.append((each.name, 100 * each.change, 100 * low, 100 * high))
    lowest = min((1.05 * row["low"] for row in rows), default=0.0)
    highest = max((1.05 * row["high"] for row in rows), default=0.0)
    series = sorted({row["series"] for row in rows})  # "changed" first
    ends = min(-LEAST, lowest), max(LEAST, highest)
    x = Axis(f"change from A to {letter} (%)", lowest=ends[0], highest=ends[1], ticks=ticks(*ends))
    chart = charts.intervals(rows, series, x, "figure")
    seeds = len(found.seeds)
    source = f"geometric means over {seeds} seeds, paired; bars are 95 % intervals"
    source = source if seeds > 1 else "one seed each: no interval"
    columns, height = (
        ("figure", x.title, "low (%)", "high (%)"),
        charts.rows_height(rows, 60, 22),
    )
    return Figure("Change by figure", chart, source, columns, table, tuple(series), wide=True, height=height)
