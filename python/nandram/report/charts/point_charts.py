"""Charts of points, alone or with intervals."""

from collections.abc import Sequence
from dataclasses import replace

from nandram.report.charts.axis import Axis
from nandram.report.charts.line_charts import TICKS_MAX
from nandram.report.charts.marks import CROSS
from nandram.report.charts.names import named
from nandram.report.charts.series import COLORS, SHAPES, hidden, legend, scale, shown, styles
from nandram.report.charts.vega_lite import Row, Spec, chart, layer, mark, nominal, quantitative, zoom


def points(rows: list[Row], series: Sequence[str], x: Axis, y: Axis) -> Spec:
    """Plot rows of ``series, x, y`` as points, and a horizontal line at 0."""
    places = {row["x"] for row in rows}
    x = replace(x, ticks=tuple(sorted(places))) if len(places) <= TICKS_MAX else x
    channels = styles(series, pointed=True)
    del channels["strokeDash"]
    tips = [nominal("series"), quantitative("x", title=x.title), quantitative("y", title=y.title)]
    encoding = {"x": x.horizontal("x"), "y": y.vertical("y"), **channels, "tooltip": tips}
    point = mark("point", size=55, filled=True, opacity=0.85)
    layers = [layer(point, encoding, transform=[shown()], params=[zoom("x", "y")]), zero_line("y")]
    return chart(rows, layers, params=[hidden()])


def zero_line(channel: str) -> Spec:
    """Return a layer with a line at 0 of `channel`, ``x`` or ``y``."""
    return layer(mark("rule", color="currentColor", opacity=0.7), {channel: quantitative("zero")}, rows=[{"zero": 0}])


def dots(rows: list[Row], series: Sequence[str], x: Axis, y_title: str) -> Spec:
    """Plot rows of ``series, name, x`` as one point per name, and a line at 0."""
    layers = [_dot_layer(rows, series, x, y_title) | {"params": [zoom("x")]}, zero_line("x")]
    return chart(rows, layers, params=[hidden()])


def _dot_layer(rows: list[Row], series: Sequence[str], x: Axis, y_title: str) -> Spec:
    """Return the layer of the points of `dots`."""
    encoding = {
        "x": x.horizontal("x"),
        "y": named(y_title, rows),
        "color": nominal("series", scale=scale(series, COLORS), legend=legend(series)),
        "shape": nominal("series", scale=scale(series, SHAPES), legend=legend(series)),
        "tooltip": [nominal("name", title=y_title), quantitative("x", title=x.title), nominal("series")],
    }
    return layer(mark("point", size=70, filled=True, opacity=1), encoding, transform=[shown()])


def intervals(rows: list[Row], series: Sequence[str], x: Axis, y_title: str) -> Spec:
    """Plot rows of ``series, name, x, low, high`` as a bar from 0 with its interval per name, and a line at 0."""
    x = replace(x, zero=True)
    y = named(y_title, rows)
    color = nominal("series", scale=scale(series, COLORS), legend=legend(series))
    bar = {"x": x.horizontal("zero"), "x2": {"field": "x"}, "y": y, "color": color}
    range_ = {"x": x.horizontal("low"), "x2": {"field": "high"}, "y": y}
    layers = [
        layer(mark("bar", opacity=0.35, height={"band": 0.6}), bar, transform=[shown()]),
        layer(mark("rule", strokeWidth=3, opacity=0.4, color="currentColor"), range_),
        _dot_layer(rows, series, x, y_title),
        zero_line("x"),
    ]
    return chart([{**row, "zero": 0} for row in rows], layers, params=[hidden()])


def spans(rows: list[Row], x: Axis, y_title: str) -> Spec:
    """Plot rows of ``name, paper, median, low, high``: our range and median, and the paper's value."""
    numbers = ("paper", "median", "low", "high")
    tips = [nominal("name", title=y_title), *(quantitative(each, title=each) for each in numbers)]
    common = {"y": named(y_title, rows), "tooltip": tips}
    range_ = mark("rule", strokeWidth=5, color=COLORS[0], opacity=0.55)
    median = mark("tick", thickness=3, size=14, color=COLORS[0])
    paper = mark("point", shape=CROSS, size=80, strokeWidth=2.2, color="currentColor")
    layers = [
        layer(range_, {"x": x.horizontal("low"), "x2": {"field": "high"}, **common}, params=[zoom("x")]),
        layer(median, {"x": x.horizontal("median"), **common}),
        layer(paper, {"x": x.horizontal("paper"), **common}),
    ]
    return chart(rows, layers)


def cloud(rows: list[Row], series: Sequence[str], x: Axis, y: Axis) -> Spec:
    """Plot rows of ``series, x, y, at`` as points with ``at`` in the tooltip."""
    encoding = {
        "x": x.horizontal("x"),
        "y": y.vertical("y"),
        "color": nominal("series", scale=scale(series, COLORS), legend={"title": None}),
        "shape": nominal("series", scale=scale(series, SHAPES), legend={"title": None}),
        "tooltip": [
            nominal("at", title="configuration"),
            quantitative("x", title=x.title),
            quantitative("y", title=y.title),
        ],
    }
    point = mark("point", size=45, filled=True, opacity=0.75)
    return chart(rows, [layer(point, encoding, transform=[shown()], params=[zoom("x", "y")])], params=[hidden()])
