"""Series of a chart: their colors, dashes and shapes, their legend, and those that the reader hides."""

from collections.abc import Sequence
from typing import Any

from nandram.report.charts.vega_lite import Spec, nominal

COLORS = ["#3b7fc4", "#d9730d", "#1a9467", "#a35bb8", "#c94a5e", "#8a7a1f", "#2b9aa8", "#7a6a5f"]
"""Colors visible on white and on black."""
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [10, 4], [4, 2, 1, 2], [3, 5], [12, 3]]
SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "stroke"]
NAME_LETTERS = 24
"""Length of a name above which the legend has one column."""


def hidden() -> Spec:
    """Return the parameter of a chart that lists the hidden series."""
    return {"name": "hidden", "value": []}


def shown() -> Spec:
    """Return the transform of a layer that removes the hidden series."""
    return {"filter": "indexof(hidden, datum.series) < 0"}


def scale(series: Sequence[str], kinds: Sequence[Any]) -> Spec:
    """Return the scale that gives each series one of `kinds`, which repeat if there are more series."""
    return {"domain": list(series), "range": [kinds[index % len(kinds)] for index in range(len(series))]}


def legend(series: Sequence[str], **more: Any) -> Spec | None:
    """Return the legend of the series, in one column if a name is long; None for a single series."""
    if max(map(len, series), default=0) > NAME_LETTERS:
        more |= {"columns": 1, "labelLimit": 360}
    return {"title": None, **more} if len(series) > 1 else None


def styles(series: Sequence[str], *, pointed: bool) -> Spec:
    """Return the color, dash and shape channels of the series, with a common legend.

    `pointed`: the lines have points, which the legend shows instead of dashes.
    """
    # With points, the legend must not draw dashes around their edges.
    common = legend(series, symbolStrokeWidth=0 if pointed else 2)
    return {
        "color": nominal("series", scale=scale(series, COLORS), legend=common),
        "strokeDash": nominal("series", scale=scale(series, DASHES), legend=common),
        "shape": nominal("series", scale=scale(series, SHAPES), legend=common),
    }
