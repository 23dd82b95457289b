"""Reports on papers, runs and sweeps, each one HTML file that needs no network.

page.py     the file: text, tables, charts with their data      charts/     kinds of charts
run.py      the section of a run                                drawing.py  drawings of systems
paper.py    a paper's claims and our figures                    sweep.py    Pareto fronts and sensitivities
over_time.py  a run over time and over queue depth              comparison.py  two systems or runs
heat.py     response times over time                            overlay.py     several runs on one pair of axes
depth.py    throughput against response time                    fit.py         a fitted system
serving.py  a served language model
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nandram.errors import UserError

if TYPE_CHECKING:
    from nandram.papers.runs.play import Report
    from nandram.report.page import Section
    from nandram.results.comparison import Comparison
    from nandram.results.result import Result


def run_page(result: "Result") -> str:
    """Return the page of a run."""
    from nandram.report import run

    return run.page(result)


def comparison_page(found: "Comparison | Sequence[Comparison]", path: Path) -> None:
    """Write the page of a comparison, or of several with one side A. Raises `UserError` if it cannot be written."""
    from nandram.report import comparison
    from nandram.report.page import render
    from nandram.results.comparison import Comparison

    each_of = [found] if isinstance(found, Comparison) else list(found)
    sections = [
        comparison.section(each, f"comparison-{number}" if len(each_of) > 1 else "comparison", chr(ord("A") + number))
        for number, each in enumerate(each_of, 1)
    ]
    title = sections[0].title if len(sections) == 1 else f"{each_of[0].a} and {len(sections)} changed copies"
    _write(path, render(title, "Comparison of systems or runs.", sections))


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error


def write_report(
    *what: str | os.PathLike[str],
    output: str | os.PathLike[str] = "report.html",
    quick: bool = False,
    sensitivity: bool = True,
    jobs: int | None = None,
    cache: str | os.PathLike[str] | None = "default",
    report: "Report | None" = None,
) -> Path:
    """Write a report on papers, runs and sweeps as one HTML file that needs no network; return its path.

    `what`: names of papers, experiment files and folders of results; all papers by default. `quick`, `jobs`, `cache`,
    `report`: see `nandram.reproduce`. `sensitivity`: include the sensitivity of claims to parameters, from quick runs,
    where an experiment declares it.

    Raises `UserError` for a mistake in any argument.
    """
    from nandram.language.grid import words
    from nandram.options import nearest
    from nandram.papers import library
    from nandram.report.page import render

    target = Path(output)
    folders = [Path(each) for each in what if Path(each).is_dir()]
    papers = [os.fspath(each) for each in what if not Path(each).is_dir()]
    for name in papers:
        if name not in library.papers() and not Path(name).exists():
            known = f"a folder of results, an experiment file, or a paper: {words(tuple(library.papers()))}"
            raise UserError(f"found `{name}`, expected {known}{nearest(name, tuple(library.papers()))}")
    sections = [*_together(folders), *(_folder(folder, f"run-{number}") for number, folder in enumerate(folders, 1))]
    if papers or not folders:
        sections = [*_papers(papers, quick, sensitivity, jobs, cache, report), *sections]
    title = sections[0].title if len(sections) == 1 else "nandram: papers and runs" if folders else "nandram: papers"
    about = "Simulated in virtual time. Every value is marked as given, assumed or calibrated."
    _write(target, render(title, about, sections))
    return target


def _papers(
    names: list[str],
    quick: bool,
    sensitivity: bool,
    jobs: int | None,
    cache: str | os.PathLike[str] | None,
    report: "Report | None",
) -> "list[Section]":
    from nandram.options import default_cache
    from nandram.papers import library, reproduce
    from nandram.papers.sensitivity import sensitivity as moved
    from nandram.report import paper

    found = reproduce(*names, quick=quick, jobs=jobs, cache=cache, report=report)
    kept = Path(default_cache()) if cache == "default" else None if cache is None else Path(os.fspath(cache))
    sections = [paper.summary(found)]
    for name, short in zip(names or library.papers(), found.titles, strict=True):
        loaded = library.load(name, quick=True)
        effects = moved(loaded, jobs=jobs, cache=kept, report=report) if sensitivity else []
        sections.append(paper.section(found, short, effects))
    return sections


OVERLAID_MAX = 4
"""Maximum number of runs in a chart: each has two lines, and there are eight colors."""


def _together(folders: list[Path]) -> "list[Section]":
    """Return a section with charts of two to four runs together."""
    from nandram.report import depth, overlay
    from nandram.report.page import Section
    from nandram.results.output import interpreted
    from nandram.results.result import read_result

    runs = [folder for folder in folders if (folder / "summary.json").is_file()]
    if len(runs) < 2:
        return []
    letters = [chr(ord("A") + number) if number < 26 else f"run {number + 1}" for number in range(len(runs))]
    results = {}
    for letter, folder in zip(letters, runs, strict=True):
        result = read_result(folder)
        with interpreted(folder):
            results[letter] = (result,)
            overlay.figures({letter: (result,)}, "")
    names = [f"{letter}: {folder}" for letter, folder in zip(letters, runs, strict=True)]
    source = "; ".join(names)
    # Runs that differ in their depth alone are one line, however many there are.
    figures = overlay.figures(results, source) if len(runs) <= OVERLAID_MAX else depth.figures(results, source)
    return [Section("The runs together", "together", parts=[*names, *figures])] if figures else []


def _folder(folder: Path, anchor: str) -> "Section":
    from nandram.report import run
    from nandram.results.result import read_result

    if (folder / "summary.json").is_file():
        from nandram.results.output import interpreted

        result = read_result(folder)
        with interpreted(folder):
            return run.section(result, anchor)
    if (folder / "sweep.toml").is_file():
        from nandram.report import sweep
        from nandram.sweep import read_sweep

        return sweep.section(read_sweep(folder), anchor)
    raise UserError(f"{folder}: holds no result: there is no summary.json of a run and no sweep.toml in it")
