"""Declarations of an experiment about its robustness.

[counters.one_bank]               a counter-model: claims that name it must not hold in it
why = "a shared buffer of one bank: host and controller always meet"
set = { "link.banks" = 1 }        keys, in every run whose system has them
constants = { buffers = 1 }       other values of constants
runs = ["reads"]                  only in these runs; left out: in all

[variants.authors]                another choice of what a paper leaves open, by the same keys
why = "the defaults of the authors' own simulator"
set = { "flash.page" = "4KiB" }

[robustness]
by = 0.25                         an assumed number is drawn between 25 % less and 25 % more
[robustness.values]
"link.lanes" = ["2", "4"]         all plausible values of a key that cannot be scaled
[robustness.ranges]
"host.submit" = [0.5, 2]          lowest and highest factor of a key, where its source says more
[robustness.fixed]
"flash.blocks" = "why its value is not drawn"
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from nandram.language.grid import words
from nandram.language.tables import Table
from nandram.options import nearest
from nandram.papers.constants import Constant

BY = 0.25
"""Plausible range of an assumed number whose range is not declared: this part either way."""


@dataclass(frozen=True)
class Counter:
    """A model other than the experiment's: one in which claims must fail, or a variant."""

    why: str
    set: dict[str, object]
    """Values by key."""
    constants: dict[str, Constant]
    runs: tuple[str, ...]
    """The runs that are changed."""
    place: str
    """Location of the declaration, for messages."""


@dataclass(frozen=True)
class Ranges:
    """Plausible ranges of the keys of systems."""

    by: float = BY
    values: dict[str, tuple[object, ...]] = field(default_factory=dict)
    factors: dict[str, tuple[float, float]] = field(default_factory=dict)
    fixed: dict[str, str] = field(default_factory=dict)


def read_counters(
    top: Table, runs: Sequence[str], constants: Sequence[str], section: str = "counters"
) -> dict[str, Counter]:
    """Return the counter-models of an experiment, or its variants, by name. Raises `UserError`."""
    return {name: _counter(table, runs, constants) for name, table in top.table(section).tables().items()}


def _counter(table: Table, runs: Sequence[str], constants: Sequence[str]) -> Counter:
    table.only("why", "set", "constants", "runs")
    changed = table.table("constants")
    for key in changed.values:
        if key not in constants:
            raise changed.error(key, key, f"a constant: {words(constants)}{nearest(key, tuple(constants))}")
        changed.take(key, "a number or a text", int, float, str)
    limited = table.take("runs", "a list of runs", list, default=list(runs))
    for run in limited:
        if run not in runs:
            raise table.error("runs", run, f"{words(runs)}{nearest(str(run), tuple(runs))}")
    keys = table.table("set").values
    if not keys and not changed.values:
        raise table.missing("found neither `set` nor `constants`, expected a change")
    return Counter(table.text("why"), keys, changed.values, tuple(limited), table.place("set"))


def read_ranges(top: Table) -> Ranges:
    """Return the declared ranges of an experiment. Raises `UserError`."""
    table = top.table("robustness")
    table.only("by", "values", "ranges", "fixed")
    by = table.take("by", "a part between 0 and 1", int, float, default=BY)
    if not 0 < by < 1:
        raise table.error("by", by, "a part between 0 and 1")
    given, factors, fixed = table.table("values"), table.table("ranges"), table.table("fixed")
    values = {}
    for key in given.values:
        found = given.take(key, "a list of values", list)
        if len(found) < 2:
            raise given.error(key, found, "a list of at least two values")
        values[key] = tuple(found)
    ranges = {}
    for key in factors.values:
        ends = factors.take(key, "[lowest factor, highest factor]", list)
        right = len(ends) == 2 and all(isinstance(each, int | float) and not isinstance(each, bool) for each in ends)
        if not right or not 0 < ends[0] < ends[1]:
            raise factors.error(key, ends, "[lowest factor, highest factor]")
        ranges[key] = (float(ends[0]), float(ends[1]))
    return Ranges(float(by), values, ranges, {key: fixed.text(key) for key in fixed.values})
