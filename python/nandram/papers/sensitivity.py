"""Which parameter moves which claim: each is set lower and higher, alone, and the runs are made once more.

`nandram.papers.parameters` reads the declarations of an experiment.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandram.errors import UserError
from nandram.language.functions import kind
from nandram.options import at_a_time
from nandram.papers.robustness.scaling import plain, scaled
from nandram.papers.robustness.variants import forget_settings, settings_of_point

if TYPE_CHECKING:
    from nandram.language.expression import Expression
    from nandram.papers.experiment import Experiment, Point
    from nandram.papers.library import Paper
    from nandram.papers.runs.play import Report, Task


@dataclass(frozen=True)
class Effect:
    """The change of a claim's figure with a parameter."""

    claim: str
    parameter: str
    less: tuple[str, float]
    """The lower value and our figure with it."""
    base: tuple[str, float]
    more: tuple[str, float]
    basis: str
    """What the value rests on: given, assumed, calibrated or set."""

    @property
    def change(self) -> tuple[float, float]:
        """By which part of our figure it moves, with less and with more."""
        return (self.less[1] / self.base[1] - 1, self.more[1] / self.base[1] - 1) if self.base[1] else (0.0, 0.0)


def sensitivity(
    paper: "Paper", *, jobs: int | None = None, cache: Path | None = None, report: "Report | None" = None
) -> list[Effect]:
    """Return the effect of each declared parameter on each declared claim. Raises `UserError`."""
    from nandram.papers.runs import play
    from nandram.papers.scope import scope

    forget_settings()
    experiment = paper.experiment
    if experiment is None or experiment.sensitivity is None:
        return []
    asked = experiment.sensitivity
    wanted = _expressions(experiment)
    experiment = _narrowed(experiment, wanted.values())
    needed = set(experiment.runs)
    base = _tasks(experiment, needed, "", None)
    variants: dict[tuple[str, int], dict[Any, Task]] = {}
    settings: dict[str, tuple[str, str, str, str]] = {}
    for key, how in asked.parameters.items():
        settings[key] = _values(experiment, needed, key, how)
        for side in (0, 1):
            variants[key, side] = _tasks(experiment, needed, key, settings[key][2 * side])
    tasks = [task for made in (base, *variants.values()) for task in made.values()]
    outcomes = play.play(tasks, jobs=at_a_time(jobs), cache=cache, report=report)

    def figures(made: "dict[Any, Task]") -> dict[str, float]:
        names = scope(experiment, {place: outcomes[task.key] for place, task in made.items()})
        found = {name: expression.evaluate(names) for name, expression in wanted.items()}
        for name, value in found.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise wanted[name].error(f"found {kind(value)}, expected a number")
        return {name: float(value) for name, value in found.items()}

    first = figures(base)
    effects = []
    for key in asked.parameters:
        less, more = figures(variants[key, 0]), figures(variants[key, 1])
        low, now, high, basis = settings[key]
        effects += [
            Effect(claim, key, (low, less[claim]), (now, first[claim]), (high, more[claim]), basis) for claim in first
        ]
    return effects


def _expressions(experiment: "Experiment") -> "dict[str, Expression]":
    assert experiment.sensitivity is not None
    found = {}
    for name in experiment.sensitivity.claims:
        entry = experiment.entries.get(name)
        expression = experiment.values.get(name) if entry is None else entry.ours
        if expression is not None:
            found[name] = expression
    return found


def _narrowed(experiment: "Experiment", expressions: "Collection[Expression]") -> "Experiment":
    """The experiment with only those runs, and points of their grids, that expressions see."""
    todo, seen = list(expressions), []
    values = {}
    while todo:
        expression = todo.pop()
        seen.append(expression)
        for name in expression.names & experiment.values.keys():
            if name not in values:
                values[name] = experiment.values[name]
                todo.append(values[name])
    runs = {}
    for name, run in experiment.runs.items():
        picks = [each.picked(name) for each in seen if name in each.names]
        if picks:
            axes = {
                axis: tuple(each for each in coordinates if any(each in pick.get(axis, coordinates) for pick in picks))
                for axis, coordinates in run.axes.items()
            }
            runs[name] = replace(run, axes=axes)
    kept = {name: value for name, value in experiment.values.items() if name in values}
    return replace(experiment, runs=runs, values=kept)


def _tasks(experiment: "Experiment", needed: set[str], key: str, value: str | None) -> "dict[Any, Task]":
    from nandram.papers.runs import play

    tasks = {}
    for place, point in _points(experiment, needed):
        if value is not None and key in settings_of_point(point):
            point = replace(point, changes={**point.changes, key: value})
        label = f"sensitivity/{place[0]}/{key or 'base'}"
        tasks[place] = play.task(point, label, f"{experiment.file}: sensitivity.{key or 'claims'}")
    return tasks


def _points(experiment: "Experiment", needed: set[str]) -> "Iterator[tuple[Any, Point]]":
    for name, run in experiment.runs.items():
        if name in needed:
            for place in run.places():
                for seed in run.seeds:
                    yield (name, tuple(place.values()), seed), run.point(place, seed)


def _values(
    experiment: "Experiment", needed: set[str], key: str, how: tuple[str, str] | float
) -> tuple[str, str, str, str]:
    """Less, the value that a parameter has, more, and the basis."""
    assert experiment.sensitivity is not None
    for _, point in _points(experiment, needed):
        settings = settings_of_point(point)
        if key in settings:
            basis = next(iter(settings[key].get("basis", {"set": ""})))
            now = plain(settings[key])
            if isinstance(how, tuple):
                return how[0], str(now), how[1], basis
            low, high = scaled(now, 1 - how), scaled(now, 1 + how)
            if low == now or high == now:
                break
            return str(low), str(now), str(high), basis
    place = experiment.sensitivity.place
    raise UserError(f"{place}: found `{key}`, expected a key of the runs' systems with a value that has parts")
