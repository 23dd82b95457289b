"""Running both sides of a comparison, and comparing what they gave."""

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from nandram.errors import UserError
from nandram.options import DEFAULT_WIDTH, at_a_time, at_least_one, where_possible
from nandram.results.comparison import Comparison, Setting, differences, notes
from nandram.results.sides import Side, changed_side, run_settings, side

if TYPE_CHECKING:
    from nandram.results.result import Result
    from nandram.system import System

Told = Callable[[int, int, float], None]
"""Called with the number of finished runs, the number of runs and the fraction done, from any thread."""
SEEDS_MAX = 1000
"""Maximum number of seeds; each has its run of every side, whose results are in memory."""


class ComparisonInterrupted(KeyboardInterrupt):
    """A comparison was interrupted; `partial` holds the comparisons over the seeds that every side had finished."""

    def __init__(self, partial: tuple[Comparison, ...]) -> None:
        super().__init__("the comparison was interrupted")
        self.partial = partial


def compare(
    a: "str | os.PathLike[str] | System | Result",
    b: "str | os.PathLike[str] | System | Result",
    workload: str | os.PathLike[str] | None = None,
    *,
    seeds: int = 5,
    jobs: int | None = None,
    report: Told | None = None,
    **options: Any,
) -> Comparison:
    """Compare two runs, or two systems by configuration and, with a workload, by results.

    `a`, `b`: folders of results, results, systems, names of presets or files. `workload`: fio job file or trace to run
    on both, with seeds from 1 to `seeds` (at most 1000) and `jobs` runs in parallel. `report`: called with the number
    of finished runs, the number of runs and the fraction done. `options`: options of `nandram.run`; `until` is ``1%``
    unless given, except for traces and for jobs that cannot go on. Existing runs are compared with one seed each,
    without intervals.

    Raises `UserError` for a mistake in any argument, and `ComparisonInterrupted`, a `KeyboardInterrupt`, with what
    was known if Ctrl-C ended the runs.
    """
    return compare_sides([side(a), side(b)], workload, seeds=seeds, jobs=jobs, report=report, **options)[0]


def compare_changes(
    system: "str | os.PathLike[str] | System",
    workload: str | os.PathLike[str] | None,
    *changes: Mapping[str, object],
    seeds: int = 5,
    jobs: int | None = None,
    report: Told | None = None,
    **options: Any,
) -> tuple[Comparison, ...]:
    """Compare a system with changed copies; return one comparison with the unchanged system per copy.

    `changes`: keys of a copy, as in `nandram.load_system`. If the caches of a copy no longer fit into its DRAM, its
    map cache takes what the others leave, which `Comparison.followed` reports. The rest is as in `compare`.
    """
    from nandram.options import set_lines

    sides = changed_sides(system, [set_lines(each) for each in changes])
    return compare_sides(sides, workload, seeds=seeds, jobs=jobs, report=report, **options)


def changed_sides(system: "str | os.PathLike[str] | System", changes: Iterable[Sequence[str]]) -> list[Side]:
    """Return the sides of a system and of its copies with changes, each ``key=value``. Raises `UserError`."""
    first = side(system)
    if first.system is None:
        raise UserError(f"compare: found the result {first.name}, expected a system to change")
    return [first, *(changed_side(first.system, each) for each in changes)]


def compare_sides(
    sides: list[Side],
    workload: str | os.PathLike[str] | None,
    *,
    seeds: int = 5,
    jobs: int | None = None,
    report: Told | None = None,
    **options: Any,
) -> tuple[Comparison, ...]:
    """Compare the first side with each of the others, as `compare` does."""
    if at_least_one("seeds", seeds) > SEEDS_MAX:
        raise UserError(f"seeds: found {seeds}, expected at most {SEEDS_MAX}")
    if workload is None:
        if options:
            raise UserError(f"compare: found {', '.join(options)}, expected a workload to run")
        return _compared(sides, [each.results for each in sides])
    for each in sides:
        if each.results:
            raise UserError(f"compare: found the result {each.name}, expected systems")
    options.setdefault("until", where_possible(DEFAULT_WIDTH))
    runs = _Runs(sides, workload, seeds, options, report)
    try:
        runs.finish(at_a_time(jobs))
    except KeyboardInterrupt:
        raise ComparisonInterrupted(_compared(sides, runs.results())) from None
    return _compared(sides, runs.results())


def _compared(sides: list[Side], results: "Sequence[Sequence[Result]]") -> tuple[Comparison, ...]:
    first, of_first = sides[0], results[0]
    found = []
    for other, of_other in zip(sides[1:], results[1:], strict=True):
        existing = first.results and other.results
        found.append(
            Comparison(
                first.name,
                other.name,
                _settings(first.settings, other.settings),
                _settings(run_settings(first), run_settings(other)) if existing else (),
                differences(of_first, of_other),
                tuple(int(each.manifest["seed"]) for each in of_first),
                (*notes("A", of_first), *notes("B", of_other)),
                other.followed,
                (tuple(of_first), tuple(of_other)),
            )
        )
    return tuple(found)


def _settings(a: dict[str, str], b: dict[str, str]) -> tuple[Setting, ...]:
    keys = dict.fromkeys([*a, *b])
    return tuple(Setting(key, a.get(key), b.get(key)) for key in keys if key != "title" and a.get(key) != b.get(key))


class _Runs:
    """The runs of all sides with each seed."""

    def __init__(
        self,
        sides: list[Side],
        workload: str | os.PathLike[str],
        seeds: int,
        options: dict[str, Any],
        report: Told | None,
    ) -> None:
        self._sides, self._workload, self._options, self._report = sides, workload, options, report
        self._seeds = range(1, seeds + 1)
        self._stop = threading.Event()
        self._fractions: dict[tuple[int, int], float] = {}
        self._results: dict[tuple[int, int], Result] = {}

    def finish(self, parallel: int) -> None:
        """Make all runs, seed after seed, so that an interrupt leaves whole pairs. Raises the error of a run."""
        with ThreadPoolExecutor(parallel) as pool:
            try:
                runs = [pool.submit(self._run, at, seed) for seed in self._seeds for at in range(len(self._sides))]
                for run in runs:
                    run.result()
            finally:
                self._stop.set()
                pool.shutdown(wait=False, cancel_futures=True)

    def results(self) -> "list[list[Result]]":
        """Return the results by side, for the seeds that every side has finished."""
        sides = range(len(self._sides))
        whole = [seed for seed in self._seeds if all((at, seed) in self._results for at in sides)]
        return [[self._results[at, seed] for seed in whole] for at in sides]

    def _run(self, at: int, seed: int) -> None:
        from nandram.simulate import run

        system = self._sides[at].system
        assert system is not None

        def progress(fraction: float, _simulated_s: float, _done: int) -> bool:
            self._tell(at, seed, min(fraction, 0.999))
            return not self._stop.is_set()

        self._results[at, seed] = run(system, self._workload, seed=seed, progress=progress, **self._options)
        self._tell(at, seed, 1.0)

    def _tell(self, at: int, seed: int, fraction: float) -> None:
        if self._report is None:
            return
        self._fractions[at, seed] = fraction
        values = list(self._fractions.values())
        total = len(self._sides) * len(self._seeds)
        self._report(sum(value >= 1.0 for value in values), total, sum(values) / total)
