"""Axes of charts."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from nandram.report.charts.vega_lite import Spec, nominal, quantitative

FLUSH = 16
"""Pixels from the end of a horizontal axis within which a label moves inward to avoid being cut off."""
NARROW = 0.25
"""If the relative spread of the values is smaller, the axis begins at 0, so that noise does not fill the chart."""


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

    def horizontal(self, field: str) -> Spec:
        """Return the channel that shows a field along this axis, at the bottom of a chart."""
        found = self.vertical(field)
        if self.scale != "names":
            found["axis"]["labelFlush"] = FLUSH
        return found

    def vertical(self, field: str) -> Spec:
        """Return the channel that shows a field along this axis, at the side of a chart."""
        if self.scale == "names":
            return nominal(field, title=self.title, sort=None, axis={"labelAngle": -30 if self.slanted else 0})
        scale: dict[str, Any] = {"type": "log"} if self.scale == "log" else {"zero": self.zero}
        if self.highest is not None:
            scale |= {"domain": [self.lowest, self.highest]}
        else:
            nice = self.zero and not self.room
            scale |= {"nice": nice, "padding": 0 if nice else 8}
        axis: dict[str, Any] = {"labelOverlap": True}
        if self.ticks:
            axis["values"] = list(self.ticks)
        elif self.scale == "log":
            axis["tickCount"] = 5
        if self.percent:
            axis["format"] = "~%"
        return quantitative(field, title=self.title, scale=scale, axis=axis)


def unmagnified(axis: Axis, values: list[float]) -> Axis:
    """Return a linear axis that does not magnify small differences."""
    if axis.scale != "linear" or axis.zero or axis.highest is not None or not values:
        return axis
    low, high = min(values), max(values)
    return replace(axis, zero=True) if low >= 0 and high - low < NARROW * high else axis
