"""The names that the expressions of an experiment use, once its runs are made."""

from collections.abc import Mapping, Sequence
from typing import Any

from nandram.errors import UserError
from nandram.language.expression import Expression
from nandram.language.grid import Coordinate, Grid, GridError, words
from nandram.options import nearest
from nandram.papers.experiment import Experiment, Run
from nandram.papers.runs.play import Outcome

Made = Mapping[tuple[str, tuple[Coordinate, ...], int], Outcome]
"""Outcomes by the run's name, coordinates and seed."""


class Played:
    """A run at a point of its grid, with all its seeds."""

    def __init__(self, outcomes: Sequence[Outcome], measures: Mapping[str, Expression]) -> None:
        self._outcomes = outcomes
        self._measures = measures

    def measure(self, name: str) -> Any:
        """Return a measure, the mean over the seeds. Raises `GridError`."""
        if name not in self._measures:
            known = tuple(self._measures)
            raise GridError(f"found the measure `{name}`, expected {words(sorted(known))}{nearest(name, known)}")
        try:
            values = [self._measures[name].evaluate(each.summary) for each in self._outcomes]
        except UserError as error:
            raise GridError(str(error)) from None
        if len(values) == 1:
            return values[0]
        if not all(isinstance(each, int | float) and not isinstance(each, bool) for each in values):
            raise GridError(f"found the measure `{name}` of several seeds, expected a number of each")
        return sum(values) / len(values)


def scope(experiment: Experiment, made: Made) -> dict[str, Any]:
    """Return the constants, the runs that were made and the values that these give. Raises `UserError`."""
    found: dict[str, Any] = dict(experiment.constants)
    runs = {name for name, _, _ in made}
    for name in runs:
        found[name] = _run(experiment.runs[name], experiment.measures, made)
    for name, value in experiment.values.items():
        if experiment.uses[name] <= runs:
            found[name] = value.evaluate(found)
    return found


def figures(experiment: Experiment, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return those values of an experiment that are figures, in plain form: a series as a list of its points.

    A point is a dictionary of its coordinates and its ``value``.
    """
    found: dict[str, Any] = {}
    for name in experiment.values:
        value = names.get(name)
        if isinstance(value, Grid):
            points = [dict(zip(value.axes, key, strict=True)) | {"value": cell} for key, cell in value.cells.items()]
            if all(isinstance(each["value"], bool | int | float | str) for each in points):
                found[name] = points
        elif isinstance(value, bool | int | float | str):
            found[name] = value
    return found


def _run(run: Run, measures: Mapping[str, Expression], made: Made) -> Any:
    cells: dict[tuple[Coordinate, ...], Any] = {}
    for place in run.places():
        key = tuple(place.values())
        cells[key] = Played([made[run.name, key, seed] for seed in run.seeds], measures)
    return Grid(run.axes, cells) if run.axes else cells[()]
