"""Values over named axes: what a sweep gives, and what expressions compute with."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nandram.options import nearest

Coordinate = int | float | str


class GridError(ValueError):
    """Grids that do not fit together, or a place that a grid does not have; one line."""


@dataclass(frozen=True)
class Grid:
    """A value at each point of a product of axes."""

    axes: dict[str, tuple[Coordinate, ...]]
    """Coordinates by the axis' name; the order of both is kept."""
    cells: dict[tuple[Coordinate, ...], Any]
    """Values by their coordinates, in the order of the axes."""

    def __post_init__(self) -> None:
        assert self.axes
        assert list(self.cells) == list(itertools.product(*self.axes.values()))

    def at(self, **places: Coordinate) -> Any:
        """Return the grid over the other axes, or the value if there are none. Raises `GridError`."""
        for axis, coordinate in places.items():
            if axis not in self.axes:
                raise GridError(
                    f"found the axis `{axis}`, expected {words(self.axes)}{nearest(axis, tuple(self.axes))}"
                )
            if coordinate not in self.axes[axis]:
                known = [str(each) for each in self.axes[axis]]
                raise GridError(f"found {axis}={coordinate}, expected {words(known)}")
        rest = {axis: coordinates for axis, coordinates in self.axes.items() if axis not in places}
        cells = {}
        for key, value in self.cells.items():
            there = dict(zip(self.axes, key, strict=True))
            if all(there[axis] == coordinate for axis, coordinate in places.items()):
                cells[tuple(there[axis] for axis in rest)] = value
        return Grid(rest, cells) if rest else cells[()]

    def over(self, axis: str, reduce: Callable[[Sequence[Coordinate], Sequence[Any]], Any]) -> Any:
        """Reduce each line along an axis to one value. Raises `GridError` if there is no such axis."""
        if axis not in self.axes:
            raise GridError(f"found the axis `{axis}`, expected {words(self.axes)}{nearest(axis, tuple(self.axes))}")
        coordinates = self.axes[axis]
        rest = {name: values for name, values in self.axes.items() if name != axis}
        cells = {}
        for key in itertools.product(*rest.values()):
            there = dict(zip(rest, key, strict=True))
            line = [self.cells[tuple(({**there, axis: c})[name] for name in self.axes)] for c in coordinates]
            cells[key] = reduce(coordinates, line)
        return Grid(rest, cells) if rest else cells[()]


def listed(values: Sequence[Any]) -> Any:
    """Return a list as a grid over its positions; an empty one as an empty tuple, of which there is nothing to ask."""
    if not values:
        return ()
    return Grid({"index": tuple(range(len(values)))}, {(index,): value for index, value in enumerate(values)})


def pointwise(function: Callable[..., Any], *values: Any) -> Any:
    """Apply a function point by point where some values are grids; one without an axis is the same all along it.

    Raises `GridError` if two grids have different coordinates on one axis.
    """
    axes: dict[str, tuple[Coordinate, ...]] = {}
    for value in values:
        if isinstance(value, Grid):
            for axis, coordinates in value.axes.items():
                if axes.setdefault(axis, coordinates) != coordinates:
                    raise GridError(f"found two grids that differ in the axis `{axis}`, expected the same coordinates")
    if not axes:
        return function(*values)
    cells = {}
    for key in itertools.product(*axes.values()):
        there = dict(zip(axes, key, strict=True))
        cells[key] = function(*(_cell(value, there) for value in values))
    return Grid(axes, cells)


def _cell(value: Any, there: Mapping[str, Coordinate]) -> Any:
    return value.cells[tuple(there[axis] for axis in value.axes)] if isinstance(value, Grid) else value


def words(names: Mapping[str, Any] | Sequence[str]) -> str:
    """``a``, ``a or b``, ``a, b or c``."""
    names = list(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}" if names else "nothing"
