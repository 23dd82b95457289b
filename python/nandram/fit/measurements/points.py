"""Measured points: what fio reported of one job at one size and depth."""

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from nandram.errors import UserError

LITTLE_MAX = 1.3
"""Outstanding requests by Little's law, as a multiple of the job's depth, beyond which a point contradicts itself."""
LITTLE_MIN = 0.02
BUSY = 0.97
"""Busy fraction of a core from which it limits a job, unless it polls."""
CONTRADICTION = 2.0
"""Ratio of two rates measured under the same conditions beyond which one must be wrong."""


class Direction(StrEnum):
    """Direction of a point's transfers."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True)
class Conditions:
    """The controlled variables of a point."""

    direction: Direction
    random: bool
    size_bytes: int
    depth: int
    """Outstanding requests per job."""
    jobs: int
    engine: str

    @property
    def outstanding(self) -> int:
        """Requests in flight over all jobs."""
        return self.depth * self.jobs

    def __str__(self) -> str:
        order = "random" if self.random else "sequential"
        jobs = f"{self.jobs} jobs" if self.jobs > 1 else "1 job"
        return f"{order} {self.direction} of {size_text(self.size_bytes)}, {jobs} of depth {self.depth}, {self.engine}"


@dataclass(frozen=True)
class Point:
    """One measurement. Times are response times in nanoseconds, from the program's call to its return."""

    conditions: Conditions
    iops: float
    """Requests per second over all jobs."""
    mean_ns: float | None
    percentiles: tuple[tuple[float, float], ...]
    """Pairs of a percentage and a response time, in rising order."""
    cpu: float | None
    """Busy fraction of one processor per job."""
    source: str
    """File, and line or job, for messages."""

    @property
    def is_busy(self) -> bool:
        """Whether the job keeps its core busy."""
        return self.cpu is not None and self.cpu >= BUSY

    def percentile(self, percent: float) -> float | None:
        """Return the response time below which `percent` of the requests end, in nanoseconds."""
        return dict(self.percentiles).get(percent)


@dataclass(frozen=True)
class Measurements:
    """The points of one drive."""

    points: tuple[Point, ...]
    remarks: tuple[str, ...] = ()
    """Facts about the files that a user should know, one sentence each."""
    left_out: frozenset[str] = frozenset()
    """fio's `rw` of the jobs that are no points of a fit."""
    hash: str = field(init=False)
    """SHA-256 of the points in a canonical order: two readings of the same data are equal."""

    def __post_init__(self) -> None:
        texts = sorted(json.dumps(_plain(point), sort_keys=True) for point in self.points)
        object.__setattr__(self, "hash", hashlib.sha256("\n".join(texts).encode()).hexdigest())

    def repeated_noise(self) -> float | None:
        """Return the median relative difference in rate of points with equal conditions; None without any."""
        import statistics

        groups: dict[Conditions, list[float]] = {}
        for point in self.points:
            groups.setdefault(point.conditions, []).append(point.iops)
        spreads = [max(rates) / min(rates) - 1 for rates in groups.values() if len(rates) > 1]
        return statistics.median(spreads) if spreads else None


def _plain(point: Point) -> list[object]:
    conditions = point.conditions
    place = [conditions.direction, conditions.random, conditions.size_bytes, conditions.depth, conditions.jobs]
    busy = [] if point.cpu is None else [point.cpu]
    return [*place, conditions.engine, point.iops, point.mean_ns, list(point.percentiles), *busy]


def waits_busily(points: Iterable[Point]) -> bool:
    """Return whether points of an engine show a core that waits actively: it is busy with one request in flight too.

    Such a core is no sign that the host limits the rate.
    """
    return any(point.is_busy for point in points if point.conditions.outstanding == 1)


def joined(parts: Iterable[Measurements]) -> Measurements:
    """Return the points of several files. Raises `UserError` if two contradict each other or too few are left."""
    parts = list(parts)
    points = tuple(point for part in parts for point in part.points)
    seen: dict[Conditions, Point] = {}
    for point in points:
        other = seen.setdefault(point.conditions, point)
        ratio = max(point.iops / other.iops, other.iops / point.iops)
        if ratio > CONTRADICTION:
            raise UserError(
                f"{point.source}: found {point.iops:,.0f} IOPS for {point.conditions}, "
                f"but {other.source} has {other.iops:,.0f}: expected runs of one drive in one state"
            )
    if len(points) < 2:
        number = "1 point" if points else "0 points"
        raise UserError(f"{points[0].source if points else 'data'}: found {number}, expected at least 2")
    remarks = dict.fromkeys(remark for part in parts for remark in part.remarks)
    return Measurements(points, tuple(remarks), left_out=frozenset().union(*(part.left_out for part in parts)))


def checked(point: Point) -> Point:
    """Return a point that is consistent in itself. Raises `UserError`."""
    conditions = point.conditions
    if not (math.isfinite(point.iops) and point.iops > 0):
        raise UserError(f"{point.source}: found {point.iops:g} IOPS, expected a rate above 0")
    if conditions.size_bytes < 512 or conditions.size_bytes % 512:
        raise UserError(
            f"{point.source}: found a block size of {conditions.size_bytes} bytes, expected a multiple of 512"
        )
    times = [time for _, time in point.percentiles]
    if any(time <= 0 or not math.isfinite(time) for time in times):
        raise UserError(f"{point.source}: found a percentile of {min(times):g} ns, expected times above 0")
    for (low, before), (high, after) in zip(point.percentiles, point.percentiles[1:], strict=False):
        if after < before:
            raise UserError(
                f"{point.source}: percentile {high:g} ({after:,.0f} ns) is below percentile {low:g} ({before:,.0f} ns)"
            )
    typical = point.mean_ns if point.mean_ns is not None else point.percentile(50.0)
    if typical is not None:
        busy = point.iops * typical * 1e-9
        if not LITTLE_MIN * conditions.outstanding <= busy <= LITTLE_MAX * conditions.outstanding:
            raise UserError(
                f"{point.source}: {point.iops:,.0f} IOPS of {typical:,.0f} ns are {busy:.3g} outstanding requests, but "
                f"the job has {conditions.outstanding}: expected times in the unit that their name gives, "
                "and the depth and number of jobs of this run"
            )
    return point


def size_text(size_bytes: int) -> str:
    """Return a block size as fio users write it: ``512 B``, ``4 KiB``, ``1 MiB``."""
    for unit, scale in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size_bytes % scale == 0:
            return f"{size_bytes // scale} {unit}"
    return f"{size_bytes} B"
