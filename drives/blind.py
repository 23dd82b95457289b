"""Fit simulated drives drawn at random without their files, and write docs/fit-blind.md.

Each drive is measured by simulated fio runs with seeds of its own. The fit gets the measurements and one start file for
all drives, which gives what a data sheet does. Results are kept per drive: an interrupted run resumes.
"""

import argparse
import json
import random
import statistics
from pathlib import Path
from typing import Any

import nandram
from nandram.fit.evaluate import job_text, smaller
from nandram.fit.measurements.points import Conditions, Direction, Point
from nandram.fit.parameters import quantity
from nandram.fit.precise import WIDER
from nandram.fit.result import Fit
from nandram.fit.run import run_fit
from nandram.system import System, load_system

DRIVES = 30
DEPTHS = {4096: (1, 2, 4, 8, 16, 32, 64, 128, 256), 8192: (1, 2, 32, 256), 16384: (1, 2, 32, 256)}
"""Measured depths by size: the set that docs/fitting.md calls useful."""
REPEATED = (1, 2, 4, 8, 32, 64, 256)
"""Depths at which 4 KiB are measured a second time, with another seed: their difference is the noise of the data."""
ENGINE = "io_uring_cmd"
HOLD_OUT = ("depth=16", "depth=128")
CHANNELS = (4, 6, 8, 12, 16)
"""Channels of the drawn drives, which the fit tries."""
WITHIN = 0.15
AIMS = {"iops": 0.03, "p50": 0.03, "p99": 0.10}
"""Median errors over all drives that the test aims at."""
DETERMINED = 5
"""Determined parameters per drive that it aims at."""
INSIDE = 0.9
"""Fraction of them whose true values lie inside their bands, as it aims at."""
START = """
title = "A drive"

[host]
completion = "polling"

[device]
dram = "2GiB"
staging = { single_units = false }

[flash]
channels = 8
chips = 2
dies = 1
planes = 1
blocks = 1000
cell = "tlc"
read = "50us"
rate = "1200MT/s"

[ftl]
over_provisioning = 0.1

[basis]
"host.completion" = { given = "the engine polls" }
"device.staging.single_units" = { given = "reads of one unit pass the path by" }
"flash.channels"  = { assumed = "most controllers" }
"flash.chips"     = { assumed = "unknown" }
"flash.planes"    = { given = "planes of a die do not read independently" }
"flash.read"      = { assumed = "unknown" }
"flash.rate"      = { assumed = "unknown" }
"""


def draw(number: int) -> dict[str, Any]:
    """Return the values of a drive: counts, nanoseconds, transfers and bytes per second, by parameter."""
    stream = random.Random(f"blind drive {number}")
    middle = stream.uniform(35e3, 80e3)
    step = stream.uniform(0.05, 0.3) * middle
    found: dict[str, Any] = {
        "flash.channels": stream.choice(CHANNELS),
        "flash.chips": stream.choice((1, 2, 3, 4)),
        "flash.cache_read": stream.choice((False, True)),
    }
    found |= {f"flash.read[{i}]": float(round(middle + (i - 1) * step)) for i in range(3)}
    found["flash.rate"] = 1e6 * round(stream.uniform(400, 1600))
    found["device.firmware.wait.read"] = float(round(stream.uniform(1e3, 12e3)))
    found["device.firmware.wait.split"] = float(round(stream.uniform(0.2e3, 4e3)))
    found["device.firmware.read"] = float(round(stream.uniform(300.0, 1500.0)))
    found["host.submit@io_uring_cmd"] = float(round(stream.uniform(300.0, 900.0)))
    found["host.complete@io_uring_cmd"] = float(round(stream.uniform(200.0, 600.0)))
    found["device.staging.read"] = 1e6 * round(stream.uniform(1500, 3200))
    return found


def changes(drawn: dict[str, Any]) -> dict[str, object]:
    """Return the changes of the start file that make a drawn drive."""
    units = {"flash.rate": ("MT/s", 1e6), "device.staging.read": ("MB/s", 1e6)}
    found: dict[str, object] = {"flash.read": [f"{drawn[f'flash.read[{i}]']:.0f}ns" for i in range(3)]}
    for name, value in drawn.items():
        key = name.partition("@")[0]
        if key in ("flash.channels", "flash.chips", "flash.cache_read"):
            found[key] = value
        elif "[" not in name:
            unit, scale = units.get(key, ("ns", 1.0))
            found[key] = f"{value / scale:.0f}{unit}"
    return found


def measure(system: System, number: int, folder: Path) -> list[Path]:
    """Run fio's jobs on a simulated drive; return the files of their output, in fio's JSON format."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for size, depths in DEPTHS.items():
        for depth in depths:
            conditions = Conditions(Direction.READ, True, size, depth, 1, ENGINE)
            small = system.with_(smaller(system, [conditions]))
            path = folder / f"randread-{size}-{depth}"
            # A run's duration follows from the rate: a short run with a guess shows it.
            iops = _run(small, conditions, min(depth / 80e-6, 5e5), 3_000, 1000 + number, path)
            _run(small, conditions, iops, 66_000, 1000 + number, path)
            files.append(path.with_suffix(".json"))
            if size == min(DEPTHS) and depth in REPEATED:
                path = folder / f"randread-{size}-{depth}-again"
                _run(small, conditions, iops, 66_000, 2000 + number, path)
                files.append(path.with_suffix(".json"))
    return files


def _run(system: System, conditions: Conditions, iops: float, requests: int, seed: int, path: Path) -> float:
    """Run one job of about `requests` requests, and write its file and fio's output; return its rate."""
    job = job_text(Point(conditions, iops, None, (), None, "guess"), requests)
    path.with_suffix(".fio").write_text(f"{job}ioengine={ENGINE}\n", encoding="utf-8")
    run = nandram.run(system, path.with_suffix(".fio"), precondition="fill", seed=seed)
    path.with_suffix(".json").write_text(json.dumps(run.summary), encoding="utf-8")
    found: float = run.summary["jobs"][0]["read"]["iops"]
    return found


def blind(number: int, folder: Path) -> dict[str, Any]:
    """Draw, measure and fit one drive; return what the table shows."""
    kept = folder / "result.json"
    if kept.is_file():
        found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
        return found
    folder.mkdir(parents=True, exist_ok=True)
    start = folder / "start.toml"
    start.write_text(START, encoding="utf-8")
    drawn = draw(number)
    data = measure(load_system(start).with_(changes(drawn)), number, folder / "fio")
    tries = {"flash.channels": CHANNELS, "flash.cache_read": (False, True)}
    fit = run_fit(data, start, tries=tries, hold_out=HOLD_OUT, share=0.0, folder=folder / "fit")
    found = compared(fit, drawn)
    kept.write_text(json.dumps(found), encoding="utf-8")
    return found


def compared(fit: Fit, drawn: dict[str, Any]) -> dict[str, Any]:
    """Return the held-out errors, and the determined parameters with the true ones."""
    errors = {name: [abs(each) for each in row] for name, row in fit.errors(fit.split.held_out).items()}
    dies = {"true": drawn["flash.channels"] * drawn["flash.chips"]}
    determined = {}
    for band in fit.bands:
        name = band.parameter.name
        if name == "dies":
            dies["fitted"] = round(band.value)
        if band.determined:
            true = dies["true"] if name == "dies" else drawn.get(name, quantity(fit.space.value(band.parameter.key)))
            determined[name] = [band.low, band.value, band.high, true]
    return {"errors": errors, "dies": dies, "determined": determined}


def page(results: dict[int, dict[str, Any]]) -> str:
    """Return the page."""
    lines = [
        "# A blind test of fits",
        "",
        "Written by `make fit-blind` (`drives/blind.py`). Each drive is simulated, with parameters drawn at random,",
        "and measured by simulated fio: random reads of 4 KiB at depth 1 to 256, of 8 and 16 KiB at four depths.",
        f"Second runs of 4 KiB at depth {', '.join(map(str, REPEATED))} show the noise. The fit does not see the",
        f"drive's file. All have the same start, and {', '.join(map(str, CHANNELS))} channels are tried, with and",
        "without cache reads (`flash.cache_read`). Depths 16 and 128 are held out. A value is *determined* if the fit",
        "says so, *inside* if the true value lies in its band, and *near* if it lies within",
        f"{100 * WITHIN:.0f} % of the fitted value. The number of dies is a value too. A band is {WIDER:g} times as",
        "wide as its linear error (calibrated on other drives).",
        "What drives 2 and 11 showed led to changes of the search.",
        "",
        "| drive | IOPS | p50 | p99 | dies, true | fitted | determined | inside | near |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    pooled: dict[str, list[float]] = {"iops": [], "p50": [], "p99": []}
    counts = [0, 0, 0]
    enough = 0
    for number, found in sorted(results.items()):
        medians = []
        for figure, errors in found["errors"].items():
            pooled[figure] += errors
            medians.append(f"{100 * statistics.median(errors):.1f} %")
        rows = list(found["determined"].values())
        inside = sum(low <= true <= high for low, _, high, true in rows)
        near = sum(abs(value / true - 1) <= WITHIN for _, value, _, true in rows)
        counts = [a + b for a, b in zip(counts, (len(rows), inside, near), strict=True)]
        enough += len(rows) >= DETERMINED
        cells = [number, *medians, found["dies"]["true"], found["dies"]["fitted"], len(rows), inside, near]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    whole = [f"{100 * statistics.median(each):.1f} %" for each in pooled.values()]
    lines.append(f"| all | {' | '.join(whole)} | | | {counts[0]} | {counts[1]} | {counts[2]} |")
    names: dict[str, list[bool]] = {}
    for found in results.values():
        for name, (low, _, high, true) in found["determined"].items():
            names.setdefault(name, []).append(low <= true <= high)
    lines += ["", "Errors are medians over held-out points.", "", "| aim | found |", "| --- | --- |"]
    for figure, aim in AIMS.items():
        name = {"iops": "IOPS"}.get(figure, figure)
        lines.append(f"| {name} at most {100 * aim:.0f} % | {100 * statistics.median(pooled[figure]):.1f} % |")
    lines.append(f"| at least {DETERMINED} determined parameters per drive | {enough} of {len(results)} drives |")
    share = counts[1] / counts[0] if counts[0] else 0.0
    lines.append(f"| {100 * INSIDE:.0f} % of the true values inside their bands | {100 * share:.0f} % of {counts[0]} |")
    right = sum(found["dies"]["true"] == found["dies"]["fitted"] for found in results.values())
    if counts[0] and share < INSIDE <= counts[2] / counts[0]:
        lines += [
            "",
            f"{counts[2]} of the {counts[0]} determined values are near the true ones: the bands are too narrow.",
        ]
    lines += [
        "",
        f"{len(results)} of {DRIVES} drives are done; {right} have the true number of dies. By parameter:",
    ]
    lines += ["", "| parameter | determined | inside |", "| --- | ---: | ---: |"]
    lines += [f"| `{name}` | {len(row)} | {sum(row)} |" for name, row in sorted(names.items())]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Fit the drives, and write the page after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drives", type=int, default=DRIVES, help="number of drives")
    parser.add_argument("--folder", type=Path, default=Path("build/blind"), help="results of runs")
    parser.add_argument("--output", type=Path, default=Path("docs/fit-blind.md"), help="the page")
    asked = parser.parse_args()
    results = {}
    for number in range(1, asked.drives + 1):
        results[number] = blind(number, asked.folder / str(number))
        asked.output.write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
