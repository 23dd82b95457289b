"""Marks in a line chart: values that a paper states, and crossings of lines."""

from dataclasses import dataclass
from typing import Any

from nandram.report.charts.axis import Axis
from nandram.report.charts.vega_lite import Row, Spec, layer, mark, nominal, quantitative

CROSS = "M-1,-1L1,1M-1,1L1,-1"
"""Shape of the mark of a stated value, as an SVG path."""


@dataclass(frozen=True)
class Marks:
    """Marks in a line chart."""

    stated: tuple[Row, ...] = ()
    """Rows of ``x, y, claim``: values that a paper states, drawn as crosses."""
    stated_x: tuple[Row, ...] = ()
    """Rows of ``x, claim``: places on x that a paper states, drawn as dashed lines."""
    crossings: tuple[Row, ...] = ()
    """Rows of ``x, y, name``: crossings of lines, drawn as rings labeled with x."""

    def layers(self, x: Axis, y: Axis) -> list[Spec]:
        """Return the layers of the marks."""
        found: list[Spec] = []
        if self.stated_x:
            tips = [nominal("claim", title="stated"), quantitative("x", title=x.title)]
            rule = mark("rule", strokeDash=[5, 4], strokeWidth=1.4, opacity=0.7, color="currentColor")
            found.append(layer(rule, {"x": x.horizontal("x"), "tooltip": tips}, rows=list(self.stated_x)))
        place: dict[str, Any] = {"x": x.horizontal("x"), "y": y.vertical("y")}
        if self.crossings:
            tips = [nominal("name", title="cross"), quantitative("x", title=x.title)]
            ring = mark("point", size=150, filled=False, strokeWidth=1.8, color="currentColor", opacity=1)
            found.append(layer(ring, {**place, "tooltip": tips}, rows=list(self.crossings)))
            text = mark("text", dx=9, dy=-11, align="left", fontSize=11, color="currentColor")
            label = quantitative("x", format=".3~r")
            found.append(layer(text, {**place, "text": label}, rows=list(self.crossings)))
        if self.stated:
            tips = [nominal("claim", title="stated"), quantitative("y", title=y.title)]
            cross = mark("point", shape=CROSS, size=110, strokeWidth=2.2, color="currentColor")
            found.append(layer(cross, {**place, "tooltip": tips}, rows=list(self.stated)))
        return found
