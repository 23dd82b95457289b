"""The configurations of a space."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nandram.language.tables import Table
from nandram.sweep.space import Space, amount, read


def space(kind: str, axes: dict[str, object], samples: int | None = None, seed: int = 1) -> Space:
    values: dict[str, object] = {"kind": kind, "axes": axes, "seed": seed}
    return read(Table("s.toml", "space", values if samples is None else {**values, "samples": samples}))


def test_a_grid_has_every_point_once() -> None:
    points = space(
        "grid", {"a": [1, 2, 3], "b": ["x", "y"], "c": {"from": 1, "to": 100, "scale": "log", "steps": 3}}
    ).points()
    assert [tuple(each.values()) for each in points] == list(itertools.product([1, 2, 3], ["x", "y"], [1, 10, 100]))


@given(st.integers(2, 60), st.integers(0, 1000))
def test_a_latin_hypercube_has_one_point_in_each_slice(samples: int, seed: int) -> None:
    points = space(
        "latin-hypercube", {"a": {"from": 0.0, "to": 1.0}, "b": {"from": "2ms", "to": "4ms"}}, samples, seed
    ).points()
    assert sorted(int(float(each["a"]) * samples) for each in points) == list(range(samples))
    slices = sorted(int((amount(each["b"])[0] - 2) / 2 * samples + 1e-4) for each in points)
    assert all(abs(found - wanted) <= 1 for found, wanted in zip(slices, range(samples), strict=True))


@given(st.sampled_from(["random", "latin-hypercube"]), st.integers(1, 1000))
def test_points_are_within_and_the_same_each_time(kind: str, seed: int) -> None:
    axes: dict[str, object] = {
        "count": {"from": 3, "to": 6},
        "size": {"from": "1KiB", "to": "64KiB", "scale": "log"},
        "time": {"from": "1us", "to": "2us"},
        "name": ["x", "y"],
    }
    points = space(kind, axes, 20, seed).points()
    assert points == space(kind, axes, 20, seed).points()
    for each in points:
        assert each["count"] in (3, 4, 5, 6)
        assert each["name"] in ("x", "y")
        (size, unit), (time, other) = amount(each["size"]), amount(each["time"])
        assert (unit, other) == ("KiB", "us")
        assert size == int(size)
        assert 1 <= size <= 64
        assert 1 <= time <= 2


def test_whole_numbers_are_alike_likely_at_the_ends() -> None:
    points = space("random", {"a": {"from": 1, "to": 4}}, 4000).points()
    for value in (1, 2, 3, 4):
        assert sum(each["a"] == value for each in points) == pytest.approx(1000, abs=120)


@pytest.mark.parametrize(
    ("text", "found"),
    [("40us", (40, "us")), (3, (3, "")), ("0.5 GB/s", (0.5, "GB/s")), (".5", (0.5, "")), (7.5, (7.5, ""))],
)
def test_amounts(text: object, found: tuple[float, str]) -> None:
    assert amount(text) == found


@pytest.mark.parametrize("text", ["auto", "4 KiB each", True, ""])
def test_what_is_no_amount(text: object) -> None:
    assert math.isnan(amount(text)[0])
