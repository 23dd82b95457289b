"""Points that are held out: the start and the search never see them."""

import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from nandram.errors import UserError
from nandram.fit.measurements.points import Direction, Measurements, Point, joined, size_text

SHARE = 0.2
"""Fraction of the points outside of held-out regions that is held out at random."""
FITTED_MIN = 4
_REGION = re.compile(r"(bs|depth|jobs|engine|rw)=(.+)")


@dataclass(frozen=True)
class Split:
    """The points of a fit, by role, in the order of the data."""

    fitted: tuple[Point, ...]
    held_out: tuple[Point, ...]
    regions: tuple[str, ...]
    """Regions held out as a whole, such as ``depth=16``."""


def split(points: Sequence[Point], regions: Sequence[str] | None, share: float | None, seed: int) -> Split:
    """Hold out whole regions, and a random share of the other points.

    `regions`: such as ``bs=8k``, ``depth=16``, ``jobs=2``, ``engine=spdk``, ``rw=write``; None: an inner depth, and an
    inner size of at least four, both drawn by `seed`. Raises `UserError` if a region holds no point or too few points
    are left.
    """
    share = SHARE if share is None else share
    if not 0 <= share <= 0.8:
        raise UserError(f"--share: found {share:g}, expected a fraction from 0 to 0.8")
    draw = random.Random(seed)
    chosen = tuple(_default_regions(points, draw) if regions is None else regions)
    outside = set()
    for region in chosen:
        matching = {point for point in points if matches(point, region)}
        if not matching:
            raise UserError(f"--hold-out: {region} holds no point of the data")
        outside |= matching
    rest = [point for point in points if point not in outside]
    outside |= set(draw.sample(rest, round(share * len(rest))))
    fitted = tuple(point for point in points if point not in outside)
    if len(fitted) < FITTED_MIN:
        raise UserError(
            f"data: {len(fitted)} of {len(points)} points are left to fit, expected at least {FITTED_MIN}: "
            "measure more points, or hold out fewer (--share, --hold-out)"
        )
    return Split(fitted, tuple(point for point in points if point in outside), chosen)


def without(measured: Measurements, regions: Sequence[str]) -> Measurements:
    """Return the measurements without the points of some regions. Raises `UserError` if a region holds no point."""
    for region in regions:
        held = any(matches(point, region, "--drop") for point in measured.points)
        # Jobs that are not fitted are left out in any case, so that naming them is no mistake.
        if not held and region.removeprefix("rw=") not in measured.left_out:
            raise UserError(f"--drop: {region} holds no point of the data")
    points = [point for point in measured.points if not any(matches(point, each, "--drop") for each in regions)]
    return (
        measured if not regions else joined([Measurements(tuple(points), measured.remarks, left_out=measured.left_out)])
    )


def matches(point: Point, region: str, option: str = "--hold-out") -> bool:
    """Return whether a point lies in a region such as ``bs=8k``. Raises `UserError`, which names the `option`."""
    parsed = _REGION.fullmatch(region)
    if parsed is None:
        raise UserError(f"{option}: found `{region}`, expected bs=SIZE, depth=N, jobs=N, engine=NAME or rw=NAME")
    name, text = parsed.groups()
    conditions = point.conditions
    if name == "engine":
        return conditions.engine == text
    if name == "rw":
        return text in (conditions.direction.value, f"{'rand' if conditions.random else ''}{conditions.direction}")
    number = _number(region, text, option)
    return number == {"bs": conditions.size_bytes, "depth": conditions.depth, "jobs": conditions.jobs}[name]


def _number(region: str, text: str, option: str) -> int:
    match = re.fullmatch(r"(\d+)([kKmM]?)", text)
    if match is None:
        raise UserError(f"{option}: found `{region}`, expected a number, or a size such as 8k")
    return int(match[1]) << {"": 0, "k": 10, "m": 20}[match[2].lower()]


def _default_regions(points: Sequence[Point], draw: random.Random) -> list[str]:
    """Return an inner depth and an inner size: the model must interpolate, as the ends of curves define it."""
    chosen = []
    sizes = sorted({point.conditions.size_bytes for point in points})
    if len(sizes) >= 4:
        size = draw.choice(sizes[1:-1])
        chosen.append(f"bs={size_text(size).removesuffix('iB').removesuffix(' B').replace(' ', '').lower()}")
    depths = sorted({point.conditions.depth for point in points})
    if len(depths) >= 4:
        chosen.append(f"depth={draw.choice(depths[2:-1])}")
    return chosen


def directions(points: Sequence[Point]) -> set[Direction]:
    """Return the directions of points."""
    return {point.conditions.direction for point in points}


def log_error(modeled: float, measured: float) -> float:
    """Return the error as a logarithm: twice and half are equally wrong."""
    return math.log(modeled / measured)
