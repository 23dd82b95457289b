"""Running a workload on a system."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from nandram.errors import UserError
from nandram.options import default_cache, run_options
from nandram.result import Result
from nandram.system import System, load
from nandram.tables import LazyTables

if TYPE_CHECKING:
    from nandram._core import RunOutput

Progress = Callable[[float, float, int], bool]
"""Called ten times a second with the fraction done, the simulated seconds and the requests ended; False stops the run.
All are 0 while the drive is prepared."""


def run(
    system: System | str | os.PathLike[str],
    workload: str | os.PathLike[str],
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
    cache: str | os.PathLike[str] | None = "default",
    set: Mapping[str, object] | None = None,  # noqa: A002
    progress: Progress | None = None,
) -> Result:
    """Run a workload, a fio job file or a trace, on a system; the same input gives the same result.

    `payload`: ``none``, or ``stamp`` to check every sector that is read. `timeline`: record what each part did, for
    Perfetto. `output`: a folder to write the result to. `replay`, for traces: ``open`` (when they say),
    ``closed:DEPTH`` (as fast as they are served), ``scaled:FACTOR`` (their times multiplied). `wrap`: addresses beyond
    the drive are wrapped into it. `columns`: where the fields of a trace of no known format stand, such as
    ``time=0:us,op=2,offset=3:sectors,bytes=4``. `continue_on_error`: fio's key, for traces and for jobs without it:
    ``none``, ``read``, ``write`` or ``all``; the first error of any other request ends its job. `precondition`:
    ``none``, ``fill`` (written once in order), ``random`` (and overwritten at random until write amplification settles)
    or ``steady`` (laid out as that would leave it, from theory). `warm_up`, cut off the statistics: ``detect``,
    ``keep`` (cut nothing) or a time, such as ``50ms``. `cache`: the folder in which prepared drives are kept, None for
    none, or ``default``: ``$NANDRAM_CACHE``, or ``nandram`` in the user's cache folder. `set`: changes of the system,
    as in `load`.

    Raises `UserError` for a mistake in any of these.
    """
    from nandram import _core

    kept, remark = _drives(cache, precondition)
    options = run_options(
        seed, payload, timeline, wrap, precondition, replay, warm_up, kept, columns, continue_on_error
    )
    if not isinstance(system, System):
        system = load(system, set)
    elif set:
        system = system.with_(set)
    if output is not None:
        from nandram.folders import check

        check(Path(output))
    found = _core.run(system.source, list(system.changes), os.fspath(workload), options, progress)

    result = Result(found.summary_json, found.manifest_json, {}, found.timeline_json)
    result.remarks += [remark] if remark else []
    result.tables = _tables(found, [job["jobname"] for job in result.summary["jobs"]])
    if output is not None:
        result.save(output)
    return result


def _tables(found: "RunOutput", names: list[str]) -> LazyTables:
    """Return the tables of a run, none of them made yet."""

    def frames() -> ModuleType:
        from nandram import frames

        return frames

    return LazyTables(
        {
            "samples": lambda: frames().throughput(found.throughput, names),
            "drive": lambda: frames().drive(found.drive),
            "latency": lambda: frames().latency(found.latency, names),
            "dies": lambda: frames().dies(found.dies),
        }
    )


def _drives(cache: str | os.PathLike[str] | None, precondition: str | None) -> tuple[str | None, str | None]:
    """Return the folder of prepared drives, and a remark if there is none that can be written.

    Raises `UserError` for a folder that the caller chose and that cannot be written.
    """
    if cache is None:
        return None, None
    kept = default_cache() if cache == "default" else os.fspath(cache)
    if precondition in (None, "none"):
        return kept, None
    from nandram.folders import check

    try:
        check(Path(kept))
    except UserError as error:
        if cache != "default":
            raise UserError(f"cache: {error}") from None
        return None, f"the prepared drive is not kept: {error}"
    return kept, None
