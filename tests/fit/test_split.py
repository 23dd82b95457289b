"""Held-out points: whole regions, and a random share of the rest."""

from pathlib import Path

import pytest

from nandram.errors import UserError
from nandram.fit import read_measurements
from nandram.fit.split import split

POINTS = read_measurements([Path(__file__).parents[2] / "drives" / "zn540-random-read.csv"]).points


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
