"""Charts of bars: in groups, stacked, and to both sides of 0."""

import json
from collections.abc import Sequence
from dataclasses import replace

from nandram.report.charts.axis import FLUSH, Axis
from nandram.report.charts.names import named, too_long
from nandram.report.charts.point_charts import zero_line
from nandram.report.charts.series import COLORS, hidden, legend, scale, shown
from nandram.report.charts.vega_lite import Row, Spec, chart, layer, mark, nominal, quantitative

MANY_BARS = 12
CHANGE = 0.05
"""Minimum extent of a chart of changes to either side of 0."""


def groups(rows: list[Row], series: Sequence[str], x: Axis, y: Axis) -> Spec:
    """Plot rows of ``series, x, y`` with named x as groups of labeled bars."""
    x = replace(x, scale="names", slanted=too_long({row["x"] for row in rows}))
    place = {
        "x": x.horizontal("x"),
        "xOffset": nominal("series", sort=list(series)),
        "y": quantitative("y", title=y.title, scale={"zero": True}),
    }
    color = nominal("series", scale=scale(series, COLORS), legend=legend(series))
    tips = [nominal("x", title=x.title), nominal("series"), quantitative("y", title=y.title)]
    # Rotate the labels if the bars are narrower than the labels.
    upright = {"angle": 270, "align": "left", "baseline": "middle", "dx": 4} if len(rows) > MANY_BARS else {"dy": -7}
    text = mark("text", fontSize=11, color="currentColor", **upright)
    layers = [
        layer(_bar(), {**place, "color": color, "tooltip": tips}, transform=[shown()]),
        layer(text, {**place, "text": quantitative("y", format=".3~r")}, transform=[shown()]),
    ]
    return chart(rows, layers, params=[hidden()])


def bars(rows: list[Row], series: Sequence[str], x: Axis, y: Axis, palette: Sequence[str] | None = None) -> Spec:
    """Plot rows of ``series, name, value`` as stacked horizontal bars, with tooltips.

    `palette`: colors of the series, which are then stacked in their order.
    """
    colors = scale(series, COLORS if palette is None else palette)
    encoding: Spec = {
        "x": replace(x, zero=True).horizontal("value"),
        "y": named(y.title, rows),
        "color": nominal("series", scale=colors, legend=legend(series)),
        "tooltip": [nominal("name", title=y.title), nominal("series"), quantitative("value", title=x.title)],
    }
    transform = [shown()]
    if palette is not None:
        transform.append({"calculate": f"indexof({json.dumps(series)}, datum.series)", "as": "order"})
        encoding["order"] = quantitative("order")
    return chart(rows, [layer(_bar(), encoding, transform=transform)], params=[hidden()])


def tornado(rows: list[Row], x: str) -> Spec:
    """Plot rows of ``name, low, high, less, more``: change of a figure with a lower and a higher parameter."""
    sides = ["less", "more"]
    data = [
        {"name": row["name"], "series": side, "value": row[field], "text": row[side]}
        for row in rows
        for side, field in zip(sides, ("low", "high"), strict=True)
    ]
    most = max((abs(row["value"]) for row in data), default=0)
    extent: Spec = {"domain": [-CHANGE, CHANGE]} if most < CHANGE else {"padding": 8}
    percent = {
        "labelExpr": "datum.value ? format(datum.value, '+~%') : '0%'",
        "tickCount": 5,
        "labelOverlap": True,
        "labelFlush": FLUSH,
    }
    encoding = {
        "x": quantitative("value", title=x, scale={"nice": False, **extent}, axis=percent),
        "y": named("parameter", rows),
        # One above the other, so that position distinguishes them as well as color.
        "yOffset": nominal("series", sort=sides),
        "color": nominal("series", scale=scale(sides, COLORS), legend=legend(sides)),
        "tooltip": [
            nominal("name", title="parameter"),
            nominal("text", title="figure"),
            quantitative("value", title="change", format="+.2%"),
        ],
    }
    return chart(data, [layer(_bar(), encoding, transform=[shown()]), zero_line("x")], params=[hidden()])


def _bar() -> Spec:
    return mark("bar", stroke="currentColor", strokeWidth=0.6)
