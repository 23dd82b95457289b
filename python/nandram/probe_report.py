"""The output folder of a probe.

probe.json        the report: findings with their evidence, what was probed and how
samples.parquet   every latency, with the batch that it is of
report.html       the verdicts and the curves with their knees; opens without a network
"""

import html
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from nandram.errors import UserError
from nandram.findings import COLUMNS, about, row
from nandram.output import check, with_units
from nandram.report.plain import STYLE

if TYPE_CHECKING:
    from nandram.probing import Probe


def plot(finding: dict[str, Any]) -> alt.LayerChart | alt.FacetChart | None:
    """Plot the curve that a finding rests on, with its knee; None if it rests on none."""
    curve = finding["curve"]
    if curve is None or len(curve["points"]) < 2:
        return None
    scale = alt.Scale(type="log" if all(point["x"] > 0 for point in curve["points"]) else "linear", nice=False)
    points = (
        alt.Chart(alt.InlineData(values=curve["points"]))
        .mark_point(size=18, filled=True, opacity=0.6)
        .encode(x=alt.X("x:Q", title=curve["x"], scale=scale), y=alt.Y("y:Q", title=curve["y"]))
    )
    knees = [] if curve["knee"] is None else [{"x": curve["knee"]}]
    knee = alt.Chart(alt.InlineData(values=knees)).mark_rule(color="#d95f02", strokeDash=[6, 3]).encode(x="x:Q")
    return alt.layer(points, knee, title=about(finding)).properties(width=480, height=240)


def samples(probe: "Probe") -> pl.DataFrame | None:
    """Return every latency, a row each; None if they were not kept.

    ``batch`` (its number), ``test``, ``hmb``, ``x`` (what the test varies), ``op`` and ``request_bytes`` (of the
    batch's first request), ``depth``, ``latency_ns``.
    """
    kept = probe.report["samples"]
    if kept is None:
        return None
    batches = pl.DataFrame(kept["batches"], infer_schema_length=None).with_row_index("batch")
    repeated = batches.select(pl.all().repeat_by("count")).explode(batches.columns)
    return repeated.drop("count", "elapsed_ns").with_columns(
        pl.col("hmb").cast(pl.Boolean), pl.Series("latency_ns", kept["latency_ns"], pl.UInt64)
    )


def page(probe: "Probe") -> str:
    """Return the report as one HTML page; the plots are pictures in it."""
    import vl_convert

    target = probe.report["target"]
    title = f"Probe of {target['name']}"
    ended = f"<p>It ended early: {html.escape(probe.ended)}.</p>" if probe.ended else ""
    known = "".join(f"<li>{html.escape(f'{name}: {value}')}</li>" for name, value in target["environment"].items())
    charts = [chart for chart in map(plot, probe.findings) if chart is not None]
    figures = "".join(f"<figure>{vl_convert.vegalite_to_svg(chart.to_json())}</figure>" for chart in charts)
    cells = "".join(_cells(row(finding), "td") for finding in probe.findings)
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{html.escape(title)}</title>"
        f"<style>{STYLE} td:last-child {{ white-space: normal; }}</style></head><body>"
        f"<h1>{html.escape(title)}</h1>{ended}"
        f"<table><thead>{_cells(list(COLUMNS), 'th')}</thead><tbody>{cells}</tbody></table>"
        f"{figures}<ul>{known}</ul></body></html>\n"
    )


def _cells(cells: list[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def write(probe: "Probe", folder: Path) -> None:
    """Write the folder. Raises `UserError` if it cannot be written."""
    import pyarrow.parquet as pq

    check(folder)
    try:
        frame = samples(probe)
        if frame is not None:
            pq.write_table(with_units(frame), folder / "samples.parquet", compression="zstd")
        (folder / "report.html").write_text(page(probe), encoding="utf-8")
        # Last: a folder with a report holds all of it.
        (folder / "probe.json").write_text(probe.report_json, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{error.filename or folder}: cannot be written: {error.strerror}") from error
