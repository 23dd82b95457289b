"""Experiment files: which runs are made, and what of them stands for which claim. In the folder ``experiments/``.

    paper = "ssd_crosscheck"          whose claims; left out: the file's own name

    [constants]                       named numbers and texts, for {name} in texts, and for expressions
    requests = 200000
    [quick]                           their values with --quick
    requests = 20000

    [measures]                        of a run, beside those of `nandram.papers.measures`: expressions over summary.json
    map_reads_a_request = "nandram.ftl.map_reads / nandram.requests"

    [runs.ideal]                      a run; with `grid` a run for each point
    system = "mqsim-ideal-map"        a preset, or a file beside this one
    set = { "flash.read" = "{read_us}us" }
    grid = { depth = [1, 2, 4] }      axes; {depth} in texts
    precondition = "fill"             and warm_up, payload: as of `nandram run`
    seed = 1
    repeat = 3                        seeds 1, 2, 3: a measure is the mean
    job = '''...'''                   a fio job; or trace = "FILE", or generate = { kind = "mix", ... },
                                      both with replay and wrap as of `nandram run`

    [runs.policies]
    pages = { trace = "djpeg-arm-O2", policies = ["lru", "min"], windows = "2..1024" }
                                      instead of a job: a page trace through policies, on a system with a OneNAND
    [values]                          named expressions, each over runs, constants and the values above it
    gain = "ideal(depth=4).read_mb_s / ideal(depth=1).read_mb_s"

    [bands.fixed]                     a table of the paper beside ours: median and range of `ours` over an axis
    title = "Table 5: time, PM-XIP(8,4) / LRU"
    ours = "policies.time"
    over = "build"
    paper = [[0.43, 0.38], [0.44, 0.38]]      by the other axes, in their order

    [tests]                           by the kind of claim: when a claim holds, and who decided that
    number = { within = 0.10, set_by = "..." }

    [claims]                          by id: our figure
    "ssd_crosscheck.a" = "ideal(depth=1).read_us"
    "ssd_crosscheck.b" = { ours = "gain", holds = "5 <= ours <= 20", set_by = "...", note = "..." }
    "ssd_crosscheck.c" = { not_comparable = "why there is no figure" }

A number, ratio, bound or arithmetic claim needs a test: ``within``, the relative deviation allowed, or ``holds``, an
expression in which ``ours`` and ``paper`` are the figures. A range holds inside it, a shape if ours is true or equal.
"""

import itertools
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nandram.options import nearest
from nandram.papers.claims import KINDS, Claims
from nandram.papers.expression import Expression
from nandram.papers.functions import FUNCTIONS
from nandram.papers.generators import GENERATORS
from nandram.papers.grid import Coordinate, words
from nandram.papers.measures import MEASURES
from nandram.papers.pages import PagesRun, pages_run
from nandram.papers.tables import Table, parse

Constant = int | float | str

SELF_EVIDENT = ("range", "shape")
"""Kinds of claims that need no test."""
_RESERVED = {"ours", "paper", "jobs", "nandram"}
_IN_BRACES = re.compile(r"\{([A-Za-z_]\w*)\}")
_OPTIONS = ("precondition", "warm_up", "payload", "replay")
_WORKLOADS = ("job", "trace", "generate", "pages")
_RUN = ("system", "set", "grid", "seed", "repeat", *_OPTIONS, "wrap", *_WORKLOADS)
_TEST = ("within", "holds", "set_by")


@dataclass(frozen=True)
class Criterion:
    """When a claim holds. Exactly one of `within` and `holds` is given."""

    within: float | None
    """The relative deviation allowed."""
    holds: Expression | None
    set_by: str
    """Who decided that."""


@dataclass(frozen=True)
class Entry:
    """What stands for a claim."""

    ours: Expression | None
    """None if there is no figure."""
    test: Criterion | None
    """None if the claim's kind is its own test."""
    note: str
    not_comparable: str
    """Why the figures cannot be compared; empty if they can."""


@dataclass(frozen=True)
class Band:
    """A table of the paper beside ours."""

    title: str
    ours: Expression
    """A series."""
    over: str
    """The axis along which median and range are taken."""
    paper: Any
    """A number, or lists of lists of them by the other axes."""
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

    def runs_of(self, entry: Entry) -> list[str]:
        """The runs that an entry needs, in the order of the file."""
        expressions = [entry.ours, entry.test.holds if entry.test else None]
        names = set().union(*(each.names for each in expressions if each is not None))
        return self._runs_of_names(names)

    def runs_of_band(self, band: Band) -> list[str]:
        """The runs that a band needs, in the order of the file."""
        return self._runs_of_names(band.ours.names)

    def _runs_of_names(self, names: set[str]) -> list[str]:
        needed = set().union(*(self.uses.get(name, set()) for name in names)) | (names & self.runs.keys())
        return [name for name in self.runs if name in needed]


def tables(file: str, text: str) -> Table:
    """Read the tables of an experiment file, and its key ``paper``. Raises `UserError`."""
    top = parse(file, text)
    top.only("paper", "constants", "quick", "measures", "runs", "values", "bands", "tests", "claims")
    top.text("paper", "")
    return top


def read(top: Table, folder: Path | None, claims: Claims, *, quick: bool = False) -> Experiment:
    """Read an experiment for the claims of a paper from its `tables`. Raises `UserError`."""
    constants = _constants(top, quick)
    measures = _measures(top)
    runs = {name: _run(table, name, constants, folder) for name, table in top.table("runs").tables().items()}
    for name in runs.keys() & constants.keys():
        raise top.table("runs").error(name, name, "a name that is no constant's")
    values, uses = _values(top.table("values"), constants, runs, measures)
    scope = {*constants, *runs, *values}
    tests = _tests(top.table("tests"), constants)
    entries = _entries(top.table("claims"), claims, tests, scope)
    for entry in entries.values():
        if entry.ours is not None:
            _check_runs(entry.ours, runs, measures)
    bands = {name: _band(table, scope) for name, table in top.table("bands").tables().items()}
    for band in bands.values():
        _check_runs(band.ours, runs, measures)
    return Experiment(top.file, constants, measures, runs, values, entries, uses, bands)


def _name(table: Table, key: str) -> None:
    if not key.isidentifier() or keyword.iskeyword(key) or key in FUNCTIONS or key in _RESERVED:
        raise table.error(key, key, "a name of letters, digits and underscores that expressions do not know already")


def _constants(top: Table, quick: bool) -> dict[str, Constant]:
    table, quicker = top.table("constants"), top.table("quick")
    expected = "a number or a text"
    found = {}
    for key in table.values:
        _name(table, key)
        found[key] = table.take(key, expected, int, float, str)
    for key in quicker.values:
        if key not in found:
            raise quicker.error(key, key, f"a constant: {words(found)}{nearest(key, tuple(found))}")
        value = quicker.take(key, expected, int, float, str)
        found[key] = value if quick else found[key]
    return found


def _measures(top: Table) -> dict[str, Expression]:
    measures = {name: Expression(text, f"measure {name}") for name, text in MEASURES.items()}
    table = top.table("measures")
    for key in table.values:
        _name(table, key)
        if key in MEASURES:
            raise table.error(key, key, "a name that is no measure of every run")
        measures[key] = Expression(table.text(key), table.place(key))
    for measure in measures.values():
        measure.expect(("jobs", "nandram"))
    return measures


# -- runs


def _run(table: Table, name: str, constants: dict[str, Constant], folder: Path | None) -> Run:
    _name(table, name)
    table.only(*_RUN)
    axes: dict[str, tuple[Coordinate, ...]] = {}
    grid = table.table("grid")
    for axis in grid.values:
        _name(grid, axis)
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
    return run


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
        raise table.missing(f"found {found}, expected one of `job`, `trace`, `generate` and `pages`")
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
    else:
        pages, path = pages_run(table.table("pages"), filled, run.folder)
        return Point(system, changes, None, path, True, options, pages)
    return Point(system, changes, text, path, given != ["job"], options)


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
        name = match[1]
        if name not in names:
            raise table.error(key, match[0], f"{words(names)}{nearest(name, tuple(names))}")
        used.add(name)
        return names[name]

    whole = _IN_BRACES.fullmatch(value)
    return named(whole) if whole else _IN_BRACES.sub(lambda match: str(named(match)), value)


# -- values and claims


def _check_runs(expression: Expression, runs: dict[str, Run], measures: dict[str, Expression]) -> None:
    """Raise `UserError` if a run is asked for a measure or a point that it does not have."""
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
        _name(table, key)
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
        table.take("paper", "a number, or lists of them", list, int, float),
        table.place("paper"),
    )


def _tests(table: Table, constants: dict[str, Constant]) -> dict[str, Criterion]:
    tests = {}
    for kind, each in table.tables().items():
        each.only(*_TEST)
        if kind not in KINDS:
            raise table.one_of(kind, kind, tuple(KINDS))
        test = _test(each, set(constants))
        if test is None:
            raise each.missing("found neither `within` nor `holds`, expected one of them")
        tests[kind] = test
    return tests


def _test(table: Table, scope: set[str]) -> Criterion | None:
    """The test of a table; None if it has none."""
    within = table.take("within", "a number above 0", int, float, default=None)
    holds = table.text("holds", None)
    set_by = table.text("set_by", None)
    if within is None and holds is None:
        if set_by is not None:
            raise table.error("set_by", set_by, "`within` or `holds` beside it")
        return None
    if within is not None and holds is not None:
        raise table.missing("found `within` and `holds`, expected one of them")
    if within is not None and not within > 0:
        raise table.error("within", within, "a number above 0")
    if set_by is None:
        raise table.error("set_by", "nothing", "who decided when the claim holds")
    if holds is None:
        return Criterion(float(within), None, set_by)
    expression = Expression(holds, table.place("holds"))
    expression.expect({"ours", "paper", *scope})
    return Criterion(None, expression, set_by)


def _entries(table: Table, claims: Claims, tests: dict[str, Criterion], scope: set[str]) -> dict[str, Entry]:
    entries = {}
    for name, value in table.values.items():
        if name not in claims.claims:
            hint = nearest(name, tuple(claims.claims))
            raise table.error(name, name, f"the id of a claim of {claims.paper}{hint}")
        entries[name] = _entry(table, name, value, claims.claims[name].kind, tests, scope)
    return entries


def _entry(above: Table, name: str, value: object, kind: str, tests: dict[str, Criterion], scope: set[str]) -> Entry:
    if isinstance(value, str):
        ours: Expression | None = Expression(value, above.place(name))
        test, note, reason = None, "", ""
    else:
        if not isinstance(value, dict):
            raise above.error(name, value, "an expression or a table")
        table = above.table(name)
        table.only("ours", "note", "not_comparable", *_TEST)
        text, reason = table.text("ours", None), table.text("not_comparable", "")
        if text is None and not reason:
            raise table.missing("found neither `ours` nor `not_comparable`, expected one of them")
        ours = None if text is None else Expression(text, table.place("ours"))
        test, note = _test(table, scope), table.text("note", "")
    if ours is not None:
        ours.expect(scope)
    test = test or tests.get(kind)
    if test is None and not reason and kind not in SELF_EVIDENT:
        raise above.error(name, "no test", f"`within` or `holds`, here or in [tests] for every {kind}")
    return Entry(ours, test, note, reason)
