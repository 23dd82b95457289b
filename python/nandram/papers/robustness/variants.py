"""An experiment with other constants and settings: its runs, and which claims hold in it."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from nandram.errors import UserError
from nandram.papers.constants import Constant

if TYPE_CHECKING:
    from nandram.papers.claims import Claims
    from nandram.papers.experiment import Experiment, Point
    from nandram.papers.runs.play import Outcome, Task

Change = Callable[[str, Mapping[str, Mapping[str, Any]]], Mapping[str, object]]
"""Given the name of a run and the settings of its system, returns the settings that are other in the variant."""


@dataclass(frozen=True)
class Variant:
    """An experiment as changed by a draw or a counter-model."""

    name: str
    """For messages and results."""
    constants: dict[str, Constant] = field(default_factory=dict)
    """Other values of constants."""
    change: Change | None = None


@cache
def settings_of(system: str, changes: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Return the resolved settings of a system by key: ``value``, ``set_by``, ``basis``. Raises `UserError`."""
    from nandram import _core

    found: dict[str, dict[str, Any]] = json.loads(_core.settings(system, list(changes)))
    return found


def forget_settings() -> None:
    """Forget resolved settings, before an evaluation: the files of systems may have changed since the last one."""
    settings_of.cache_clear()


def settings_of_point(point: "Point") -> dict[str, dict[str, Any]]:
    """Return the resolved settings of a run's system by key. Raises `UserError`."""
    from nandram.options import set_lines

    return settings_of(point.system, tuple(set_lines(point.changes)))


def narrowed(experiment: "Experiment", wanted: Collection[str]) -> "Experiment":
    """Return the experiment with only those runs that some claims need; the points of each run are kept."""
    needed = {run for claim in wanted for run in experiment.runs_of(experiment.entries[claim])}
    runs = {name: run for name, run in experiment.runs.items() if name in needed}
    values = {name: value for name, value in experiment.values.items() if experiment.uses[name] <= needed}
    return replace(experiment, runs=runs, values=values)


def changed(experiment: "Experiment", variant: Variant) -> "Experiment":
    """Return the experiment with the constants of a variant."""
    constants = {**experiment.constants, **variant.constants}
    runs = {name: replace(run, constants=constants) for name, run in experiment.runs.items()}
    return replace(experiment, constants=constants, runs=runs)


def tasks_of(experiment: "Experiment", variant: Variant) -> "dict[tuple[str, tuple[Any, ...], int], Task]":
    """Return the runs of a variant by run, coordinates and seed. Raises `UserError`."""
    from nandram.papers.runs import play

    tasks = {}
    for name, run in changed(experiment, variant).runs.items():
        for place in run.places():
            for seed in run.seeds:
                point = run.point(place, seed)
                if variant.change is not None:
                    other = variant.change(name, settings_of_point(point))
                    point = replace(point, changes={**point.changes, **other})
                label = f"{variant.name}/{name}"
                tasks[name, tuple(place.values()), seed] = play.task(point, label, f"{experiment.file}: {variant.name}")
    return tasks


def holding(
    claims: "Claims",
    experiment: "Experiment",
    variant: Variant,
    wanted: Collection[str],
    outcomes: "Mapping[tuple[str, tuple[Any, ...], int], Outcome]",
) -> dict[str, tuple[float | None, bool]]:
    """Return, for each wanted claim, our figure in a variant and whether the claim holds there.

    A figure that the variant's runs do not give (a measure that its systems lack) is None, and does not hold.
    """
    from nandram.papers.scope import scope
    from nandram.papers.verdict import assess

    other = changed(experiment, variant)
    found: dict[str, tuple[float | None, bool]] = {}
    names: dict[str, Any] | None
    try:
        names = scope(other, outcomes)
    except UserError:
        names = None
    for claim in wanted:
        try:
            entry = other.entries[claim]
            assert entry.ours is not None
            inside = names if names is not None else _scope_of(other, claim, outcomes)
            figure, _, holds = assess(claims.claims[claim], entry, entry.ours.evaluate(inside), inside)
            found[claim] = (figure, holds)
        except UserError:
            found[claim] = (None, False)
    return found


def _scope_of(
    experiment: "Experiment", claim: str, outcomes: "Mapping[tuple[str, tuple[Any, ...], int], Outcome]"
) -> dict[str, Any]:
    """Return the names of one claim alone: another's value cannot be computed in this variant. Raises `UserError`."""
    from nandram.papers.scope import scope

    alone = narrowed(experiment, [claim])
    return scope(alone, {key: outcome for key, outcome in outcomes.items() if key[0] in alone.runs})
