"""The log of every request of a run, as Parquet, and the parts of the requests' latencies."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from nandram.errors import UserError
from nandram.results.names import BANDS, DIRECTIONS, PARTS

STATUSES = ("ok", "uncorrectable", "failed", "no space", "refused")

_WORDS = pa.dictionary(pa.int8(), pa.string())


def _schema() -> pa.Schema:
    times = ("due", "issued", "submitted", "completed", "latency", *PARTS)
    fields = [
        pa.field("job", pa.uint16()),
        pa.field("name", pa.dictionary(pa.int32(), pa.string())),
        pa.field("direction", _WORDS),
        pa.field("measured", pa.bool_()),
        pa.field("offset", pa.uint64(), metadata={"unit": "B"}),
        pa.field("bytes", pa.uint64(), metadata={"unit": "B"}),
        pa.field("status", _WORDS),
        *(pa.field(f"{name}_ps", pa.uint64(), metadata={"unit": "ps"}) for name in times),
        pa.field("die", pa.uint16()),
    ]
    return pa.schema(fields)


class Writer:
    """Writes the requests of a run to a Parquet file, portion by portion.

    The file appears under its name once it is complete. Raises `UserError` if it cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if self.path.is_dir():
            raise UserError(f"{self.path}: found a folder, expected a file to write the requests to")
        self._growing = self.path.with_name(self.path.name + ".part")
        try:
            # Closed by `finish` or `discard`.
            self._bytes = open(self._growing, "wb")  # noqa: SIM115
        except OSError as error:
            raise self._unwritable(error) from error
        self._file = pq.ParquetWriter(self._bytes, _schema(), compression="zstd")

    def add(self, columns: Mapping[str, Any], jobs: list[str]) -> None:
        """Append requests: columns of the native module, and the names of all jobs."""
        schema, last = self._file.schema, np.uint64(np.iinfo(np.uint64).max)
        die = columns["die"]
        found = {
            "job": _column(columns["job"].astype(np.uint16), pa.uint16()),
            "name": _worded(columns["job"], jobs, pa.int32()),
            "direction": _worded(columns["direction"], DIRECTIONS, pa.int8()),
            "measured": _column(columns["measured"] != 0, pa.bool_()),
            "status": _worded(columns["status"], STATUSES, pa.int8()),
            "latency_ps": _column(columns["completed_ps"] - columns["due_ps"], pa.uint64()),
            "die": _column(die.astype(np.uint16), pa.uint16(), die != last),
        }
        arrays = [found[name] if name in found else _column(columns[name], pa.uint64()) for name in schema.names]
        try:
            self._file.write_batch(pa.record_batch(arrays, schema=schema))
        except OSError as error:
            raise self._unwritable(error) from error

    def finish(self) -> None:
        """Complete the file."""
        try:
            self._file.close()
            self._bytes.close()
            self._growing.replace(self.path)
        except OSError as error:
            raise self._unwritable(error) from error

    def discard(self) -> None:
        """Remove the incomplete file after a failed run."""
        with contextlib.suppress(OSError):
            self._file.close()
            self._bytes.close()
        self._growing.unlink(missing_ok=True)

    def _unwritable(self, error: OSError) -> UserError:
        why = os.strerror(error.errno) if error.errno else str(error)
        return UserError(f"{self.path}: cannot be written: {why}")


def _column(values: np.ndarray[Any, Any], kind: pa.DataType, valid: np.ndarray[Any, Any] | None = None) -> pa.Array:
    """Return values as an Arrow array. Its own constructor would import pandas, if installed: 50 MB."""
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    content = np.packbits(values, bitorder="little") if kind == pa.bool_() else np.ascontiguousarray(values)
    return pa.Array.from_buffers(kind, len(values), [bits, pa.py_buffer(content)])


def _words(names: Sequence[str]) -> pa.Array:
    """Return names as an Arrow array."""
    encoded = [name.encode() for name in names]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(names), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def _worded(numbers: np.ndarray[Any, Any], names: Sequence[str], kind: pa.DataType) -> pa.DictionaryArray:
    numbers = numbers.astype(np.int32 if kind == pa.int32() else np.int8)
    return pa.DictionaryArray.from_arrays(_column(numbers, kind), _words(names))


def read(path: Path) -> pl.DataFrame:
    """Read the log of every request. Raises `UserError` if it is missing or no such log."""
    return _scan(path).collect()


def _scan(path: Path) -> pl.LazyFrame:
    try:
        names = pq.read_schema(path).names
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from error
    except pa.ArrowInvalid as error:
        raise UserError(f"{path}: found no Parquet file, expected the log of every request") from error
    if names != _schema().names:
        raise UserError(f"{path}: found other columns, expected those of a log of every request")
    return pl.scan_parquet(path)


def breakdown(path: Path, warm_up_ps: int) -> pl.DataFrame:
    """Return where the time of the requests went, by direction and by percentile of the latency.

    ``direction, band, requests, latency_ns``, then ``..._ns`` of each part: means over the requests of the band,
    without failed requests and those that ended before `warm_up_ps`, in picoseconds. Raises `UserError`.
    """
    parts = [f"{name}_ps" for name in PARTS]
    counted = (pl.col("status") == "ok") & pl.col("measured") & (pl.col("completed_ps") >= warm_up_ps)
    logged = _scan(path).filter(counted).select("direction", "latency_ps", *parts)
    rank = pl.col("latency_ps").rank("ordinal").over("direction") - 1
    share = rank / pl.len().over("direction")
    number = pl.sum_horizontal([(share >= begin).cast(pl.Int64) for _, begin, _ in BANDS[1:]])
    means = [(pl.col(name).mean() / 1000).alias(f"{name[:-3]}_ns") for name in ("latency_ps", *parts)]
    frame = (
        logged.with_columns(number.alias("number"))
        .group_by("direction", "number")
        .agg(pl.len().alias("requests"), *means)
        .collect()
    )
    words = pl.col("direction").cast(pl.String)
    order = words.replace_strict({name: place for place, name in enumerate(DIRECTIONS)}, return_dtype=pl.Int64)
    band = pl.col("number").replace_strict(
        {place: name for place, (name, _, _) in enumerate(BANDS)}, return_dtype=pl.String
    )
    return frame.sort(order, "number").select(
        words, band.alias("band"), "requests", pl.exclude("direction", "number", "requests")
    )
