"""Kinds of charts: series differ in color, dash and shape; the pointer shows values and zooms."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import altair as alt

COLORS = ["#3b7fc4", "#d9730d", "#1a9467", "#a35bb8", "#c94a5e", "#8a7a1f", "#2b9aa8", "#7a6a5f"]
"""Colors visible on white and on black."""
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [10, 4], [4, 2, 1, 2], [3, 5], [12, 3]]
TICKS_MAX = 12
"""Maximum number of places with a tick each."""
COUNT_MAX = 10
"""Charts of whole numbers up to this limit have ticks at whole numbers only."""
LETTERS_MAX = 36
"""Maximum total length of horizontal labels below a narrow chart."""
SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "stroke"]

Value = float | str
Row = dict[str, Any]


@dataclass(frozen=True)
class Axis:
    """An axis of a chart."""

    title: str
    """Title with the unit."""
    scale: Literal["linear", "log", "names"] = "linear"
    zero: bool = False
    """Whether the axis begins at 0."""
    highest: float | None = None
    lowest: float = 0
    """Lower end, if `highest` is given."""
    percent: bool = False
    """Whether fractions are shown as percentages."""
    ticks: tuple[float, ...] = ()
    """Places of ticks; chosen automatically if empty."""
    slanted: bool = False
    """Whether labels are slanted because they do not fit side by side."""
    room: bool = False
    """Whether marks at the ends are padded so that they are fully visible."""

    def of(self, field: str, channel: type[Any]) -> Any:
        """Return the Altair channel of a field on this axis."""
        if self.scale == "names":
            axis = alt.Axis(labelAngle=-30 if self.slanted else 0)
            return channel(f"{field}:N", title=self.title, sort=None, axis=axis)
        scale: dict[str, Any] = {"type": "log"} if self.scale == "log" else {"zero": self.zero}
        if self.highest is not None:
            scale |= {"domain": [self.lowest, self.highest]}
        else:
            nice = self.zero and not self.room
            scale |= {"nice": nice, "padding": 0 if nice else 8}
        if self.ticks:
            axis = alt.Axis(values=list(self.ticks), labelOverlap=True)
        elif self.scale == "log":
            axis = alt.Axis(labelOverlap=True, tickCount=5)
        else:
            axis = alt.Axis(labelOverlap=True)
        if self.percent:
            axis["format"] = "~%"
        if channel is alt.X:
            axis["labelFlush"] = FLUSH
        return channel(f"{field}:Q", title=self.title, scale=alt.Scale(**scale), axis=axis)


FLUSH = 16
"""Pixels from the end of a horizontal axis within which a label moves inward to avoid being cut off."""
NARROW = 0.25
"""If the relative spread of the values is smaller, the axis begins at 0, so that noise does not fill the chart."""


def unmagnified(axis: Axis, values: list[float]) -> Axis:
    """Return a linear axis that does not magnify small differences."""
    if axis.scale != "linear" or axis.zero or axis.highest is not None or not values:
        return axis
    low, high = min(values), max(values)
    return replace(axis, zero=True) if low >= 0 and high - low < NARROW * high else axis


LINE_LETTERS = 24
"""Maximum length of a line of a name on a vertical axis; longer names have several lines."""
LINE_PIXELS = 12
"""Height of such a line."""


def name_lines(name: str) -> list[str]:
    """Break a long name after punctuation and spaces into lines of at most `LINE_LETTERS` letters."""
    found = [""]
    for word in re.findall(rf"[^\s._/,:-]{{1,{LINE_LETTERS - 2}}}[\s._/,:-]{{0,2}}|[\s._/,:-]{{1,2}}", name):
        if len(found[-1] + word.rstrip()) > LINE_LETTERS:
            found.append("")
        found[-1] += word
    return [line.strip() for line in found]


def rows_height(rows: Sequence[Mapping[str, Any]], base: int, row: int) -> int:
    """Return the height of a chart of `rows` of ``name``, `row` pixels each, or more if names have several lines."""
    lines_ = [len(name_lines(each["name"])) for each in rows]
    return base + len(lines_) * max(row, LINE_PIXELS * max(lines_, default=1))


def named(title: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return the channel of a vertical axis of unabridged names in the order of the data."""
    # The title stands above the names, as it may not fit beside them.
    axis = alt.Axis(titleAngle=0, titleAlign="right", titleX=-8, titleY=-7)
    if broken := {name: lines for name in (row["name"] for row in rows) if len(lines := name_lines(name)) > 1}:
        axis["labelExpr"] = f"{json.dumps(broken)}[datum.label] || datum.label"
    return alt.Y("name:N", title=title, sort=None, axis=axis)


def too_long(names: Iterable[Value]) -> bool:
    """Return whether names do not fit side by side below a narrow chart."""
    return sum(len(str(each)) for each in names) > LETTERS_MAX


def hidden() -> alt.Parameter:
    """Return the parameter that lists the hidden series."""
    return alt.param(name="hidden", value=[])


def shown(chart: Any) -> Any:
    """Filter the hidden series from a chart."""
    return chart.transform_filter("indexof(hidden, datum.series) < 0")


def key(series: list[str], **more: Any) -> alt.Legend | None:
    """Return the legend of the series, in one column if a name is long."""
    if max(map(len, series), default=0) > 24:
        more |= {"columns": 1, "labelLimit": 360}
    return alt.Legend(title=None, **more) if len(series) > 1 else None


def styles(series: list[str], *, pointed: bool) -> dict[str, Any]:
    """Return the color, dash and shape channels of the series, with a common legend.

    `pointed`: the lines have points, which the legend shows instead of dashes.
    """

    def scale(kinds: list[Any]) -> alt.Scale:
        return alt.Scale(domain=series, range=[kinds[index % len(kinds)] for index in range(len(series))])

    # With points, the legend must not draw dashes around their edges.
    legend = key(series, symbolStrokeWidth=0 if pointed else 2)
    return {
        "color": alt.Color("series:N", scale=scale(COLORS), legend=legend),
        "strokeDash": alt.StrokeDash("series:N", scale=scale(DASHES), legend=legend),
        "shape": alt.Shape("series:N", scale=scale(SHAPES), legend=legend),
    }


@dataclass(frozen=True)
class Marks:
    """Marks in a line chart."""

    stated: tuple[Row, ...] = ()
    """Rows of ``x, y, claim``: values that a paper states, drawn as crosses."""
    stated_x: tuple[Row, ...] = ()
    """Rows of ``x, claim``: places on x that a paper states, drawn as dashed lines."""
    crossings: tuple[Row, ...] = ()
    """Rows of ``x, y, name``: crossings of lines, drawn as rings labeled with x."""

    def layers(self, x: Axis, y: Axis) -> list[Any]:
        """Return the layers of the marks."""
        found: list[Any] = []
        if self.stated_x:
            base = alt.Chart(alt.InlineData(values=list(self.stated_x)))
            tips = [alt.Tooltip("claim:N", title="stated"), alt.Tooltip("x:Q", title=x.title)]
            rule = base.mark_rule(strokeDash=[5, 4], strokeWidth=1.4, opacity=0.7, color="currentColor")
            found.append(rule.encode(x=x.of("x", alt.X), tooltip=tips))
        if self.crossings:
            base = alt.Chart(alt.InlineData(values=list(self.crossings)))
            tips = [alt.Tooltip("name:N", title="cross"), alt.Tooltip("x:Q", title=x.title)]
            place = {"x": x.of("x", alt.X), "y": y.of("y", alt.Y)}
            ring = base.mark_point(size=150, filled=False, strokeWidth=1.8, color="currentColor", opacity=1)
            found.append(ring.encode(**place, tooltip=tips))
            text = base.mark_text(dx=9, dy=-11, align="left", fontSize=11, color="currentColor")
            found.append(text.encode(**place, text=alt.Text("x:Q", format=".3~r")))
        if self.stated:
            found.append(crosses(list(self.stated), x, y))
        return found


def lines(
    rows: list[Row], series: list[str], x: Axis, y: Axis, *, marks: Marks | None = None, steps: bool = False
) -> alt.LayerChart | alt.FacetChart:
    """Plot rows of ``series, x, y`` as lines, or as points if x is a name.

    `steps`: hold y until the next x.
    """
    y = unmagnified(y, [row["y"] for row in (*rows, *(marks.stated if marks is not None else ()))])
    places = {row["x"] for row in rows}
    if x.scale == "names":
        x = replace(x, slanted=too_long(places))
    elif len(places) <= TICKS_MAX and (x.scale == "log" or all(each == int(each) for each in places)):
        x = replace(x, ticks=tuple(sorted(places)))
    if y.scale == "linear" and y.zero and y.highest is None:
        # Leave room above the highest value, whose mark would be clipped.
        found = [row["y"] for row in (*rows, *(marks.stated if marks is not None else ()))]
        highest = max(found)
        y = replace(y, highest=1.06 * highest) if highest > 0 else y
        if highest <= COUNT_MAX and all(float(each).is_integer() for each in found):
            y = replace(y, ticks=tuple(range(int(highest) + 1)))
    base = shown(alt.Chart(alt.InlineData(values=rows)))
    tips = [
        alt.Tooltip("series:N"),
        alt.Tooltip(f"x:{'N' if x.scale == 'names' else 'Q'}", title=x.title),
        alt.Tooltip("y:Q", title=y.title),
    ]
    place = {"x": x.of("x", alt.X), "y": y.of("y", alt.Y), "tooltip": tips}
    layers: list[Any] = []
    pointed = x.scale == "names" or (len(rows) <= 100 and not steps)
    channels = styles(series, pointed=pointed)
    shape, color = channels.pop("shape"), channels["color"]
    if x.scale != "names":
        line = base.mark_line(interpolate="step-after" if steps else "linear").encode(**place, **channels)
        zoom = alt.selection_interval(name="zoom", bind="scales", encodings=["x", "y"])
        layers.append(line.add_params(zoom))
    if pointed:
        layers.append(base.mark_point(size=60, filled=True, opacity=1).encode(**place, color=color, shape=shape))
    if marks is not None:
        layers += marks.layers(x, y)
    return alt.layer(*layers).add_params(hidden())


def crosses(stated: list[Row], x: Axis, y: Axis) -> alt.Chart:
    """Plot values that a paper states, rows of ``x, y, claim``, as crosses."""
    tips = [alt.Tooltip("claim:N", title="stated"), alt.Tooltip("y:Q", title=y.title)]
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=stated))
        .mark_point(shape="M-1,-1L1,1M-1,1L1,-1", size=110, strokeWidth=2.2, color="currentColor")
        .encode(x=x.of("x", alt.X), y=y.of("y", alt.Y), tooltip=tips)
    )
    return chart


MANY_BARS = 12


def groups(rows: list[Row], series: list[str], x: Axis, y: Axis) -> alt.LayerChart | alt.FacetChart:
    """Plot rows of ``series, x, y`` with named x as groups of labeled bars."""
    scale = alt.Scale(domain=series, range=[COLORS[index % len(COLORS)] for index in range(len(series))])
    place = {
        "x": replace(x, scale="names", slanted=too_long({row["x"] for row in rows})).of("x", alt.X),
        "xOffset": alt.XOffset("series:N", sort=series),
        "y": alt.Y("y:Q", title=y.title, scale=alt.Scale(zero=True)),
    }
    base = shown(alt.Chart(alt.InlineData(values=rows)))
    tips = [alt.Tooltip("x:N", title=x.title), alt.Tooltip("series:N"), alt.Tooltip("y:Q", title=y.title)]
    bar = base.mark_bar(stroke="currentColor", strokeWidth=0.6).encode(
        **place, color=alt.Color("series:N", scale=scale, legend=key(series)), tooltip=tips
    )
    # Rotate the labels if the bars are narrower than the labels.
    upright = {"angle": 270, "align": "left", "baseline": "middle", "dx": 4} if len(rows) > MANY_BARS else {"dy": -7}
    value = base.mark_text(fontSize=11, color="currentColor", **upright)
    text = value.encode(**place, text=alt.Text("y:Q", format=".3~r"))
    return alt.layer(bar, text).add_params(hidden())


def bars(
    rows: list[Row], series: list[str], x: Axis, y: Axis, palette: Sequence[str] | None = None
) -> alt.LayerChart | alt.FacetChart:
    """Plot rows of ``series, name, value`` as stacked horizontal bars, with tooltips.

    `palette`: colors of the series, which are then stacked in their order.
    """
    colors = COLORS if palette is None else palette
    tips = [alt.Tooltip("name:N", title=y.title), alt.Tooltip("series:N"), alt.Tooltip("value:Q", title=x.title)]
    color = alt.Color(
        "series:N",
        scale=alt.Scale(domain=series, range=[colors[index % len(colors)] for index in range(len(series))]),
        legend=key(series),
    )
    chart = (
        shown(alt.Chart(alt.InlineData(values=rows)))
        .mark_bar(stroke="currentColor", strokeWidth=0.6)
        .encode(
            x=replace(x, zero=True).of("value", alt.X),
            y=named(y.title, rows),
            color=color,
            tooltip=tips,
        )
    )
    if palette is not None:
        chart = chart.transform_calculate(order=f"indexof({json.dumps(series)}, datum.series)").encode(
            order=alt.Order("order:Q")
        )
    return alt.layer(chart).add_params(hidden())


def spans(rows: list[Row], x: Axis, y_title: str) -> alt.LayerChart | alt.FacetChart:
    """Plot rows of ``name, paper, median, low, high``: our range and median, and the paper's value."""
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=named(y_title, rows))
    tips = [
        alt.Tooltip("name:N", title=y_title),
        *(alt.Tooltip(f"{each}:Q", title=each) for each in ("paper", "median", "low", "high")),
    ]
    zoom = alt.selection_interval(name="zoom", bind="scales", encodings=["x"])
    range_ = base.mark_rule(strokeWidth=5, color=COLORS[0], opacity=0.55).encode(
        x=x.of("low", alt.X), x2="high:Q", tooltip=tips
    )
    median = base.mark_tick(thickness=3, size=14, color=COLORS[0]).encode(x=x.of("median", alt.X), tooltip=tips)
    paper = base.mark_point(shape="M-1,-1L1,1M-1,1L1,-1", size=80, strokeWidth=2.2, color="currentColor").encode(
        x=x.of("paper", alt.X), tooltip=tips
    )
    return alt.layer(range_.add_params(zoom), median, paper)


def heat_map(rows: list[Row], x: str, y: str, value: str, highest: float) -> alt.LayerChart | alt.FacetChart:
    """Plot rows of ``x, y, value``, fractions, as colored cells, labeled in percent if there are few columns."""
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("x:O", title=x, axis=alt.Axis(labelAngle=0, labelOverlap=True)),
        y=alt.Y("y:O", title=y, axis=alt.Axis(labelOverlap=True)),
        tooltip=[
            alt.Tooltip("y:O", title=y),
            alt.Tooltip("x:O", title=x),
            alt.Tooltip("value:Q", title=value, format=".1%"),
        ],
    )
    scale = alt.Scale(domain=[0, highest], range=["#e8f1fa", "#08417c"])
    cells = base.mark_rect(stroke="currentColor", strokeOpacity=0.25).encode(
        color=alt.Color(
            "value:Q", title=value, scale=scale, legend=alt.Legend(format="~%", gradientLength=160, titleLimit=300)
        )
    )
    if len({row["x"] for row in rows}) > 8:
        return alt.layer(cells)
    ink = alt.condition(f"datum.value > {highest / 2}", alt.value("#ffffff"), alt.value("#10233a"))
    return alt.layer(cells, base.mark_text(fontSize=10).encode(text=alt.Text("value:Q", format=".0%"), color=ink))


def density(rows: list[Row], x: Axis, y: Axis, value: str) -> alt.LayerChart | alt.FacetChart:
    """Plot rows of ``x, x2, low, high, value, count`` as cells, the denser the larger the fraction ``value`` is."""
    base = alt.Chart(alt.InlineData(values=rows))
    # The opacity of one color is legible on white and on black.
    scale = alt.Scale(type="log", domain=[DENSITY_MIN, 1], range=[0.12, 1], clamp=True)
    legend = alt.Legend(format="~%", values=[0.001, 0.01, 0.1, 1], symbolType="square", titleLimit=300, columns=4)
    zoom = alt.selection_interval(name="zoom", bind="scales", encodings=["x", "y"])
    cells = base.mark_rect(color=COLORS[0], stroke=None).encode(
        x=x.of("x", alt.X),
        x2="x2:Q",
        y=y.of("low", alt.Y),
        y2="high:Q",
        opacity=alt.Opacity("value:Q", title=value, scale=scale, legend=legend),
        tooltip=[
            alt.Tooltip("x:Q", title=x.title),
            alt.Tooltip("low:Q", title=f"{y.title}, from"),
            alt.Tooltip("high:Q", title="to"),
            alt.Tooltip("count:Q", title="requests"),
            alt.Tooltip("value:Q", title=value, format=".2%"),
        ],
    )
    return alt.layer(cells.add_params(zoom))


DENSITY_MIN = 0.001
"""Smallest fraction with a shade of its own; the cells of smaller ones are as faint."""


def path(rows: list[Row], series: list[str], x: Axis, y: Axis) -> alt.LayerChart | alt.FacetChart:
    """Plot rows of ``series, x, y, label`` as points, joined in their order; the pointer shows the label."""
    rows = [{**row, "order": order} for order, row in enumerate(rows)]
    x = replace(x, highest=1.1 * max(row["x"] for row in rows)) if x.zero else x
    base = shown(alt.Chart(alt.InlineData(values=rows)))
    tips = [
        alt.Tooltip("series:N"),
        alt.Tooltip("label:N", title="outstanding"),
        alt.Tooltip("x:Q", title=x.title),
        alt.Tooltip("y:Q", title=y.title),
    ]
    place = {"x": x.of("x", alt.X), "y": y.of("y", alt.Y), "tooltip": tips}
    channels = styles(series, pointed=True)
    shape, color = channels.pop("shape"), channels["color"]
    zoom = alt.selection_interval(name="zoom", bind="scales", encodings=["x", "y"])
    line = base.mark_line().encode(**place, **channels, order="order:Q").add_params(zoom)
    point = base.mark_point(size=60, filled=True, opacity=1).encode(**place, color=color, shape=shape)
    return alt.layer(line, point).add_params(hidden())


def points(rows: list[Row], series: list[str], x: Axis, y: Axis) -> alt.LayerChart | alt.FacetChart:
    """Plot rows of ``series, x, y`` as points, and a horizontal line at 0."""
    places = {row["x"] for row in rows}
    x = replace(x, ticks=tuple(sorted(places))) if len(places) <= TICKS_MAX else x
    channels = styles(series, pointed=True)
    tips = [alt.Tooltip("series:N"), alt.Tooltip("x:Q", title=x.title), alt.Tooltip("y:Q", title=y.title)]
    zoom = alt.selection_interval(name="zoom", bind="scales", encodings=["x", "y"])
    marks = (
        shown(alt.Chart(alt.InlineData(values=rows)))
        .mark_point(size=55, filled=True, opacity=0.85)
        .encode(
            x=x.of("x", alt.X),
            y=y.of("y", alt.Y),
            color=channels["color"],
            shape=channels["shape"],
            tooltip=tips,
        )
        .add_params(zoom)
    )
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color="currentColor", opacity=0.7)
    return alt.layer(marks, zero.encode(y="zero:Q")).add_params(hidden())


def dots(rows: list[Row], series: list[str], x: Axis, y_title: str) -> alt.LayerChart | alt.FacetChart:
    """Plot rows of ``series, name, x`` as one point per name, and a line at 0."""
    scale = alt.Scale(domain=series, range=[COLORS[index] for index in range(len(series))])
    shapes = alt.Scale(domain=series, range=SHAPES[: len(series)])
    legend = key(series)
    zoom = alt.selection_interval(name="zoom", bind="scales", encodings=["x"])
    points = (
        shown(alt.Chart(alt.InlineData(values=rows)))
        .mark_point(size=70, filled=True, opacity=1)
        .encode(
            x=x.of("x", alt.X),
            y=named(y_title, rows),
            color=alt.Color("series:N", scale=scale, legend=legend),
            shape=alt.Shape("series:N", scale=shapes, legend=legend),
            tooltip=[alt.Tooltip("name:N", title=y_title), alt.Tooltip("x:Q", title=x.title), "series:N"],
        )
        .add_params(zoom)
    )
    return alt.layer(points, _zero()).add_params(hidden())


def intervals(rows: list[Row], series: list[str], x: Axis, y_title: str) -> alt.LayerChart | alt.FacetChart:
    """Plot rows of ``series, name, x, low, high`` as a bar from 0 with its interval per name, and a line at 0."""
    x = replace(x, zero=True)
    marks = dots(rows, series, x, y_title)
    scale = alt.Scale(domain=series, range=[COLORS[index] for index in range(len(series))])
    base = alt.Chart(alt.InlineData(values=[{**row, "zero": 0} for row in rows])).encode(y=named(y_title, rows))
    bar = shown(base.mark_bar(opacity=0.35, height={"band": 0.6})).encode(
        x=x.of("zero", alt.X), x2="x:Q", color=alt.Color("series:N", scale=scale, legend=key(series))
    )
    rule = base.mark_rule(strokeWidth=3, opacity=0.4, color="currentColor").encode(x=x.of("low", alt.X), x2="high:Q")
    return alt.layer(bar, rule, *marks.layer).add_params(hidden())


def _zero() -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color="currentColor", opacity=0.7).encode(x="zero:Q")
    )
    return chart


CHANGE = 0.05
"""Minimum extent of a chart of changes to either side of 0."""


def tornado(rows: list[Row], x: str) -> alt.LayerChart | alt.FacetChart:
    """Plot rows of ``name, low, high, less, more``: change of a figure with a lower and a higher parameter."""
    sides = ["less", "more"]
    data = [
        {"name": row["name"], "series": side, "value": row[field], "text": row[side]}
        for row in rows
        for side, field in zip(sides, ("low", "high"), strict=True)
    ]
    scale = alt.Scale(domain=sides, range=COLORS[:2])
    most = max((abs(row["value"]) for row in data), default=0)
    narrow = {"domain": [-CHANGE, CHANGE]} if most < CHANGE else {"padding": 8}
    scale_x = alt.Scale(nice=False, **narrow)
    percent = alt.Axis(
        labelExpr="datum.value ? format(datum.value, '+~%') : '0%'", tickCount=5, labelOverlap=True, labelFlush=FLUSH
    )
    bars_ = (
        shown(alt.Chart(alt.InlineData(values=data)))
        .mark_bar(stroke="currentColor", strokeWidth=0.6)
        .encode(
            x=alt.X("value:Q", title=x, scale=scale_x, axis=percent),
            y=named("parameter", rows),
            # One above the other, so that position distinguishes them as well as color.
            yOffset=alt.YOffset("series:N", sort=sides),
            color=alt.Color("series:N", scale=scale, legend=alt.Legend(title=None)),
            tooltip=[
                alt.Tooltip("name:N", title="parameter"),
                alt.Tooltip("text:N", title="figure"),
                alt.Tooltip("value:Q", title="change", format="+.2%"),
            ],
        )
    )
    return alt.layer(bars_, _zero()).add_params(hidden())


def cloud(rows: list[Row], series: list[str], x: Axis, y: Axis) -> alt.LayerChart | alt.FacetChart:
    """Plot rows of ``series, x, y, at`` as points with ``at`` in the tooltip."""
    scale = alt.Scale(domain=series, range=COLORS[: len(series)])
    shapes = alt.Scale(domain=series, range=SHAPES[: len(series)])
    zoom = alt.selection_interval(name="zoom", bind="scales", encodings=["x", "y"])
    points = (
        shown(alt.Chart(alt.InlineData(values=rows)))
        .mark_point(size=45, filled=True, opacity=0.75)
        .encode(
            x=x.of("x", alt.X),
            y=y.of("y", alt.Y),
            color=alt.Color("series:N", scale=scale, legend=alt.Legend(title=None)),
            shape=alt.Shape("series:N", scale=shapes, legend=alt.Legend(title=None)),
            tooltip=[
                alt.Tooltip("at:N", title="configuration"),
                alt.Tooltip("x:Q", title=x.title),
                alt.Tooltip("y:Q", title=y.title),
            ],
        )
        .add_params(zoom)
    )
    return alt.layer(points).add_params(hidden())
