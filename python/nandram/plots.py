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
    series = [_from_zero(_thinned(each)) for each in frame.partition_by("job", "direction", maintain_order=True)]
    data = pl.concat(series) if series else frame
    data = data.select("job", "name", "direction", (pl.col("latency_ns") / 1000).alias("latency_us"), "fraction")
    chart: alt.Chart = (
        alt.Chart(_values(data), title="Response time")
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("latency_us:Q", title="response time (us)", scale=alt.Scale(type="log", nice=False)),
            y=alt.Y("fraction:Q", title="fraction of requests", scale=alt.Scale(domain=[0, 1])),
            **_by_job(data),
        )
        .properties(width=480, height=280)
    )
    return chart


def throughput(result: "Result") -> alt.LayerChart | alt.FacetChart:
    """Plot what was read and written over time, in MB/s; what was cut off as warm-up is shaded."""
    windows = result.throughput().filter(pl.col("direction").is_in(["read", "write"]))
    # A step goes on until the next; the last one until its end.
    last = windows.group_by("job", "direction", maintain_order=True).last()
    ends = last.with_columns(pl.col("time_s") + pl.col("span_s")).select(windows.columns)
    data = pl.concat([windows, ends]).select(
        "time_s", "job", "name", "direction", (pl.col("bytes") / pl.col("span_s") / 1e6).alias("rate")
    )
    cut = pl.DataFrame({"from": [0.0], "to": [result.warm_up_s]}).filter(pl.col("to") > 0)
    shade = alt.Chart(_values(cut)).mark_rect(color="#eeeeee").encode(x="from:Q", x2="to:Q")
    lines = (
        alt.Chart(_values(data))
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("time_s:Q", title="simulated time (s)", scale=alt.Scale(nice=False)),
            y=alt.Y("rate:Q", title="MB/s", scale=alt.Scale(zero=True)),
            **_by_job(data),
        )
    )
    return alt.layer(shade, lines, title="Throughput").properties(width=480, height=280)


def dies(result: "Result") -> alt.Chart:
    """Plot the fraction of the run that each die's array was busy, by what it did."""
    frame = result.dies()
    kinds = ["read_busy", "program_busy", "erase_busy"]
    top = pl.col("busy").cum_sum().over("die")
    data = frame.unpivot(kinds, index="die", variable_name="operation", value_name="busy").with_columns(
        pl.col("operation").str.strip_suffix("_busy"),
        top.alias("to"),
        (top - pl.col("busy")).alias("from"),
        (pl.col("die") - 0.45).alias("left"),
        (pl.col("die") + 0.45).alias("right"),
    )
    operations = data.filter(pl.col("busy") > 0)["operation"].unique(maintain_order=True).to_list()
    chart: alt.Chart = (
        alt.Chart(_values(data), title="Dies")
        .mark_rect()
        .encode(
            x=alt.X("left:Q", title="die", axis=alt.Axis(tickMinStep=1), scale=alt.Scale(nice=False)),
            x2="right:Q",
            y=alt.Y(
                "from:Q",
                title="part of the time busy",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="~%", tickCount=5),
            ),
            y2="to:Q",
            color=alt.Color("operation:N", title=None, scale=_COLOURS, legend=alt.Legend(values=operations)),
        )
        .properties(width=480, height=280)
    )
    return chart


def save(chart: alt.Chart | alt.LayerChart | alt.FacetChart, path: Path) -> None:
    """Save a chart as its file's name says: .png, .svg, or .html that opens without a network."""
    if path.suffix == ".html":
        chart.save(path, inline=True)
    elif path.suffix == ".png":
        chart.save(path, ppi=144)
    else:
        chart.save(path)


def _values(data: pl.DataFrame) -> alt.InlineData:
    return alt.InlineData(values=data.to_dicts())


def _by_job(data: pl.DataFrame) -> dict[str, Any]:
    """Tell directions by colour and jobs of several names by dashes; each job, clones too, has a line of its own."""
    directions = data["direction"].unique(maintain_order=True).to_list()
    channels: dict[str, Any] = {
        "color": alt.Color("direction:N", title=None, scale=_COLOURS, legend=alt.Legend(values=directions)),
        "detail": alt.Detail("job:N"),
    }
    if data["name"].n_unique() > 1:
        channels["strokeDash"] = alt.StrokeDash("name:N", title="job")
    return channels


def _from_zero(frame: pl.DataFrame) -> pl.DataFrame:
    """Start a cumulative histogram at nothing, so that one of a single bucket is a line too."""
    return pl.concat([frame.head(1).with_columns(fraction=pl.lit(0.0)), frame])


def _thinned(frame: pl.DataFrame) -> pl.DataFrame:
    """Keep of a cumulative histogram what can be seen: steps of a thousandth, and the whole of the tail."""
    step = (pl.col("fraction") * POINTS_MAX).floor()
    tail = pl.col("fraction") > 1 - 2 / POINTS_MAX
    kept = frame.filter(tail | (step != step.shift(1)).fill_null(value=True))
    return kept if len(kept) <= 2 * POINTS_MAX else kept.gather_every(len(kept) // POINTS_MAX)
