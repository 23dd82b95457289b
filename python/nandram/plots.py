"""Plots of a result, as Altair charts."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from nandram import frames

if TYPE_CHECKING:
    from nandram.result import Result

POINTS_MAX = 1000
"""Of a line: more than a screen is wide."""
_COLOURS = alt.Scale(
    domain=["read", "write", "trim", "sync", "program", "erase"],
    range=["#1f77b4", "#d95f02", "#7f7f7f", "#7570b3", "#d95f02", "#7f7f7f"],
)


def latency_cdf(result: "Result") -> alt.Chart:
    """Plot the fraction of requests that were answered within a time, a line a job and direction."""
    frame = frames.cumulative(result.latency())
    series = [_thinned(each) for each in frame.partition_by("job", "direction", maintain_order=True)]
    data = pl.concat(series) if series else frame
    data = data.select("name", "direction", (pl.col("latency_ns") / 1000).alias("latency_us"), "fraction")
    return (
        alt.Chart(_values(data), title="Response time")
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("latency_us:Q", title="response time (us)", scale=alt.Scale(type="log", nice=False)),
            y=alt.Y("fraction:Q", title="fraction of requests", scale=alt.Scale(domain=[0, 1])),
            **_by_job(data),
        )
        .properties(width=480, height=280)
    )


def throughput(result: "Result") -> alt.Chart:
    """Plot what was read and written over time, in MB/s."""
    data = _rates(result.throughput())
    return (
        alt.Chart(_values(data), title="Throughput")
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("time_s:Q", title="simulated time (s)"),
            y=alt.Y("rate:Q", title="MB/s", scale=alt.Scale(zero=True)),
            **_by_job(data),
        )
        .properties(width=480, height=280)
    )


def dies(result: "Result") -> alt.Chart:
    """Plot the fraction of the run that each die was busy, by what it did."""
    frame = result.dies()
    kinds = [column for column in frame.columns if column.endswith("_busy")]
    data = frame.unpivot(kinds, index="die", variable_name="operation", value_name="busy").with_columns(
        pl.col("operation").str.strip_suffix("_busy"), (pl.col("die") + 1).alias("next")
    )
    return (
        alt.Chart(_values(data), title="Dies")
        .mark_bar()
        .encode(
            x=alt.X("die:Q", title="die", axis=alt.Axis(tickMinStep=1), scale=alt.Scale(nice=False)),
            x2="next:Q",
            y=alt.Y("busy:Q", title="fraction of the time busy", stack="zero", scale=alt.Scale(domainMax=1)),
            color=alt.Color("operation:N", title=None, scale=_COLOURS, legend=alt.Legend(values=_words(data))),
        )
        .properties(width=480, height=280)
    )


def save(chart: alt.Chart, path: Path) -> None:
    """Save a chart as its file's name says: .png, .svg, or .html that opens without a network."""
    if path.suffix == ".html":
        chart.save(path, inline=True)
    elif path.suffix == ".png":
        chart.save(path, ppi=144)
    else:
        chart.save(path)


def _values(data: pl.DataFrame) -> alt.InlineData:
    return alt.InlineData(values=data.to_dicts())


def _words(data: pl.DataFrame) -> list[str]:
    return data["operation"].unique(maintain_order=True).to_list()


def _by_job(data: pl.DataFrame) -> dict[str, Any]:
    """Tell directions by colour and, if there are several, jobs by dashes."""
    directions = data["direction"].unique(maintain_order=True).to_list()
    channels: dict[str, Any] = {
        "color": alt.Color("direction:N", title=None, scale=_COLOURS, legend=alt.Legend(values=directions))
    }
    if data["name"].n_unique() > 1:
        channels["strokeDash"] = alt.StrokeDash("name:N", title="job")
    return channels


def _thinned(frame: pl.DataFrame) -> pl.DataFrame:
    """Keep of a cumulative histogram what can be seen: steps of a thousandth, and the whole of the tail."""
    step = (pl.col("fraction") * POINTS_MAX).floor()
    tail = pl.col("fraction") > 1 - 2 / POINTS_MAX
    kept = frame.filter(tail | (step != step.shift(1)).fill_null(value=True))
    return kept if len(kept) <= 2 * POINTS_MAX else kept.gather_every(len(kept) // POINTS_MAX)


def _rates(frame: pl.DataFrame) -> pl.DataFrame:
    """Turn bytes an interval into MB/s; join intervals if there are more than can be seen."""
    times = frame["time_s"].unique().sort()
    if len(times) < 2:
        return pl.DataFrame(
            schema={"time_s": pl.Float64, "name": pl.String, "direction": pl.String, "rate": pl.Float64}
        )
    interval = times[1] - times[0]
    joined = -(-len(times) // POINTS_MAX)
    wide = interval * joined
    kinds = [column for column in ("read_bytes", "write_bytes") if frame[column].sum() > 0]
    return (
        frame.with_columns(((pl.col("time_s") / wide + 1e-9).floor() * wide).alias("time_s"))
        .group_by("time_s", "job", "name", maintain_order=True)
        .agg(pl.col(kinds).sum())
        .unpivot(kinds, index=["time_s", "name"], variable_name="direction", value_name="bytes")
        .select(
            "time_s",
            "name",
            pl.col("direction").str.strip_suffix("_bytes"),
            (pl.col("bytes") / wide / 1e6).alias("rate"),
        )
    )
