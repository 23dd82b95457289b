"""Statistics over seeds: groups of values, and intervals of ratios."""

import math

import numpy as np
import pytest

from nandram.results.seeds import groups, mean, relative_change


def test_two_modes_are_two_groups() -> None:
    assert groups([81e3, 229e3, 227e3, 81.5e3]) == [[0, 3], [2, 1]]
    assert groups([10.0, 10.1, 10.2, 100.0, 101.0, 1000.0, 1010.0, 10.05]) == [[0, 7, 1, 2], [3, 4], [5, 6]]
    assert groups([15.3, 546.0, 556.0]) == [[0], [1, 2]]
    assert mean([81e3, 229e3, 227e3, 81.5e3]) is None


def test_one_distribution_is_one_group() -> None:
    assert len(groups([100.0, 105.0])) == 1
    assert len(groups([0.0, 0.0, 5.0, 5.0])) == 1
    assert mean([100.0]) == 100.0
    assert mean([0.0, 5.0]) == 2.5
    assert mean([8.0, 9.0]) == pytest.approx(72**0.5)


@pytest.mark.parametrize("count", [4, 5, 6, 10, 20])
def test_chance_seldom_makes_groups(count: int) -> None:
    draws = np.random.default_rng(count)
    split = sum(len(groups(np.exp(draws.normal(0, 0.4, count)).tolist())) > 1 for _ in range(2000))
    assert split / 2000 <= 0.015


def test_intervals_of_ratios_hold_the_ratio() -> None:
    """95 % of the intervals of noisy pairs hold the true ratio of 1.1."""
    draws = np.random.default_rng(3)
    held = 0
    for _ in range(1000):
        noise = draws.normal(0, 0.05, (2, 5))
        _, low, high = relative_change(np.exp(noise[0]).tolist(), (1.1 * np.exp(noise[1])).tolist())
        held += low is not None and high is not None and low <= 0.1 <= high
    assert 0.93 <= held / 1000 <= 0.97


def test_an_interval_beyond_all_numbers_is_infinite() -> None:
    change, low, high = relative_change([1.0] * 4, [1e-300, 1e-100, 1e100, 1e300])
    assert math.isfinite(change)
    assert low == pytest.approx(-1.0)
    assert high == math.inf
