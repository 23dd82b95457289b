"""Compare a reader alongside writers on eight simulated drives with the measured ones, and fit a drive to them."""

import argparse
import csv
import json
import math
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
DRIVES = 8
FITTED = (1, 2, 8)
"""Numbers of writers that the search sees."""
WEIGHTS = {"writes": 1.0, "reads": 1.0, "p50": 1.0, "p99": 0.5}
"""Weights of the squared logarithms of the figures' errors in the search."""
CHOICES = {
    "flash.program": ("1.25ms", "1.45ms"),
    "device.write_cache.size": ("6MiB", "4MiB"),
    "device.write_cache.gather": ("0.5", "0.7"),
    "device.write_cache.resume": ("0.9",),
}
"""Values that the search tries, key by key, in addition to those of the system file."""


@dataclass(frozen=True)
class Figures:
    """Figures of a number of writers: rates per second and the reader's response times in microseconds."""

    writes: float
    """Writes of one drive."""
    reads: float
    """Reads of all drives."""
    p50: float
    p99: float

    def errors(self, measured: "Figures") -> dict[str, float]:
        """Return the relative error of each figure."""
        return {name: getattr(self, name) / getattr(measured, name) - 1 for name in WEIGHTS}


def read_measured(path: Path) -> dict[int, Figures]:
    """Return the measured figures by number of writers."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for reader in rows:
        if reader["side"] == "read" and (writers := int(reader["writers"])) > 0:
            rates = [float(row["iops"]) for row in rows if int(row["writers"]) == writers and row["side"] == "write"]
            times = [(float(reader[f"clat_{p}_ns"]) + float(reader["slat_mean_ns"])) / 1e3 for p in ("p50", "p99")]
            found[writers] = Figures(sum(rates) / DRIVES, float(reader["iops"]), *times)
    return found


def simulate(
    system: Path | str, writers: Iterable[int], *, sets: Sequence[str] = (), options: Sequence[str] = ()
) -> dict[int, Figures]:
    """Return the simulated figures by number of writers."""
    command = ["cargo", "run", "--release", "--quiet", "--package", "storage", "--example", "drives_in_turn", "--"]
    command += [str(system), "--drives", str(DRIVES), "--writers", ",".join(map(str, writers)), *options]
    command += [word for each in sets for word in ("--set", each)]
    lines = subprocess.run(command, cwd=HERE.parent, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    found = {}
    for line in map(json.loads, lines):
        times = line["reader"]["percentiles"]
        found[line["writers"]] = Figures(line["writes"], line["reader"]["rate"], times["50"], times["99"])
    return found


def distance(found: dict[int, Figures], measured: dict[int, Figures]) -> float:
    """Return the weighted mean square of the logarithms of simulated over measured figures."""
    squares = [
        (weight, math.log(getattr(found[writers], name) / getattr(measured[writers], name)) ** 2)
        for writers in FITTED
        for name, weight in WEIGHTS.items()
    ]
    return sum(weight * square for weight, square in squares) / sum(weight for weight, _ in squares)


def fit(system: Path, measured: dict[int, Figures], images: Path) -> dict[str, str]:
    """Return the values that are best key by key, beginning with those of `system`, and print each trial."""
    values: dict[str, str] = {}

    def trial(sets: dict[str, str]) -> float:
        lines = [f"{key}={value}" for key, value in sets.items()]
        found = simulate(system, FITTED, sets=lines, options=["--images", str(images)])
        away = distance(found, measured)
        shown = " ".join(
            f"{writers}: " + " ".join(f"{name} {100 * error:+.0f} %" for name, error in figures.items()) + ";"
            for writers, figures in ((each, found[each].errors(measured[each])) for each in FITTED)
        )
        print(f"{away:.4f} {' '.join(lines)} {shown}", flush=True)
        return away

    images.mkdir(parents=True, exist_ok=True)
    best = trial(values)
    for key, choices in CHOICES.items():
        for choice in choices:
            sets = {**values, key: choice}
            if (away := trial(sets)) < best:
                values, best = sets, away
    return values


def main() -> None:
    """Print errors, or fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", type=Path)
    parser.add_argument("--data", type=Path, default=HERE / "980pro-reader-beside-writers.csv")
    parser.add_argument("--writers", default="1,2,8", help="numbers of writers (1,2,8)")
    parser.add_argument("--fit", action="store_true", help="search for better values, with 1, 2 and 8 writers")
    parser.add_argument("--images", type=Path, default=Path("build/eight-drives"), help="folder for prepared drives")
    asked = parser.parse_args()
    measured = read_measured(asked.data)
    if asked.fit:
        print(fit(asked.system, {writers: measured[writers] for writers in FITTED}, asked.images))
        return
    for writers, figures in simulate(asked.system, map(int, asked.writers.split(","))).items():
        print(
            writers,
            figures,
            {name: f"{100 * error:+.0f} %" for name, error in figures.errors(measured[writers]).items()},
        )


if __name__ == "__main__":
    main()
