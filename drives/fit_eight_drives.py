"""Fit a drive to a reader alongside 1, 2 and 8 writers on eight drives; nothing here depends on other numbers.

A local search by CMA-ES, and a comparison of its best trials with more seeds.
"""

import argparse
import hashlib
import itertools
import json
import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cmaes import CMA
from eight_drives import HERE, SEEDS, Figures, build, read_measured, simulate

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
"""Seeds of the search, whose best trials are compared with all."""
POPULATION, GENERATIONS = 10, 6
SPREAD = 0.05
"""Standard deviation of the first trials, as a share of each range."""
FINALISTS = 6


@dataclass(frozen=True)
class Range:
    """Range of a key's value, which is searched on a logarithmic scale."""

    low: float
    first: float
    """Where the search begins."""
    high: float
    unit: str
    step: int = 0
    """Values are multiples of this; 0: any value."""

    def at(self, share: float) -> float:
        """Return the value at a share of the range, from 0 to 1."""
        return self.low * (self.high / self.low) ** share

    def share(self, value: float) -> float:
        """Return the share of the range at which a value is."""
        return math.log(value / self.low) / math.log(self.high / self.low)

    def text(self, value: float) -> str:
        """Return a value as the system file has it."""
        return f"{value:.4g}{self.unit}" if self.step == 0 else f"{int(value) // self.step * self.step}{self.unit}"


RANGES = {
    # Alongside eight writers, two of three reads wait for a program: as many dies program at once.
    "flash.concurrent_programs": Range(12, 21, 32, "", step=1),
    # Reads alongside one writer wait for up to 1.9 ms, about evenly spread: no program is much shorter or longer.
    "flash.program": Range(1.5, 1.85, 2.3, "ms"),
    # Reads alongside two writers wait less than for such programs alone.
    "flash.slc_program": Range(800, 1690, 3000, "us"),
    # Spare space with which one writer is not slowed down.
    "flash.blocks": Range(960, 1045, 1180, "", step=1),
    # More than eight writers write between the first and the last one.
    "ftl.slc_cache.size": Range(12, 16, 36, "GB"),
    # Eight writers stand still for 16 ms once per 2,700 addresses, as two writers hardly do.
    "ftl.slc_cache.batch": Range(4, 10.2, 30, "MB"),
    "ftl.slc_cache.copies": Range(150, 390, 1000, "", step=1),
    "device.write_cache.size": Range(3072, 6300, 16384, "KiB", step=4),
    "device.write_cache.high": Range(0.002, 0.012, 0.5, ""),
    "device.write_cache.resume": Range(0.2, 0.67, 1, ""),
    "device.write_cache.gather": Range(0.05, 0.32, 1, ""),
}
"""Keys that the search changes. Their first values are from the same figures, by hand and in some 170 trials."""


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

    def values_at(point: Sequence[float]) -> dict[str, str]:
        return {key: each.text(each.at(share)) for (key, each), share in zip(RANGES.items(), point, strict=True)}

    def compare_or_refuse(values: dict[str, str]) -> float:
        try:
            return compare(values, SEARCHED)
        except subprocess.CalledProcessError:
            # The simulator refuses the drive, such as one without room for its data.
            return math.inf

    search = CMA(
        mean=np.array([each.share(each.first) for each in RANGES.values()]),
        sigma=SPREAD,
        bounds=np.array([(0.0, 1.0)] * len(RANGES)),
        seed=1,
        population_size=POPULATION,
    )
    tried: list[tuple[float, dict[str, str]]] = []
    for _ in range(GENERATIONS):
        points = [search.ask() for _ in range(POPULATION)]
        away = [compare_or_refuse(values_at(point)) for point in points]
        search.tell(list(zip(points, away, strict=True)))
        tried += zip(away, map(values_at, points), strict=True)
    finalists = [values for _, values in sorted(tried, key=lambda trial: trial[0])[:FINALISTS]]
    return min(finalists, key=lambda values: compare(values, SEEDS))


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
    reasons = {key: f"from {each.text(each.low)} to {each.text(each.high)}" for key, each in RANGES.items()}
    lines = [
        f"# Fitted by drives/fit_eight_drives.py, in {POPULATION * GENERATIONS} trials by 1, 2 and 8 writers.",
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
