"""Comparison of two runs or two systems: differences in configuration and in results."""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandram import units
from nandram.errors import UserError
from nandram.options import at_a_time, at_least_one
from nandram.results import validity

if TYPE_CHECKING:
    import polars as pl

    from nandram.results.result import Result
    from nandram.system import System

MEASURES = ("iops", "read_mb_s", "write_mb_s", "read_us", "write_us", "mean_us", "write_amplification", "flash_mw")
"""Compared measures of `nandram.language.measures`; percentiles and ``energy_j`` are compared as well."""
_PERCENTILES = (50.0, 99.0, 99.9)
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Setting:
    """A key with different values in two systems or runs."""

    key: str
    a: str | None
    """The value as written in a file; None if the key does not apply."""
    b: str | None


@dataclass(frozen=True)
class Difference:
    """A figure compared between two systems."""

    name: str
    """Name of the figure; its suffix is the unit."""
    a: float
    b: float
    """Means over the seeds."""
    change: float
    """Relative change, b / a - 1; NaN if `a` is 0."""
    low: float | None
    high: float | None
    """Bounds of the 95 % confidence interval of `change`, by Student's t over paired seeds: both systems had the same
    random draws for each seed. None with one seed."""

    @property
    def certain(self) -> bool:
        """Whether the interval excludes zero change."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


@dataclass(frozen=True)
class SideNote:
    """A note on the runs of one side."""

    side: str
    """``A`` or ``B``."""
    kind: str
    text: str
    """The text of the first run that has such a note."""
    runs: int
    """Number of runs with such a note."""


@dataclass(frozen=True)
class Comparison:
    """Differences between two systems and between their results."""

    a: str
    b: str
    """Names of the compared systems or runs."""
    settings: tuple[Setting, ...]
    runs: tuple[Setting, ...]
    """Differences between two runs other than their systems: jobs, preparation, warm-up, seed."""
    differences: tuple[Difference, ...]
    """Differences in results; empty if nothing was run."""
    seeds: tuple[int, ...]
    notes: tuple[SideNote, ...] = ()
    """What limits the figures of each side."""

    def frame(self) -> "pl.DataFrame":
        """Return the figures as a frame: ``name, a, b, change, low, high``."""
        import polars as pl

        schema = {"name": pl.String, **dict.fromkeys(("a", "b", "change", "low", "high"), pl.Float64)}
        return pl.DataFrame([vars(each) for each in self.differences], schema=schema)

    def __repr__(self) -> str:
        figures = sum(each.certain for each in self.differences)
        found = f"{len(self.settings) + len(self.runs)} keys and {figures} figures differ"
        return f"<Comparison of {self.a} and {self.b}: {found}>"

    def _repr_html_(self) -> str:
        html: str = self.frame()._repr_html_()
        return html


def compare(
    a: "str | os.PathLike[str] | System | Result",
    b: "str | os.PathLike[str] | System | Result",
    workload: str | os.PathLike[str] | None = None,
    *,
    seeds: int = 5,
    jobs: int | None = None,
    **options: Any,
) -> Comparison:
    """Compare two runs, or two systems by configuration and, with a workload, by results.

    `a`, `b`: folders of results, results, systems, names of presets or files. `workload`: fio job file or trace to run
    on both, with seeds from 1 to `seeds` and `jobs` runs in parallel. `options`: options of `nandram.run`. Existing
    runs are compared with one seed each, without intervals.

    Raises `UserError` for a mistake in any argument.
    """
    at_least_one("seeds", seeds)
    first, second = _side(a), _side(b)
    if workload is None:
        if options:
            raise UserError(f"compare: found {', '.join(options)}, expected a workload to run")
        results = [first.results, second.results]
    else:
        if first.results or second.results:
            raise UserError(
                f"compare: found the result {first.name if first.results else second.name}, expected systems"
            )
        results = _run((first, second), workload, seeds, jobs, options)
    found: list[Difference] = []
    if results[0] and results[1]:
        rows = [[figures(each) for each in side] for side in results]
        names = [name for name in rows[0][0] if all(name in row for side in rows for row in side)]
        found = [_difference(name, [row[name] for row in rows[0]], [row[name] for row in rows[1]]) for name in names]
    kept = tuple(int(each.manifest["seed"]) for each in results[0]) if results[0] else ()
    settings = _settings(first.settings, second.settings)
    runs = _settings(_run_settings(first), _run_settings(second)) if first.results and second.results else ()
    notes = (*_notes("A", results[0]), *_notes("B", results[1]))
    return Comparison(first.name, second.name, settings, runs, tuple(found), kept, notes)


def _notes(side: str, results: "list[Result]") -> list[SideNote]:
    """Return the notes on the runs of a side, each kind once."""
    found: dict[str, list[str]] = {}
    for result in results:
        for kind in validity.kinds(result.validity):
            found.setdefault(kind, []).append(next(note.text for note in result.validity if note.kind == kind))
        for note in result.validity:
            if note.kind == "prepared":
                found.setdefault(note.kind, []).append(note.text)
    return [SideNote(side, kind, texts[0], len(texts)) for kind, texts in found.items()]


@dataclass(frozen=True)
class _Side:
    name: str
    settings: dict[str, str]
    results: "list[Result]"
    system: "System | None"


def _side(what: "str | os.PathLike[str] | System | Result") -> _Side:
    from nandram.results.result import Result, read_result
    from nandram.system import System, load_system

    if isinstance(what, str | os.PathLike):
        what = read_result(what) if Path(what).is_dir() else load_system(what)
    if isinstance(what, Result):
        name = str(what.output) if what.output is not None else what.title
        return _Side(name, _values(what.manifest["settings"]), [what], None)
    if not isinstance(what, System):
        raise UserError(f"compare: found {what!r}, expected a folder of results, a result, or a system")
    from nandram import _core

    settings = json.loads(_core.settings(what.source, list(what.changes)))
    return _Side(" ".join([what.source, *what.changes]), _values(settings), [], what)


def _values(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    return {key: str(each["value"]).strip('"') for key, each in settings.items()}


def _run_settings(side: _Side) -> dict[str, str]:
    """Return the settings of a run other than its system."""
    (result,) = side.results
    manifest = result.manifest
    found = {"nandram": manifest["version"], "workload": Path(manifest["workload"]).name}
    jobs = result.summary["jobs"]
    for number, job in enumerate(jobs):
        clones = sum(other["jobname"] == job["jobname"] for other in jobs[:number])
        name = f"{job['jobname']}#{clones + 1}" if clones else job["jobname"]
        found |= {f"job {name}: {key}": str(value) for key, value in job["job options"].items()}
        found[f"job {name}: group"] = str(job["groupid"])
    found["workload_sha256"] = manifest["workload_sha256"][:12]
    found |= {name: str(value) for name, value in manifest["options"].items()}
    # The state that an automatic choice led to.
    found["precondition"] = result.inside["preparation"]["kind"]
    cut_as_asked = found["warm_up"].removesuffix("ps")
    if cut_as_asked.isdigit():
        found["warm_up"] = units.duration(int(cut_as_asked) / 1000)
    found["seed"] = str(manifest["seed"])
    cut = result.warm_up_s
    found["warm-up cut off"] = units.duration(cut * 1e9) if cut else "none"
    return found


def _settings(a: dict[str, str], b: dict[str, str]) -> tuple[Setting, ...]:
    keys = dict.fromkeys([*a, *b])
    return tuple(Setting(key, a.get(key), b.get(key)) for key in keys if key != "title" and a.get(key) != b.get(key))


def _run(
    sides: tuple[_Side, _Side], workload: str | os.PathLike[str], seeds: int, jobs: int | None, options: dict[str, Any]
) -> "list[list[Result]]":
    """Run both systems with each seed; return the results by system."""
    import threading
    from concurrent.futures import ThreadPoolExecutor

    from nandram.simulate import run

    stop = threading.Event()

    def one(system: "System | None", seed: int) -> "Result":
        assert system is not None
        return run(system, workload, seed=seed, progress=lambda *_: not stop.is_set(), **options)

    with ThreadPoolExecutor(at_a_time(jobs)) as pool:
        try:
            made = [[pool.submit(one, side.system, seed) for seed in range(1, seeds + 1)] for side in sides]
            return [[each.result() for each in side] for side in made]
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)


def figures(result: "Result") -> dict[str, float]:
    """Return the figures that a result supports: rates, mean times, percentiles, write amplification, energy."""
    from nandram.language.measures import MEASURES as TEXTS
    from nandram.sweep.work import measured

    found = measured(result.summary, {name: TEXTS[name] for name in MEASURES})
    withheld = validity.withheld(result.validity)
    for direction in ("read", "write"):
        for percent in _PERCENTILES:
            if direction in withheld or ("write-tail" in withheld and validity.is_tail(direction, percent)):
                continue
            value = result.latency_percentile_ns(percent, direction) / 1000
            found[f"{direction}_p{percent:g}_us"] = None if math.isnan(value) else value
    if len({job["groupid"] for job in result.summary["jobs"]}) > 1:
        found |= {
            name: value for name, value in _rates(result).items() if name[:5] == "write" or "read" not in withheld
        }
    found["energy_j"] = None if "energy" in withheld else result.energy_j
    return {
        name: float(value)
        for name, value in found.items()
        if value is not None and not (name[:4] in _IDLE and value == 0)
    }


def _rates(result: "Result") -> dict[str, float]:
    """Return rates over the total time of jobs that ran in sequence, whose own rates do not add up."""
    sums = {
        direction: (sum(each.requests for each in of_it), sum(each.bytes for each in of_it))
        for direction in ("read", "write")
        for of_it in [[each for each in result.traffic if each.direction == direction]]
    }
    seconds = result.runtime_s or math.inf
    return {
        "iops": sum(requests for requests, _ in sums.values()) / seconds,
        "read_mb_s": sums["read"][1] / seconds / 1e6,
        "write_mb_s": sums["write"][1] / seconds / 1e6,
    }


_IDLE = ("read", "writ")
"""Prefixes of figures that are left out if their direction was idle."""


def _difference(name: str, a: list[float], b: list[float]) -> Difference:
    """Return the difference of paired samples, so that variation common to both systems cancels."""
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    change = mean_b / mean_a - 1 if mean_a else math.nan
    if len(a) != len(b) or len(a) < 2 or not mean_a:
        return Difference(name, mean_a, mean_b, change, None, None)
    from scipy.stats import t

    differences = [second - first for first, second in zip(a, b, strict=True)]
    middle = sum(differences) / len(differences)
    deviation = math.sqrt(sum((each - middle) ** 2 for each in differences) / (len(differences) - 1))
    half = float(t.ppf((1 + CONFIDENCE) / 2, len(differences) - 1)) * deviation / math.sqrt(len(differences))
    return Difference(name, mean_a, mean_b, change, (middle - half) / mean_a, (middle + half) / mean_a)
