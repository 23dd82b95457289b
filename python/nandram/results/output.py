"""The output folder of a run.

summary.json      the results; its jobs follow fio's JSON
manifest.json     the resolved system, versions, seed and content hash of the run
samples.parquet   completed requests over time
drive.parquet     activity of the drive over time
latency.parquet   histograms of the response times
latency_over_time.parquet  the same for each interval, coarser
dies.parquet      activity of each die
breakdown.parquet where the time of the requests goes, if every request was logged
timeline.json     timeline for Perfetto, if requested
report.html       the table and the plots; needs no network
run.json, inputs/ the command, the program and the inputs, by which `nandram rerun` repeats the run
SHA256SUMS        checksums of the files that `read` reads, for ``sha256sum -c``
"""

import contextlib
import hashlib
import io
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from nandram.errors import UserError
from nandram.folders import check
from nandram.results.result import Result
from nandram.results.stored import parquet

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

TABLES = ("samples", "drive", "latency", "dies")
OPTIONAL = ("latency_over_time", "breakdown")
"""Tables that results of earlier versions lack, and those of runs that logged every request."""
SUMS = "SHA256SUMS"


def write(result: Result, folder: Path) -> Path:
    """Write a result; return the folder. Raises `UserError` if it cannot be written."""
    from nandram.report import run as run_report

    check(folder)
    summary = folder / "summary.json"
    try:
        summary.unlink(missing_ok=True)  # until the new result is complete
        for name in OPTIONAL:
            (folder / f"{name}.parquet").unlink(missing_ok=True)  # from an earlier run
        names = _tables(result.tables)
        for name in names:
            parquet.write(result.tables[name], folder / f"{name}.parquet")
        (folder / "manifest.json").write_text(result.manifest_json, encoding="utf-8")
        timeline = folder / "timeline.json"
        if result.timeline_json is not None:
            timeline.write_text(result.timeline_json, encoding="utf-8")
        else:
            timeline.unlink(missing_ok=True)  # from an earlier run
        (folder / "report.html").write_text(run_report.page(result), encoding="utf-8")
        found = {name: _sum((folder / name).read_bytes()) for name in _files(names) if name != summary.name}
        found[summary.name] = _sum(result.summary_json.encode())
        if result.inputs is not None:
            result.inputs.write(folder, result.manifest["workload_sha256"])
        lines = "".join(f"{value}  {name}\n" for name, value in found.items())
        (folder / SUMS).write_text(lines, encoding="ascii")
        # Written last: a folder with a summary holds a complete result.
        summary.write_text(result.summary_json, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{error.filename or folder}: cannot be written: {error.strerror}") from error
    return folder


def _tables(found: "Container[str]") -> tuple[str, ...]:
    """Return the tables of a result: those of every run, and the optional ones that it has."""
    return (*TABLES, *(name for name in OPTIONAL if name in found))


def _files(tables: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files that `read` reads, except the timeline."""
    return (*(f"{name}.parquet" for name in tables), "manifest.json", "summary.json")


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read(folder: Path) -> Result:
    """Read a folder written by `write`. Raises `UserError` if a file is missing, damaged or of another version."""
    contents = _contents(folder)
    timeline = folder / "timeline.json"
    with interpreted(folder):
        files = {name.removesuffix(".parquet"): name for name in contents if name.endswith(".parquet")}
        tables = {table: pl.read_parquet(io.BytesIO(contents[name])) for table, name in files.items()}
        return Result(
            contents["summary.json"].decode(),
            contents["manifest.json"].decode(),
            tables,
            timeline.read_text(encoding="utf-8") if timeline.is_file() else None,
            folder,
        )


@contextlib.contextmanager
def interpreted(folder: Path) -> "Iterator[None]":
    """Turn errors from reading the contents of a result folder into a `UserError` that names the folder.

    Its checksums match, so the folder was written this way: by another version, or by hand.
    """
    try:
        yield
    except UserError:
        raise
    except (
        *(LookupError, TypeError, ValueError, AttributeError, ArithmeticError, OSError),
        pl.exceptions.PolarsError,
    ) as error:
        why = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UserError(f"{folder}: found a result of another version, expected one of this version ({why})") from error


def sums(folder: Path) -> dict[str, str]:
    """Return the checksums that a folder lists, by file. Raises `OSError` and `ValueError`."""
    lines = [line.split("  ", 1) for line in (folder / SUMS).read_text("ascii").splitlines()]
    return {name: found for found, name in lines}


def _contents(folder: Path) -> dict[str, bytes]:
    """Return the contents of the files after verifying their checksums. Raises `UserError`."""
    try:
        found_sums = sums(folder)
        tables = _tables([name.removesuffix(".parquet") for name in found_sums])
        contents = {name: (folder / name).read_bytes() for name in _files(tables)}
    except FileNotFoundError as error:
        raise UserError(f"{folder}: the result is incomplete: {error.filename or error} is missing") from error
    except OSError as error:
        raise UserError(f"{error.filename or folder}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{folder / SUMS}: is damaged: expected lines of a SHA-256 and a file's name") from error
    for name, content in contents.items():
        if found_sums.get(name) != _sum(content):
            raise UserError(f"{folder / name}: is damaged: its SHA-256 differs from {SUMS}; run again with -o")
    return contents
