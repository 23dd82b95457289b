"""Plots of demand paging, as Altair charts."""

import altair as alt
import polars as pl

from nandram.capture.emulated.cache_shapes import size_text

_CELLS_MAX = 100
"""Maximum number of thresholds drawn per window, about one per percent."""
_COLORS = alt.Scale(domain=[-2, 0, 3], range=["#2166ac", "#f7f7f7", "#b2182b"], clamp=True)
"""Color scale of the binary logarithm, from a quarter of LRU through LRU to eight times LRU."""


def compared(table: pl.DataFrame) -> alt.Chart | alt.FacetChart:
    """Plot each policy's time relative to the bound, or its time, by SRAM size; one panel per trace."""
    bound = table["time_to_bound"].null_count() == 0
    y = "time_to_bound" if bound else "time_s"
    title = "time / lower bound" if bound else "time (s)"
    data = table.select("trace", "policy", (pl.col("sram_bytes") / 1024).alias("sram_kib"), y)
    order = data["policy"].unique(maintain_order=True).to_list()
    chart = (
        alt.Chart(alt.InlineData(values=data.to_dicts()))
        .mark_line(point=True)
        .encode(
            x=alt.X("sram_kib:Q", title="SRAM (KiB)", scale=alt.Scale(type="log", base=2)),
            y=alt.Y(f"{y}:Q", title=title, scale=alt.Scale(type="log", base=2, nice=False)),
            color=alt.Color("policy:N", title=None, sort=order),
        )
        .properties(width=240, height=180)
    )
    faceted: alt.FacetChart = chart.facet(facet=alt.Facet("trace:N", title=None), columns=4)
    return faceted


def heat_map(table: pl.DataFrame, quantity: str) -> alt.Chart | alt.FacetChart:
    """Plot time or energy relative to LRU over window and threshold; one row per trace, one column per SRAM size."""
    column = f"{quantity}_to_lru"
    windows = sorted(table["window"].unique().to_list())
    place = {window: index for index, window in enumerate(windows)}
    sizes = {size: size_text(size) for size in sorted(table["sram_bytes"].unique().to_list())}
    # For long windows, draw the thresholds nearest to whole percents.
    step = (pl.col("window") / _CELLS_MAX).clip(lower_bound=1.0)
    drawn = table.filter((pl.col("threshold") / step).floor() != ((pl.col("threshold") - 1) / step).floor())
    # Each cell extends halfway to the neighboring thresholds.
    over = ("trace", "sram_bytes", "window")
    middle = (pl.col("percent") + pl.col("percent").shift(-1).over(over)) / 2
    data = drawn.select(
        "trace",
        "window",
        "threshold",
        pl.col("sram_bytes").replace_strict(sizes, return_dtype=pl.String).alias("sram"),
        pl.col("window").replace_strict(place, return_dtype=pl.Float64).alias("left"),
        middle.shift(1).over(over).fill_null(0.0).alias("from"),
        middle.fill_null(100.0).alias("to"),
        pl.col(column).log(2).alias("doublings"),
    ).with_columns((pl.col("left") + 1).alias("right"))
    labels = " : ".join(f"datum.value == {index + 0.5} ? '{window}'" for window, index in place.items())
    chart = (
        alt.Chart(alt.InlineData(values=data.to_dicts()))
        .mark_rect()
        .encode(
            x=alt.X(
                "left:Q",
                title="window (requests)",
                scale=alt.Scale(domain=[0, len(windows)], nice=False),
                axis=alt.Axis(
                    values=[index + 0.5 for index in place.values()], labelExpr=f"{labels} : ''", ticks=False
                ),
            ),
            x2="right:Q",
            y=alt.Y("from:Q", title="threshold (% of the window)", scale=alt.Scale(domain=[0, 100], nice=False)),
            y2="to:Q",
            # Without a stroke, gaps would show between neighbors of the same color.
            stroke=alt.Stroke("doublings:Q", scale=_COLORS, legend=None),
            color=alt.Color(
                "doublings:Q",
                title=f"{quantity} / LRU",
                scale=_COLORS,
                legend=alt.Legend(values=[-2, -1, 0, 1, 2, 3], labelExpr="format(pow(2, datum.value), '.3~g')"),
            ),
        )
        .properties(width=220, height=160)
    )
    faceted: alt.FacetChart = chart.facet(
        row=alt.Row("trace:N", title=None, sort=table["trace"].unique(maintain_order=True).to_list()),
        column=alt.Column("sram:N", title=None, sort=list(sizes.values())),
    )
    return faceted
