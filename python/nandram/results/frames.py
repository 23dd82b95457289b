"""Polars frames of a result, built from the columns of the native module, and figures computed from them."""

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from nandram.errors import UserError
from nandram.options import one_of
from nandram.results.names import DIRECTIONS


def latency(columns: Mapping[str, Any], names: list[str]) -> pl.DataFrame:
    """Return the latency histograms with names of jobs and directions."""
    return _named(pl.DataFrame(dict(columns)), names)


def throughput(columns: Mapping[str, Any], names: list[str]) -> pl.DataFrame:
    """Return the throughput intervals with rates and with names of jobs and directions."""
    frame = pl.DataFrame(dict(columns)).with_columns(
        (pl.col("requests") / pl.col("span_s")).alias("iops"),
        (pl.col("bytes") / pl.col("span_s")).alias("bandwidth_bytes_s"),
    )
    first = ["time_s", "span_s", "job", "direction", "requests", "bytes"]
    return _named(frame.select(*first, pl.exclude(first)), names)


def latency_over_time(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return the requests of each interval by response time, with names of directions."""
    words = pl.col("direction").replace_strict(dict(enumerate(DIRECTIONS)), return_dtype=pl.String)
    return pl.DataFrame(dict(columns)).select("time_s", "span_s", words, "latency_ns", "count")


def drive(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return the intervals of the drive with write amplification (null without host programs) and cache fill."""
    frame = pl.DataFrame(dict(columns))
    programmed = pl.sum_horizontal("programmed_host", "programmed_copy", "programmed_other")
    amplification = pl.when(pl.col("programmed_host") > 0).then(programmed / pl.col("programmed_host"))
    fill = pl.when(pl.col("write_cache_units") > 0).then(pl.col("write_cache_used") / pl.col("write_cache_units"))
    first = ["time_s", "span_s"]
    return frame.select(*first, pl.exclude(first)).with_columns(
        amplification.alias("write_amplification"), fill.alias("write_cache_fill")
    )


def dies(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return one row per die."""
    return pl.DataFrame(dict(columns))


def _named(frame: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    name = pl.col("job").replace_strict(dict(enumerate(names)), return_dtype=pl.String).alias("name")
    words = pl.col("direction").replace_strict(dict(enumerate(DIRECTIONS)), return_dtype=pl.String)
    after = frame.get_column_index("job") + 1
    return frame.with_columns(words).insert_column(after, frame.select(name).to_series())


def cumulative(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the cumulative fraction of requests per bucket, job and direction to histograms."""
    over = ["job", "direction"]
    return frame.sort(*over, "latency_ns").with_columns(
        (pl.col("count").cum_sum().over(over) / pl.col("count").sum().over(over)).alias("fraction")
    )


def _check_percent(percent: object) -> None:
    if not isinstance(percent, int | float) or not 0 <= percent <= 100:
        raise UserError(f"percent: found {percent!r}, expected a number from 0 to 100")


def percentile(frame: pl.DataFrame, percent: float, direction: str | None) -> float:
    """Return a latency percentile in ns over all jobs; NaN without requests.

    Raises `UserError`.
    """
    _check_percent(percent)
    if direction is not None:
        one_of("direction", direction, DIRECTIONS)
    if direction is None:
        frame = frame.filter(pl.col("direction") != "sync")
    else:
        frame = frame.filter(pl.col("direction") == direction)
    if frame.is_empty():
        return math.nan
    merged = frame.group_by("latency_ns").agg(pl.col("count").sum()).sort("latency_ns")
    counts = merged["count"].cum_sum()
    wanted = math.ceil(counts[-1] * percent / 100)
    index = counts.search_sorted(max(wanted, 1))
    return float(merged["latency_ns"][index])
