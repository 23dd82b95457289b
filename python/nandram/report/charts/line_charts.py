"""Charts of lines."""

from collections.abc import Sequence
from dataclasses import replace

from nandram.report.charts.axis import Axis, unmagnified
from nandram.report.charts.marks import Marks
from nandram.report.charts.names import too_long
from nandram.report.charts.series import hidden, shown, styles
from nandram.report.charts.vega_lite import Row, Spec, chart, layer, mark, nominal, quantitative, zoom

TICKS_MAX = 12
"""Maximum number of places with a tick each."""
COUNT_MAX = 10
"""Charts of whole numbers up to this limit have ticks at whole numbers only."""
POINTED_MAX = 100
"""Maximum number of rows that are drawn with a point each."""


def lines(
    rows: list[Row], series: Sequence[str], x: Axis, y: Axis, *, marks: Marks | None = None, steps: bool = False
) -> Spec:
    """Plot rows of ``series, x, y`` as lines, or as points if x is a name.

    `steps`: hold y until the next x.
    """
    values = [row["y"] for row in (*rows, *(marks.stated if marks is not None else ()))]
    x, y = _horizontal(x, rows), _vertical(y, values)
    number = nominal if x.scale == "names" else quantitative
    tips = [nominal("series"), number("x", title=x.title), quantitative("y", title=y.title)]
    place = {"x": x.horizontal("x"), "y": y.vertical("y"), "tooltip": tips}
    pointed = x.scale == "names" or (len(rows) <= POINTED_MAX and not steps)
    channels = styles(series, pointed=pointed)
    shape, color = channels.pop("shape"), channels["color"]
    layers: list[Spec] = []
    if x.scale != "names":
        line = mark("line", interpolate="step-after" if steps else "linear")
        layers.append(layer(line, {**place, **channels}, transform=[shown()], params=[zoom("x", "y")]))
    if pointed:
        point = mark("point", size=60, filled=True, opacity=1)
        layers.append(layer(point, {**place, "color": color, "shape": shape}, transform=[shown()]))
    if marks is not None:
        layers += marks.layers(x, y)
    return chart(rows, layers, params=[hidden()])


def _horizontal(x: Axis, rows: list[Row]) -> Axis:
    """Return the axis with a tick at each place, if there are few, and with room for names."""
    places = {row["x"] for row in rows}
    if x.scale == "names":
        return replace(x, slanted=too_long(places))
    if len(places) <= TICKS_MAX and (x.scale == "log" or all(each == int(each) for each in places)):
        return replace(x, ticks=tuple(sorted(places)))
    return x


def _vertical(y: Axis, values: list[float]) -> Axis:
    """Return the axis without magnified noise and with room above the highest value."""
    y = unmagnified(y, values)
    if y.scale != "linear" or not y.zero or y.highest is not None:
        return y
    highest = max(values)
    # The mark of the highest value would be clipped.
    y = replace(y, highest=1.06 * highest) if highest > 0 else y
    if highest <= COUNT_MAX and all(float(each).is_integer() for each in values):
        y = replace(y, ticks=tuple(range(int(highest) + 1)))
    return y


def path(rows: list[Row], series: Sequence[str], x: Axis, y: Axis) -> Spec:
    """Plot rows of ``series, x, y, label`` as points, joined in their order; the pointer shows the label."""
    rows = [{**row, "order": order} for order, row in enumerate(rows)]
    x = replace(x, highest=1.1 * max(row["x"] for row in rows)) if x.zero else x
    tips = [
        nominal("series"),
        nominal("label", title="outstanding"),
        quantitative("x", title=x.title),
        quantitative("y", title=y.title),
    ]
    place = {"x": x.horizontal("x"), "y": y.vertical("y"), "tooltip": tips}
    channels = styles(series, pointed=True)
    shape, color = channels.pop("shape"), channels["color"]
    line = {**place, **channels, "order": quantitative("order")}
    point = mark("point", size=60, filled=True, opacity=1)
    layers = [
        layer(mark("line"), line, transform=[shown()], params=[zoom("x", "y")]),
        layer(point, {**place, "color": color, "shape": shape}, transform=[shown()]),
    ]
    return chart(rows, layers, params=[hidden()])
