"""Evaluation of points by the simulator: each is one run, cached by the hash of its inputs."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nandram.errors import UserError
from nandram.fit.measurements.points import Conditions, Direction, Point
from nandram.hashes import joint_hash, program_hash, text_hash
from nandram.options import run_options, set_lines
from nandram.sweep import local
from nandram.sweep.work import Work
from nandram.system import System

REQUESTS = 66_000
"""Requests that a run aims at: with 60,000, the 99th percentile rests on 600 requests."""
ROUNDS = 30
"""Times that every outstanding request is at least replaced in a run."""
RAMP_ROUNDS = 4
"""Times that every outstanding request is replaced before the statistics begin."""
JOURNAL = "evaluations.jsonl"
BLOCKS = 24
PAGES = 96
PERCENTS = (10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 99.0)
"""Percentiles of a run's response times that are evaluated, as far as fio reports them by default."""

Changes = Mapping[str, object]
Told = Callable[[int, int], None]
"""Called with the number of finished runs and the number of runs of the current batch."""


@dataclass(frozen=True)
class Modeled:
    """Simulated figures of a point; times in nanoseconds."""

    iops: float
    mean_ns: float
    percentiles: Mapping[float, float]
    """Response times by `PERCENTS`."""

    @property
    def p50_ns(self) -> float:
        """The median response time."""
        return self.percentiles[50.0]

    @property
    def p99_ns(self) -> float:
        """The 99th percentile of the response times."""
        return self.percentiles[99.0]


class Evaluator:
    """Runs points of one system with changes; a run with known inputs is not repeated, across processes as well."""

    def __init__(
        self,
        system: System,
        *,
        precondition: str,
        seed: int = 1,
        requests: int = REQUESTS,
        jobs: int = 1,
        folder: Path | None = None,
        told: Told | None = None,
    ) -> None:
        """Open the journal in `folder`, if there is one. Raises `UserError` if it cannot be written."""
        self._system = system
        self._options = run_options(seed, "none", False, False, precondition, None, "keep", None)
        self._requests = requests
        self._jobs = jobs
        self._told = told
        self._kept: dict[str, Modeled] = {}
        self._journal: int | None = None
        self.runs = 0
        """Runs that were simulated, not taken from the journal."""
        if folder is not None:
            self._open(folder)

    def _open(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / JOURNAL
            self._journal = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            content = path.read_bytes()
        except OSError as error:
            raise UserError(f"{error.filename or folder}: cannot be written: {error.strerror}") from error
        whole, newline, _ = content.rpartition(b"\n")
        # A killed process may have cut off the last line.
        os.ftruncate(self._journal, len(whole) + len(newline))
        for line in whole.splitlines():
            row = json.loads(line)
            # Other versions of the program evaluated other figures.
            if row.keys() == {"key", *JOURNALED}:
                self._kept[row["key"]] = _modeled(row)

    def close(self) -> None:
        """Close the journal."""
        if self._journal is not None:
            os.close(self._journal)
            self._journal = None

    def evaluate(self, cases: Sequence[tuple[Changes, Sequence[Point]]]) -> list[list[Modeled]]:
        """Return the modeled points of each case: a set of changes and the points to evaluate with it.

        All missing runs go to the processes together. Raises `UserError` if the simulator refuses a system or a job.
        """
        keys: list[list[str]] = []
        missing: dict[str, Work] = {}
        for changes, points in cases:
            lines = set_lines(changes)
            values = text_hash(_values(self._system.source, [*self._system.changes, *lines]))
            keys.append([])
            for point in points:
                work = self._work(lines, values, point)
                keys[-1].append(work.key)
                if work.key not in self._kept:
                    missing[work.key] = work
        self._run(list(missing.values()))
        return [[self._kept[key] for key in row] for row in keys]

    def _run(self, works: list[Work]) -> None:
        if self._told is not None and works:
            self._told(0, len(works))
        for done, row in enumerate(local.made(works, MEASURES, self._jobs), 1):
            self.runs += 1
            self._keep(row)
            if self._told is not None:
                self._told(done, len(works))

    def _keep(self, row: Mapping[str, Any]) -> None:
        key = str(row["key"])
        side = "read" if row["read_iops"] else "write"
        place = "one" if row[f"{side}_mean_ns_all"] is None else "all"
        figures = {name: row[f"{side}_{name}_{place}"] for name in _TIMES}
        figures["iops"] = row[f"{side}_iops"]
        if any(figure is None for figure in figures.values()):
            raise UserError(f"data: a simulated run completed too few requests to be compared ({figures})")
        self._kept[key] = _modeled(figures)
        if self._journal is not None:
            os.write(self._journal, (json.dumps({"key": key, **figures}) + "\n").encode())

    def _work(self, lines: list[str], values: bytes, point: Point) -> Work:
        job = job_text(point, self._requests)
        options = json.dumps(self._options, sort_keys=True)
        key = joint_hash(program_hash(), values, text_hash(job), text_hash(options)).hex()
        conditions = point.conditions
        place: dict[str, int | float | str] = {"point": str(conditions)}
        kept = {name: value for name, value in self._options.items() if name not in ("timeline", "cache")}
        return Work(0, key, place, self._system.source, [*self._system.changes, *lines], job, None, kept, None)


def _modeled(figures: Mapping[str, float]) -> Modeled:
    """Return the figures of a run by `JOURNALED`."""
    percentiles = {percent: figures[f"p{percent:g}_ns"] for percent in PERCENTS}
    return Modeled(figures["iops"], figures["mean_ns"], percentiles)


_TIMES = {"mean_ns": "mean", **{f"p{percent:g}_ns": f'percentile["{percent:.6f}"]' for percent in PERCENTS}}
JOURNALED = ("iops", *_TIMES)
"""Names of a run's figures in the journal."""
_PLACES = {"one": "jobs[0]", "all": "nandram.groups[0]"}
"""Where a job's times are: a job with clones has an entry per clone, and a group of all."""
MEASURES = {
    **{f"{side}_iops": f"sum(jobs.{side}.iops)" for side in ("read", "write")},
    **{
        f"{side}_{figure}_{place}": f"{entry}.{side}.lat_ns.{expression}"
        for side in ("read", "write")
        for place, entry in _PLACES.items()
        for figure, expression in _TIMES.items()
    },
}
"""Expressions over a run's summary."""


def job_text(point: Point, requests: int) -> str:
    """Return the fio job that simulates a point for as long as the drive took for `requests` requests."""
    conditions = point.conditions
    per_request_us = 1e6 / point.iops
    ramp_us = RAMP_ROUNDS * conditions.outstanding * per_request_us
    run_us = max(requests, ROUNDS * conditions.outstanding) * per_request_us
    order = "rand" if conditions.random else ""
    return "\n".join(
        [
            "[point]",
            f"rw={order}{conditions.direction}",
            f"bs={conditions.size_bytes}",
            f"iodepth={conditions.depth}",
            f"numjobs={conditions.jobs}",
            "group_reporting",
            *(["norandommap"] if conditions.random else []),
            f"ramp_time={ramp_us:.0f}us",
            f"runtime={run_us:.0f}us",
            "time_based",
            "",
        ]
    )


def _values(system: str, changes: list[str]) -> str:
    """Return all values of a system as text: the hash's input. Raises `UserError`."""
    from nandram import _core

    values = json.loads(_core.settings(system, changes))
    return json.dumps({key: each["value"] for key, each in values.items()}, sort_keys=True)


def smaller(system: System, conditions: Iterable[Conditions]) -> dict[str, object]:
    """Return changes for a drive of the same dies with few pages, as far as the points cannot notice.

    Reads of a drive that caches neither data nor parts of its map depend on its dies alone. Writes keep the drive's
    capacity: their space must last for the run.
    """
    values = system.values
    caches = values["device"]["read_cache"]["size"] != "0B" or values["ftl"]["map_cache"]["size"] != "all"
    if caches or any(each.direction is Direction.WRITE for each in conditions):
        return {}
    return {
        "flash.blocks": BLOCKS,
        "flash.pages": PAGES,
        "ftl.gc.start": 3,
        "ftl.capacity": "auto",
        "ftl.over_provisioning": 0.4,
        "ftl.slc_cache.size": "0B",
    }
