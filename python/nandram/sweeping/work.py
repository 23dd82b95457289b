"""One run of a sweep, here or on a worker."""

import hashlib
import json
import threading
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nandram.errors import UserError

Row = dict[str, Any]
_LOCK = threading.Lock()
_THREAD = threading.local()


@dataclass(frozen=True)
class Work:
    """A run to be made."""

    index: int
    key: str
    """The hash of all that shapes it: the program, the system, the workload, the options."""
    place: dict[str, int | float | str]
    """Its coordinates."""
    system: str
    changes: list[str]
    job: str | None
    trace: str | None
    options: dict[str, Any]
    cache: str | None
    """Where prepared drives are kept; None for nowhere."""


@cache
def program() -> str:
    """Return the hash of the simulator itself: what another build of it gave is not this one's answer."""
    from nandram import _core

    with open(str(_core.__file__), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def run(work: Work, measures: dict[str, str]) -> Row:
    """Make a run; return its row: ``key``, ``run_s``, and the measures, None where there is none of it.

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
        name = Path(path).name if work.job is None else "job.fio"
        raise UserError(f"{place}: {str(error).replace(path, name)}") from None
    run_s = time.perf_counter() - started
    return {"key": work.key, "run_s": run_s, **measured(json.loads(found.summary_json), measures)}


@cache
def _made_folder() -> TemporaryDirectory[str]:
    """A folder of this process, gone when it ends."""
    return TemporaryDirectory(prefix="nandram-")


def _folder() -> TemporaryDirectory[str]:
    # Two threads that come first at the same time would make two, and lose one.
    with _LOCK:
        return _made_folder()


def _job_file(text: str) -> str:
    """Return a file with a job: each thread has one, since making one a run takes longer than a short run."""
    path = Path(_folder().name, f"{threading.get_ident()}.fio")
    if getattr(_THREAD, "text", None) != text:
        path.write_text(text, encoding="utf-8")
        _THREAD.text = text
    return str(path)


@cache
def _expression(name: str, text: str) -> Any:
    from nandram.papers.expression import Expression

    return Expression(text, f"measure {name}")


def measured(summary: dict[str, Any], measures: dict[str, str]) -> Row:
    """Return the measures of a summary; None where there is none, such as the time of writes if it only read."""
    row: Row = {}
    for name, text in measures.items():
        try:
            value = _expression(name, text).evaluate(summary)
        except UserError:
            value = None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        row[name] = float(value) if is_number else None
    return row


def batch(works: list[Work], measures: dict[str, str], made_by: str) -> list[Row]:
    """Make runs one after another, on a worker. Raises `UserError` if its program is another."""
    if program() != made_by:
        raise UserError("dask: a worker has another build of nandram than this machine")
    return [run(each, measures) for each in works]
