"""The output folder of a probe.

probe.json        the report: findings with their evidence, target and options
samples.parquet   every latency with its batch
report.html       the verdicts and the curves with their knees; needs no network
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from nandram.errors import UserError
from nandram.folders import check
from nandram.probe.findings import COLUMNS, about, row
from nandram.results.stored import parquet

if TYPE_CHECKING:
    from nandram.probe.run import Probe
    from nandram.report.page import Figure


def samples(probe: "Probe") -> pl.DataFrame | None:
    """Return one row per latency; None if the latencies were not kept.

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
    """Return the report as one HTML page."""
    from nandram.report.page import Heading, Notes, Section, Table, render

    target = probe.report["target"]
    title = f"Probe of {target['name']}"
    found = Section(title, "probe")
    if probe.ended:
        found.parts.append(f"It ended early: {probe.ended}.")
    rows = [tuple(row(finding)) for finding in probe.findings]
    # Empty columns, such as that of the host memory buffer on a drive without one, are left out.
    used = [index for index in range(len(COLUMNS)) if not rows or any(each[index] for each in rows)]
    columns = tuple(COLUMNS[index] for index in used)
    found.parts.append(Table(columns, [tuple(each[index] for index in used) for each in rows], wide=("evidence",)))
    figures = [figure for finding in probe.findings if (figure := _figure(finding)) is not None]
    found.parts += [Heading("Curves"), *figures] if figures else []
    known = [f"{name}: {value}" for name, value in target["environment"].items()]
    found.parts += [Heading("Target"), Notes(known)] if known else []
    return render(title, "Black-box probe by reads and writes only.", [found])


def _figure(finding: dict[str, Any]) -> "Figure | None":
    """Return a chart of the curve behind a finding with its knee; None if it has no curve."""
    from nandram.report import charts
    from nandram.report.charts import Axis, Marks
    from nandram.report.page import Figure, figure

    curve = finding["curve"]
    if curve is None or len(curve["points"]) < 2:
        return None
    points = sorted((point["x"], point["y"]) for point in curve["points"])
    x = Axis(curve["x"], "log" if points[0][0] > 0 else "linear")
    y = Axis(curve["y"], zero=all(value >= 0 for _, value in points))
    knees = () if curve["knee"] is None else ({"x": curve["knee"], "claim": "knee"},)
    rows = [{"series": "measured", "x": place, "y": value} for place, value in points]
    chart = charts.lines(rows, ["measured"], x, y, marks=Marks(stated_x=knees))
    knee = f"; knee at {figure(curve['knee'], 9)}" if curve["knee"] is not None else ""
    return Figure(about(finding), chart, f"the probe's own requests{knee}", (curve["x"], curve["y"]), points)


def write(probe: "Probe", folder: Path) -> None:
    """Write the folder. Raises `UserError` if it cannot be written."""
    check(folder)
    try:
        frame = samples(probe)
        if frame is not None:
            parquet.write(frame, folder / "samples.parquet")
        (folder / "report.html").write_text(page(probe), encoding="utf-8")
        # Written last: a folder with probe.json is complete.
        (folder / "probe.json").write_text(probe.report_json, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{error.filename or folder}: cannot be written: {error.strerror}") from error
