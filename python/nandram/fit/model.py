"""A system with free parameters, evaluated on points."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nandram.fit.evaluate import Evaluator, Modeled, smaller
from nandram.fit.measurements.points import Direction, Point
from nandram.fit.parameters import Space, Values, quantity
from nandram.fit.split import log_error
from nandram.system import System

FIGURES = ("iops", "p50", "p99")
"""Compared figures of a point."""
DIES = ("flash.channels", "flash.chips", "flash.dies")
"""Keys whose product is the number of dies."""
WRITES = {"iops": 1.0, "p50": 0.5, "p99": 0.16}
"""Weights of the figures of writes: their tails end in rare pauses, which must not bend the rates."""


@dataclass(frozen=True)
class Guess:
    """One set of choices and parameter values."""

    structure: dict[str, object]
    """Enumerated choices: keys and values."""
    values: Values


class Model:
    """Evaluates guesses."""

    def __init__(self, system: System, space: Space, evaluator: Evaluator, points: Sequence[Point]) -> None:
        self.space = space
        self._evaluator = evaluator
        self._smaller = smaller(system, [point.conditions for point in points])

    def evaluate(self, guesses: Sequence[Guess], points: Sequence[Point]) -> list[list[Modeled]]:
        """Return the modeled points of each guess, in the order of `points`; all runs are one batch.

        Points that were measured repeatedly share a run.
        """
        order = {conditions: i for i, conditions in enumerate(dict.fromkeys(point.conditions for point in points))}
        if len(order) < len(points):
            first = {point.conditions: point for point in reversed(points)}
            rows = self.evaluate(guesses, [first[conditions] for conditions in order])
            return [[row[order[point.conditions]] for point in points] for row in rows]
        engines = list(dict.fromkeys(point.conditions.engine for point in points))
        parts = {
            engine: [i for i, point in enumerate(points) if point.conditions.engine == engine] for engine in engines
        }
        cases = [
            (self.changes(guess, engine, small=True), [points[i] for i in parts[engine]])
            for guess in guesses
            for engine in engines
        ]
        answers = iter(self._evaluator.evaluate(cases))
        found: list[list[Modeled]] = []
        for _ in guesses:
            row: dict[int, Modeled] = {}
            for engine in engines:
                row.update(zip(parts[engine], next(answers), strict=True))
            found.append([row[i] for i in range(len(points))])
        return found

    def changes(self, guess: Guess, engine: str, *, small: bool = False) -> dict[str, object]:
        """Return the changes of the start file for a guess; `small`: on a drive with few pages, for evaluation."""
        found = {**guess.structure, **self.space.changes(guess.values, engine)}
        return {**found, **self._smaller} if small and self._smaller else {**found, **kept_capacity(self.space, found)}


def dies(space: Space, structure: Mapping[str, object]) -> int:
    """Return the number of dies of a structure."""
    return math.prod(int(str(structure.get(key, space.value(key)))) for key in DIES)


def kept_capacity(space: Space, changes: Mapping[str, object]) -> dict[str, object]:
    """Return the change of ``flash.blocks`` that keeps the raw capacity with other dies or pages."""
    keys = ("flash.channels", "flash.chips", "flash.dies", "flash.planes", "flash.page")

    def raw(values: Mapping[str, object]) -> float:
        sizes = [quantity(values.get(key, space.value(key))) for key in keys]
        return math.prod(sizes)

    before, after = raw({}), raw(changes)
    blocks = math.ceil(int(str(space.value("flash.blocks"))) * before / after)
    return {} if before == after else {"flash.blocks": blocks}


def errors(point: Point, modeled: Modeled) -> dict[str, float]:
    """Return the relative errors of the figures that were measured."""
    pairs = {
        "iops": (modeled.iops, point.iops),
        "p50": (modeled.p50_ns, point.percentile(50.0)),
        "p99": (modeled.p99_ns, point.percentile(99.0)),
    }
    return {name: ours / theirs - 1 for name, (ours, theirs) in pairs.items() if theirs is not None}


def residuals(points: Sequence[Point], modeled: Sequence[Modeled]) -> list[float]:
    """Return the logarithmic errors of all figures of all points, weighted for writes."""
    return [
        log_error(1 + error, 1.0) * (WRITES[figure] if point.conditions.direction is Direction.WRITE else 1.0)
        for point, each in zip(points, modeled, strict=True)
        for figure, error in errors(point, each).items()
    ]


def cost(found: Sequence[float], scale: float) -> float:
    """Return the robust cost of residuals: squares up to `scale`, absolute values beyond."""
    return sum(2 * (math.sqrt(1 + (each / scale) ** 2) - 1) for each in found) / len(found)
