"""Curves of measured points: by outstanding requests for one size, and by size at depth 1."""

from collections.abc import Sequence
from dataclasses import dataclass

from nandram.fit.measurements.points import Direction, Point, waits_busily
from nandram.fit.parameters import polls

FLAT = 1.10
"""Largest gain of the last doubling of the requests in flight on a plateau."""
NARROW = 0.5
"""Largest spread behind one queue, from the median to the 99th percentile, in requests served meanwhile and as a
fraction of the commands in the drive; waiting at random at many places spreads more."""
INSIDE = 256
"""Commands that a drive is assumed to hold at once where the data do not show it."""


@dataclass(frozen=True)
class Plateau:
    """The highest rate for one size."""

    point: Point
    narrow: bool
    """Whether the response times are nearly equal, as behind one queue that all requests pass in order."""


class Curves:
    """Points of one direction, order and engine."""

    def __init__(
        self, points: Sequence[Point], direction: Direction, engine: str, unit_bytes: int, random: bool | None = None
    ) -> None:
        self._points = [
            point for point in points if point.conditions.direction is direction and point.conditions.engine == engine
        ]
        if random is None:
            # Sequential and random points are not mixed: the order with more points defines the curves.
            random = sum(point.conditions.random for point in self._points) * 2 >= len(self._points)
        self._waits_busily = polls(engine) or waits_busily(self._points)
        self._points = [point for point in self._points if point.conditions.random is random]
        self.engine = engine
        """The engine of all points."""
        self._unit = unit_bytes

    @property
    def sizes(self) -> list[int]:
        """Sizes of at least a mapping unit, or all if there are none."""
        found = sorted({point.conditions.size_bytes for point in self._points})
        return [size for size in found if size >= self._unit] or found

    def row(self, size_bytes: int) -> list[Point]:
        """Return a size's points by outstanding requests; of equal ones that with most jobs, the least busy cores."""
        best: dict[int, Point] = {}
        for point in self._points:
            conditions = point.conditions
            if conditions.size_bytes == size_bytes and not self.cpu_limited(point):
                other = best.get(conditions.outstanding)
                if other is None or conditions.jobs > other.conditions.jobs:
                    best[conditions.outstanding] = point
        return [best[key] for key in sorted(best)]

    def cpu_limited(self, point: Point) -> bool:
        """Return whether the host's core limits a point; hosts that poll keep it busy anyway."""
        return point.is_busy and not self._waits_busily

    def cpu_plateau(self) -> Point | None:
        """Return the highest rate of a job whose core is busy; None if no core is."""
        limited = [point for point in self._points if self.cpu_limited(point)]
        return max(limited, key=lambda point: point.iops / point.conditions.jobs) if limited else None

    def at(self, size_bytes: int, outstanding: int) -> Point | None:
        """Return the point with this number of outstanding requests; None if it was not measured."""
        return next((each for each in self.row(size_bytes) if each.conditions.outstanding == outstanding), None)

    def first(self, size_bytes: int) -> Point | None:
        """Return the point of a size at depth 1."""
        return self.at(size_bytes, 1)

    def plateau(self, size_bytes: int) -> Plateau | None:
        """Return a size's plateau; None if its rate still grows at the largest depth."""
        row = self.row(size_bytes)
        if len(row) < 3:
            return None
        best = max(row, key=lambda point: point.iops)
        half = [each for each in row if each.conditions.outstanding <= row[-1].conditions.outstanding / 2]
        if not half or best.iops > FLAT * max(each.iops for each in half):
            return None
        last = row[-1]
        low, high = last.percentile(50.0), last.percentile(99.0)
        inside = min(last.conditions.outstanding, INSIDE)
        narrow = low is not None and high is not None and (high - low) * 1e-9 * last.iops < NARROW * inside
        return Plateau(best, narrow)


def level(point: Point, fraction: float) -> float | None:
    """Return the response time below which a fraction of the requests ends, by the nearest percentile measured."""
    candidates = [(abs(percent / 100 - fraction), time) for percent, time in point.percentiles if percent <= 99.0]
    return min(candidates)[1] if candidates else point.mean_ns


def tail(point: Point) -> float | None:
    """Return the 99.9th percentile, or the nearest below it from 99 on; None without any."""
    times = [time for percent, time in point.percentiles if 99.0 <= percent <= 99.9]
    return times[-1] if times else None


def mean(point: Point) -> float:
    """Return the mean response time, by Little's law if fio's own is missing."""
    return point.mean_ns if point.mean_ns is not None else 1e9 * point.conditions.outstanding / point.iops
