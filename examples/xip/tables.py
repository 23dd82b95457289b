"""Writes tables and plot of ``docs/paging.md`` from the bundled page traces: ``python examples/xip/tables.py``."""

import re
from pathlib import Path

import altair as alt
import polars as pl

import nandram
from nandram.results.plots import save
from nandram.traces import bundled, path_of

DOCS = Path(__file__).parents[2] / "docs"
POLICIES = ["lru", "arc", "min", "pm-xip(8,4)", "rent-or-buy"]
SRAM = ["2KiB", "4KiB", "8KiB", "16KiB", "32KiB", "64KiB"]
BOUND_REQUESTS = 30_000
"""Requests per trace for the distances to the lower bound, which keeps all of them in memory."""


def main() -> None:
    """Serve all traces and write the results."""
    # The ten builds of the paper's comparison; layouts.py compares their C library with newlib.
    traces = [path_of(name) for name in bundled() if name.startswith("xip/") and "newlib" not in name]
    whole = _relative(nandram.run_paging(*traces, policies=POLICIES, sram=SRAM, bound_rounds=0).frame())
    first = nandram.run_paging(*traces, policies=POLICIES, sram=SRAM, requests=BOUND_REQUESTS).frame()
    document = DOCS / "paging.md"
    text = document.read_text(encoding="utf-8")
    for name, table in (("ratios", _ratios(whole)), ("totals", _totals(whole)), ("bound", _bound(first))):
        block = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        found = re.search(block, text, flags=re.DOTALL)
        assert found is not None, f"{document} has no place for {name}"
        text = f"{text[: found.start()]}{found[1]}{table}{found[2]}{text[found.end() :]}"
    document.write_text(text, encoding="utf-8")
    save(_plot(whole), DOCS / "paging.svg")


def _relative(frame: pl.DataFrame) -> pl.DataFrame:
    """Return each policy's time over LRU's by trace and size; ``worst`` is rent or buy over the better of two."""
    table = frame.pivot(on="policy", index=["trace", "sram_bytes"], values="time_s")
    worst = pl.col("rent-or-buy") / pl.min_horizontal("lru", "pm-xip(8,4)")
    ratios = [pl.col(policy) / pl.col("lru") for policy in POLICIES]
    parts = pl.col("trace").str.split_exact("-", 1).struct.rename_fields(["program", "build"])
    return table.with_columns(worst.alias("worst"), *ratios, parts).unnest("trace")


def _ratios(table: pl.DataFrame) -> str:
    lines = [
        "| program | SRAM KiB | ARC | MIN | PM-XIP(8,4) | rent or buy | over the better of LRU and PM-XIP(8,4) |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for (program, size), group in table.group_by("program", "sram_bytes", maintain_order=True):
        cells = [_band(group[policy]) for policy in ("arc", "min", "pm-xip(8,4)", "rent-or-buy")]
        lines.append(f"| {program} | {int(str(size)) // 1024} | {' | '.join(cells)} | {_band(group['worst'])} |")
    return "\n".join(lines) + "\n"


def _band(values: pl.Series) -> str:
    return f"{_number(values.median())} ({_number(values.min())} to {_number(values.max())})"


def _number(value: object, digits: int = 2) -> str:
    assert isinstance(value, float)
    return f"{value:.{digits}f}"


def _totals(table: pl.DataFrame) -> str:
    small = table.filter(pl.col("sram_bytes") == 4096)
    means = {policy: _number(small[policy].mean(), 3) for policy in POLICIES}
    worst = table.sort("worst").tail(1).row(0, named=True)
    return (
        f"Of {len(table)} points (program, build, SRAM size) the greatest ratio of rent or buy to the better of LRU "
        f"and PM-XIP(8,4) is {worst['worst']:.3f} ({worst['program']}, {worst['build']}, {worst['sram_bytes'] // 1024} "
        f"KiB); at {(table['worst'] < 1).sum()} it is faster than both. With 4 KiB the mean time over that of LRU is "
        f"{means['rent-or-buy']} (PM-XIP(8,4): {means['pm-xip(8,4)']}, MIN: {means['min']}, ARC: {means['arc']}).\n"
    )


def _bound(frame: pl.DataFrame) -> str:
    names = {"lru": "LRU", "min": "MIN", "pm-xip(8,4)": "PM-XIP(8,4)", "rent-or-buy": "rent or buy"}
    program = pl.col("trace").str.split("-").list.first().alias("program")
    lines = [
        f"| program | SRAM KiB | {' | '.join(names.values())} |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for (name, size), group in frame.with_columns(program).group_by("program", "sram_bytes", maintain_order=True):
        cells = [_number(group.filter(pl.col("policy") == each)["time_to_bound"].median()) for each in names]
        lines.append(f"| {name} | {int(str(size)) // 1024} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _plot(table: pl.DataFrame) -> alt.FacetChart:
    names = {"arc": "ARC", "min": "MIN", "pm-xip(8,4)": "PM-XIP(8,4)", "rent-or-buy": "rent or buy"}
    data = (
        table.unpivot(list(names), index=["program", "sram_bytes"], variable_name="policy", value_name="time")
        .group_by("program", "sram_bytes", "policy", maintain_order=True)
        .agg(
            pl.col("time").median().alias("median"),
            pl.col("time").min().alias("low"),
            pl.col("time").max().alias("high"),
        )
        .with_columns(pl.col("policy").replace_strict(names), pl.col("sram_bytes") / 1024)
    )
    x = alt.X("sram_bytes:Q", title="SRAM (KiB)", scale=alt.Scale(type="log", base=2))
    scale = alt.Scale(type="log", base=2, domain=[0.05, 40], nice=False)
    # Symbols in the color of the lines, not of the paler bands.
    legend = alt.Legend(title=None, symbolOpacity=1)
    color = alt.Color("policy:N", sort=list(names.values()), legend=legend)
    axis = alt.Axis(values=[0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32], format="~g")
    y = alt.Y("median:Q", title="time / LRU", scale=scale, axis=axis)
    base = alt.Chart().encode(x=x, color=color)
    layers = alt.layer(
        base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
        base.mark_line(point=True).encode(y=y),
        data=alt.InlineData(values=data.to_dicts()),
    ).properties(width=300, height=200)
    chart: alt.FacetChart = layers.facet(facet=alt.Facet("program:N", title=None), columns=2)
    return chart


if __name__ == "__main__":
    main()
