"""One run of a sweep, here or on a worker."""

import json
import math
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nandram.errors import UserError
from nandram.hashes import program_hash
from nandram.language.measures import is_served
from nandram.results import validity
from nandram.results.names import DIRECTIONS

Row = dict[str, Any]
_LOCK = threading.Lock()
_THREAD = threading.local()


@dataclass(frozen=True)
class Work:
    """A run to execute."""

    index: int
    key: str
    """Hash of all inputs: program, system, workload and options."""
    place: dict[str, int | float | str]
    """Coordinates of the configuration."""
    system: str
    changes: list[str]
    job: str | None
    trace: str | None
    options: dict[str, Any]
    cache: str | None
    """Cache folder for prepared drives, or None."""


def run(work: Work, measures: dict[str, str]) -> Row:
    """Execute a run; return its row: ``key``, ``run_s``, ``notes`` (kinds, joined by semicolons) and the measures.

    Raises `UserError` if the system or the workload is refused.
    """
    from nandram import _core
    from nandram.options import run_options

    options = {"payload": "none", "wrap": False, "precondition": None, "replay": None, "warm_up": None, **work.options}
    given = run_options(timeline=False, cache=work.cache, **options)
    started = time.perf_counter()
    path = work.trace
    if path is None:
        assert work.job is not None
        path = _job_file(work.job)
    try:
        found = _core.run(work.system, work.changes, path, given, None)
    except UserError as error:
        place = ", ".join(f"{axis}={value}" for axis, value in work.place.items())
        name = Path(path).name if work.job is None else f"job{Path(path).suffix}"
        raise UserError(f"{place}: {str(error).replace(path, name)}") from None
    run_s = time.perf_counter() - started
    summary = json.loads(found.summary_json)
    notes = validity.notes_of(summary)
    kinds = ";".join(validity.kinds(notes))
    tails = percentiles(found.latency, notes)
    return {"key": work.key, "run_s": run_s, "notes": kinds, **measured(summary, measures), **tails}


@cache
def _made_folder() -> TemporaryDirectory[str]:
    """Return a temporary folder of this process."""
    return TemporaryDirectory(prefix="nandram-")


def _folder() -> TemporaryDirectory[str]:
    # Without the lock, two threads could create two folders.
    with _LOCK:
        return _made_folder()


def _job_file(text: str) -> str:
    """Return a job file with this text. Each thread reuses one file, as creating one takes longer than a short run.

    A text that names its kind is TOML: a served model.
    """
    suffix = "toml" if is_served(text) else "fio"
    path = Path(_folder().name, f"{threading.get_ident()}.{suffix}")
    if getattr(_THREAD, "text", None) != text:
        path.write_text(text, encoding="utf-8")
        _THREAD.text = text
    return str(path)


@cache
def _expression(name: str, text: str) -> Any:
    from nandram.language.expression import Expression

    return Expression(text, f"measure {name}")


def measured(summary: dict[str, Any], measures: dict[str, str]) -> Row:
    """Return the measures of a summary; None for undefined ones, such as write times without writes, and for those that
    a note of the run makes worthless.
    """
    row: Row = {}
    withheld = validity.withheld(validity.notes_of(summary))
    for name, text in measures.items():
        if withheld & validity.concerns(text):
            row[name] = None
            continue
        try:
            value = _expression(name, text).evaluate(summary)
        except UserError:
            value = None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        row[name] = float(value) if is_number else None
    return row


def percentiles(histograms: Mapping[str, Any], notes: Iterable[validity.Note]) -> Row:
    """Return the percentiles of `nandram.language.measures`, in us; None without requests or if a note withholds one.

    `histograms`: columns ``direction, latency_ns, count`` of all jobs, as of `nandram.Result.latency`.
    """
    import numpy as np

    from nandram.language.measures import PERCENTILES

    withheld = validity.withheld(notes)
    row: Row = {}
    for name, (direction, percent) in PERCENTILES.items():
        row[name] = None
        if direction in withheld or ("write-tail" in withheld and validity.is_tail(direction, percent)):
            continue
        rows = np.asarray(histograms["direction"]) == DIRECTIONS.index(direction)
        if rows.any():
            times = np.asarray(histograms["latency_ns"])[rows]
            order = np.argsort(times, kind="stable")
            counts = np.cumsum(np.asarray(histograms["count"])[rows][order])
            wanted = max(math.ceil(float(counts[-1]) * percent / 100), 1)
            row[name] = float(times[order][np.searchsorted(counts, wanted)]) / 1000
    return row


def batch(works: list[Work], measures: dict[str, str], made_by: str) -> list[Row]:
    """Execute runs in sequence on a worker. Raises `UserError` if the worker has another build."""
    if program_hash().hex() != made_by:
        raise UserError("dask: a worker has another build of nandram than this machine")
    return [run(each, measures) for each in works]
