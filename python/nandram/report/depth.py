"""Throughput against response time over the requests outstanding, from jobs or runs of one shape."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from nandram.report import charts
from nandram.report.charts import Axis
from nandram.report.page import Figure
from nandram.results import frames, validity

if TYPE_CHECKING:
    from nandram.results.result import Result

_DEPTHS = ("iodepth", "numjobs")
_APART = frozenset(
    (*_DEPTHS, "name", "description", "stonewall", "new_group", "group_reporting", "wait_for_previous", "number_ios")
)
"""Options in which jobs of one shape may differ."""

Shape = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Place:
    """One direction of the jobs of one depth in one run."""

    line: tuple[str, Shape, str]
    """The system, the shape and the direction: places that agree in them are a line."""
    outstanding: int
    iops: float
    median_us: float
    p99_us: float | None


def figures(runs: Mapping[str, "Sequence[Result]"], source: str) -> list[Figure]:
    """Return a chart of the runs whose jobs differ only in their depth, or nothing if there are none.

    `runs`: results by side; the results of a side differ in the seed alone, and the first counts.
    """
    lines: dict[tuple[str, Shape, str], dict[int, Place]] = {}
    sides: dict[tuple[str, Shape, str], list[str]] = {}
    for side, results in runs.items():
        for place in _places(results[0]):
            lines.setdefault(place.line, {}).setdefault(place.outstanding, place)
            sides.setdefault(place.line, []).append(side)
    kept = {line: places for line, places in lines.items() if len(places) > 1}
    if not kept:
        return []
    names = _names({line: list(dict.fromkeys(sides[line])) for line in kept}, len(runs))
    rows: list[dict[str, Any]] = []
    table: list[tuple[Any, ...]] = []
    series = []
    for line, places in kept.items():
        for what in ("median", "99 %"):
            name = f"{names[line]}: {what}"
            for place in sorted(places.values(), key=lambda each: each.outstanding):
                y = place.median_us if what == "median" else place.p99_us
                if y is not None:
                    rows.append({"series": name, "x": place.iops, "y": y, "label": str(place.outstanding)})
                    table.append((name, place.outstanding, place.iops, y))
            if any(row["series"] == name for row in rows):
                series.append(name)
    x, y_axis = Axis("requests/s", zero=True), Axis("response time (us)", "log")
    columns = ("jobs", "requests outstanding", x.title, y_axis.title)
    chart = charts.path(rows, series, x, y_axis)
    outstanding = sorted({place.outstanding for places in kept.values() for place in places.values()})
    note = f"{source}; along each line {', '.join(map(str, outstanding))} requests outstanding"
    return [Figure("Throughput against response time", chart, note, columns, table, tuple(series))]


def _names(lines: Mapping[tuple[str, Shape, str], list[str]], runs: int) -> dict[tuple[str, Shape, str], str]:
    """Return a name per line: its direction, where lines differ the options of the shape, and the side it is from."""
    common = set.intersection(*(set(shape) for _, shape, _ in lines))
    several = len({system for system, _, _ in lines}) > 1
    names = {}
    for line, sides in lines.items():
        _, shape, direction = line
        apart = " ".join(f"{key}={value}" for key, value in shape if (key, value) not in common)
        side = f"{', '.join(sides)}: " if several and runs > 1 else ""
        names[line] = f"{side}{direction}, {apart}" if apart else f"{side}{direction}"
    return names


def _places(result: "Result") -> list[Place]:
    withheld = validity.withheld(result.validity)
    shared = {key: str(value) for key, value in result.summary.get("global options", {}).items()}
    together: dict[tuple[Shape, str, int], list[tuple[int, Mapping[str, Any], int]]] = {}
    for number, job in enumerate(result.summary["jobs"]):
        options = shared | {key: str(value) for key, value in job["job options"].items()}
        try:
            depth = int(options.get("iodepth", 1))
        except ValueError:
            continue
        shape = tuple(sorted((key, value) for key, value in options.items() if key not in _APART))
        together.setdefault((shape, job["jobname"], job["groupid"]), []).append((number, job, depth))
    latency = result.latency()
    found = []
    for (shape, _, _), jobs in together.items():
        of_jobs = latency.filter(pl.col("job").is_in([number for number, _, _ in jobs]))
        for direction in ("read", "write"):
            iops = sum(job[direction]["iops"] for _, job, _ in jobs if direction in job)
            if not iops or direction in withheld:
                continue
            median, p99 = (frames.percentile(of_jobs, percent, direction) / 1000 for percent in (50.0, 99.0))
            tail = None if direction == "write" and "write-tail" in withheld else p99
            line = (str(result.inside["system_hash"]), shape, direction)
            found.append(Place(line, sum(depth for _, _, depth in jobs), iops, median, tail))
    return found
