"""The folder of a sweep: what is made is kept, however it ends.

sweep.toml        the file, as it was
plan.parquet      one row per configuration and seed: index, key, coordinates
journal.jsonl     results since the last part, a line each, written as each run ends
part-*.parquet    results: key, run_s, notes, measures
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandram.errors import UserError
from nandram.sweep.work import Row, Work

if TYPE_CHECKING:
    import polars as pl

    from nandram.sweep.declared import Declared

PART = 500
"""Results of a part."""
COLUMNS = ("index", "key", "seed", "run_s", "notes")
"""Columns of every table of results; axes and measures have other names."""


class Store:
    """Appends results, and knows which there are."""

    def __init__(self, folder: Path, declared: "Declared", works: list[Work]) -> None:
        """Open a folder, made if need be. Raises `UserError` if it cannot be written."""
        self.folder = folder
        wanted = {each.key for each in works}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._parts = len(list(folder.glob("part-*.parquet")))
            self._fresh = [row for row in _journal(folder) if row["key"] not in _kept(folder)]
            self.kept = {*_kept(folder), *(row["key"] for row in self._fresh)} & wanted
            """Keys of the plan whose results are there."""
            _replace(folder / "sweep.toml", declared.text.encode())
            _write(folder / "plan.parquet", _plan(works))
            # Without a line that was cut off.
            lines = "".join(json.dumps(row) + "\n" for row in self._fresh)
            _replace(folder / "journal.jsonl", lines.encode())
            self._journal = os.open(folder / "journal.jsonl", os.O_WRONLY | os.O_APPEND)
        except OSError as error:
            raise UserError(f"{error.filename or folder}: cannot be written: {error.strerror}") from error

    def append(self, row: Row) -> None:
        """Keep a result: whatever happens now, it is not made again."""
        # One write: a process that is killed leaves whole lines, or at worst cuts off the last.
        os.write(self._journal, (json.dumps(row) + "\n").encode())
        self._fresh.append(row)
        if len(self._fresh) >= PART:
            self._flush()

    def close(self) -> None:
        """Write what is in the journal as a part."""
        if self._fresh:
            self._flush()
        os.close(self._journal)

    def _flush(self) -> None:
        import polars as pl

        while (self.folder / f"part-{self._parts:06}.parquet").exists():
            self._parts += 1
        frame = pl.DataFrame(self._fresh, schema=_schema(self._fresh[0]))
        _write(self.folder / f"part-{self._parts:06}.parquet", frame)
        # If it ends here, the journal repeats what the part has; readers take each key once.
        os.ftruncate(self._journal, 0)
        self._fresh = []


def results(folder: Path) -> "pl.DataFrame":
    """Return the results of a folder, each key once."""
    import polars as pl

    frames = [read_table(path) for path in sorted(folder.glob("part-*.parquet"))]
    fresh = _journal(folder)
    if fresh:
        frames.append(pl.DataFrame(fresh, schema=_schema(fresh[0])))
    if not frames:
        return pl.DataFrame(schema={"key": pl.String, "run_s": pl.Float64, "notes": pl.String})
    return pl.concat(frames, how="diagonal").unique("key", keep="first", maintain_order=True)


def _schema(row: Row) -> dict[str, Any]:
    import polars as pl

    return {name: pl.String if name in ("key", "notes") else pl.Float64 for name in row}


def _kept(folder: Path) -> set[str]:
    parts = sorted(folder.glob("part-*.parquet"))
    return {key for path in parts for key in read_table(path, ["key"])["key"]}


def read_table(path: Path, columns: list[str] | None = None) -> "pl.DataFrame":
    """Read a table of the folder, by Arrow: Polars panics at some damaged files. Raises `UserError`."""
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        found = pl.from_arrow(pq.read_table(path, columns=columns))
        if isinstance(found, pl.DataFrame) and set(columns or ()) <= set(found.columns):
            return found
        why = f"it has no column {' or '.join(columns or ())}"
    except FileNotFoundError:
        raise UserError(f"{path.parent}: holds no sweep: {path.name} is missing") from None
    except (OSError, ValueError, pa.ArrowException, pl.exceptions.PolarsError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
    raise UserError(f"{path}: is damaged: {why}")


def _journal(folder: Path) -> list[Row]:
    """The whole lines of the journal."""
    try:
        lines = (folder / "journal.jsonl").read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    found = {}
    for line in lines:
        row: Row = json.loads(line)
        found[row["key"]] = row
    return list(found.values())


def _plan(works: Iterable[Work]) -> "pl.DataFrame":
    import polars as pl

    rows = [{"index": each.index, "key": each.key, "seed": each.options["seed"], **each.place} for each in works]
    # Seeds are 64 bits without a sign: inferred, a large one is of a type that Parquet has not.
    return pl.DataFrame(rows, infer_schema_length=None, strict=False, schema_overrides={"seed": pl.UInt64})


def _write(path: Path, frame: "pl.DataFrame") -> None:
    """Write a table whole or not at all."""
    from nandram.results.stored import parquet

    part = path.with_name(f".{path.name}.{os.getpid()}")
    parquet.write(frame, part)
    part.replace(path)


def _replace(path: Path, content: bytes) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_bytes(content)
    part.replace(path)
