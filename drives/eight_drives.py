"""Compare a reader alongside writers on eight simulated drives with the measured ones."""

import argparse
import csv
import json
import math
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
DRIVES = 8
SEEDS = tuple(range(1, 9))
"""Seeds of addresses and drives. A run of two seconds is short: medians differ by 40 % from seed to seed."""


@dataclass(frozen=True)
class Figures:
    """Figures of a number of writers: rates per second, and percentiles of response times in microseconds."""

    writes: float
    """Writes of one drive."""
    reads: float
    """Reads of all drives."""
    p50: float
    p90: float
    p99: float
    writer_p50: float
    writer_p90: float
    writer_p99: float
    writer_p999: float

    def errors(self, measured: "Figures") -> dict[str, float]:
        """Return the relative error of the rates, and of the reader's median and 99th percentile."""
        shown = ("writes", "reads", "p50", "p99")
        return {name: getattr(self, name) / getattr(measured, name) - 1 for name in shown}


def read_measured(path: Path) -> dict[int, Figures]:
    """Return the measured figures by number of writers."""

    def response(row: dict[str, str], percentile: str) -> float:
        return (float(row[f"clat_{percentile}_ns"]) + float(row["slat_mean_ns"])) / 1e3

    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for reader in rows:
        if reader["side"] == "read" and (number := int(reader["writers"])) > 0:
            writers = [row for row in rows if int(row["writers"]) == number and row["side"] == "write"]
            found[number] = Figures(
                sum(float(row["iops"]) for row in writers) / DRIVES,
                float(reader["iops"]),
                *(response(reader, each) for each in ("p50", "p90", "p99")),
                *(mean([response(row, each) for row in writers]) for each in ("p50", "p90", "p99", "p999")),
            )
    return found


def mean(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def build() -> Path:
    """Build the simulator and return its path."""
    command = ["cargo", "build", "--release", "--quiet", "--package", "storage", "--example", "drives_in_turn"]
    subprocess.run(command, cwd=HERE.parent, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target")) / "release/examples/drives_in_turn"


def simulate(
    simulator: Path,
    system: Path | str,
    writers: Iterable[int],
    *,
    sets: Iterable[str] = (),
    seeds: Sequence[int] = SEEDS,
) -> dict[int, Figures]:
    """Return the simulated figures by number of writers, over all requests of the runs with the seeds."""
    numbers = ["--writers", ",".join(map(str, writers)), "--seeds", ",".join(map(str, seeds))]
    changes = [word for each in sets for word in ("--set", each)]
    command = [simulator, system, "--drives", str(DRIVES), *numbers, *changes]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {}
    for line in map(json.loads, output.splitlines()):
        reader, writer = (line[job]["percentiles"] for job in ("reader", "writer"))
        found[line["writers"]] = Figures(
            line["writes"],
            line["reader"]["rate"],
            *(reader[each] for each in ("50", "90", "99")),
            *(writer[each] for each in ("50", "90", "99", "99.9")),
        )
    return found


def main() -> None:
    """Print simulated figures and their errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", help="a system file or preset")
    parser.add_argument("--data", type=Path, default=HERE / "980pro-reader-beside-writers.csv")
    parser.add_argument("--writers", default="1,2,8", help="numbers of writers (1,2,8)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a key of the system")
    asked = parser.parse_args()
    measured = read_measured(asked.data)
    found = simulate(build(), asked.system, map(int, asked.writers.split(",")), sets=asked.set)
    for writers, figures in found.items():
        errors = {name: f"{100 * error:+.0f} %" for name, error in figures.errors(measured[writers]).items()}
        print(writers, figures, errors)


if __name__ == "__main__":
    main()
