"""Comparison of two runs or two systems: differences in configuration and in results."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nandram.results import seeds as statistics
from nandram.results import validity

if TYPE_CHECKING:
    import polars as pl

    from nandram.results.result import Result

MEASURES = ("iops", "read_mb_s", "write_mb_s", "read_us", "write_us", "mean_us", "write_amplification", "flash_mw")
"""Compared measures of `nandram.language.measures`; percentiles are compared as well, and ``energy_j`` of runs
of a given length."""


@dataclass(frozen=True)
class Setting:
    """A key with different values in two systems or runs."""

    key: str
    a: str | None
    """The value as written in a file; None if the key does not apply."""
    b: str | None


@dataclass(frozen=True)
class Difference:
    """A figure compared between two systems."""

    name: str
    """Name of the figure; its suffix is the unit."""
    a: float | None
    b: float | None
    """Geometric means over the seeds; None if the seeds' values fall into separate groups, which have no mean."""
    change: float
    """Relative change, the geometric mean of the seeds' b / a, minus 1; NaN if a value is not above 0, or if the
    seeds' changes fall into separate groups."""
    low: float | None
    high: float | None
    """Bounds of the 95 % confidence interval of `change`, by Student's t over the logarithms of the ratios of paired
    seeds: both systems had the same random draws for each seed. None with one seed or without a change."""
    a_values: tuple[float, ...] = ()
    b_values: tuple[float, ...] = ()
    """The value of each seed."""

    @property
    def certain(self) -> bool:
        """Whether the interval excludes zero change."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def verdict(self) -> str:
        """Whether a change was found: ``changed``, ``identical``, ``not resolved by 5 seeds``, ``seeds disagree``
        or ``one run each``.
        """
        if len(self.a_values) < 2:
            return "one run each"
        if self.a_values == self.b_values:
            return "identical"
        if self.low is None:
            return "seeds disagree" if min(*self.a_values, *self.b_values) > 0 else "no ratio"
        return "changed" if self.certain else f"not resolved by {len(self.a_values)} seeds"

    def disagreements(self, seeds: tuple[int, ...]) -> "list[Disagreement]":
        """Return the sides whose seeds fall into separate groups."""
        found = []
        for side, values in (("A", self.a_values), ("B", self.b_values)):
            parts = statistics.groups(values)
            if len(parts) > 1:
                found.append(Disagreement(side, self.name, tuple(map(tuple, parts)), values, seeds))
        return found


@dataclass(frozen=True)
class Disagreement:
    """A figure whose values fall into separate groups, by seed."""

    where: str
    """The side, ``A`` or ``B``, or the configuration of a sweep."""
    name: str
    groups: tuple[tuple[int, ...], ...]
    """Indices of the values of each group, the lowest values first."""
    values: tuple[float, ...]
    seeds: tuple[int, ...]

    def __str__(self) -> str:
        """Return the groups as text: ``iops: the seeds fall into 2 groups: 81000 (seeds 1, 4); 227000 (seed 2)``."""
        parts = [
            _group([self.values[at] for at in part], [self.seeds[at] for at in sorted(part)]) for part in self.groups
        ]
        return f"{self.name}: the seeds fall into {len(parts)} groups: {'; '.join(parts)}"


def _group(values: list[float], seeds: list[int]) -> str:
    from nandram.units import figure

    ends = list(dict.fromkeys((figure(min(values)), figure(max(values)))))
    return f"{' to '.join(ends)} (seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))})"


@dataclass(frozen=True)
class SideNote:
    """A note on the runs of one side."""

    side: str
    """``A`` or ``B``."""
    kind: str
    text: str
    """The text of the first run that has such a note."""
    runs: int
    """Number of runs with such a note."""


@dataclass(frozen=True)
class Comparison:
    """Differences between two systems and between their results."""

    a: str
    b: str
    """Names of the compared systems or runs."""
    settings: tuple[Setting, ...]
    runs: tuple[Setting, ...]
    """Differences between two runs other than their systems: jobs, preparation, warm-up, seed."""
    differences: tuple[Difference, ...]
    """Differences in results; empty if nothing was run."""
    seeds: tuple[int, ...]
    notes: tuple[SideNote, ...] = ()
    """What limits the figures of each side."""
    followed: tuple[str, ...] = ()
    """Sizes of B that were adapted to its changes, one line each."""
    results: "tuple[tuple[Result, ...], tuple[Result, ...]]" = field(default=((), ()), repr=False, compare=False)
    """The results of A and of B, one per seed."""

    def disagreements(self) -> list[Disagreement]:
        """Return the figures of a side whose values fall into separate groups, by seed."""
        return [found for each in self.differences for found in each.disagreements(self.seeds)]

    def frame(self) -> "pl.DataFrame":
        """Return the figures as a frame: ``name, a, b, change, low, high``."""
        import polars as pl

        schema = {"name": pl.String, **dict.fromkeys(("a", "b", "change", "low", "high"), pl.Float64)}
        return pl.DataFrame(
            [{name: getattr(each, name) for name in schema} for each in self.differences], schema=schema
        )

    def __repr__(self) -> str:
        figures = sum(each.certain for each in self.differences)
        found = f"{len(self.settings) + len(self.runs)} keys and {figures} figures differ"
        return f"<Comparison of {self.a} and {self.b}: {found}>"

    def _repr_html_(self) -> str:
        html: str = self.frame()._repr_html_()
        return html


def differences(a: "Sequence[Result]", b: "Sequence[Result]") -> tuple[Difference, ...]:
    """Return the differences of the figures that all runs of two sides support; the runs of a seed are paired."""
    if not a or not b:
        return ()
    rows = [[figures(each) for each in side] for side in (a, b)]
    names = [name for name in rows[0][0] if all(name in row for side in rows for row in side)]
    return tuple(difference(name, [row[name] for row in rows[0]], [row[name] for row in rows[1]]) for name in names)


def difference(name: str, a: list[float], b: list[float]) -> Difference:
    """Return the difference of paired samples."""
    change, low, high = statistics.relative_change(a, b)
    return Difference(name, statistics.mean(a), statistics.mean(b), change, low, high, tuple(a), tuple(b))


def notes(side: str, results: "Sequence[Result]") -> list[SideNote]:
    """Return the notes on the runs of a side, each kind once."""
    found: dict[str, list[str]] = {}
    for result in results:
        for kind in validity.kinds(result.validity):
            found.setdefault(kind, []).append(next(note.text for note in result.validity if note.kind == kind))
        for note in result.validity:
            if note.kind == "prepared":
                found.setdefault(note.kind, []).append(note.text)
    return [SideNote(side, kind, texts[0], len(texts)) for kind, texts in found.items()]


def figures(result: "Result") -> dict[str, float]:
    """Return the figures that a result supports: rates, mean times, percentiles, write amplification, energy."""
    from nandram.language.measures import MEASURES as TEXTS
    from nandram.language.measures import PERCENTILES
    from nandram.sweep.work import measured

    found = measured(result.summary, {name: TEXTS[name] for name in MEASURES})
    withheld = validity.withheld(result.validity)
    for name, (direction, percent) in PERCENTILES.items():
        if direction in withheld or ("write-tail" in withheld and validity.is_tail(direction, percent)):
            continue
        value = result.latency_percentile_ns(percent, direction) / 1000
        found[name] = None if math.isnan(value) else value
    if len({job["groupid"] for job in result.summary["jobs"]}) > 1:
        found |= {
            name: value for name, value in _rates(result).items() if name[:5] == "write" or "read" not in withheld
        }
    # Runs that go on until their figures are known differ in length, and so would their energy.
    ends_itself = result.inside.get("until") is not None
    found["energy_j"] = None if "energy" in withheld or ends_itself else result.energy_j
    return {
        name: float(value)
        for name, value in found.items()
        if value is not None and not (name[:4] in _IDLE and value == 0)
    }


def _rates(result: "Result") -> dict[str, float]:
    """Return rates over the total time of jobs that ran in sequence, whose own rates do not add up."""
    sums = {
        direction: (sum(each.requests for each in of_it), sum(each.bytes for each in of_it))
        for direction in ("read", "write")
        for of_it in [[each for each in result.traffic if each.direction == direction]]
    }
    seconds = result.runtime_s or math.inf
    return {
        "iops": sum(requests for requests, _ in sums.values()) / seconds,
        "read_mb_s": sums["read"][1] / seconds / 1e6,
        "write_mb_s": sums["write"][1] / seconds / 1e6,
    }


_IDLE = ("read", "writ")
"""Prefixes of figures that are left out if their direction was idle."""
