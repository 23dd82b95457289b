"""Measuring a file or a drive with fio, for a fit. The target is only read."""

import os
import shutil
import subprocess
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from nandram.errors import UserError

SIZES = (4096, 8192, 16384)
DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
RAMP_SHARE = 0.2
"""Time before the statistics of a run begin, as a fraction of the run."""
PERCENTILES = "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.99"


class Engine(StrEnum):
    """fio's I/O engines for measurements."""

    IO_URING = "io_uring"
    LIBAIO = "libaio"


def measure(
    target: str,
    folder: Path,
    *,
    engine: Engine = Engine.IO_URING,
    seconds: int = 10,
    told: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Read a file or a block device at random with fio; return fio's output files.

    Writes a job file per point to `folder` and runs those that have no output yet, so that an interrupted measurement
    resumes. `seconds`: duration of each run. `told`: called with the finished runs and the number of runs.

    The target must pass the checks of `nandram probe`: not mounted, partitioned or in use. It is opened read-only.
    Raises `UserError` if it does not, if fio is missing, or if a run fails.
    """
    planned = _checked(target)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        jobs = [
            _write_job(folder, target, size, depth, engine, seconds)
            for size in SIZES
            for depth in DEPTHS
            if size * depth * 4 <= planned
        ]
    except OSError as error:
        raise UserError(f"{error.filename or folder}: cannot be written: {error.strerror}") from error
    if not jobs:
        raise UserError(f"{target}: has {planned:,} bytes, expected at least {4 * SIZES[0]:,} to read at random")
    fio = shutil.which("fio")
    if fio is None:
        raise UserError(
            f"--measure: fio is not installed; the {len(jobs)} job files are in {folder}: run each with "
            "--output-format=json, and give the output as DATA"
        )
    for done, job in enumerate(jobs):
        if told is not None:
            told(done, len(jobs))
        _run(fio, job)
    return [job.with_suffix(".json") for job in jobs]


def _checked(target: str) -> int:
    """Return the target's size in bytes. Raises `UserError` if it must not be read."""
    from nandram.probe.run import plan

    planned = plan(target)
    if planned["kind"] == "simulated":
        raise UserError(f"--measure: {target} is a simulated drive, expected a file or a block device")
    return int(planned["capacity_bytes"])


def _write_job(folder: Path, target: str, size: int, depth: int, engine: Engine, seconds: int) -> Path:
    """Write a job file unless it exists unchanged; output of a changed job is removed."""
    text = "\n".join(
        [
            "[point]",
            # fio splits names at colons.
            f"filename={os.path.abspath(target).replace(':', chr(92) + ':')}",
            "rw=randread",
            f"bs={size}",
            f"iodepth={depth}",
            f"ioengine={engine}",
            "direct=1",
            "norandommap",
            "time_based",
            f"ramp_time={1000 * seconds * RAMP_SHARE:.0f}ms",
            f"runtime={seconds}s",
            "allow_file_create=0",
            f"percentile_list={PERCENTILES}",
            "",
        ]
    )
    path = folder / f"randread-{size}-{depth}.fio"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        path.with_suffix(".json").unlink(missing_ok=True)
    return path


def _run(fio: str, job: Path) -> None:
    """Run a job unless its output exists. Raises `UserError` if fio fails."""
    output = job.with_suffix(".json")
    if output.exists():
        return
    part = job.with_suffix(".part")
    command = [fio, "--readonly", "--output-format=json", f"--output={part.name}", job.name]
    ended = subprocess.run(command, cwd=job.parent, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        said = (ended.stderr or ended.stdout).strip().splitlines()
        part.unlink(missing_ok=True)
        raise UserError(f"{job}: fio failed with status {ended.returncode}: {said[0] if said else 'no message'}")
    part.rename(output)
