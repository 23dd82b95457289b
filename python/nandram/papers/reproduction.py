"""Reproduction of papers: every claim with our figure and a verdict."""

import fnmatch
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandram.errors import UserError

if TYPE_CHECKING:
    import polars as pl

    from nandram.papers.bands import BandTable
    from nandram.papers.charts import Drawn
    from nandram.papers.entries import Entry
    from nandram.papers.experiment import Experiment
    from nandram.papers.library import Paper
    from nandram.papers.robustness.compared import VariantTable
    from nandram.papers.robustness.table import PaperRobustness
    from nandram.papers.runs.own_traces import OwnTraces
    from nandram.papers.runs.play import Outcome, Report, Task
    from nandram.papers.verdict import Row


@dataclass(frozen=True)
class Reproduction:
    """Result of `reproduce`: one row per claim, in the order of the papers and their claims."""

    rows: "tuple[Row, ...]"
    titles: dict[str, str]
    """Titles of the papers by short name, in order."""
    values: dict[str, dict[str, Any]]
    """By paper, the named values of its experiment whose runs were made: a number, a string or a Boolean; for a sweep,
    a list with one dictionary per point that holds its coordinates and its ``value``."""
    quick: bool
    """Whether the quick runs were used."""
    bands: "tuple[BandTable, ...]" = ()
    """Tables of the papers with our results, if their runs were made."""
    points: int = 0
    """Number of runs."""
    left_out: int = 0
    """Number of runs that quick mode left out."""
    charts: "tuple[Drawn, ...]" = ()
    """Figures of the papers redrawn from our runs, if these were made."""
    manifests: "dict[str, list[dict[str, Any]]]" = field(default_factory=dict)
    """By paper, the manifests of the runs, one per system and set of changes."""
    variants: "list[VariantTable]" = field(default_factory=list)
    """All claims in each declared variant, by paper, if they were evaluated."""

    def __iter__(self) -> "Iterator[Row]":
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, claim: str) -> "Row":
        """Return the row of a claim, by its id. Raises `KeyError`."""
        for row in self.rows:
            if row.id == claim:
                return row
        raise KeyError(claim)

    def of(self, paper: str) -> "list[Row]":
        """Return the rows of a paper."""
        return [row for row in self.rows if row.id.startswith(f"{paper}.")]

    @property
    def counts(self) -> dict[str, int]:
        """Number of claims by verdict."""
        from nandram.papers.verdict import VERDICTS

        found = Counter(row.verdict for row in self.rows)
        return {verdict: found[verdict] for verdict in VERDICTS}

    @property
    def json(self) -> str:
        """The rows as a JSON array of objects: ``id, paper, ours, unit, deviation, verdict, rests_on, robustness``."""
        return json.dumps([asdict(row) for row in self.rows], indent=2, ensure_ascii=False) + "\n"

    def frame(self) -> "pl.DataFrame":
        """Return a frame with one row per claim; the bounds of a range are in ``paper`` and ``paper_high``."""
        import polars as pl

        def ends(row: "Row") -> tuple[Any, Any]:
            return row.paper if isinstance(row.paper, tuple) else (row.paper, None)

        columns = {
            "id": ([row.id for row in self.rows], pl.String),
            "paper": ([ends(row)[0] for row in self.rows], pl.Float64),
            "paper_high": ([ends(row)[1] for row in self.rows], pl.Float64),
            "ours": ([row.ours for row in self.rows], pl.Float64),
            "unit": ([row.unit for row in self.rows], pl.String),
            "deviation": ([row.deviation for row in self.rows], pl.Float64),
            "verdict": ([row.verdict for row in self.rows], pl.String),
            "test": ([row.rests_on.test for row in self.rows], pl.String),
            "rests_on": ([row.rests_on.brief for row in self.rows], pl.String),
            "robustness": ([row.robustness for row in self.rows], pl.String),
            "note": ([row.rests_on.note for row in self.rows], pl.String),
        }
        return pl.DataFrame([pl.Series(name, values, dtype) for name, (values, dtype) in columns.items()])

    def bands_frame(self) -> "pl.DataFrame":
        """Return the cells of the tables: ``paper, table, place, printed``, and our ``median, low, high``."""
        import polars as pl

        rows = [
            {
                "paper": table.paper,
                "table": table.title,
                "place": ", ".join(f"{axis}={coordinate}" for axis, coordinate in cell.place.items()),
                "printed": cell.paper,
                "median": cell.median,
                "low": cell.low,
                "high": cell.high,
            }
            for table in self.bands
            for cell in table.cells
        ]
        texts = dict.fromkeys(("paper", "table", "place"), pl.String)
        numbers = dict.fromkeys(("printed", "median", "low", "high"), pl.Float64)
        return pl.DataFrame(rows, schema={**texts, **numbers})

    def __repr__(self) -> str:
        counts = ", ".join(f"{number} {verdict}" for verdict, number in self.counts.items() if number)
        return f"<Reproduction of {', '.join(self.titles)}: {counts or 'no claim'}>"

    def _repr_html_(self) -> str:
        html: str = self.frame()._repr_html_()
        return html


def reproduce(
    *papers: str,
    quick: bool = False,
    claims: str | None = None,
    jobs: int | None = None,
    cache: str | os.PathLike[str] | None = "default",
    output: str | os.PathLike[str] | None = None,
    report: "Report | None" = None,
    draws: int | None = None,
    variants: bool = False,
    traces: str | os.PathLike[str] | None = None,
) -> Reproduction:
    """Evaluate the claims of papers with their experiments; of all papers by default.

    `papers`: names (``ddrssd``) or experiment files. `quick`: use the shorter runs that the experiments define.
    `claims`: evaluate only claims whose id matches this pattern (``*.read_*``). `jobs`: number of parallel runs, by
    default one per processor. `cache`: cache folder for runs and prepared drives, None for no cache, or ``default``:
    ``$NANDRAM_CACHE``, or ``nandram`` in the user's cache folder. `output`: folder for the claims (``claims.json``),
    the experiments' values (``values.json``) and the runs. `report`: called with the progress of the runs. `draws`:
    evaluate each claim in so many joint draws of everything assumed, and in its counter-models; without it, what was
    evaluated for the bundled papers is shown. `variants`: also evaluate all claims in each variant that an experiment
    declares. `traces`: folder of page traces of your own, each of which replaces the experiment's trace of the same
    name (``djpeg-O2.pages.zst``); not together with `draws` or `variants`.

    Raises `UserError` for a mistake in any argument or in an experiment.
    """
    from nandram.options import at_a_time, at_least_one, default_cache, text_of
    from nandram.papers import library
    from nandram.papers.robustness import compared, table
    from nandram.papers.runs import play
    from nandram.papers.runs.own_traces import OwnTraces

    if draws is not None:
        at_least_one("draws", draws)
    threads = at_a_time(jobs)
    claims = None if claims is None else text_of("claims", claims)
    kept = Path(default_cache()) if cache == "default" else None if cache is None else Path(os.fspath(cache))
    if kept is not None and kept.exists() and not kept.is_dir():
        raise UserError(f"cache: found the file `{kept}`, expected a folder")
    loaded = [library.load(name, quick=quick) for name in papers or library.papers()]
    names = [each.claims.paper for each in loaded]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"papers: found `{name}` {names.count(name)} times, expected each once")
    own = None if traces is None else OwnTraces(Path(os.fspath(traces)))
    if own is not None and (draws is not None or variants):
        raise UserError("traces: found `draws` or `variants` as well, expected only one of them")
    if own is not None:
        own.check(paper.experiment for paper in loaded if paper.experiment is not None)
    plans = [_Plan(paper, claims, own) for paper in loaded]
    if claims is not None and not any(plan.wanted for plan in plans):
        raise UserError(f"claims: found no claim like `{claims}` of {', '.join(names)}")
    if output is not None:
        from nandram.folders import check

        check(Path(output))
    tasks = [task for plan in plans for task in plan.tasks.values()]
    outcomes = play.play(tasks, jobs=threads, cache=kept, report=report)
    rows: list[Row] = []
    bands: list[BandTable] = []
    charts: list[Drawn] = []
    values: dict[str, dict[str, Any]] = {}
    robust: dict[str, PaperRobustness] = {}
    in_variants: list[VariantTable] = []
    for plan in plans:
        if variants:
            wanted = [claim.id for claim in plan.wanted]
            compares = compared.compare(plan.paper, jobs=threads, cache=kept, wanted=wanted, report=report)
            in_variants += [] if compares is None else [compares]
        of_it, values[plan.name], tables = plan.result(outcomes)
        if draws is not None and plan.paper.experiment is not None:
            robust[plan.name] = table.evaluate(
                plan.paper, count=draws, quick=quick, jobs=threads, cache=kept, report=report
            )
        rows += plan.with_robustness(of_it, robust or table.load(), quick=quick)
        bands += tables
        charts += plan.charts(outcomes)
    titles = {each.claims.paper: each.claims.title for each in loaded}
    left_out = sum(plan.left_out for plan in plans)
    found = Reproduction(tuple(rows), titles, values, quick, tuple(bands), len(tasks), left_out, tuple(charts))
    found.variants.extend(in_variants)
    for plan in plans:
        manifests = [outcomes[task.key].manifest for task in plan.tasks.values()]
        found.manifests[plan.name] = list({(m["system"], *m["changes"]): m for m in manifests}.values())
    if output is not None:
        _save(found, Path(output), tasks, outcomes)
        if robust:
            table.save(robust, Path(output, "robustness.json"))
    return found


def _save(found: Reproduction, folder: Path, tasks: "list[Task]", outcomes: "dict[str, Outcome]") -> None:
    from nandram.papers.runs import play

    for task in tasks:
        play.save(folder, task, outcomes[task.key])
    try:
        text = json.dumps(found.values, indent=2, ensure_ascii=False) + "\n"
        (folder / "values.json").write_text(text, encoding="utf-8")
        if found.bands:
            text = json.dumps([asdict(table) for table in found.bands], indent=2, ensure_ascii=False) + "\n"
            (folder / "bands.json").write_text(text, encoding="utf-8")
        if found.variants:
            text = json.dumps([asdict(table) for table in found.variants], indent=2, ensure_ascii=False) + "\n"
            (folder / "variants.json").write_text(text, encoding="utf-8")
        # Written last: a folder with claims.json holds all runs.
        (folder / "claims.json").write_text(found.json, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{error.filename or folder}: cannot be written: {error.strerror}") from error


class _Plan:
    """The runs needed for a paper."""

    def __init__(self, paper: "Paper", pattern: str | None, own: "OwnTraces | None") -> None:
        self.paper = paper
        self.own = own
        self.wanted = [
            claim
            for name, claim in paper.claims.claims.items()
            if pattern is None or fnmatch.fnmatchcase(name, pattern)
        ]
        self.tasks: dict[tuple[str, tuple[Any, ...], int], Task] = {}
        """Tasks by run, coordinates and seed."""
        self.left_out = 0
        if paper.experiment is not None:
            self._add_tasks(paper.experiment)

    def _add_tasks(self, experiment: "Experiment") -> None:
        from nandram.papers.runs import play

        entries = [experiment.entries[claim.id] for claim in self.wanted if claim.id in experiment.entries]
        needed = {name for entry in entries for name in experiment.runs_of(entry)}
        if len(self.wanted) == len(self.paper.claims.claims):
            needed.update(name for band in experiment.bands.values() for name in experiment.runs_of_band(band))
            needed.update(name for chart in experiment.charts.values() for name in experiment.runs_of_chart(chart))
        for name, run in experiment.runs.items():
            if name not in needed:
                continue
            self.left_out += run.left_out
            for place in run.places():
                for seed in run.seeds:
                    point = [f"{axis}={coordinate}" for axis, coordinate in place.items()]
                    point += [f"seed={seed}"] if len(run.seeds) > 1 else []
                    label = f"{self.paper.claims.paper}/{','.join([name, *point])}".replace(" ", "_")
                    asked = run.point(place, seed)
                    asked = asked if self.own is None else self.own.instead(asked)
                    task = play.task(asked, label, f"{experiment.file}: runs.{name}")
                    self.tasks[name, tuple(place.values()), seed] = task

    def _outcomes(
        self, experiment: "Experiment", entry: "Entry", outcomes: "dict[str, Outcome]"
    ) -> "dict[str, Outcome]":
        """Return the outcomes that an entry needs, by name of the run."""
        picked = {run: experiment.points_of(entry, run) for run in experiment.runs_of(entry)}
        found = {}
        for (run, key, _), task in self.tasks.items():
            if run in picked:
                place = dict(zip(experiment.runs[run].axes, key, strict=True))
                if all(place[axis] in wanted for axis, wanted in picked[run].items()):
                    found[task.name] = outcomes[task.key]
        return found

    @property
    def name(self) -> str:
        """The paper's short name."""
        return self.paper.claims.paper

    def result(self, outcomes: "dict[str, Outcome]") -> "tuple[list[Row], dict[str, Any], list[BandTable]]":
        """Return the rows of the selected claims, and the experiment's values and bands. Raises `UserError`."""
        from nandram.papers import bands
        from nandram.papers.scope import figures, scope
        from nandram.papers.verdict import judge

        claims, experiment = self.paper.claims, self.paper.experiment
        if experiment is None:
            return [judge(claims, claim, None, None, {}, {}, {}) for claim in self.wanted], {}, []
        names = scope(experiment, {key: outcomes[task.key] for key, task in self.tasks.items()})
        rows = []
        for claim in self.wanted:
            entry = experiment.entries.get(claim.id)
            ours = entry.ours.evaluate(names) if entry is not None and entry.ours is not None else None
            of_it = {} if entry is None else self._outcomes(experiment, entry, outcomes)
            rows.append(judge(claims, claim, entry, ours, names, of_it, experiment.basis))
        made = {run for run, _, _ in self.tasks}
        tables = [
            bands.evaluate(claims, name, band, names)
            for name, band in experiment.bands.items()
            if made.issuperset(experiment.runs_of_band(band))
        ]
        return rows, figures(experiment, names), tables

    def with_robustness(self, rows: "list[Row]", kept: "Mapping[str, PaperRobustness]", *, quick: bool) -> "list[Row]":
        """Return the rows with the share of draws in which each claim holds. Raises `UserError`."""
        from nandram.papers.library import load
        from nandram.papers.robustness.table import key_of
        from nandram.papers.verdict import with_robustness

        found = kept.get(self.name)
        # Draws for an experiment's own traces say nothing about other traces.
        if found is None or self.paper.experiment is None or self.own is not None:
            return rows
        # The systems of quick runs are not those of the whole ones.
        key = key_of(load(self.paper.name, quick=found.quick))
        return [
            with_robustness(row, found.share(row.id, key, row.ours, quick=quick), known=row.id in found.shares)
            for row in rows
        ]

    def charts(self, outcomes: "dict[str, Outcome]") -> "list[Drawn]":
        """Return the experiment's charts whose runs were made. Raises `UserError`."""
        from nandram.papers.charts import draw
        from nandram.papers.scope import scope

        experiment = self.paper.experiment
        if experiment is None or not experiment.charts:
            return []
        made = {run for run, _, _ in self.tasks}
        names = scope(experiment, {key: outcomes[task.key] for key, task in self.tasks.items()})
        return [
            draw(self.paper.claims, name, chart, names)
            for name, chart in experiment.charts.items()
            if made.issuperset(experiment.runs_of_chart(chart))
        ]
