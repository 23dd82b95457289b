"""Charts that an experiment declares: a figure of the paper, drawn anew from our runs.

[charts.throughput]
title = "Figure 9: throughput of four threads, by request size"
x = "chunk_kib"                                   the axis of the series that lies across
x_title = "request size (KiB)"
y_title = "throughput (MB/s)"
scale = "log"                                     of x: linear, log, or names; of texts always names
ours = { read = "reads.all_read_mb_s" }           series by name; other axes are told apart by name
stated = { "drambus.throughput.read.512k.qd4" = 512 }      the paper's figures, and where on x they belong
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, cast

from nandram.errors import UserError
from nandram.papers.claims import Claims
from nandram.papers.expression import Expression
from nandram.papers.functions import kind
from nandram.papers.grid import Coordinate, Grid, words
from nandram.papers.tables import Table

Scale = Literal["linear", "log", "names"]
SCALES: tuple[Scale, ...] = ("linear", "log", "names")


@dataclass(frozen=True)
class Chart:
    """A chart as it is declared."""

    title: str
    x: str
    x_title: str
    y_title: str
    scale: Scale
    ours: dict[str, Expression]
    stated: dict[str, Coordinate]
    place: str
    """Where it stands, for messages."""


@dataclass(frozen=True)
class Drawn:
    """A chart with its data."""

    paper: str
    """The paper's short name."""
    name: str
    title: str
    x_title: str
    y_title: str
    scale: Scale
    points: tuple[tuple[str, Coordinate, float], ...]
    """Ours: series, x, y."""
    stated: tuple[tuple[Coordinate, float, str], ...]
    """The paper's: x, y, the claim."""


def read(table: Table, claims: Claims, scope: Collection[str]) -> Chart:
    """Read a chart. Raises `UserError`."""
    table.only("title", "x", "x_title", "y_title", "scale", "ours", "stated")
    ours, stated = table.table("ours"), table.table("stated")
    if not ours.values:
        raise table.error("ours", "none", "a series by its name")
    series = {}
    for name in ours.values:
        series[name] = Expression(ours.text(name), ours.place(name))
        series[name].expect(scope)
    for claim in stated.values:
        if claim not in claims.claims or isinstance(claims.claims[claim].value, tuple):
            raise stated.error(claim, claim, f"a claim of {claims.paper} with one figure")
        stated.take(claim, "a coordinate", int, float, str)
    scale = table.text("scale", "linear")
    if scale not in SCALES:
        raise table.one_of("scale", scale, SCALES)
    return Chart(
        title=table.text("title"),
        x=table.text("x"),
        x_title=table.text("x_title"),
        y_title=table.text("y_title"),
        scale=cast("Scale", scale),
        ours=series,
        stated=dict(stated.values),
        place=table.place("x"),
    )


def draw(claims: Claims, name: str, chart: Chart, names: dict[str, Any]) -> Drawn:
    """Return a chart's data where expressions see `names`. Raises `UserError`."""
    points: list[tuple[str, Coordinate, float]] = []
    for series, expression in chart.ours.items():
        found = expression.evaluate(names)
        if not isinstance(found, Grid):
            raise expression.error(f"found {kind(found)}, expected a series")
        if chart.x not in found.axes:
            raise UserError(f"{chart.place}: found no axis `{chart.x}` of {series}, expected {words(found.axes)}")
        for key, value in found.cells.items():
            place = dict(zip(found.axes, key, strict=True))
            x = place.pop(chart.x)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise expression.error(f"found {kind(value)}, expected numbers")
            points.append((", ".join([series, *(f"{axis} {each}" for axis, each in place.items())]), x, float(value)))
    texts = any(isinstance(x, str) for _, x, _ in points)
    stated = tuple((x, cast("float", claims.claims[claim].value), claim) for claim, x in chart.stated.items())
    scale: Scale = "names" if texts else chart.scale
    return Drawn(claims.paper, name, chart.title, chart.x_title, chart.y_title, scale, tuple(points), stated)
