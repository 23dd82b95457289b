"""The file of a sweep.

system = "nvme-client-tlc"        a preset, or a file beside this one
set = { "flash.blocks" = 64 }     of each configuration; {depth} in texts
job = '''...{depth}...'''         a fio job, or a served model; or trace = "FILE", beside this one
precondition = "steady"           and warm_up, until, payload, replay, wrap: as of `nandram run`
seed = 1
repeat = 3                        seeds 1, 2, 3, each a row

[space]                           what is varied: `nandram.sweep.space`

[measures]                        in addition to those of `nandram.language.measures`: expressions over summary.json
p99_us = 'jobs["reads"].read.clat_ns.percentile["99.000000"] / 1000'

[objectives]                      measures that are to be high or low: Pareto fronts
iops = "maximize"
flash_mw = "minimize"
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nandram.errors import UserError
from nandram.hashes import file_hash, joint_hash, program_hash, text_hash
from nandram.language.expression import Expression
from nandram.language.grid import Coordinate, words
from nandram.language.measures import PERCENTILES, names_for
from nandram.language.tables import Table, parse, read_text
from nandram.options import SEED_MAX, nearest, set_lines
from nandram.sweep import space as spaces
from nandram.sweep.space import Space
from nandram.sweep.store import COLUMNS
from nandram.sweep.work import Work

_IN_BRACES = re.compile(r"\{([A-Za-z_]\w*)\}")
_OPTIONS = ("precondition", "warm_up", "until", "payload", "replay")


@dataclass(frozen=True)
class Declared:
    """A sweep, read and checked."""

    file: str
    text: str
    system: str
    changes: dict[str, object]
    job: str | None
    """None if a trace is replayed."""
    trace: Path | None
    options: dict[str, Any]
    seeds: tuple[int, ...]
    space: Space
    measures: dict[str, str]
    """Expressions by name, all that there are."""
    objectives: dict[str, str]
    """``maximize`` or ``minimize``, by measure."""
    base: bytes = field(repr=False, default=b"")
    """The hash of all that every configuration shares."""

    def works(self, cache: str | None) -> "list[Work]":
        """Return a run for each configuration and seed, in order."""
        found: list[Work] = []
        for place in self.space.points():
            changes, job = self._changes(place), self._job(place)
            for seed in self.seeds:
                options = {**self.options, "seed": seed}
                shape = ("\n".join(changes), job or "", repr(sorted(options.items())))
                key = joint_hash(self.base, *map(text_hash, shape)).hex()
                trace = None if self.trace is None else str(self.trace)
                found.append(Work(len(found), key, place, self.system, changes, job, trace, options, cache))
        return found

    def varies_the_system(self) -> bool:
        """Whether configurations differ in the system, so that each has a drive of its own to prepare."""
        named = {name for value in self.changes.values() for name in _IN_BRACES.findall(str(value))}
        return bool(named) or any("." in axis for axis in self.space.axes)

    def _changes(self, place: dict[str, Coordinate]) -> list[str]:
        filled = {key: _filled(value, place) for key, value in self.changes.items()}
        return set_lines({**filled, **{axis: value for axis, value in place.items() if "." in axis}})

    def _job(self, place: dict[str, Coordinate]) -> str | None:
        return None if self.job is None else str(_filled(self.job, place))


def _filled(value: object, place: dict[str, Coordinate]) -> object:
    if not isinstance(value, str):
        return value
    whole = _IN_BRACES.fullmatch(value)
    if whole:
        return place[whole[1]]
    return _IN_BRACES.sub(lambda match: str(place[match[1]]), value)


def read(path: Path) -> Declared:
    """Read a sweep, and check it as far as that goes without a run. Raises `UserError`."""
    text = read_text(path)
    top = parse(str(path), text)
    top.only(*("system", "set", "job", "trace", *_OPTIONS, "wrap", "seed", "repeat", "space", "measures", "objectives"))
    system = top.text("system")
    if system.endswith(".toml") or "/" in system:
        system = str(path.parent / system)
    given = [key for key in ("job", "trace") if key in top.values]
    if len(given) != 1:
        raise top.missing(f"found {' and '.join(given) or 'neither'}, expected one of `job` and `trace`")
    options: dict[str, Any] = {key: top.text(key) for key in _OPTIONS if key in top.values}
    if "wrap" in top.values:
        options["wrap"] = top.take("wrap", "true or false", bool)
    seed, repeat = top.whole("seed", 0, 1), top.whole("repeat", 1, 1)
    space = spaces.read(top.table("space"))
    if space.count * repeat > spaces.RUNS_MAX:
        most = spaces.RUNS_MAX // space.count
        raise top.error("repeat", repeat, f"at most {most} for {space.count} configurations")
    if seed + repeat - 1 > SEED_MAX:
        raise top.error("seed", seed, f"seeds of at most {SEED_MAX}")
    known = names_for(top.text("job") if given == ["job"] else None)
    _name_axes(top.table("space").table("axes"), known)
    measures = _measures(top.table("measures"), space, known)
    trace = path.parent / top.text("trace") if given == ["trace"] else None
    declared = Declared(
        file=str(path),
        text=text,
        system=system,
        changes=top.table("set").values,
        job=top.text("job") if given == ["job"] else None,
        trace=trace,
        options=options,
        seeds=tuple(range(seed, seed + repeat)),
        space=space,
        measures=measures,
        objectives=_objectives(top.table("objectives"), (*measures, *PERCENTILES)),
        base=_base(top, system, trace),
    )
    _check(top, declared)
    return declared


def _base(top: Table, system: str, trace: Path | None) -> bytes:
    from nandram import _core

    try:
        resolved = _core.check(system, [])
    except UserError as error:
        raise UserError(f"{top.place('system')}: {error}") from None
    try:
        workload = text_hash("") if trace is None else file_hash(trace)
    except OSError as error:
        raise UserError(f"{top.place('trace')}: {trace}: cannot be read: {error.strerror}") from None
    return joint_hash(program_hash(), text_hash(resolved), workload)


def _name_axes(table: Table, known: dict[str, str]) -> None:
    for name in table.values:
        if name in COLUMNS or name in known or name in PERCENTILES:
            raise table.error(name, name, f"another name: the results have {words(COLUMNS)} and a column per measure")


def _measures(table: Table, space: Space, known: dict[str, str]) -> dict[str, str]:
    found = dict(known)
    for name in table.values:
        if name in known or name in PERCENTILES or not name.isidentifier():
            raise table.error(name, name, "a name that is no measure of every run")
        if name in COLUMNS or name in space.axes:
            raise table.error(name, name, f"another name: the results have {words(COLUMNS)} and a column per axis")
        found[name] = table.text(name)
        Expression(found[name], table.place(name)).expect(("jobs", "nandram"))
    return found


def _objectives(table: Table, measures: tuple[str, ...]) -> dict[str, str]:
    for name in table.values:
        if name not in measures:
            raise table.error(name, name, f"a measure: {words(sorted(measures))}{nearest(name, measures)}")
        if table.text(name) not in ("maximize", "minimize"):
            raise table.one_of(name, table.text(name), ("maximize", "minimize"))
    return dict(table.values)


def _check(top: Table, declared: Declared) -> None:
    """Raise `UserError` for names that are not there, and for values that the system does not take."""
    from nandram import _core

    axes = declared.space.axes
    texts = [(top.table("set"), key, value) for key, value in declared.changes.items()]
    texts += [(top, "job", declared.job)] if declared.job is not None else []
    used: set[str] = set()
    for table, key, value in texts:
        for name in _IN_BRACES.findall(value) if isinstance(value, str) else ():
            if name not in axes:
                raise table.error(key, f"{{{name}}}", f"an axis: {words(axes)}{nearest(name, tuple(axes))}")
            used.add(name)
    place = top.table("space").table("axes")
    for axis in axes:
        if "." not in axis and axis not in used:
            raise place.error(axis, axis, f"an axis that is used, as {{{axis}}}, or a key of the system")
    # Check each value alone, with the first values of the other axes that texts need: errors of a system come first.
    ends = declared.space.ends()
    first = {axis: values[0] for axis, values in ends.items() if "." not in axis}
    for axis in sorted(ends, key=lambda each: "." not in each):
        for value in ends[axis]:
            try:
                _core.check(declared.system, declared._changes({**first, axis: value}))
            except UserError as error:
                raise UserError(f"{place.place(axis)}: {error}") from None
