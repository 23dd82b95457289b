"""Plots of a result, as Altair charts."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from nandram.results import frames

if TYPE_CHECKING:
    from nandram.results.result import Result

POINTS_MAX = 1000
"""Maximum number of points per line, more than the width of a screen in pixels."""
_COLORS = alt.Scale(
    domain=["read", "write", "trim", "sync", "program", "erase"],
    range=["#1f77b4", "#d95f02", "#7f7f7f", "#7570b3", "#d95f02", "#7f7f7f"],
)


def latency_cdf(result: "Result") -> alt.Chart:
    """Plot the cumulative distribution of response times, one line per job and direction."""
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
    """Plot the read and write throughput over time in MB/s; the excluded warm-up is shaded."""
    windows = result.throughput().filter(pl.col("direction").is_in(["read", "write"]))
    # Each step extends to the next one, the last step to its own end.
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
    """Plot the busy fraction of each die's array by operation."""
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
                title="busy fraction of the time",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="~%", tickCount=5),
            ),
            y2="to:Q",
            color=alt.Color("operation:N", title=None, scale=_COLORS, legend=alt.Legend(values=operations)),
        )
        .properties(width=480, height=280)
    )
    return chart


def breakdown(result: "Result") -> alt.Chart:
    """Plot the mean parts of the latency, stacked, for bands of requests by percentile; one row per direction."""
    from nandram.report.breakdown import COLORS
    from nandram.results.names import BANDS, PARTS

    frame, order = result.breakdown(), {part: number for number, part in enumerate(PARTS)}
    data = frame.unpivot(
        [f"{part}_ns" for part in PARTS], index=["direction", "band"], variable_name="part", value_name="time_ns"
    )
    data = data.filter(pl.col("time_ns") > 0).with_columns(
        (pl.col("time_ns") / 1000).alias("time_us"),
        pl.col("part").str.strip_suffix("_ns").replace_strict(order, return_dtype=pl.Int64).alias("order"),
        pl.col("part").str.strip_suffix("_ns").replace_strict(PARTS, return_dtype=pl.String),
    )
    met = [part for part in PARTS if PARTS[part] in data["part"].to_list()]
    chart: alt.Chart = (
        alt.Chart(_values(data), title="Where the time goes")
        .mark_bar()
        .encode(
            x=alt.X("time_us:Q", title="mean response time (us)"),
            y=alt.Y("band:N", title="requests by response time", sort=[name for name, _, _ in BANDS]),
            color=alt.Color(
                "part:N",
                title=None,
                scale=alt.Scale(domain=[PARTS[part] for part in met], range=[COLORS[part] for part in met]),
                sort=[PARTS[part] for part in met],
            ),
            order=alt.Order("order:Q"),
            row=alt.Row("direction:N", title=None),
            tooltip=["direction:N", "band:N", "part:N", "time_us:Q"],
        )
        .properties(width=480)
    )
    return chart


def save(chart: alt.Chart | alt.LayerChart | alt.FacetChart, path: Path) -> None:
    """Save a chart in the format of the file's suffix: .png, .svg, or .html that needs no network."""
    if path.suffix == ".html":
        chart.save(path, inline=True)
    elif path.suffix == ".png":
        chart.save(path, ppi=144)
    else:
        chart.save(path)


def _values(data: pl.DataFrame) -> alt.InlineData:
    return alt.InlineData(values=data.to_dicts())


def _by_job(data: pl.DataFrame) -> dict[str, Any]:
    """Return the channels of lines: color by direction, dashes by job name, one line per job including clones."""
    directions = data["direction"].unique(maintain_order=True).to_list()
    channels: dict[str, Any] = {
        "color": alt.Color("direction:N", title=None, scale=_COLORS, legend=alt.Legend(values=directions)),
        "detail": alt.Detail("job:N"),
    }
    if data["name"].n_unique() > 1:
        channels["strokeDash"] = alt.StrokeDash("name:N", title="job")
    return channels


def _from_zero(frame: pl.DataFrame) -> pl.DataFrame:
    """Prepend a zero to a cumulative histogram, so that a single bucket also gives a line."""
    return pl.concat([frame.head(1).with_columns(fraction=pl.lit(0.0)), frame])


def _thinned(frame: pl.DataFrame) -> pl.DataFrame:
    """Reduce a cumulative histogram to visible points: steps of a thousandth, and the whole tail."""
    step = (pl.col("fraction") * POINTS_MAX).floor()
    tail = pl.col("fraction") > 1 - 2 / POINTS_MAX
    kept = frame.filter(tail | (step != step.shift(1)).fill_null(value=True))
    return kept if len(kept) <= 2 * POINTS_MAX else kept.gather_every(len(kept) // POINTS_MAX)
