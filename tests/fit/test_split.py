"""Held-out points: whole regions, and a random share of the rest."""

from pathlib import Path

import pytest

from nandram.errors import UserError
from nandram.fit import read_measurements
from nandram.fit.split import split, without

MEASURED = read_measurements([Path(__file__).parents[2] / "drives" / "zn540-random-read.csv"])
POINTS = MEASURED.points


def test_a_region_is_held_out_as_a_whole() -> None:
    parts = split(POINTS, ["bs=8k", "depth=16"], 0.0, 1)
    assert len(parts.held_out) == 11
    assert all(point.conditions.size_bytes == 8192 or point.conditions.depth == 16 for point in parts.held_out)
    assert set(parts.fitted) | set(parts.held_out) == set(POINTS)


def test_the_same_seed_holds_out_the_same_points() -> None:
    assert split(POINTS, None, None, 1) == split(POINTS, None, None, 1) != split(POINTS, None, None, 2)


def test_ends_of_the_curves_are_not_held_out_as_a_whole() -> None:
    for seed in range(20):
        (region,) = split(POINTS, None, None, seed).regions
        assert region not in ("depth=1", "depth=2", "depth=256")


@pytest.mark.parametrize(
    ("regions", "share", "message"),
    [
        (["depth=3"], 0.2, "depth=3 holds no point of the data"),
        (["size=4k"], 0.2, "found `size=4k`, expected bs=SIZE"),
        (["depth=x"], 0.2, "found `depth=x`, expected a number"),
        (["rw=randread"], 0.0, "0 of 27 points are left"),
        ([], 0.9, "found 0.9, expected a fraction from 0 to 0.8"),
    ],
)
def test_mistakes(regions: list[str], share: float, message: str) -> None:
    with pytest.raises(UserError) as error:
        split(POINTS, regions, share, 1)
    assert message in str(error.value)


def test_dropped_points_are_neither_fitted_nor_held_out() -> None:
    rest = without(MEASURED, ["bs=4k", "depth=1"])
    assert len(rest.points) == 16
    assert all(point.conditions.size_bytes > 4096 and point.conditions.depth > 1 for point in rest.points)
    assert rest.hash != MEASURED.hash
    assert without(MEASURED, []) is MEASURED


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        (["bs=64k"], "--drop: bs=64k holds no point of the data"),
        (["bs=4k", "bs=8k", "bs=16k"], "found 0 points, expected at least 2"),
        (["bs"], "--drop: found `bs`, expected bs=SIZE"),
        (["depth=-1"], "--drop: found `depth=-1`, expected a number"),
    ],
)
def test_mistakes_in_dropped_regions(regions: list[str], message: str) -> None:
    with pytest.raises(UserError) as error:
        without(MEASURED, regions)
    assert message in str(error.value)
