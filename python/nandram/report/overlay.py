"""Charts of several runs on one pair of axes: the tails of response times, and requests over time."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from nandram.report import charts, depth, heat
from nandram.report.charts import Axis
from nandram.report.page import Figure
from nandram.results import validity

if TYPE_CHECKING:
    from nandram.results.result import Result

Runs = Mapping[str, "Sequence[Result]"]
"""Results by the name of their side; the results of a side differ in the seed alone."""
POINTS_PER_DECADE = 60
"""Points of a tail per factor of ten of its height."""
TIME = Axis("simulated time (s)", zero=True)


def figures(runs: Runs, source: str) -> list[Figure]:
    """Return the charts of runs for which there is data."""
    found = (_tails(runs, source), _rates(runs, source), _medians(runs, source))
    maps = [each for side, results in runs.items() for each in heat.figures(results[0], _first_seed(source), side)]
    return [*(figure for figure in found if figure is not None), *maps, *depth.figures(runs, source)]


def _tails(runs: Runs, source: str) -> Figure | None:
    """Return the fraction of requests that take longer than a time, on logarithmic axes, which show the tail."""
    rows: list[dict[str, Any]] = []
    for side, results in runs.items():
        frames = [validity.supported(result.validity, result.latency()) for result in results]
        counts = pl.concat(frames).filter(pl.col("direction") != "sync") if frames else pl.DataFrame()
        for (direction,), each in _by_direction(counts):
            totals = each.group_by("latency_ns").agg(pl.col("count").sum()).sort("latency_ns")
            above = 1 - totals["count"].cum_sum() / totals["count"].sum()
            points = [(ns / 1000, y) for ns, y in zip(totals["latency_ns"], above, strict=True)]
            rows += [{"series": f"{side}: {direction}", "x": x, "y": y} for x, y in _thinned(points)]
    x, y = Axis("response time (us)", "log"), Axis("fraction of requests that take longer", "log")
    return _figure("Response times: tail", rows, (x, y), f"{source}; all seeds together")


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Reduce a falling line to a number of points per factor of ten; its end, 0, is on no logarithmic axis."""
    import math

    kept: list[tuple[float, float]] = []
    last = math.inf
    for x, y in points:
        place = POINTS_PER_DECADE * math.log10(y) if y > 1e-12 else -math.inf
        if y > 1e-12 and place <= last - 1:
            kept.append((x, y))
            last = place
    return kept


def _rates(runs: Runs, source: str) -> Figure | None:
    rows = _over_time(runs, pl.col("iops").sum())
    return _figure("Requests over time", rows, (TIME, Axis("requests/s", zero=True)), _first_seed(source), steps=True)


def _medians(runs: Runs, source: str) -> Figure | None:
    weight = pl.col("requests") / pl.col("requests").sum()
    rows = _over_time(runs, (pl.col("latency_p99_ns") * weight).sum() / 1000)
    y = Axis("99th percentile (us)", "log")
    return _figure("99th percentile over time", rows, (TIME, y), _first_seed(source), steps=True)


def _over_time(runs: Runs, value: pl.Expr) -> list[dict[str, Any]]:
    """Return the rows of a value of each interval of the first seed, over all jobs."""
    rows: list[dict[str, Any]] = []
    for side, results in runs.items():
        windows = validity.supported(results[0].validity, results[0].throughput())
        windows = windows.filter((pl.col("direction") != "sync") & (pl.col("requests") > 0))
        for (direction,), each in _by_direction(windows):
            steps = each.group_by("time_s", "span_s").agg(value.alias("y")).sort("time_s")
            points = [(row["time_s"], row["y"]) for row in steps.to_dicts()]
            if points:
                points.append((steps["time_s"][-1] + steps["span_s"][-1], points[-1][1]))
            rows += [{"series": f"{side}: {direction}", "x": x, "y": y} for x, y in points]
    return rows


def _by_direction(frame: pl.DataFrame) -> list[tuple[tuple[Any, ...], pl.DataFrame]]:
    return [] if frame.is_empty() else list(frame.group_by("direction", maintain_order=True))


def _first_seed(source: str) -> str:
    return f"{source}; the first seed, all jobs together"


def _figure(
    title: str, rows: list[dict[str, Any]], axes: tuple[Axis, Axis], source: str, *, steps: bool = False
) -> Figure | None:
    if not rows:
        return None
    series = list(dict.fromkeys(row["series"] for row in rows))
    columns = ("series", axes[0].title, axes[1].title)
    table = [(row["series"], row["x"], row["y"]) for row in rows]
    return Figure(title, charts.lines(rows, series, *axes, steps=steps), source, columns, table, tuple(series))
