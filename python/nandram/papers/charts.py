"""Charts that an experiment declares: a figure of the paper, redrawn from our runs.

[charts.throughput]
title = "Figure 9: throughput of four threads, by request size"
x = "chunk_kib"                                   the axis of the series that lies across
x_title = "request size (KiB)"
y_title = "throughput (MB/s)"
scale = "log"                                     of x: linear, log, or names; of texts always names
y_scale = "linear"                                or log
marks = "lines"                                   or bars, of names: a group of bars each
ours = { read = "reads.all_read_mb_s" }           series by name, or lists of what a series is joined of; other axes are
                                                  told apart by name
crossings = [["read", "write"]]                   pairs of series: where one passes the other is marked
stated = { "drambus.throughput.read.512k.qd4" = 512 }      the paper's figures, and where on x they belong;
                                                  { x = 512, factor = 0.001 } is one in another unit
stated_x = ["hmb.knee"]                           the paper's figures that are places on x
note = "..."                                      a sentence below the chart
"""

import itertools
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal, cast

from nandram.errors import UserError
from nandram.language.expression import Expression
from nandram.language.functions import kind
from nandram.language.grid import Coordinate, Grid, words
from nandram.language.tables import Table
from nandram.papers.claims import Claims

Scale = Literal["linear", "log", "names"]
SCALES: tuple[Scale, ...] = ("linear", "log", "names")
MARKS = ("lines", "bars")
_KEYS = tuple("title x x_title y_title scale y_scale marks ours crossings stated stated_x note".split())


@dataclass(frozen=True)
class Chart:
    """A declared chart."""

    title: str
    x: str
    x_title: str
    y_title: str
    scale: Scale
    log_y: bool
    bars: bool
    ours: dict[str, tuple[Expression, ...]]
    crossings: tuple[tuple[str, str], ...]
    stated: dict[str, tuple[Coordinate, float]]
    """Where on x it is, and what its unit is multiplied by."""
    stated_x: tuple[str, ...]
    note: str
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
    log_y: bool
    bars: bool
    points: tuple[tuple[str, Coordinate, float], ...]
    """Ours: series, x, y."""
    crossings: tuple[tuple[str, float, float], ...]
    """What passes what, x, y."""
    apart: tuple[str, ...]
    """Pairs of series that were to cross, and do not."""
    stated: tuple[tuple[Coordinate, float, str], ...]
    """The paper's: x, y, the claim; of a range both ends."""
    stated_x: tuple[tuple[float, str], ...]
    """Those that are places on x: x, the claim."""
    note: str


def read(table: Table, claims: Claims, scope: Collection[str]) -> Chart:
    """Read a chart. Raises `UserError`."""
    table.only(*_KEYS)
    ours = table.table("ours")
    if not ours.values:
        raise table.error("ours", "none", "a series by its name")
    series = {}
    for name in ours.values:
        parts = ours.take(name, "a text, or a list of texts", str, list)
        parts = parts if isinstance(parts, list) else [parts]
        if not parts or not all(isinstance(part, str) for part in parts):
            raise ours.error(name, parts, "a text, or a list of texts")
        series[name] = tuple(Expression(part, ours.place(name)) for part in parts)
        for each in series[name]:
            each.expect(scope)
    scale, y_scale, marks = table.text("scale", "linear"), table.text("y_scale", "linear"), table.text("marks", "lines")
    for key, found, known in (("scale", scale, SCALES), ("y_scale", y_scale, SCALES[:2]), ("marks", marks, MARKS)):
        if found not in known:
            raise table.one_of(key, found, known)
    if marks == "bars" and scale != "names":
        raise table.error("scale", scale, "names, where marks are bars")
    return Chart(
        title=table.text("title"),
        x=table.text("x"),
        x_title=table.text("x_title"),
        y_title=table.text("y_title"),
        scale=cast("Scale", scale),
        log_y=y_scale == "log",
        bars=marks == "bars",
        ours=series,
        crossings=_pairs(table),
        stated=_stated(table, claims),
        stated_x=_stated_x(table, claims),
        note=table.text("note", ""),
        place=table.place("x"),
    )


def _pairs(table: Table) -> tuple[tuple[str, str], ...]:
    pairs = table.take("crossings", "pairs of series", list, default=[])
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(name, str) for name in pair)):
            raise table.error("crossings", pair, "two names of series")
    return tuple((first, second) for first, second in pairs)


def _stated(table: Table, claims: Claims) -> dict[str, tuple[Coordinate, float]]:
    stated = table.table("stated")
    found: dict[str, tuple[Coordinate, float]] = {}
    for claim in stated.values:
        if claim not in claims.claims:
            raise stated.error(claim, claim, f"a claim of {claims.paper}")
        place = stated.take(claim, "a coordinate, or a table of x and factor", int, float, str, dict)
        if isinstance(place, dict):
            both = stated.table(claim)
            both.only("x", "factor")
            x = both.take("x", "a coordinate", int, float, str)
            found[claim] = (x, both.take("factor", "a number", int, float, default=1))
        else:
            found[claim] = (place, 1)
    return found


def _stated_x(table: Table, claims: Claims) -> tuple[str, ...]:
    found = table.take("stated_x", "a list of claims", list, default=[])
    for claim in found:
        if claim not in claims.claims or isinstance(claims.claims[claim].value, tuple):
            raise table.error("stated_x", claim, f"a claim of {claims.paper} with one figure")
    return tuple(found)


def draw(claims: Claims, name: str, chart: Chart, names: dict[str, Any]) -> Drawn:
    """Return a chart's data where expressions see `names`. Raises `UserError`."""
    lines: dict[str, dict[Coordinate, float]] = {}
    for series, expression in ((name, each) for name, parts in chart.ours.items() for each in parts):
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
            if chart.log_y and value <= 0:
                raise expression.error(f"found {value:g}, expected numbers above zero, where y_scale is log")
            line = ", ".join([series, *(f"{axis} {each}" for axis, each in place.items())])
            lines.setdefault(line, {})[x] = float(value)
    texts = any(isinstance(x, str) for line in lines.values() for x in line)
    scale: Scale = "names" if texts else chart.scale
    crossings: list[tuple[str, float, float]] = []
    apart = []
    for pair in chart.crossings:
        for series in pair:
            if series not in lines or scale == "names":
                raise UserError(f"{chart.place}: crossings: found `{series}`, expected {words(tuple(lines))}")
        met = [*_meet(*(lines[series] for series in pair), log_x=scale == "log", log_y=chart.log_y)]
        crossings += [(" and ".join(pair), x, y) for x, y in met]
        # Of quick runs there may be a single place.
        several = len(lines[pair[0]].keys() & lines[pair[1]].keys()) > 1
        apart += [" and ".join(pair)] if several and not met else []
    stated = []
    for claim, (x, factor) in chart.stated.items():
        value = claims.claims[claim].value
        stated += [(x, factor * each, claim) for each in (value if isinstance(value, tuple) else (value,))]
    return Drawn(
        paper=claims.paper,
        name=name,
        title=chart.title,
        x_title=chart.x_title,
        y_title=chart.y_title,
        scale=scale,
        log_y=chart.log_y,
        bars=chart.bars,
        points=tuple((series, x, y) for series, line in lines.items() for x, y in line.items()),
        crossings=tuple(crossings),
        apart=tuple(apart),
        stated=tuple(stated),
        stated_x=tuple((cast("float", claims.claims[claim].value), claim) for claim in chart.stated_x),
        note=chart.note,
    )


def _meet(
    one: dict[Coordinate, float], other: dict[Coordinate, float], *, log_x: bool, log_y: bool
) -> Iterator[tuple[float, float]]:
    """Yield the crossings of two lines that are straight between their points on the scales of the chart."""
    ahead, back = (math.log, math.exp) if log_x else (float, float)
    up, down = (math.log, math.exp) if log_y else (float, float)
    places = sorted(cast("set[float]", one.keys() & other.keys()))
    for left, right in itertools.pairwise(places):
        gaps = [up(one[x]) - up(other[x]) for x in (left, right)]
        if gaps[0] * gaps[1] < 0 or (gaps[0] == 0 and left == places[0]) or (gaps[1] == 0 and gaps[0] != 0):
            part = gaps[0] / (gaps[0] - gaps[1]) if gaps[0] != gaps[1] else 0.0
            x = ahead(left) + part * (ahead(right) - ahead(left))
            y = up(one[left]) + part * (up(one[right]) - up(one[left]))
            yield back(x), down(y)
