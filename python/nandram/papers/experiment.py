"""Experiment files: which runs are made, and what of them stands for which claim. In the folder ``experiments/``.

    paper = "ssd_crosscheck"          whose claims; left out: the file's own name

    [constants]                       named numbers and texts, for {name} in texts, and for expressions
    requests = 200000
    [basis]                           what each constant rests on: `nandram.papers.constants`
    requests = { assumed = "long enough for a mean within 1 %" }
    [quick]                           their values with --quick
    requests = 20000

    [measures]                        of a run, like `nandram.language.measures`: expressions over summary.json
    map_reads_a_request = "nandram.ftl.map_reads / nandram.requests"

    [runs.ideal]                      a run; with `grid` a run for each point
    system = "mqsim-ideal-map"        a preset, or a file beside this one
    set = { "flash.read" = "{read_us}us" }
    grid = { depth = [1, 2, 4] }      axes; {depth} in texts, or {4 * depth}
    quick = { depth = [1, 4] }        with --quick only these; what is left out is counted
    precondition = "fill"             and warm_up, payload: as of `nandram run`
    seed = 1
    repeat = 3                        seeds 1, 2, 3: a measure is the mean
    job = '''...'''                   a fio job; or trace = "FILE", or generate = { kind = "mix", ... },
                                      both with replay and wrap as of `nandram run`

    [runs.policies]
    pages = { trace = "djpeg-arm-O2", policies = ["lru", "min"], windows = "2..1024" }
                                      instead of a job: a page trace through policies, on a system with a OneNAND
    [runs.caches]
    probe = { tests = ["read-cache"] }
                                      instead of a job: what `nandram probe` finds of the drive
    program = '''kind = "gups" ...'''  instead of a job: programs, on a system that simulates main memory
    [values]                          named expressions, each over runs, constants and the values above it
    gain = "ideal(depth=4).read_mb_s / ideal(depth=1).read_mb_s"

    [bands.fixed]                     a table of the paper beside ours: median and range of `ours` over an axis
    title = "Table 5: time, PM-XIP(8,4) / LRU"
    ours = "policies.time"
    over = "build"
    paper = "xip.table5.{program}.{sram_kib}.time_fixed"      the claims, by the other axes; or one number

    [charts.throughput]               figures of the paper, drawn anew: `nandram.papers.charts`
    [sensitivity]                     which parameter moves which claim: `nandram.papers.parameters`
    [counters.one_die]                a model in which claims must fail: `nandram.papers.robustness.declared`
    [variants.authors]                another choice of what the paper leaves open: the same
    [robustness]                      plausible ranges of what is assumed: the same

    [tests]                           by the kind of claim: when a claim holds, and who decided that
    number = { within = 0.10, set_by = "..." }

    [claims]                          by id: our figure
    "ssd_crosscheck.a" = "ideal(depth=1).read_us"
    "ssd_crosscheck.b" = { ours = "gain", holds = "5 <= ours <= 20", set_by = "...", note = "...", counter = "one_die" }
    "ssd_crosscheck.c" = { not_comparable = "why there is no figure" }
    "xip.table5.{program}.{kib}.time" = "median(policies(program='{program}', sram_kib={kib}).time)"
                                      the cells of a table (`nandram.papers.cells`)

A number, ratio, bound or arithmetic claim needs a test: ``within``, the relative deviation allowed, ``holds``, an
expression in which ``ours`` and ``paper`` are the figures, or ``factor``, by which they may differ, where the paper
says "an order of magnitude" (the verdict is then ``same-order`` at best). A range holds inside it, a shape if ours is
true or equal. A claim that holds and names no counter-model is trivial; one whose counter-models were not evaluated is
not tested. ``input = "KEY"``: our figure is that key of the system read
back, so that agreement shows only that the measurement works.
"""

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nandram.language.expression import Expression
from nandram.language.grid import Coordinate, words
from nandram.language.measures import MEASURES
from nandram.language.tables import Table, parse
from nandram.options import nearest
from nandram.papers import charts, parameters
from nandram.papers.charts import Chart
from nandram.papers.claims import Claims
from nandram.papers.constants import Basis, Constant, check_name, read_basis, read_constants
from nandram.papers.entries import Entry, read_entries, read_tests
from nandram.papers.parameters import Declared
from nandram.papers.robustness.declared import Counter, Ranges, read_counters, read_ranges
from nandram.papers.runs.generators import GENERATORS
from nandram.papers.runs.pages import PagesRun, pages_run
from nandram.papers.runs.probes import ProbeRun, probe_run

_IN_BRACES = re.compile(r"\{(?:(\d+) \* )?([A-Za-z_]\w*)\}")
_OPTIONS = ("precondition", "warm_up", "payload", "replay")
_WORKLOADS = ("job", "trace", "generate", "pages", "probe", "program")
_RUN = ("system", "set", "grid", "quick", "seed", "repeat", *_OPTIONS, "wrap", *_WORKLOADS)


@dataclass(frozen=True)
class Band:
    """A table of the paper beside ours."""

    title: str
    ours: Expression
    """A series."""
    over: str
    """The axis along which median and range are taken."""
    paper: float | str
    """A number, or the claims: a pattern of `nandram.papers.cells`, filled by the other axes."""
    place: str
    """Where it stands, for messages."""


@dataclass(frozen=True)
class Point:
    """One run to be made: a point of a grid and a seed."""

    system: str
    """A preset's name or a file's path."""
    changes: dict[str, object]
    text: str | None
    """A job or a trace; None if it is the file `path`."""
    path: Path | None
    trace: bool
    options: dict[str, Any]
    """As `nandram.run` takes them: seed, precondition and so on."""
    pages: PagesRun | None = None
    """What a page trace, `path`, is asked; None if this is no page trace."""
    probe: ProbeRun | None = None
    """What the drive is probed for; None if it is not."""
    program: bool = False
    """The text is a file of programs."""

    @property
    def file(self) -> str:
        """The name of the file that its text is written to."""
        return "trace.iolog" if self.trace else "program.toml" if self.program else "job.fio"


@dataclass(frozen=True)
class Run:
    """Runs that are made: one, or one for each point of a grid."""

    name: str
    axes: dict[str, tuple[Coordinate, ...]]
    seeds: tuple[int, ...]
    table: Table
    """As the file has it; checked."""
    constants: dict[str, Constant]
    folder: Path | None
    """Of the file; None if it came with the program."""
    left_out: int = 0
    """Points of the grid that are left out to be quick."""

    def places(self) -> Iterator[dict[str, Coordinate]]:
        """The points of the grid, in order; one without coordinates if there is none."""
        for key in itertools.product(*self.axes.values()):
            yield dict(zip(self.axes, key, strict=True))

    def point(self, place: dict[str, Coordinate], seed: int) -> Point:
        """The run at a point of the grid with a seed. Raises `UserError`."""
        return _point(self, place, seed, set())


@dataclass(frozen=True)
class Experiment:
    """An experiment file, read and checked."""

    file: str
    """As messages name it."""
    constants: dict[str, Constant]
    measures: dict[str, Expression]
    runs: dict[str, Run]
    values: dict[str, Expression]
    entries: dict[str, Entry]
    """By claim; a claim may have none."""
    uses: dict[str, set[str]] = field(default_factory=dict)
    """The runs that each value needs."""
    bands: dict[str, Band] = field(default_factory=dict)
    """By name."""
    charts: dict[str, Chart] = field(default_factory=dict)
    """By name."""
    sensitivity: Declared | None = None
    basis: dict[str, Basis] = field(default_factory=dict)
    """Of each constant."""
    counters: dict[str, Counter] = field(default_factory=dict)
    """Counter-models by name."""
    variants: dict[str, Counter] = field(default_factory=dict)
    """Other choices of what the paper leaves open, by name."""
    ranges: Ranges = field(default_factory=Ranges)
    """Plausible ranges of what is assumed."""
    declared: dict[str, Any] = field(default_factory=dict)
    """The tables of the file, in its order, by which a kept robustness is found again."""

    def runs_of(self, entry: Entry) -> list[str]:
        """The runs that an entry needs, in the order of the file."""
        expressions = [entry.ours, entry.test.holds if entry.test else None]
        names = set().union(*(each.names for each in expressions if each is not None))
        return self._runs_of_names(names)

    def points_of(self, entry: Entry, run: str) -> dict[str, set[Any]]:
        """The coordinates of a run that an entry needs, by axis; of an axis that is not there, all."""
        expressions = [each for each in (entry.ours, entry.test.holds if entry.test else None) if each is not None]
        if any(run in self.uses.get(name, ()) for each in expressions for name in each.names):
            return {}  # through a value
        found = [each.picked(run) for each in expressions if run in each.names]
        axes = set.intersection(*map(set, found)) if found else set()
        return {axis: set().union(*(each[axis] for each in found)) for axis in axes}

    def runs_of_band(self, band: Band) -> list[str]:
        """The runs that a band needs, in the order of the file."""
        return self._runs_of_names(band.ours.names)

    def runs_of_chart(self, chart: Chart) -> list[str]:
        """The runs that a chart needs, in the order of the file."""
        return self._runs_of_names(set().union(*(each.names for each in itertools.chain(*chart.ours.values()))))

    def _runs_of_names(self, names: set[str]) -> list[str]:
        needed = set().union(*(self.uses.get(name, set()) for name in names)) | (names & self.runs.keys())
        return [name for name in self.runs if name in needed]


def tables(file: str, text: str) -> Table:
    """Read the tables of an experiment file, and its key ``paper``. Raises `UserError`."""
    top = parse(file, text)
    top.only(
        *("paper", "constants", "basis", "quick", "measures", "runs", "values", "bands", "charts", "sensitivity"),
        *("counters", "variants", "robustness", "tests", "claims"),
    )
    top.text("paper", "")
    return top


def read(top: Table, folder: Path | None, claims: Claims, *, quick: bool = False) -> Experiment:
    """Read an experiment for the claims of a paper from its `tables`. Raises `UserError`."""
    constants = read_constants(top, quick=quick)
    basis = read_basis(top, claims)
    measures = _measures(top)
    runs = {name: _run(table, name, constants, folder, quick) for name, table in top.table("runs").tables().items()}
    for name in runs.keys() & constants.keys():
        raise top.table("runs").error(name, name, "a name that is no constant's")
    values, uses = _values(top.table("values"), constants, runs, measures)
    scope = {*constants, *runs, *values}
    tests = read_tests(top.table("tests"), constants)
    counters = read_counters(top, tuple(runs), tuple(constants))
    variants = read_counters(top, tuple(runs), tuple(constants), "variants")
    entries = read_entries(top.table("claims"), claims, tests, scope, tuple(counters))
    for entry in entries.values():
        if entry.ours is not None:
            _check_runs(entry.ours, runs, measures)
    bands = {name: _band(table, scope) for name, table in top.table("bands").tables().items()}
    for band in bands.values():
        _check_runs(band.ours, runs, measures)
    drawn = {name: charts.read(table, claims, scope) for name, table in top.table("charts").tables().items()}
    for chart in drawn.values():
        for expression in itertools.chain(*chart.ours.values()):
            _check_runs(expression, runs, measures)
    asked = parameters.read(top.table("sensitivity"), claims, values)
    return Experiment(
        *(top.file, constants, measures, runs, values, entries, uses, bands, drawn, asked),
        basis=basis,
        counters=counters,
        variants=variants,
        ranges=read_ranges(top),
        declared=top.values,
    )


def _measures(top: Table) -> dict[str, Expression]:
    measures = {name: Expression(text, f"measure {name}") for name, text in MEASURES.items()}
    table = top.table("measures")
    for key in table.values:
        check_name(table, key)
        if key in MEASURES:
            raise table.error(key, key, "a name that is no measure of every run")
        measures[key] = Expression(table.text(key), table.place(key))
    for measure in measures.values():
        measure.expect(("jobs", "nandram"))
    return measures


# -- runs


def _run(table: Table, name: str, constants: dict[str, Constant], folder: Path | None, quick: bool) -> Run:
    check_name(table, name)
    table.only(*_RUN)
    axes: dict[str, tuple[Coordinate, ...]] = {}
    grid = table.table("grid")
    for axis in grid.values:
        check_name(grid, axis)
        found = grid.take(axis, "a list of numbers or texts", list)
        right = all(isinstance(each, int | float | str) and not isinstance(each, bool) for each in found)
        if not found or not right or len(set(found)) != len(found):
            raise grid.error(axis, found, "a list of different numbers or texts")
        if axis in constants:
            raise grid.error(axis, axis, "a name that is no constant's")
        axes[axis] = tuple(found)
    seed, repeat = table.whole("seed", 0, 1), table.whole("repeat", 1, 1)
    run = Run(name, axes, tuple(range(seed, seed + repeat)), table, constants, folder)
    used: set[str] = set()
    for place in run.places():
        _point(run, place, seed, used)
    for axis in axes:
        if axis not in used:
            raise grid.error(axis, axis, f"an axis that the run uses, as {{{axis}}}")
    fewer = _fewer(table.table("quick"), axes)
    if not quick or fewer == axes:
        return run
    points, left = (math.prod(map(len, each.values())) for each in (axes, fewer))
    return replace(run, axes=fewer, left_out=(points - left) * repeat)


def _fewer(table: Table, axes: dict[str, tuple[Coordinate, ...]]) -> dict[str, tuple[Coordinate, ...]]:
    """The axes of a grid with only those coordinates that quick runs have."""
    fewer = dict(axes)
    for axis in table.values:
        if axis not in axes:
            raise table.error(axis, axis, f"an axis of the grid: {words(axes)}{nearest(axis, tuple(axes))}")
        kept = table.take(axis, "a list of the grid's coordinates", list)
        for each in kept:
            if each not in axes[axis]:
                raise table.error(axis, each, f"some of {words([str(known) for known in axes[axis]])}")
        if not kept:
            raise table.error(axis, kept, "a list of the grid's coordinates")
        fewer[axis] = tuple(each for each in axes[axis] if each in kept)
    return fewer


def _point(run: Run, place: dict[str, Coordinate], seed: int, used: set[str]) -> Point:
    """The run at a point; adds the names that it uses to `used`."""
    names = {**run.constants, **place}

    def filled(table: Table, key: str, value: object) -> Any:
        return _filled(table, key, value, names, used)

    table = run.table
    system = filled(table, "system", table.text("system"))
    if run.folder is not None and (system.endswith(".toml") or "/" in system):
        system = str(run.folder / system)
    sets = table.table("set")
    changes = {key: filled(sets, key, value) for key, value in sets.values.items()}
    options: dict[str, Any] = {"seed": seed}
    for option in _OPTIONS:
        if option in table.values:
            options[option] = str(filled(table, option, table.text(option)))
    if "wrap" in table.values:
        options["wrap"] = table.take("wrap", "true or false", bool)
    given = [key for key in _WORKLOADS if key in table.values]
    if len(given) != 1:
        found = f"`{'`, `'.join(given)}`" if given else "none"
        raise table.missing(
            f"found {found}, expected one of `job`, `trace`, `generate`, `pages`, `probe` and `program`"
        )
    text, path = None, None
    if given == ["job"]:
        text = str(filled(table, "job", table.text("job")))
    elif given == ["trace"]:
        path = Path(str(filled(table, "trace", table.text("trace"))))
        if run.folder is None:
            raise table.error("trace", path, "a job or a generator: an experiment of the program has no folder")
        path = run.folder / path
    elif given == ["generate"]:
        text = _generated(table.table("generate"), filled)
    elif given == ["program"]:
        text = str(filled(table, "program", table.text("program")))
    elif given == ["probe"]:
        for option in (*_OPTIONS, "wrap"):
            if option in options and option != "precondition":
                raise table.error(option, options[option], "no such key beside `probe`")
        probe = probe_run(table.table("probe"), filled)
        return Point(system, changes, "", None, False, options, probe=probe)
    else:
        pages, path = pages_run(table.table("pages"), filled, run.folder)
        return Point(system, changes, None, path, True, options, pages)
    trace = given not in (["job"], ["program"])
    return Point(system, changes, text, path, trace, options, program=given == ["program"])


def _generated(table: Table, filled: Any) -> str:
    table = Table(table.file, table.key, {key: filled(table, key, value) for key, value in table.values.items()})
    kind = table.text("kind")
    if kind not in GENERATORS:
        raise table.one_of("kind", kind, tuple(GENERATORS))
    return GENERATORS[kind](table)


def _filled(table: Table, key: str, value: object, names: dict[str, Constant], used: set[str]) -> Any:
    """A text with its names in braces filled in: a text that is nothing but one becomes what it names."""
    if not isinstance(value, str):
        return value

    def named(match: re.Match[str]) -> Constant:
        times, name = match.groups()
        if name not in names:
            raise table.error(key, match[0], f"{words(names)}{nearest(name, tuple(names))}")
        used.add(name)
        found = names[name]
        if times is None:
            return found
        if isinstance(found, str):
            raise table.error(key, match[0], f"a number as `{name}`")
        return int(times) * found

    whole = _IN_BRACES.fullmatch(value)
    return named(whole) if whole else _IN_BRACES.sub(lambda match: str(named(match)), value)


# -- values and claims


def _check_runs(expression: Expression, runs: dict[str, Run], measures: dict[str, Expression]) -> None:
    """Raise `UserError` if an expression uses a measure or a point that a run does not have."""
    for run in runs:
        for axis, coordinate in expression.points(run):
            axes = runs[run].axes
            if axis not in axes:
                hint = nearest(axis, tuple(axes))
                raise expression.error(f"found the axis `{axis}` of `{run}`, expected {words(axes)}{hint}")
            if coordinate is not None and coordinate not in axes[axis]:
                known = words([str(each) for each in axes[axis]])
                raise expression.error(f"found {axis}={coordinate} of `{run}`, expected {known}")
        for name in sorted(expression.members(run) - measures.keys()):
            hint = nearest(name, tuple(measures))
            raise expression.error(f"found the measure `{name}`, expected {words(sorted(measures))}{hint}")


def _values(
    table: Table, constants: dict[str, Constant], runs: dict[str, Run], measures: dict[str, Expression]
) -> tuple[dict[str, Expression], dict[str, set[str]]]:
    values: dict[str, Expression] = {}
    uses: dict[str, set[str]] = {}
    for key in table.values:
        check_name(table, key)
        if key in constants or key in runs:
            raise table.error(key, key, "a name that is no constant's and no run's")
        value = Expression(table.text(key), table.place(key))
        value.expect({*constants, *runs, *values})
        _check_runs(value, runs, measures)
        uses[key] = (value.names & runs.keys()).union(*(uses.get(name, set()) for name in value.names))
        values[key] = value
    return values, uses


def _band(table: Table, scope: set[str]) -> Band:
    table.only("title", "ours", "over", "paper")
    ours = Expression(table.text("ours"), table.place("ours"))
    ours.expect(scope)
    return Band(
        table.text("title"),
        ours,
        table.text("over"),
        table.take("paper", "a number, or the names of claims", str, int, float),
        table.place("paper"),
    )
