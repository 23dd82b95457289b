"""Runs mutants against the test programs of their folder, until one notices."""

import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rust_mutants.programs import Program, reached, run
from rust_mutants.sites import Mutant

FACTOR = 3
"""A mutant may take this many times the processor time of an unchanged run."""
ADDED = 5.0
"""Seconds more, which a short program may take."""
MOST = 1200.0
"""Seconds of processor time of an unchanged run."""


@dataclass(frozen=True)
class Baseline:
    """An unchanged run: what it takes, and the mutants that it reaches."""

    program: Program
    seconds: float
    reached: frozenset[int]


@dataclass(frozen=True)
class Outcome:
    """Outcome of a mutant."""

    number: int
    mutant: Mutant
    killer: str
    """Program and cause; empty if the mutant survived."""
    reached: bool
    """Some test executes the place."""


def workers() -> int:
    """Return the number of programs that run at a time."""
    return os.cpu_count() or 1


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure(programs: Sequence[Program], env: Mapping[str, str], folder: Path) -> list[Baseline]:
    """Run every program without a mutant, which must pass; return them, the shortest first."""
    folder.mkdir(parents=True, exist_ok=True)

    def one(program: Program) -> Baseline:
        ended, numbers, _ = reached(program, env, folder / program.name.replace(":", "-"), MOST)
        if not ended.passed:
            raise SystemExit(f"{program.name} fails without a mutant: {ended.cause}")
        _progress(f"{program.name}: {ended.seconds:.1f} s, reaches {len(numbers)} mutants")
        return Baseline(program, ended.seconds, frozenset(numbers))

    with ThreadPoolExecutor(workers()) as pool:
        return sorted(pool.map(one, programs), key=lambda baseline: baseline.seconds)


def kill(
    number: int, mutant: Mutant, tests: Sequence[str], baselines: Sequence[Baseline], env: Mapping[str, str]
) -> Outcome:
    """Run the tests of a mutant's folder that reach it: those named first before others, then the shortest first."""
    able = [baseline for baseline in baselines if number in baseline.reached]

    def rank(baseline: Baseline) -> int | None:
        names = (baseline.program.package, baseline.program.name)
        return next((at for at, test in enumerate(tests) if test in names), None)

    able = sorted((baseline for baseline in able if rank(baseline) is not None), key=lambda b: rank(b) or 0)
    for baseline in able:
        most = FACTOR * baseline.seconds + ADDED
        ended = run(baseline.program, {**env, "NANDRAM_MUTANT": str(number)}, most)
        if not ended.passed:
            return Outcome(number, mutant, f"{baseline.program.name} {ended.cause}", True)
    return Outcome(number, mutant, "", bool(able))


def kill_all(
    drawn: Mapping[int, Mutant],
    tests: Mapping[int, Sequence[str]],
    baselines: Sequence[Baseline],
    env: Mapping[str, str],
) -> list[Outcome]:
    """Run mutants, as many at a time as there are processors."""

    def one(number: int) -> Outcome:
        outcome = kill(number, drawn[number], tests[number], baselines, env)
        mutant = outcome.mutant
        how = f"killed by {outcome.killer}" if outcome.killer else "SURVIVED" if outcome.reached else "NOT REACHED"
        _progress(f"{number}: {mutant.file}:{mutant.line}: {mutant.place} -> {mutant.change}: {how}")
        return outcome

    with ThreadPoolExecutor(workers()) as pool:
        return list(pool.map(one, drawn))
