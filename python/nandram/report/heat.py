"""Heat maps of response times over time."""

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from nandram.report import charts
from nandram.report.charts import Axis
from nandram.report.page import Figure
from nandram.results import validity

if TYPE_CHECKING:
    from nandram.results.result import Result

QUARTER = 1.25
"""Largest ratio of the ends of a quarter of an octave, the height of a cell."""


def figures(result: "Result", source: str, side: str = "") -> list[Figure]:
    """Return one map per direction: how many requests of each interval took how long. `side` names the run."""
    if "latency_over_time" not in result.tables:
        return []  # a result of an earlier version
    counts = result.latency_over_time().filter(pl.col("direction") != "sync")
    counts = validity.supported(result.validity, counts)
    found = []
    for direction in counts["direction"].unique(maintain_order=True).to_list():
        each = counts.filter(pl.col("direction") == direction).sort("time_s", "latency_ns")
        title = f"{side}: {direction} times over time" if side else f"Response times over time: {direction}s"
        found.append(_map(each, title, source))
    return found


def _map(counts: pl.DataFrame, title: str, source: str) -> Figure:
    whole = counts.group_by("time_s").agg(pl.col("count").sum().alias("whole"))
    rows: list[dict[str, Any]] = []
    table: list[tuple[Any, ...]] = []
    for row in counts.join(whole, on="time_s").sort("time_s", "latency_ns").to_dicts():
        ends = (row["time_s"], row["time_s"] + row["span_s"])
        low = max(row["latency_ns"], 1) / 1000
        high = _next(row["latency_ns"]) / 1000
        fraction = row["count"] / row["whole"]
        rows.append({"x": ends[0], "x2": ends[1], "low": low, "high": high, "value": fraction, "count": row["count"]})
        table.append((*ends, low, high, row["count"]))
    x, y = Axis("simulated time (s)", zero=True), Axis("response time (us)", "log")
    columns = ("from (s)", "to (s)", "from (us)", "to (us)", "requests")
    chart = charts.density(rows, x, y, "fraction of the interval's requests")
    return Figure(title, chart, source, columns, table)


def _next(ns: int) -> int:
    """Return the lower end of the quarter of an octave above the one that begins at `ns`."""
    return ns + 1 if ns < 8 else ns + (1 << (int(math.log2(ns)) - 2))
