"""Running a workload on a system."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from nandram.options import run_options
from nandram.result import Result
from nandram.system import System, load

Progress = Callable[[float, float, int], bool]
"""Called with the fraction done (-1: unknown), the simulated seconds and the requests completed; False stops."""


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
    precondition: str | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002
    progress: Progress | None = None,
) -> Result:
    """Run a workload, a fio job file or a trace, on a system; the same input gives the same result.

    `payload`: ``none``, or ``stamp`` to check every sector that is read. `timeline`: record what each part did, for
    Perfetto. `output`: a folder to write the result to. `replay`, for traces: ``open`` (when they say), ``closed`` or
    ``closed:DEPTH`` (as fast as they are served), ``scaled:FACTOR`` (their times multiplied). `wrap`: addresses beyond
    the drive are wrapped into it. `precondition`: ``none``, ``fill`` (written once), ``settle`` (and overwritten at
    random until write amplification settles) or ``steady`` (set to that state by calculation). `set`: changes of the
    system, as in `load`.

    Raises `UserError` for a mistake in any of these.
    """
    from nandram import _core

    options = run_options(seed, payload, timeline, wrap, precondition, replay)
    if not isinstance(system, System):
        system = load(system, set)
    elif set:
        system = system.with_(set)
    if output is not None:
        from nandram.output import check

        check(Path(output))
    found = _core.run(system.source, list(system.changes), os.fspath(workload), options, progress)

    from nandram import frames

    result = Result(found.summary_json, found.manifest_json, {}, found.timeline_json)
    names = [job["jobname"] for job in result.summary["jobs"]]
    result.tables["samples"] = frames.throughput(found.throughput, names)
    result.tables["latency"] = frames.latency(found.latency, names)
    result.tables["dies"] = frames.dies(found.dies)
    if output is not None:
        result.save(output)
    return result
