"""Evaluate the fitted drives on their data, repeat fits, and write docs/validation.md to standard output."""

import argparse
import statistics
import sys
import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eight_drives import build, read_measured, simulate

from nandram.fit import read_measurements
from nandram.fit.evaluate import Evaluator, Modeled, smaller
from nandram.fit.measurements.points import Point, size_text
from nandram.fit.model import FIGURES, errors
from nandram.fit.run import run_fit
from nandram.fit.split import split, without
from nandram.options import at_a_time
from nandram.system import load_system

HERE = Path(__file__).parent
SEED = 1
WORST = 5
"""Points with the largest errors that are shown per row."""
HEAD = """# Validation

Written by `make validate` (`drives/validate.py`) from the measurements in `drives/`; its README has their sources and
license. *Held out* are points that neither the start nor the search of a fit saw. Errors are absolute and relative;
*all three* pools IOPS, p50 and p99. Noise is the relative difference between two runs of one session, as the README of
the data has it. A fitted file is no prediction for other loads: only the held-out errors say how well it interpolates.
"""


@dataclass(frozen=True)
class Evaluated:
    """A row, with the modeled figures of its points."""

    row: dict[str, Any]
    points: list[Point]
    held_out: frozenset[Point]
    modeled: list[Modeled]
    start_median: float | None
    """Median error of the start in closed form on held-out points."""


def evaluate(row: dict[str, Any], folder: Path) -> Evaluated:
    """Evaluate the files of a row on all points."""
    points = [
        point
        for point in without(read_measurements([HERE / row["data"]]), row.get("drop", [])).points
        if point.conditions.engine in row.get("engines", row["files"])
    ]
    held_out: frozenset[Point] = frozenset()
    start_median = None
    if "start" in row:
        held_out = frozenset(split(points, row.get("hold_out"), row.get("share"), SEED).held_out)
        start = run_fit(
            [HERE / row["data"]],
            HERE / row["start"],
            precondition=row["precondition"],
            drop=row.get("drop", []),
            hold_out=row.get("hold_out"),
            share=row.get("share"),
            seed=SEED,
            folder=folder,
            start_only=True,
        )
        start_median = start.median_error(start.split.held_out)
    found: dict[Point, Modeled] = {}
    for engine, file in row["files"].items():
        path = HERE / file
        system = load_system(path if path.is_file() else file)
        mine = [point for point in points if point.conditions.engine == engine]
        changes = smaller(system, [point.conditions for point in mine])
        evaluator = Evaluator(system, precondition=row["precondition"], seed=SEED, jobs=at_a_time(None), folder=folder)
        (modeled,) = evaluator.evaluate([(changes, mine)])
        evaluator.close()
        found.update(zip(mine, modeled, strict=True))
    return Evaluated(row, points, held_out, [found[point] for point in points], start_median)


def table(found: Evaluated) -> list[str]:
    """Return the Markdown table of a row's errors."""
    lines = ["| points | figure | number | median | 90 % | largest |", "| --- | --- | ---: | ---: | ---: | ---: |"]
    groups = {"fitted": False, "held out": True} if found.held_out else {"all": False}
    for name, outside in groups.items():
        by_figure: dict[str, list[float]] = {figure: [] for figure in FIGURES}
        for point, modeled in zip(found.points, found.modeled, strict=True):
            if (point in found.held_out) is outside:
                for figure, error in errors(point, modeled).items():
                    by_figure[figure].append(abs(error))
        pooled = [error for each in by_figure.values() for error in each]
        for figure, sizes in (*by_figure.items(), ("all three", pooled)):
            ordered = sorted(sizes)
            cells = [statistics.median(ordered), ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))], ordered[-1]]
            shown = " | ".join(f"{100 * cell:.1f} %" for cell in cells)
            title = {"iops": "IOPS"}.get(figure, figure)
            lines.append(f"| {name} | {title} | {len(ordered)} | {shown} |")
    return lines


def residuals(found: Evaluated, figure: str) -> list[str]:
    """Return Markdown tables of the signed errors of a figure, by size and depth; held-out points are in italics."""
    lines = []
    for random in (True, False):
        cells: dict[tuple[int, int], str] = {}
        for point, modeled in zip(found.points, found.modeled, strict=True):
            conditions = point.conditions
            if conditions.random is random:
                text = f"{100 * errors(point, modeled)[figure]:+.0f} %"
                cells[conditions.size_bytes, conditions.depth] = f"*{text}*" if point in found.held_out else text
        if cells:
            depths = sorted({depth for _, depth in cells})
            lines += ["", f"| {'random' if random else 'sequential'} | " + " | ".join(map(str, depths)) + " |"]
            lines.append("| --- |" + " ---: |" * len(depths))
            for size in sorted({size for size, _ in cells}):
                row = " | ".join(cells.get((size, depth), "") for depth in depths)
                lines.append(f"| {size_text(size)} | {row} |")
    return lines


def worst(found: Evaluated) -> list[str]:
    """Return the points with the largest errors: what the model does not follow."""
    rows = [
        (abs(error), figure, error, point)
        for point, modeled in zip(found.points, found.modeled, strict=True)
        for figure, error in errors(point, modeled).items()
    ]
    rows.sort(key=lambda each: -each[0])
    names = {"iops": "IOPS"}
    return [f"- {point.conditions}: {names.get(f, f)} {100 * error:+.0f} %" for _, f, error, point in rows[:WORST]]


def held_out_median(found: Evaluated, figures: Collection[str] = FIGURES) -> float:
    """Return the median error of the held-out points, the figures pooled."""
    return statistics.median(
        abs(error)
        for point, modeled in zip(found.points, found.modeled, strict=True)
        if point in found.held_out
        for figure, error in errors(point, modeled).items()
        if figure in figures
    )


def exceeded(found: Evaluated) -> list[str]:
    """Return a line for each bound that the held-out points exceed."""
    bounds = dict(found.row.get("bounds", {}))
    if "bound" in found.row:
        bounds["all three"] = found.row["bound"]
    medians = {name: held_out_median(found, FIGURES if name == "all three" else (name,)) for name in bounds}
    return [
        f"{found.row['name']}: {name}: {medians[name]:.3f} exceeds {bound}"
        for name, bound in bounds.items()
        if medians[name] > bound
    ]


def outside_of(ranges: dict[str, list[float]], writers: int, errors: dict[str, float]) -> list[str]:
    """Return a line for each figure of a number of writers whose error is outside of its range."""
    return [
        f"{writers} writers: {name} {100 * errors[name]:+.1f} %, expected {100 * low:+.0f} to {100 * high:+.0f} %"
        for name, (low, high) in ranges.items()
        if not low <= errors[name] <= high
    ]


def eight_drives(row: dict[str, Any]) -> list[str]:
    """Print the table of a row about a reader alongside writers on eight drives. Return the bounds that it exceeds."""
    measured = read_measured(HERE / row["data"])
    found = simulate(build(), HERE / row["file"], sorted([*row["fitted"], *row["held_out"]]))
    print(f"\n## {row['title']}\n")
    print(f"`drives/{row['file']}` on `drives/{row['data']}`; each cell has the measured and the simulated figure.\n")
    print("| writers | points | writes per second and drive | reads per second | p50 of reads | p99 of reads |")
    print("| ---: | --- | ---: | ---: | ---: | ---: |")
    exceeded_bounds: list[str] = []
    missed_aims: list[str] = []
    for writers, simulated in found.items():
        errors = simulated.errors(measured[writers])
        units = ["", "", " us", " us"]
        values = [(getattr(measured[writers], name), getattr(simulated, name)) for name in errors]
        cells = [
            f"{was:,.0f}{unit} → {now:,.0f}{unit} ({100 * error:+.0f} %)"
            for (was, now), error, unit in zip(values, errors.values(), units, strict=True)
        ]
        print(f"| {writers} | {'fitted' if writers in row['fitted'] else 'held out'} | {' | '.join(cells)} |")
        bounds = row["bounds"].get(str(writers), {})
        exceeded_bounds += [f"{row['name']}: {line}" for line in outside_of(bounds, writers, errors)]
        if writers in row["held_out"]:
            missed_aims += outside_of(row["aims"], writers, errors)
    if missed_aims:
        print("\nMissed aims:\n\n" + "\n".join(f"- {line}" for line in missed_aims))
    print(f"\n{row['note'].strip()}", flush=True)
    return exceeded_bounds


def refit(row: dict[str, Any], folder: Path) -> bool:
    """Repeat the fit of a row; return whether it gives the same file."""
    from nandram.fit.write import fitted_text

    fit = run_fit(
        [HERE / row["data"]],
        HERE / row["start"],
        precondition=row["precondition"],
        drop=row.get("drop", []),
        hold_out=row.get("hold_out"),
        share=row.get("share"),
        noise=row["noise"],
        seed=SEED,
        folder=folder,
    )
    stored = HERE / next(iter(row["files"].values()))
    return stored.read_text(encoding="utf-8") == fitted_text(fit, fit.guesses[0])


def refit_eight_drives(row: dict[str, Any]) -> bool:
    """Repeat the fit of a row about eight drives; return whether it gives the same file."""
    import fit_eight_drives

    stored = (HERE / row["file"]).read_text(encoding="utf-8")
    return stored == fit_eight_drives.fitted_text(fit_eight_drives.fit())


def report_refit(row: dict[str, Any], same: bool) -> bool:
    """Print whether a refitted file is the same, and return it."""
    print(f"{row['name']}: the refitted file {'is the same' if same else 'differs'}", file=sys.stderr)
    return same


def main() -> int:
    """Write the page; return 1 if a bound is exceeded or a refitted file differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--refit", action="append", default=[], metavar="NAME", help="row to fit again, or all")
    parser.add_argument("--folder", type=Path, default=Path("build/validation"), help="results of runs")
    asked = parser.parse_args()
    tables = tomllib.loads((HERE / "validation.toml").read_text(encoding="utf-8"))
    failed = False
    print(HEAD, end="")
    for row in tables["row"]:
        found = evaluate(row, asked.folder)
        names = [f"`drives/{each}`" if "/" in each else f"preset `{each}`" for each in row["files"].values()]
        print(f"\n## {row['title']}\n")
        print(f"{', '.join(names)} on `drives/{row['data']}`; noise {100 * row['noise']:.0f} %.\n")
        print("\n".join(table(found)))
        if found.start_median is not None:
            print(f"\nThe start in closed form alone: a median of {100 * found.start_median:.1f} % on held-out points.")
            for line in exceeded(found):
                failed = True
                print(line, file=sys.stderr)
        print("\nThe largest errors:\n\n" + "\n".join(worst(found)), flush=True)
        if "residuals" in row:
            print(f"\nErrors of {row['residuals']} by size and depth (held out in italics):")
            print("\n".join(residuals(found, row["residuals"])))
        if "note" in row:
            print(f"\n{row['note'].strip()}")
        if "start" in row and (row["name"] in asked.refit or "all" in asked.refit):
            failed |= not report_refit(row, refit(row, asked.folder))
    for row in tables["eight_drives"]:
        for line in eight_drives(row):
            failed = True
            print(line, file=sys.stderr)
        if row["name"] in asked.refit or "all" in asked.refit:
            failed |= not report_refit(row, refit_eight_drives(row))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
