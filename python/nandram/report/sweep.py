"""Report section of a sweep: Pareto front, sensitivities, and the objectives along each axis."""

from typing import TYPE_CHECKING, Any

import polars as pl

from nandram.report import charts
from nandram.report.charts import Axis
from nandram.report.page import Figure, Heading, Notes, Section, Table
from nandram.sweep.space import amount

if TYPE_CHECKING:
    from nandram.sweep import Sweep

ROWS_MAX = 50
GROUPS_MAX = 8
"""Maximum number of points along an axis."""
ROUNDING = 1e-9
"""Relative rounding error of means of equal figures."""
POINTS_MAX = 3000
"""Maximum number of points in a scatter plot; more would overlap and draw slowly."""


_UNITS = {"iops": "requests/s", "_us": "us", "_mb_s": "MB/s", "_mw": "mW", "_j": "J"}
"""Units by the suffix of a measure's name."""


def section(sweep: "Sweep", anchor: str) -> Section:
    """Return the section of a sweep."""
    found = Section(f"Sweep {sweep.folder.name}", anchor)
    found.parts.append(f"{sweep.done:,} of {len(sweep.table):,} rows over {', '.join(sweep.axes)}.")
    if sweep.done == 0:
        return found
    kinds = sweep.notes()
    if kinds:
        found.parts.append(Notes([f"{kind}: {count:,} of {sweep.done:,} rows" for kind, count in kinds.items()]))
    source = f"{sweep.folder.name}/sweep.toml"
    if sweep.objectives:
        front = sweep.pareto()
        columns = (*sweep.axes, *sweep.objectives)
        rows = [tuple(row[name] for name in columns) for row in front.head(ROWS_MAX).to_dicts()]
        aims = ", ".join(f"{name} ({side})" for name, side in sweep.objectives.items())
        found.parts += [Heading(f"Pareto front: {aims}"), f"{len(front)} of {len(sweep.means())} configurations."]
        if len(sweep.objectives) > 1:
            found.parts.append(_front(sweep, front, source))
        found.parts.append(Table(columns, rows))
    moved = sweep.sensitivity()
    measures = list(sweep.objectives) or ["iops", "mean_us"]
    found.parts += [
        Heading("Sensitivity"),
        "Fraction of the variance that each axis explains on its own, less what chance explains (epsilon squared), "
        "with 95 % intervals. An interval that begins at 0 is not told from chance.",
    ]
    for measure in measures:
        of_it = moved.filter(pl.col("measure") == measure).sort("share", descending=True, nulls_last=True).to_dicts()
        if of_it:
            known = [row for row in of_it if row["share"] is not None]
            found.parts += [_shares(measure, known, source)] if known else []
            found.parts += [_along(sweep, axis, measure, source) for axis in sweep.axes]
    disagreements = sweep.disagreements(*measures)
    if disagreements:
        lines = [f"{each.where}: {each}" for each in disagreements[:ROWS_MAX]]
        found.parts += [Heading("Seeds that fall into groups"), Notes(lines)]
    return found


def _axis(measure: str) -> Axis:
    unit = next((unit for end, unit in _UNITS.items() if measure.endswith(end)), None)
    return Axis(f"{measure} ({unit})" if unit else measure)


def _front(sweep: "Sweep", front: pl.DataFrame, source: str) -> Figure:
    x, y = list(sweep.objectives)[:2]
    indices = set(front["index"])
    listed = sweep.means().drop_nulls([x, y]).to_dicts()
    others = [row for row in listed if row["index"] not in indices]
    others = others[:: -(-len(others) // POINTS_MAX)] if others else []
    rows: list[dict[str, Any]] = []
    table: list[tuple[Any, ...]] = []
    for series, part in (("others", others), ("Pareto front", [row for row in listed if row["index"] in indices])):
        rows += [{"series": series, "x": row[x], "y": row[y], "at": _place(sweep, row)} for row in part]
        table += [(series, row[x], row[y], _place(sweep, row)) for row in part]
    chart = charts.cloud(rows, ["others", "Pareto front"], _axis(x), _axis(y))
    columns = ("series", x, y, "configuration")
    return Figure(f"{y} and {x}", chart, source, columns, table, ("others", "Pareto front"), wide=True, height=340)


def _place(sweep: "Sweep", row: dict[str, Any]) -> str:
    return ", ".join(f"{axis} {row[axis]}" for axis in sweep.axes)


def _shares(measure: str, of_it: list[dict[str, Any]], source: str) -> Figure:
    names = ("beyond chance", "not told from chance")
    rows: list[dict[str, Any]] = [
        {"name": row["axis"], "x": row["share"], "low": row["low"], "high": row["high"]}
        | {"series": names[0] if row["low"] > 0 else names[1]}
        for row in of_it
    ]
    series = [name for name in names if any(row["series"] == name for row in rows)]
    x = Axis("fraction of the variance", lowest=0, highest=1, percent=True)
    chart = charts.intervals(rows, series, x, "axis")
    table = [(row["axis"], row["share"], row["low"], row["high"], row["rank"]) for row in of_it]
    columns = ("axis", "fraction of the variance", "low", "high", "rank correlation")
    height = charts.rows_height(rows, 60, 26)
    return Figure(f"Sensitivity of {measure}", chart, source, columns, table, tuple(series), height=height)


def _along(sweep: "Sweep", axis: str, measure: str, source: str) -> Figure:
    """Return a chart of a measure along an axis, averaged over the other axes."""
    means = sweep.means().drop_nulls(measure).group_by(axis).agg(pl.col(measure).mean()).to_dicts()
    numbers = [amount(row[axis])[0] for row in means]
    names = any(number != number for number in numbers)
    unit = "" if names else amount(means[0][axis])[1]
    points = [(row[axis] if names else number, row[measure]) for row, number in zip(means, numbers, strict=True)]
    points.sort()
    if not names and len(points) > GROUPS_MAX:
        # Average neighboring points, which evens out the effect of the other axes.
        size = -(-len(points) // GROUPS_MAX)
        groups = [points[start : start + size] for start in range(0, len(points), size)]
        points = [(sum(x for x, _ in each) / len(each), sum(y for _, y in each) / len(each)) for each in groups]
    rows = [{"series": "mean", "x": x, "y": y} for x, y in points]
    x_axis = Axis(f"{axis} ({unit})" if unit else axis, "names" if names else "linear")
    chart = charts.lines(rows, ["mean"], x_axis, _axis(measure))
    highest = max(y for _, y in points)
    spread = highest - min(y for _, y in points)
    title = f"{measure} by {axis}, mean over the rest"
    if spread <= max(_noise(sweep, measure) or 0.0, ROUNDING * abs(highest)):
        title += ": no difference beyond the spread of the seeds"
    return Figure(title, chart, source, (x_axis.title, measure), points)


def _noise(sweep: "Sweep", measure: str) -> float | None:
    """Return twice the standard deviation of a measure over the seeds of a configuration; None with one seed."""
    rows = sweep.frame().drop_nulls(measure)
    deviations = rows.group_by("index").agg(pl.col(measure).std(), pl.len().alias("n")).drop_nulls(measure)
    if deviations.is_empty():
        return None
    mean_square = (deviations[measure] ** 2).mean()
    return 2 * float(mean_square) ** 0.5 if isinstance(mean_square, float) else None
