"""Report on a fit: measured beside modeled, residuals, held-out points, and what the data determine."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandram import units
from nandram.fit.measurements.points import Conditions, Point, size_text
from nandram.fit.model import errors
from nandram.fit.parameters import text
from nandram.report import charts
from nandram.report.charts import Axis, Marks
from nandram.report.page import Figure, Heading, Notes, Section, Table, render

if TYPE_CHECKING:
    from nandram.fit.evaluate import Modeled
    from nandram.fit.result import ErrorRow, Fit

BAND_MAX = 100.0
"""Largest relative width in percent to which the chart of the bands extends; the table has all."""
_FIGURES = {"iops": "IOPS", "p50": "p50", "p99": "p99"}


def page(fit: "Fit") -> str:
    """Return the page of a fit as HTML."""
    title = f"A fit of {Path(fit.system.source).name}"
    return render(title, "A system file fitted to measurements of a drive.", [section(fit, title)])


def section(fit: "Fit", title: str) -> Section:
    """Return the section of a fit."""
    found = Section(title, "fit")
    held_out = len(fit.split.held_out)
    regions = f", {' and '.join(fit.split.regions)} as a whole" if fit.split.regions else ""
    count = f"{len(fit.measured.points)} points: {len(fit.split.fitted)} fitted, {held_out} held out{regions}"
    noise = "unknown" if fit.noise is None else f"{100 * fit.noise:.1f} %"
    found.parts.append(f"{count}; noise of the data: {noise}; SHA-256 of the points: {fit.measured.hash[:16]}.")
    found.parts.append(Notes(list(fit.measured.remarks)))
    found.parts.append(Heading("Errors"))
    columns = ("error of", "points", "figures", "median (%)", "90 % (%)", "largest (%)")
    rows: list[tuple[str | float, ...]] = [
        (_FIGURES.get(row.figure, "all three"), row.points, row.count, *(100 * each for each in _sizes(row)))
        for row in fit.table()
    ]
    found.parts.append(Table(columns, rows))
    found.parts += _curves(fit)
    found.parts.append(_residuals(fit))
    found.parts.append(Heading("What the data determine"))
    found.parts += _bands(fit)
    found.parts.append(Heading("The start in closed form"))
    found.parts.append(Notes([f"{key}: {sentence}" for key, sentence in fit.start.sentences.items()]))
    return found


def _sizes(row: "ErrorRow") -> tuple[float, float, float]:
    return row.median, row.p90, row.largest


def _figure(point: Point, figure: str) -> float | None:
    """Return a measured figure: requests per second, or microseconds."""
    if figure == "iops":
        return point.iops
    ns = point.percentile(50.0 if figure == "p50" else 99.0)
    return None if ns is None else ns / 1000


def _modeled(modeled: "Modeled", figure: str) -> float:
    return {"iops": modeled.iops, "p50": modeled.p50_ns / 1000, "p99": modeled.p99_ns / 1000}[figure]


def _kind(conditions: Conditions, kinds: list[Conditions]) -> str:
    """Return the name of a curve: the conditions other than the depth, as far as the points differ in them."""
    parts = []
    if len({(each.direction, each.random) for each in kinds}) > 1:
        parts.append(f"{'random' if conditions.random else 'sequential'} {conditions.direction}")
    parts.append(size_text(conditions.size_bytes))
    if len({each.jobs for each in kinds}) > 1:
        parts.append(f"{conditions.jobs} {'jobs' if conditions.jobs > 1 else 'job'}")
    if len({each.engine for each in kinds}) > 1:
        parts.append(conditions.engine)
    return ", ".join(parts)


def _curves(fit: "Fit") -> list[Figure]:
    """Return a chart per figure: modeled curves over depth, measured points as crosses."""
    kinds = [point.conditions for point in fit.measured.points]
    held_out = set(fit.split.held_out)
    x = Axis("requests outstanding per job", "log")
    found = []
    for figure, name in _FIGURES.items():
        rows: list[dict[str, Any]] = []
        stated: list[dict[str, Any]] = []
        table: list[tuple[Any, ...]] = []
        bands = fit.prediction_bands()
        for point, modeled, band in zip(fit.measured.points, fit.modeled[0], bands, strict=True):
            kind, depth = _kind(point.conditions, kinds), point.conditions.depth
            measured, ours = _figure(point, figure), _modeled(modeled, figure)
            what = "held out" if point in held_out else "fitted"
            scale = 1 if figure == "iops" else 1000
            ends = [end / scale for end in band[figure]]
            rows.append({"series": kind, "x": depth, "y": ours})
            table.append((kind, depth, what, measured, ours, *ends))
            if measured is not None:
                claim = f"{kind}, depth {depth}, measured, {what}"
                stated.append({"x": depth, "y": measured, "claim": claim})
        unique = {(row["series"], row["x"]): row for row in rows}
        rows = sorted(unique.values(), key=lambda row: row["x"])
        series = list(dict.fromkeys(row["series"] for row in rows))
        unit = "requests/s" if figure == "iops" else "us"
        y = Axis(f"{name} ({unit})" if figure != "iops" else unit, "log")
        chart = charts.lines(rows, series, x, y, marks=Marks(stated=tuple(stated)))
        columns = ("points", x.title, "held out", f"measured ({unit})", f"modeled ({unit})", "lowest", "highest")
        source = "lines: the fitted file; crosses: measured; lowest and highest over all files that fit as well"
        found.append(Figure(f"Measured and modeled: {name}", chart, source, columns, table, tuple(series)))
    return found


def _residuals(fit: "Fit") -> Figure:
    """Return a chart of the relative errors over depth; held-out points are a series of their own."""
    kinds = [point.conditions for point in fit.measured.points]
    held_out = set(fit.split.held_out)
    rows: list[dict[str, Any]] = []
    table: list[tuple[Any, ...]] = []
    for point, modeled in zip(fit.measured.points, fit.modeled[0], strict=True):
        what = "held out" if point in held_out else "fitted"
        for figure, error in errors(point, modeled).items():
            name = f"{_FIGURES[figure]}, {what}"
            rows.append({"series": name, "x": point.conditions.depth, "y": 100 * error})
            table.append((name, _kind(point.conditions, kinds), point.conditions.depth, 100 * error))
    series = [f"{name}, {what}" for what in ("fitted", "held out") for name in _FIGURES.values()]
    series = [each for each in series if any(row["series"] == each for row in rows)]
    x, y = Axis("requests outstanding per job", "log"), Axis("modeled over measured (%)")
    chart = charts.points(rows, series, x, y)
    columns = ("figure", "points", x.title, y.title)
    source = "the best file; the search has not seen the held-out points"
    return Figure("Residuals", chart, source, columns, table, tuple(series), wide=True, height=300)


def _bands(fit: "Fit") -> "list[str | Figure | Table | Notes]":
    """Return how well the data determine each parameter: its band, and a table of all values."""
    if not fit.bands:
        return ["The start alone: no parameter was searched for."]
    rows: list[dict[str, Any]] = []
    listed: list[tuple[Any, ...]] = []
    for band in fit.bands:
        verdict = "determined" if band.determined else "not determined"
        name, unit = band.parameter.name, band.parameter.unit
        low, high = (100 * (end / band.value - 1) for end in (band.low, band.high))
        ends = {"low": max(low, -BAND_MAX), "high": min(high, BAND_MAX)}
        rows.append({"series": verdict, "name": name, "x": 0.0, **ends})
        listed.append((name, *(str(text(each, unit)) for each in (band.value, band.low, band.high)), verdict))
    series = sorted({row["series"] for row in rows})
    x = Axis(f"band (%), cut at {BAND_MAX:.0f}", lowest=-BAND_MAX, highest=BAND_MAX)
    columns = ("key", "value", "lowest", "highest", "verdict")
    figure = Figure(
        "Bands of the parameters",
        charts.intervals(rows, series, x, "key"),
        "standard errors from the slopes of the residuals, twice to each side, over all files that fit as well",
        columns,
        listed,
        tuple(series),
        wide=True,
        height=charts.rows_height(rows, 60, 22),
    )
    parts: list[str | Figure | Table | Notes] = [figure, Table(columns, listed)]
    if len(fit.guesses) > 1:
        parts.append(f"{units.count(len(fit.guesses), 'choice')} fit as well:")
        parts.append(
            Notes(
                [", ".join(f"{key} = {str(value).lower()}" for key, value in g.structure.items()) for g in fit.guesses]
            )
        )
    return parts
