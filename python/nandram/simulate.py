"""Running a workload on a system."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from nandram.errors import UserError
from nandram.options import default_cache, run_options
from nandram.results.result import Result
from nandram.results.stored.inputs import Inputs
from nandram.results.tables import LazyTables
from nandram.system import System, load_system

if TYPE_CHECKING:
    import polars as pl

    from nandram._core import RunOutput

Progress = Callable[[float, float, int], bool]
"""Called ten times per second with the fraction done, the simulated seconds and the completed requests; returning False
stops the run. All values are 0 while the drive is prepared."""


def run(
    system: System | str | os.PathLike[str],
    workload: str | os.PathLike[str] | Sequence[str],
    *,
    seed: int = 1,
    payload: str = "none",
    timeline: bool = False,
    output: str | os.PathLike[str] | None = None,
    replay: str | None = None,
    wrap: bool = False,
    columns: str | None = None,
    continue_on_error: str | None = None,
    precondition: str | None = None,
    warm_up: str | None = None,
    until: str | None = None,
    max_requests: int | None = None,
    cache: str | os.PathLike[str] | None = "default",
    set: Mapping[str, object] | None = None,  # noqa: A002
    request_log: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    partial: bool = False,
) -> Result:
    """Run a workload, a fio job file or a trace, on a system; the same input gives the same result.

    `workload`: a file, or fio's options in place of one, such as ``["--name=a", "--rw=randread"]``.

    `payload`: ``none``, or ``stamp`` to verify every sector that is read. `timeline`: record the activity of each part
    for Perfetto. `output`: folder to write the result to. `replay`, for traces: ``open`` (at the recorded times),
    ``closed:DEPTH`` (at a constant queue depth) or ``scaled:FACTOR`` (recorded times multiplied). `wrap`: wrap trace
    addresses beyond the drive's capacity. `columns`: the columns of a text trace of unknown format, such as
    ``time=0:us,op=2,offset=3:sectors,bytes=4``. `continue_on_error`: fio's key, for traces and for jobs without it:
    ``none``, ``read``, ``write``, ``io``, ``verify`` or ``all``; any other error ends its job. `precondition`:
    ``none``, ``fill`` (written once in order), ``random`` (then overwritten at random until write amplification
    settles), ``steady`` (that state, computed from theory), ``rested`` (the steady state after a pause) or ``auto``,
    the default: ``fill`` if the workload reads what it has not written, else ``none``. `warm_up`, excluded from the
    statistics: ``detect``, ``keep`` (exclude nothing) or a time such as ``50ms``. `until`: ``1%`` for a run that goes
    on until the 95 % intervals of its measures are below this part of their values, whatever the length of its jobs, or
    ``job`` for one that ends with its jobs; by default ``1%`` for jobs without a size or a time. `max_requests`: the
    limit of such a run, 10 million unless given. `cache`: cache
    folder for prepared drives, None for no cache, or ``default``: ``$NANDRAM_CACHE``, or ``nandram`` in the user's
    cache folder. `set`: changes of the system, as in `load_system`. `request_log`: Parquet file for every request of
    a drive and where its time went (`Result.requests`). `partial`: a run of jobs or of a
    block trace that is interrupted returns what it has measured, with the note ``interrupted``.

    Raises `UserError` for a mistake in any argument.
    """
    from nandram import _core

    kept, remark = _drives(cache, precondition)
    options = run_options(
        seed,
        payload,
        timeline,
        wrap,
        precondition,
        replay,
        warm_up,
        kept,
        columns,
        continue_on_error,
        until,
        max_requests,
    )
    if partial:
        options["partial"] = True
    if not isinstance(system, System):
        system = load_system(system, set)
    elif set:
        system = system.with_(set)
    if output is not None:
        from nandram.folders import check

        check(Path(output))
    from nandram.traces import resolve

    if isinstance(workload, str | os.PathLike):
        name = resolve(os.fspath(workload))
    else:
        name, options["arguments"] = "command line", _arguments(workload)
    log = None
    if request_log is not None:
        from nandram.results.requests import Writer

        log = Writer(request_log)
    try:
        taken = None if log is None else log.add
        found = _core.run(system.source, list(system.changes), name, options, progress, taken)
    except BaseException:
        if log is not None:
            log.discard()
        raise
    if log is not None:
        log.finish()

    result = Result(found.summary_json, found.manifest_json, {}, found.timeline_json)
    result.remarks += [remark] if remark else []
    result.request_log = None if log is None else log.path
    names = [job["jobname"] for job in result.summary["jobs"]]
    result.tables = _tables(found, names, result.request_log, result.warm_up_s)
    given = {
        "seed": seed,
        "payload": str(payload),
        "timeline": timeline,
        "replay": replay,
        "wrap": wrap,
        "columns": columns,
        "continue_on_error": None if continue_on_error is None else str(continue_on_error),
        "precondition": None if precondition is None else str(precondition),
        "warm_up": warm_up,
        "until": until,
        "max_requests": max_requests,
    }
    shown = os.fspath(workload) if isinstance(workload, str | os.PathLike) else list(workload)
    given = {name: value for name, value in given.items() if value is not None}
    result.inputs = Inputs(system.source, list(system.changes), shown, given)
    if output is not None:
        result.save(output)
    return result


def _arguments(workload: Sequence[str]) -> list[str]:
    """Return fio's options as a list. Raises `UserError`."""
    arguments = list(workload)
    for argument in arguments:
        if not isinstance(argument, str):
            raise UserError(f"workload: found `{argument!r}`, expected fio's options as texts, or one file")
    return arguments


def _tables(found: "RunOutput", names: list[str], log: Path | None, warm_up_s: float) -> LazyTables:
    """Return the tables of a run, each of which is built at its first access. `log`: the log of every request."""
    warm_up_ps = round(warm_up_s * 1e12)

    def breakdown(log: Path, warm_up_ps: int) -> "pl.DataFrame":
        from nandram.results import requests

        return requests.breakdown(log, warm_up_ps)

    def frames() -> ModuleType:
        from nandram.results import frames

        return frames

    return LazyTables(
        {
            "samples": lambda: frames().throughput(found.throughput, names),
            "drive": lambda: frames().drive(found.drive),
            "latency_over_time": lambda: frames().latency_over_time(found.latency_over_time),
            "latency": lambda: frames().latency(found.latency, names),
            "dies": lambda: frames().dies(found.dies),
            **({} if log is None else {"breakdown": lambda: breakdown(log, warm_up_ps)}),
        }
    )


def _drives(cache: str | os.PathLike[str] | None, precondition: str | None) -> tuple[str | None, str | None]:
    """Return the cache folder for prepared drives, or None with a remark if the default folder is not writable.

    Raises `UserError` if a folder that the caller chose is not writable.
    """
    if cache is None:
        return None, None
    kept = default_cache() if cache == "default" else os.fspath(cache)
    if precondition in (None, "auto", "none"):
        return kept, None
    from nandram.folders import check

    try:
        check(Path(kept))
    except UserError as error:
        if cache != "default":
            raise UserError(f"cache: {error}") from None
        return None, f"the prepared drive was not cached: {error}"
    return kept, None
