"""Fit a drive to a reader alongside 1, 2 and 8 writers on eight drives; nothing here depends on other numbers.

Three searches by Optuna's tree-structured Parzen estimator, each around the best trial of the one before. More seeds decide
between the best trials of the second, and of the third.
"""

import argparse
import hashlib
import itertools
import json
import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import optuna
from eight_drives import HERE, SEEDS, Figures, build, read_measured, simulate
from optuna.trial import FrozenTrial as Trial

START = HERE / "start/samsung-980-pro-1tb-writers.toml"
DATA = HERE / "980pro-reader-beside-writers.csv"
FITTED = (1, 2, 8)
"""Numbers of writers that the fit sees."""
WEIGHTS = {
    "writes": 1.0,
    "reads": 1.0,
    "p50": 1.0,
    "p90": 0.5,
    "p99": 0.5,
    "writer_p50": 0.5,
    "writer_p90": 0.5,
    "writer_p99": 0.5,
    "writer_p999": 0.1,
}
"""Weights of the squared logarithms of simulated over measured figures. High percentiles depend on few pauses."""
SEARCHED = SEEDS[:2]
"""Seeds of the search. Its best trials are compared with all."""
TRIALS = (120, 100, 60)
"""Trials of each search. The later ones have half the range of logarithms, around the best trial so far."""
FINALISTS = 5


@dataclass(frozen=True)
class Range:
    """Range of a key's value, which is searched on a logarithmic scale."""

    low: float
    high: float
    unit: str
    sheet: float
    """Value by data sheets or press releases, as far as they have it."""
    preset: float
    """Value of the preset samsung-980-pro-1tb, or a plausible one."""
    step: int = 0
    """Values are multiples of this; 0: any value."""
    limit: float = math.inf
    """Largest value that the key can have."""

    def text(self, value: float) -> str:
        """Return a value as the system file has it."""
        return f"{value:.4g}{self.unit}" if self.step == 0 else f"{int(value) // self.step * self.step}{self.unit}"

    def around(self, value: float) -> "Range":
        """Return a range around a value, half as wide as this one."""
        ratio = (self.high / self.low) ** 0.25
        return replace(self, low=value / ratio, high=min(value * ratio, self.limit))


RANGES = {
    "flash.program": Range(1.2, 2.4, "ms", sheet=1.35, preset=2.2),
    "flash.slc_program": Range(500, 1800, "us", sheet=600, preset=600),
    "flash.blocks": Range(900, 1120, "", sheet=1000, preset=1000, step=1),
    "ftl.slc_cache.size": Range(4, 40, "GB", sheet=6, preset=12),
    "ftl.slc_cache.batch": Range(1, 40, "MB", sheet=4, preset=8),
    "device.write_cache.size": Range(2048, 16384, "KiB", sheet=5120, preset=5120, step=4),
    "ftl.gc.quiet": Range(0.1, 4, "", sheet=0.5, preset=0.5),
    "device.write_cache.high": Range(0.01, 0.9, "", sheet=0.01, preset=0.01, limit=1),
    "device.write_cache.resume": Range(0.01, 0.95, "", sheet=0.95, preset=0.95, limit=1),
    "device.write_cache.gather": Range(0.01, 0.9, "", sheet=0.33, preset=0.33, limit=1),
    "ftl.gc.slack": Range(48, 2000, "", sheet=480, preset=480, step=1),
}
HOLDS_READS = "device.write_cache.holds_reads"
LAST = {"device.max_commands": Range(128, 1024, "", sheet=512, preset=512, step=1)}
"""What the last search adds."""
STARTS = ("sheet", "preset")
"""First trials, by the fields of each range."""


def distance(found: dict[int, Figures], measured: dict[int, Figures]) -> float:
    """Return the weighted mean square of the logarithms of simulated over measured figures."""
    squares = sum(
        weight * math.log(getattr(found[writers], name) / getattr(measured[writers], name)) ** 2
        for writers in FITTED
        for name, weight in WEIGHTS.items()
    )
    return squares / (len(FITTED) * sum(WEIGHTS.values()))


def fit() -> dict[str, str]:
    """Return the values of the best trial, and print every trial."""
    simulator, data = build(), read_measured(DATA)
    measured = {writers: data[writers] for writers in FITTED}

    def compare(values: dict[str, str], seeds: Sequence[int]) -> float:
        sets = [f"{key}={value}" for key, value in values.items()]
        found = simulate(simulator, START, FITTED, sets=sets, seeds=seeds)
        away = distance(found, measured)
        print(f"{away:.4f}", *sets, *found.items(), file=sys.stderr, flush=True)
        return away

    def search(
        ranges: Mapping[str, Range], starts: Sequence[Mapping[str, object]], trials: int, holds: Sequence[str]
    ) -> list[Trial]:
        """Return the trials of a search, best first."""

        def objective(trial: optuna.Trial) -> float:
            values = {key: each.text(suggest(trial, key, each)) for key, each in ranges.items()}
            values[HOLDS_READS] = trial.suggest_categorical(HOLDS_READS, holds)
            trial.set_user_attr("values", values)
            return compare(values, SEARCHED)

        sampler = optuna.samplers.TPESampler(seed=1, multivariate=True, n_startup_trials=16)
        study = optuna.create_study(sampler=sampler)
        for start in starts:
            study.enqueue_trial(dict(start))
        # A drive that the simulator refuses, such as one without room for its data, is a failed trial.
        study.optimize(objective, n_trials=trials, catch=subprocess.CalledProcessError)
        done = [trial for trial in study.trials if trial.value is not None]
        return sorted(done, key=lambda trial: trial.value or 0.0)

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    starts = [{HOLDS_READS: "true", **{key: getattr(each, name) for key, each in RANGES.items()}} for name in STARTS]

    def best_of(trials: Sequence[Trial]) -> Trial:
        return min(trials[:FINALISTS], key=lambda trial: compare(trial.user_attrs["values"], SEEDS))

    either = ["true", "false"]
    best = search(RANGES, starts, TRIALS[0], either)[0].params
    ranges = {key: each.around(best[key]) for key, each in RANGES.items()}
    best = best_of(search(ranges, [best], TRIALS[1], either)).params
    ranges = {key: each.around(best[key]) for key, each in ranges.items()} | LAST
    start = best | {key: each.preset for key, each in LAST.items()}
    values: dict[str, str] = best_of(search(ranges, [start], TRIALS[2], [best[HOLDS_READS]])).user_attrs["values"]
    return values


def suggest(trial: optuna.Trial, key: str, within: Range) -> float:
    """Return the value that a trial is to have."""
    if within.step:
        return trial.suggest_int(key, int(within.low), int(within.high), log=True)
    return trial.suggest_float(key, within.low, within.high, log=True)


def toml(value: str) -> str:
    """Return a value as TOML: numbers and truth values as they are, quantities as strings."""
    try:
        float(value)
    except ValueError:
        return value if value in ("true", "false") else json.dumps(value)
    return value


def fitted_text(values: dict[str, str]) -> str:
    """Return a system file that extends the start file with the fitted values."""
    digest = hashlib.sha256(DATA.read_bytes()).hexdigest()[:16]
    seen = f"{DATA.name} (sha256 {digest}), {', '.join(map(str, FITTED[:-1]))} and {FITTED[-1]} writers"
    ranges = {**RANGES, **LAST}
    reasons = {key: f"first from {each.text(each.low)} to {each.text(each.high)}" for key, each in ranges.items()}
    reasons[HOLDS_READS] = "true or false"
    lines = [
        f"# Fitted by drives/fit_eight_drives.py, in {sum(TRIALS)} trials by 1, 2 and 8 writers.",
        f'extends = "../start/{START.name}"',
        'title = "Samsung 980 PRO 1 TB with io_uring, fitted to a reader alongside writers on eight drives"',
    ]
    for section, keys in itertools.groupby(sorted(values), key=lambda key: key.partition(".")[0]):
        lines += ["", f"[{section}]", *(f"{key.partition('.')[2]} = {toml(values[key])}" for key in keys)]
    basis = (f'"{key}" = {{ calibrated = "{seen}: {reasons[key]}" }}' for key in sorted(values))
    return "\n".join([*lines, "", "[basis]", *basis, ""])


def main() -> None:
    """Write the fitted file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=HERE / "fitted/samsung-980-pro-1tb-writers.toml")
    asked = parser.parse_args()
    asked.output.write_text(fitted_text(fit()), encoding="utf-8")


if __name__ == "__main__":
    main()
