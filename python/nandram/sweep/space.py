"""The space of a sweep: its axes, and its points.

[space]
kind = "latin-hypercube"          grid, random or latin-hypercube
samples = 200                     of random and latin-hypercube
seed = 1

[space.axes]
depth = [1, 2, 4]                 {depth} in texts
"link.lanes" = [1, 2, 4]          a key of the system: set as it is
"flash.read" = { from = "40us", to = "80us" }               between, both ends included
blocks = { from = 32, to = 512, scale = "log" }             counts and sizes are whole numbers, if both ends are
busy = { from = 0.1, to = 0.9, steps = 5 }                  of a grid: so many, evenly
"""

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nandram.language.grid import Coordinate, words
from nandram.language.tables import Table

KINDS = ("grid", "random", "latin-hypercube")
RUNS_MAX = 100_000
"""A sweep with more is a mistake: each run has its row, and all rows are in memory before the first run."""
_AMOUNT = re.compile(r"([0-9]*\.?[0-9]+)\s*([A-Za-z/%]*)")


@dataclass(frozen=True)
class Between:
    """An axis between two ends."""

    low: float
    high: float
    unit: str
    whole: bool
    log: bool
    steps: int | None

    def at(self, part: float) -> Coordinate:
        """Return the value so far between the ends, from 0 to 1."""
        if self.log:
            value = math.exp(math.log(self.low) + part * (math.log(self.high) - math.log(self.low)))
        elif self.whole:
            # Each whole number is as likely, the ends too.
            value = math.floor(self.low + part * (self.high - self.low + 1) * (1 - 1e-12))
        else:
            value = self.low + part * (self.high - self.low)
        if self.whole:
            number: int | float = min(max(round(value), int(self.low)), int(self.high))
        else:
            number = float(f"{value:.6g}")
        return f"{number}{self.unit}" if self.unit else number

    def evenly(self, count: int) -> list[Coordinate]:
        """Return so many values from end to end."""
        even = Between(self.low, self.high, self.unit, False, self.log, None)
        found = [even.at(index / (count - 1)) for index in range(count)]
        if self.whole:
            found = [
                f"{round(float(amount(each)[0]))}{self.unit}" if self.unit else round(float(each)) for each in found
            ]
        return list(dict.fromkeys(found))


Axis = Between | tuple[Coordinate, ...]


@dataclass(frozen=True)
class Space:
    """The varied parameter."""

    kind: str
    axes: dict[str, Axis]
    samples: int
    seed: int

    @property
    def count(self) -> int:
        """How many configurations there are."""
        if self.kind != "grid":
            return self.samples
        sizes = [(each.steps or 2) if isinstance(each, Between) else len(each) for each in self.axes.values()]
        return math.prod(sizes)

    def points(self) -> list[dict[str, Coordinate]]:
        """Return the configurations, in order: the same ones each time."""
        if self.kind == "grid":
            lists = [each.evenly(each.steps or 2) if isinstance(each, Between) else each for each in self.axes.values()]
            return [dict(zip(self.axes, point, strict=True)) for point in itertools.product(*lists)]
        return [
            {name: _at(axis, float(part)) for (name, axis), part in zip(self.axes.items(), row, strict=True)}
            for row in self._parts()
        ]

    def _parts(self) -> Sequence[Sequence[float]]:
        import numpy as np

        if self.kind == "random":
            found: Any = np.random.default_rng(self.seed).random((self.samples, len(self.axes)))
        else:
            from scipy.stats import qmc

            found = qmc.LatinHypercube(d=len(self.axes), rng=self.seed).random(self.samples)
        rows: list[list[float]] = found.tolist()
        return rows

    def ends(self) -> dict[str, list[Coordinate]]:
        """Return, by axis, the values that it may have: all of a list, else both ends."""
        return {
            name: [axis.at(0), axis.at(1)] if isinstance(axis, Between) else list(axis)
            for name, axis in self.axes.items()
        }


def _at(axis: Axis, part: float) -> Coordinate:
    return axis.at(part) if isinstance(axis, Between) else axis[min(int(part * len(axis)), len(axis) - 1)]


def amount(value: object) -> tuple[float, str]:
    """Split ``40us`` into its number and its unit; NaN if it has no number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), ""
    found = _AMOUNT.fullmatch(str(value))
    return (float(found[1]), found[2]) if found else (math.nan, "")


def read(table: Table) -> Space:
    """Read the table ``space`` of a file. Raises `UserError`."""
    table.only("kind", "samples", "seed", "axes")
    kind = table.text("kind")
    if kind not in KINDS:
        raise table.one_of("kind", kind, KINDS)
    samples = table.whole("samples", 1, None)
    if (samples is None) is not (kind == "grid"):
        raise table.error("samples", samples or "nothing", "a number of samples of random and latin-hypercube alone")
    axes = table.table("axes")
    found = {name: _axis(axes, name, kind) for name in axes.values}
    if not found:
        raise table.error("axes", "none", "an axis")
    space = Space(kind, found, samples or 0, table.whole("seed", 0, 1))
    if space.count > RUNS_MAX:
        key = "axes" if kind == "grid" else "samples"
        raise table.error(key, space.count, f"at most {RUNS_MAX} configurations")
    return space


def _axis(axes: Table, name: str, kind: str) -> Axis:
    expected = "a list of values, or { from = ..., to = ... }"
    value = axes.take(name, expected, list, dict)
    if isinstance(value, list):
        right = all(isinstance(each, int | float | str) and not isinstance(each, bool) for each in value)
        if not value or not right or len(set(value)) != len(value):
            raise axes.error(name, value, "a list of different numbers or texts")
        # A table has whole numbers of 64 bits.
        if large := [each for each in value if isinstance(each, int) and abs(each) >= 1 << 63]:
            raise axes.error(name, large[0], "whole numbers below 2^63")
        return tuple(value)
    table = axes.table(name)
    table.only("from", "to", "scale", "steps")
    low, high = (table.take(end, "a number or an amount such as `40us`", int, float, str) for end in ("from", "to"))
    (start, unit), (end, other) = amount(low), amount(high)
    if math.isnan(start) or math.isnan(end) or unit != other or start >= end:
        raise axes.error(name, f"{low} to {high}", "two amounts in one unit, the lower one first")
    scale = table.text("scale", "linear")
    if scale not in ("linear", "log"):
        raise table.one_of("scale", scale, ("linear", "log"))
    if scale == "log" and start <= 0:
        raise table.error("from", low, "more than nothing on a logarithmic scale")
    steps = table.whole("steps", 2, None)
    if (steps is None) is (kind == "grid"):
        raise table.error(
            "steps", steps or "nothing", f"a number of steps in a grid, and only there; found {words([kind])}"
        )
    # Sizes and counts are whole numbers; times have fractions.
    countable = not unit or unit.endswith("B")
    whole = countable and all(str(each).removesuffix(unit).strip().isdigit() for each in (low, high))
    return Between(start, end, unit, whole, scale == "log", steps)
