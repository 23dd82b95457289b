"""The guarantees of rent or buy, and the behavior of PM-XIP, on page traces of fourteen builds of real programs."""

import polars as pl
import pytest

import nandram
from nandram.traces import bundled, path_of

SRAM = ["2KiB", "4KiB", "8KiB", "16KiB", "32KiB", "64KiB"]


@pytest.fixture(scope="module")
def times() -> pl.DataFrame:
    """Return the times: one row per trace and SRAM size, one column per policy."""
    traces = [path_of(name) for name in bundled() if name.startswith("xip/")]
    policies = ["lru", "pm-xip(8,4)", "rent-or-buy"]
    frame = nandram.run_paging(*traces, policies=policies, sram=SRAM, bound_rounds=0).frame()
    return frame.pivot(on="policy", index=["trace", "sram_bytes"], values="time_s")


def test_rent_or_buy_never_loses(times: pl.DataFrame) -> None:
    assert len(times) == 56 * len(SRAM)
    least = pl.min_horizontal("lru", "pm-xip(8,4)")
    worst = times.with_columns((pl.col("rent-or-buy") / least).alias("ratio")).sort("ratio").tail(1)
    assert worst["ratio"][0] <= 1.05, worst


def test_rent_or_buy_is_better_than_pm_xip_where_sram_is_small(times: pl.DataFrame) -> None:
    small = times.filter(pl.col("sram_bytes") == 4096)
    ours, paper = (small[policy] / small["lru"] for policy in ("rent-or-buy", "pm-xip(8,4)"))
    assert ours.mean() < 0.9 * paper.mean()  # type: ignore[operator]


def test_pm_xip_collapses_where_sram_nearly_suffices(times: pl.DataFrame) -> None:
    large = times.filter(pl.col("sram_bytes") == 65536)
    assert (large["pm-xip(8,4)"] / large["lru"]).min() > 2  # type: ignore[operator]
