"""The figures that precise data are compared by, each with its noise.

Rates change smoothly with the parameters. Percentiles at other depths than 1 jump, where they lie between groups of
requests that wait for one read or for two, and count little.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nandram.fit.evaluate import PERCENTS, Modeled
from nandram.fit.measurements.points import Direction, Measurements, Point
from nandram.fit.search import spread

RUN = 0.0007
"""Noise of a simulated run's rate: two seeds differ by 0.02 to 0.07 %."""
BUCKET = 0.005
"""Noise of a percentile: fio's buckets are up to 1.6 % wide, on both sides of the comparison."""
FEW = 8
"""Most requests in flight whose rates are as precise as those of fewer (assumed)."""
JUMPS = 0.03
"""Noise that the percentiles at other depths than 1 count with (assumed)."""


@dataclass(frozen=True)
class Figure:
    """A compared figure of a point."""

    point: int
    percent: float | None
    """None for the rate."""
    noise: float
    """Standard deviation of its logarithmic error, if the model is right."""


def figures(points: Sequence[Point], types: int, noise: float) -> list[Figure]:
    """Return all rates, at depth 1 a percentile per page type, and elsewhere the median and the 99th percentile."""
    by_type = {min(PERCENTS, key=lambda each: abs(each - 100 * (i + 0.5) / types)) for i in range(types)}
    found = []
    by_flight: dict[str, list[Point]] = {}
    for point in points:
        by_flight.setdefault(_in_flight(point), []).append(point)
    rates = {flight: _noise(each, noise) for flight, each in by_flight.items()}
    for i, point in enumerate(points):
        found.append(Figure(i, None, rates[_in_flight(point)]))
        shows_types = point.conditions.outstanding == 1 and point.conditions.direction is Direction.READ
        for percent, _ in point.percentiles:
            if percent in (by_type if shows_types else (50.0, 99.0)):
                found.append(Figure(i, percent, max(noise, BUCKET if shows_types else JUMPS)))
    return found


def _in_flight(point: Point) -> str:
    """Return ``one``, ``few`` or ``many`` requests in flight: the more there are, the noisier are rates."""
    outstanding = point.conditions.outstanding
    return "one" if outstanding == 1 else "few" if outstanding <= FEW else "many"


def _noise(points: Sequence[Point], noise: float) -> float:
    """Return the noise of the difference of a simulated and a measured rate, by the repeated ones of `points`."""
    repeated = Measurements(tuple(points)).repeated_noise()
    return max(math.sqrt(2) * (noise if repeated is None else repeated), RUN)


def log_errors(points: Sequence[Point], figures: Sequence[Figure], modeled: Sequence[Modeled]) -> list[float]:
    """Return the logarithmic errors."""
    found = []
    for figure in figures:
        point, ours = points[figure.point], modeled[figure.point]
        if figure.percent is None:
            found.append(math.log(ours.iops / point.iops))
        else:
            measured = point.percentile(figure.percent)
            assert measured is not None
            found.append(math.log(ours.percentiles[figure.percent] / measured))
    return found


def sizes_left(figures: Sequence[Figure], errors: Sequence[float]) -> list[float]:
    """Return the standard deviation of each figure: its noise, or what the model leaves of all with this noise."""
    alike: dict[float, list[float]] = {}
    for figure, error in zip(figures, errors, strict=True):
        alike.setdefault(figure.noise, []).append(error)
    by_noise = {noise: max(noise, spread(each)) for noise, each in alike.items()}
    return [by_noise[figure.noise] for figure in figures]
