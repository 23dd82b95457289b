"""Report section of a comparison: differences in configuration, run and figures."""

import math
from typing import TYPE_CHECKING, Any

import altair as alt

from nandram.report import charts
from nandram.report.charts import Axis
from nandram.report.page import Figure, Heading, Notes, Section, Table

if TYPE_CHECKING:
    from nandram.results.comparison import Comparison, Difference

LEAST = 5.0
"""Minimum extent of the chart in percent to either side of 0, so that noise does not look like a difference."""
LONG = 40
"""Length from which values may wrap; shorter values stay side by side even on a phone."""
TICKS = 8
SERIES = ("changed", "no difference beyond noise", "one run each")


def section(found: "Comparison", anchor: str) -> Section:
    """Return the section on the differences between two systems or runs."""
    page = Section(f"{found.a} and {found.b}", anchor)
    page.parts.append(f"A: {found.a}")
    page.parts.append(f"B: {found.b}")
    for title, settings in (("Systems", found.settings), ("Runs", found.runs)):
        page.parts.append(Heading(title))
        if settings:
            rows = [(each.key, each.a or "", each.b or "") for each in settings]
            long = tuple(name for at, name in ((1, "A"), (2, "B")) if any(len(row[at]) > LONG for row in rows))
            page.parts.append(Table(("key", "A", "B"), rows, wide=long))
        else:
            page.parts.append("No difference.")
    if found.differences:
        page.parts.append(Heading("Figures"))
        columns = ("figure", "A", "B", "change", "95 % interval", "difference")
        page.parts.append(Table(columns, [_row(each) for each in found.differences]))
        page.parts.append(_chart(found))
    if found.notes:
        page.parts += [Heading("Validity"), Notes([f"{note.side}: {note.text}" for note in found.notes])]
    return page


def verdict(each: "Difference") -> str:
    """Return whether a figure differs, according to its interval."""
    if each.low is None or each.high is None:
        return SERIES[2]
    return SERIES[0] if each.certain else SERIES[1]


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
    interval = "" if each.low is None or each.high is None else f"{100 * each.low:+.2f} to {100 * each.high:+.2f} %"
    return each.name, each.a, each.b, f"{100 * each.change:+.2f} %", interval, verdict(each)


def _chart(found: "Comparison") -> Figure:
    rows: list[dict[str, Any]] = []
    table: list[tuple[Any, ...]] = []
    for each in found.differences:
        if each.change != each.change:
            continue
        low, high = (each.change if end is None else end for end in (each.low, each.high))
        part = {"name": each.name, "series": verdict(each)}
        rows.append(part | {"x": 100 * each.change, "low": 100 * low, "high": 100 * high})
        table.append((each.name, 100 * each.change, 100 * low, 100 * high))
    lowest = min((1.05 * row["low"] for row in rows), default=0.0)
    highest = max((1.05 * row["high"] for row in rows), default=0.0)
    series = [name for name in SERIES if any(row["series"] == name for row in rows)]
    ends = min(-LEAST, lowest), max(LEAST, highest)
    x = Axis("change from A to B (%)", lowest=ends[0], highest=ends[1], ticks=ticks(*ends))
    chart = charts.dots(rows, series, x, "figure")
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=charts.named("figure", rows))
    rule = base.mark_rule(strokeWidth=3, opacity=0.4, color="currentColor").encode(x=x.of("low", alt.X), x2="high:Q")
    chart = alt.layer(rule, *chart.layer).add_params(charts.hidden())
    seeds = len(found.seeds)
    source = f"means over {seeds} seeds, paired; bars are 95 % intervals" if seeds > 1 else "one seed each: no interval"
    columns, height = (
        ("figure", x.title, "low (%)", "high (%)"),
        charts.rows_height(rows, 60, 22),
    )
    return Figure("Change by figure", chart, source, columns, table, tuple(series), wide=True, height=height)
