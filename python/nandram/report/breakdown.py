"""Figures of a run that logged every request: where the time of the requests goes."""

from typing import TYPE_CHECKING, Any

from nandram.report import charts
from nandram.report.charts import Axis
from nandram.report.page import Figure
from nandram.results import validity
from nandram.results.names import PARTS

if TYPE_CHECKING:
    from nandram.results.result import Result

COLORS = {
    "queue": "#7a6a5f",
    "host_wait": "#cdbf7a",
    "host": "#8a7a1f",
    "adapter": "#b39a2e",
    "messages": "#6fb9c4",
    "firmware_wait": "#d3ade0",
    "firmware": "#a35bb8",
    "buffer": "#c94a5e",
    "map": "#d9730d",
    "die_wait": "#9cc0e6",
    "array": "#3b7fc4",
    "channel_wait": "#a5dcc4",
    "channel": "#1a9467",
    "correction": "#5e7fa8",
    "program": "#e0909d",
    "link_wait": "#a9d8de",
    "link": "#2b9aa8",
}
"""Colors of the parts, visible on white and on black: a wait is a lighter shade of what it waits for."""


def figures(result: "Result", source: str) -> list[Figure]:
    """Return a figure for each direction: the mean parts of the latency, stacked, by percentile."""
    if "breakdown" not in result.tables:
        return []
    rows = validity.supported(result.validity, result.breakdown()).to_dicts()
    directions = dict.fromkeys(row["direction"] for row in rows)
    return [_figure(name, [row for row in rows if row["direction"] == name], source) for name in directions]


def _figure(direction: str, bands: list[dict[str, Any]], source: str) -> Figure:
    met = {part: title for part, title in PARTS.items() if any(band[f"{part}_ns"] > 0 for band in bands)}
    rows = [
        {"series": title, "name": band["band"], "value": band[f"{part}_ns"] / 1000}
        for band in bands
        for part, title in met.items()
    ]
    series, colors = list(met.values()), [COLORS[part] for part in met]
    chart = charts.bars(rows, series, Axis("mean response time (us)"), Axis("requests by response time"), colors)
    columns = (
        "requests by response time",
        "requests",
        "mean response time (us)",
        *(f"{title} (us)" for title in series),
    )
    table = [
        (band["band"], band["requests"], band["latency_ns"] / 1000, *(band[f"{part}_ns"] / 1000 for part in met))
        for band in bands
    ]
    title = f"Where the time of {'flushes' if direction == 'sync' else direction + 's'} goes"
    height = charts.rows_height(rows[:: len(met)], 40, 26)
    return Figure(title, chart, source, columns, table, tuple(series), height=height)
