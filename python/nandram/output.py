"""The output folder of a run.

summary.json      the results; its jobs follow fio's JSON
manifest.json     what was run: the resolved system, versions, seed, content hash
samples.parquet   what completed over time
latency.parquet   histograms of the response times
dies.parquet      what each die did
timeline.json     for Perfetto, if asked for
report.html       the table and the plots; opens without a network
"""

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from nandram.errors import UserError
from nandram.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLES = ("samples", "latency", "dies")

_UNITS = {"_ns": "ns", "_s": "s", "bytes": "B", "_busy": "fraction of the run", "holding": "fraction of the run"}
"""By the end of a column's name."""


def check(folder: Path) -> None:
    """Make the folder, so that a mistake is told before a long run. Raises `UserError`."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder}: found a file, expected a folder to write to")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".nandram"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror}") from error


def write(result: Result, folder: Path) -> Path:
    """Write a result; return the folder. Raises `UserError` if it cannot be written."""
    from nandram import report

    check(folder)
    try:
        for name in TABLES:
            pq.write_table(with_units(result.tables[name]), folder / f"{name}.parquet", compression="zstd")
        (folder / "manifest.json").write_text(result.manifest_json, encoding="utf-8")
        timeline = folder / "timeline.json"
        if result.timeline_json is not None:
            timeline.write_text(result.timeline_json, encoding="utf-8")
        else:
            timeline.unlink(missing_ok=True)  # of an earlier run
        (folder / "report.html").write_text(report.run_page(result), encoding="utf-8")
        # Last: a folder with a summary holds a whole result.
        (folder / "summary.json").write_text(result.summary_json, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{error.filename or folder}: cannot be written: {error.strerror}") from error
    return folder


def read(folder: Path) -> Result:
    """Read what `write` wrote. Raises `UserError` if a file is missing."""
    try:
        tables = {name: pl.read_parquet(folder / f"{name}.parquet") for name in TABLES}
        timeline = folder / "timeline.json"
        return Result(
            (folder / "summary.json").read_text(encoding="utf-8"),
            (folder / "manifest.json").read_text(encoding="utf-8"),
            tables,
            timeline.read_text(encoding="utf-8") if timeline.exists() else None,
            folder,
        )
    except FileNotFoundError as error:
        raise UserError(f"{folder}: the result is not whole: {error.filename or error} is missing") from error


def with_units(frame: pl.DataFrame) -> pa.Table:
    """Return an Arrow table whose fields say their units."""
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    return table.cast(pa.schema(list(_fields(table.schema))))


def _fields(schema: pa.Schema) -> "Iterator[pa.Field]":
    for field in schema:
        unit = next((unit for end, unit in _UNITS.items() if field.name.endswith(end)), None)
        # Not every name has a unit at its end: counts and names have none.
        yield field.with_metadata({"unit": unit}) if unit is not None else field
