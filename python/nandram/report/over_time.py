"""Charts of a run over time, and over queue depth if its jobs vary it."""

from typing import TYPE_CHECKING, Any

import polars as pl

from nandram import units
from nandram.report import charts, depth, heat
from nandram.report.charts import Axis
from nandram.report.page import Figure
from nandram.results import validity

if TYPE_CHECKING:
    from nandram.results.result import Result

TIME = Axis("simulated time (s)", zero=True)
_STATES = (
    ("Queues over time", {"queue": "between driver and translation layer", "die_queue": "at the dies"}, "operations"),
    (
        "Collections and erases in progress",
        {"collecting": "collecting parallel units", "dies_erasing": "erasing dies"},
        "count",
    ),
)


def figures(result: "Result", source: str) -> list[Figure]:
    """Return the charts for which the run has data."""
    cut = result.warm_up_s
    note = f"; the first {units.duration(cut * 1e9)} are warm-up, excluded from the statistics" if cut else ""
    found = [*_traffic(result, source + note), *heat.figures(result, source + note), *_drive(result, source + note)]
    return [*found, *over_depth(result, source), *depth.figures({"A": (result,)}, source)]


def _lines(frame: pl.DataFrame, value: str, name: str) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]]]:
    """Return the steps of a column as rows of a chart and of its table, extended to the end of the last step."""
    steps = frame.sort("time_s").drop_nulls(value).to_dicts()
    points = [(row["time_s"], row[value]) for row in steps]
    if steps:
        points.append((steps[-1]["time_s"] + steps[-1]["span_s"], points[-1][1]))
    return [{"series": name, "x": x, "y": y} for x, y in points], [(name, x, y) for x, y in points]


def _traffic(result: "Result", source: str) -> list[Figure]:
    """Return charts of IOPS and response times by direction, over all jobs."""
    windows = result.throughput().filter((pl.col("direction") != "sync") & (pl.col("requests") > 0))
    windows = validity.supported(result.validity, windows)
    if windows.is_empty():
        return []
    weight = pl.col("requests") / pl.col("requests").sum()
    by_direction = windows.group_by("direction", "time_s", "span_s", maintain_order=True).agg(
        pl.col("iops").sum(),
        # For several jobs: percentiles averaged by requests, and the maximum.
        (pl.col("latency_p50_ns") * weight).sum().alias("median") / 1000,
        (pl.col("latency_p99_ns") * weight).sum().alias("99 %") / 1000,
        pl.col("latency_max_ns").max().alias("longest") / 1000,
    )
    several = windows["job"].n_unique() > 1
    rows: dict[str, list[dict[str, Any]]] = {"iops": [], "latency": []}
    table: dict[str, list[tuple[Any, ...]]] = {"iops": [], "latency": []}
    series: list[str] = []
    directions = by_direction["direction"].unique(maintain_order=True).to_list()
    for direction in directions:
        each = by_direction.filter(pl.col("direction") == direction)
        more, listed = _lines(each, "iops", direction)
        rows["iops"] += more
        table["iops"] += listed
        for column in ("median", "99 %", "longest"):
            name = f"{direction}: {column}"
            series.append(name)
            more, listed = _lines(each, column, name)
            rows["latency"] += more
            table["latency"] += listed
    latency_source = f"{source}; percentiles are averaged over jobs, weighted by requests" if several else source
    return [
        Figure(
            "Requests over time",
            charts.lines(rows["iops"], directions, TIME, Axis("requests/s", zero=True), steps=True),
            source,
            ("series", TIME.title, "requests/s"),
            table["iops"],
            tuple(directions),
        ),
        Figure(
            "Response times over time",
            charts.lines(rows["latency"], series, TIME, Axis("response time (us)", "log"), steps=True),
            latency_source,
            ("series", TIME.title, "response time (us)"),
            table["latency"],
            tuple(series),
        ),
    ]


def _drive(result: "Result", source: str) -> list[Figure]:
    """Return charts of write amplification, free blocks, queues, collection and the write cache, if used."""
    drive = result.drive()
    if drive.is_empty():
        return []
    found = []
    if drive["programmed_host"].sum() > 0:
        if "write-amplification" not in validity.withheld(result.validity):
            y = Axis("units programmed per host unit", zero=True)
            found.append(_one(drive, "write_amplification", "Write amplification over time", y, source))
        found.append(_one(drive, "free_blocks", "Free blocks over time", Axis("blocks", zero=True), source))
    for title, columns, y_title in _STATES:
        used = {column: name for column, name in columns.items() if drive[column].sum() > 0}
        if used:
            found.append(_several(drive, used, title, Axis(y_title, zero=True), source))
    if drive["write_cache_used"].sum() > 0:
        y = Axis("fraction of the write cache in use", highest=1, percent=True)
        found.append(_one(drive, "write_cache_fill", "Fill of the write cache over time", y, source))
    return found


def _one(drive: pl.DataFrame, column: str, title: str, y: Axis, source: str) -> Figure:
    rows, table = _lines(drive, column, column)
    chart = charts.lines(rows, [column], TIME, y, steps=True)
    return Figure(title, chart, source, (TIME.title, y.title), [row[1:] for row in table])


def _several(drive: pl.DataFrame, columns: dict[str, str], title: str, y: Axis, source: str) -> Figure:
    rows: list[dict[str, Any]] = []
    table: list[tuple[Any, ...]] = []
    for column, name in columns.items():
        more, listed = _lines(drive, column, name)
        rows += more
        table += listed
    series = list(columns.values())
    source += "; sampled at the end of each interval"
    chart = charts.lines(rows, series, TIME, y, steps=True)
    return Figure(title, chart, source, ("series", TIME.title, y.title), table, tuple(series))


_APART = frozenset(("iodepth", "name", "description", "stonewall", "new_group", "group_reporting", "wait_for_previous"))
"""Options in which jobs of one shape may differ."""


def over_depth(result: "Result", source: str) -> list[Figure]:
    """Return charts of IOPS and the 99th percentile over queue depth, one line per shape of jobs and direction.

    Jobs of one shape differ in their depth only; a shape with fewer than two depths has no line.
    """
    points: dict[tuple[str, int], list[tuple[float, float]]] = {}
    withheld = validity.withheld(result.validity)
    for label, jobs in _shapes(result.summary["jobs"]).items():
        for direction in ("read", "write"):
            for outstanding, job in jobs:
                found = job[direction]
                p99 = found["lat_ns"].get("percentile", {}).get("99.000000")
                if found["total_ios"] and p99 is not None and direction not in withheld:
                    name = f"{direction}, {label}" if label else direction
                    points.setdefault((name, outstanding), []).append((found["iops"], p99 / 1000))
    series = list(dict.fromkeys(name for name, _ in points))
    figures = []
    for index, title, y in (
        (0, "Requests per second over queue depth", Axis("requests/s", zero=True)),
        (1, "99th percentile over queue depth", Axis("answered within (us)", "log")),
    ):
        # Jobs of the same depth are averaged.
        table = [
            (name, depth, sum(each[index] for each in found) / len(found))
            for (name, depth), found in sorted(points.items())
            if not (index == 1 and name.startswith("write") and "write-tail" in withheld)
        ]
        rows = [{"series": name, "x": depth, "y": value} for name, depth, value in table]
        shown = [name for name in series if any(row["series"] == name for row in rows)]
        x = Axis("requests outstanding per job", "log")
        columns = ("jobs", x.title, y.title)
        if rows:
            figures.append(Figure(title, charts.lines(rows, shown, x, y), source, columns, table, tuple(shown)))
    return figures


def _shapes(jobs: list[dict[str, Any]]) -> dict[str, list[tuple[int, dict[str, Any]]]]:
    """Return the jobs with their depths by shape, for shapes of at least two depths.

    A shape is named by the options in which it differs from the others; a single one has an empty name.
    """
    found: dict[tuple[tuple[str, str], ...], list[tuple[int, dict[str, Any]]]] = {}
    for job in jobs:
        options = job["job options"]
        depth = _depth(options)
        if depth is not None:
            shape = tuple(sorted((key, str(value)) for key, value in options.items() if key not in _APART))
            found.setdefault(shape, []).append((depth, job))
    kept = {shape: each for shape, each in found.items() if len({depth for depth, _ in each}) > 1}
    common = set.intersection(*map(set, kept)) if kept else set()
    return {
        " ".join(f"{key}={value}" for key, value in shape if (key, value) not in common): each
        for shape, each in kept.items()
    }


def _depth(options: dict[str, Any]) -> int | None:
    try:
        return int(options.get("iodepth", 1))
    except ValueError:
        return None
