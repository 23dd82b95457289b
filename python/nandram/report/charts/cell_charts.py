"""Charts of cells: heat maps and densities."""

from nandram.report.charts.axis import Axis
from nandram.report.charts.series import COLORS
from nandram.report.charts.vega_lite import Row, Spec, chart, layer, mark, ordinal, quantitative, zoom

LABELED_MAX = 8
"""Maximum number of columns of a heat map whose cells are labeled."""
DENSITY_MIN = 0.001
"""Smallest fraction with a shade of its own; the cells of smaller ones are as faint."""


def heat_map(rows: list[Row], x: str, y: str, value: str, highest: float) -> Spec:
    """Plot rows of ``x, y, value``, fractions, as colored cells, labeled in percent if there are few columns."""
    place = {
        "x": ordinal("x", title=x, axis={"labelAngle": 0, "labelOverlap": True}),
        "y": ordinal("y", title=y, axis={"labelOverlap": True}),
        "tooltip": [
            ordinal("y", title=y),
            ordinal("x", title=x),
            quantitative("value", title=value, format=".1%"),
        ],
    }
    scale = {"domain": [0, highest], "range": ["#e8f1fa", "#08417c"]}
    legend = {"format": "~%", "gradientLength": 160, "titleLimit": 300}
    color = quantitative("value", title=value, scale=scale, legend=legend)
    layers = [layer(mark("rect", stroke="currentColor", strokeOpacity=0.25), {**place, "color": color})]
    if len({row["x"] for row in rows}) <= LABELED_MAX:
        dark = {"test": f"datum.value > {highest / 2}", "value": "#ffffff"}
        ink = {"condition": dark, "value": "#10233a"}
        text = {**place, "text": quantitative("value", format=".0%"), "color": ink}
        layers.append(layer(mark("text", fontSize=10), text))
    return chart(rows, layers)


def density(rows: list[Row], x: Axis, y: Axis, value: str) -> Spec:
    """Plot rows of ``x, x2, low, high, value, count`` as cells, the denser the larger the fraction ``value`` is."""
    # The opacity of one color is legible on white and on black.
    scale = {"type": "log", "domain": [DENSITY_MIN, 1], "range": [0.12, 1], "clamp": True}
    legend = {
        "format": "~%",
        "values": [0.001, 0.01, 0.1, 1],
        "symbolType": "square",
        "titleLimit": 300,
        "columns": 4,
    }
    encoding = {
        "x": x.horizontal("x"),
        "x2": {"field": "x2"},
        "y": y.vertical("low"),
        "y2": {"field": "high"},
        "opacity": quantitative("value", title=value, scale=scale, legend=legend),
        "tooltip": [
            quantitative("x", title=x.title),
            quantitative("low", title=f"{y.title}, from"),
            quantitative("high", title="to"),
            quantitative("count", title="requests"),
            quantitative("value", title=value, format=".2%"),
        ],
    }
    cells = mark("rect", color=COLORS[0], stroke=None)
    return chart(rows, [layer(cells, encoding, params=[zoom("x", "y")])])
