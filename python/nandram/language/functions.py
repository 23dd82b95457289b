"""The functions that expressions may call. The first line of each docstring is its documentation.

A *series* is a grid; a function that takes one with several axes needs ``over``, the axis along which it looks, and
gives a value for each point of the others. Sums and the like look along all axes if ``over`` is left out.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from nandram.language.grid import Coordinate, Grid, GridError, pointwise, words

Line = Callable[[Sequence[Coordinate], Sequence[Any]], Any]


def _numbers(values: Sequence[Any]) -> list[float]:
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise GridError(f"found {kind(value)}, expected a number")
    return list(values)


def _truths(values: Sequence[Any]) -> list[bool]:
    for value in values:
        if not isinstance(value, bool):
            raise GridError(f"found {kind(value)}, expected a truth value such as a comparison gives")
    return list(values)


def kind(value: object) -> str:
    """Return the kind of a value, in a word."""
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, Grid):
        return f"a series over {', '.join(value.axes)}"
    if isinstance(value, dict):
        return "a table"
    return "nothing" if value is None or value == () else "a run"


def _all(values: tuple[Any, ...], over: str | None, reduce: Callable[[Sequence[Any]], Any]) -> Any:
    """Reduce a series, along one axis or all, or the values given."""
    if len(values) > 1:
        if over is not None:
            raise GridError("found several values and `over`, expected one series")
        return pointwise(lambda *each: reduce(each), *values)
    if not values:
        raise GridError("found no value, expected a series or several values")
    value = values[0]
    if not isinstance(value, Grid):
        return reduce(value if isinstance(value, tuple) else [value])
    if over is not None:
        return value.over(over, lambda _, line: reduce(line))
    return reduce(list(value.cells.values()))


def _line(series: Any, over: str | None, reduce: Line) -> Any:
    """Reduce a series along one axis."""
    if not isinstance(series, Grid):
        raise GridError(f"found {kind(series)}, expected a series")
    if over is None:
        if len(series.axes) != 1:
            raise GridError(f"found a series over {', '.join(series.axes)}, expected over={words(series.axes)}")
        (over,) = series.axes
    return series.over(over, reduce)


def sum_(*values: Any, over: str | None = None) -> Any:
    """The sum of a series or of several values."""
    return _all(values, over, lambda each: sum(_numbers(each)))


def mean(*values: Any, over: str | None = None) -> Any:
    """The arithmetic mean of a series or of several values."""
    return _all(values, over, lambda each: math.fsum(_numbers(each)) / len(each))


def median(*values: Any, over: str | None = None) -> Any:
    """The median of a series or of several values."""
    import statistics

    return _all(values, over, lambda each: statistics.median(_numbers(each)))


def min_(*values: Any, over: str | None = None) -> Any:
    """The least of a series or of several values."""
    return _all(values, over, lambda each: min(_numbers(each)))


def max_(*values: Any, over: str | None = None) -> Any:
    """The greatest of a series or of several values."""
    return _all(values, over, lambda each: max(_numbers(each)))


def all_(*values: Any, over: str | None = None) -> Any:
    """Whether all of a series or of several truth values hold, as in ``all(ours < theirs)``."""
    return _all(values, over, lambda each: all(_truths(each)))


def any_(*values: Any, over: str | None = None) -> Any:
    """Whether any of a series or of several truth values holds."""
    return _all(values, over, lambda each: any(_truths(each)))


def abs_(value: Any) -> Any:
    """The absolute value."""
    return pointwise(lambda each: abs(_numbers([each])[0]), value)


def ratio(above: Any, below: Any) -> Any:
    """The quotient of two numbers or series: ``above / below``."""
    return pointwise(lambda a, b: a / b, above, below)


def _steps(series: Any, over: str | None, holds: Callable[[float, float], bool]) -> Any:
    def reduce(_: Sequence[Coordinate], line: Sequence[Any]) -> bool:
        values = _numbers(line)
        return all(holds(before, after) for before, after in itertools.pairwise(values))

    return _line(series, over, reduce)


def rising(series: Any, over: str | None = None) -> Any:
    """Whether a series rises at every step."""
    return _steps(series, over, lambda before, after: before < after)


def falling(series: Any, over: str | None = None) -> Any:
    """Whether a series falls at every step."""
    return _steps(series, over, lambda before, after: before > after)


def never_falling(series: Any, over: str | None = None, slack: float = 0.0) -> Any:
    """Whether no step of a series falls, by more than the part ``slack`` of its value."""
    return _steps(series, over, lambda before, after: after >= before * (1 - slack))


def never_rising(series: Any, over: str | None = None, slack: float = 0.0) -> Any:
    """Whether no step of a series rises, by more than the part ``slack`` of its value."""
    return _steps(series, over, lambda before, after: after <= before * (1 + slack))


def knee(series: Any, over: str | None = None, within: float = 0.02) -> Any:
    """The first coordinate from which a series gains no more than the part ``within``, wherever it goes."""

    def reduce(coordinates: Sequence[Coordinate], line: Sequence[Any]) -> Coordinate:
        values = _numbers(line)
        return next(
            coordinate
            for index, coordinate in enumerate(coordinates)
            if max(values[index:]) <= values[index] * (1 + within)
        )

    return _line(series, over, reduce)


def coordinate(series: Any, over: str | None = None) -> Any:
    """The coordinates of a series along an axis, as a series."""
    _line(series, over, lambda _, line: line)
    assert isinstance(series, Grid)
    name = over if over is not None else next(iter(series.axes))
    return Grid({name: series.axes[name]}, {(each,): each for each in series.axes[name]})


def crossing(series: Any, level: float, over: str | None = None) -> Any:
    """The coordinate at which a series first reaches a level, interpolated linearly; the first if it begins there."""

    def find(places: Sequence[Coordinate], values: Sequence[Any]) -> float:
        at, numbers = _numbers(places), _numbers(values)
        if numbers[0] >= level:
            return at[0]
        for (x, y), (next_x, next_y) in itertools.pairwise(zip(at, numbers, strict=True)):
            if next_y >= level:
                return x + (next_x - x) * (level - y) / (next_y - y)
        raise GridError(f"found a series that stays below {level}")

    return _line(series, over, find)


def argmax(series: Any, over: str | None = None) -> Any:
    """The first coordinate at which a series is greatest."""
    return _line(series, over, lambda coordinates, line: coordinates[line.index(max(_numbers(line)))])


def argmin(series: Any, over: str | None = None) -> Any:
    """The first coordinate at which a series is least."""
    return _line(series, over, lambda coordinates, line: coordinates[line.index(min(_numbers(line)))])


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs_,
    "all": all_,
    "any": any_,
    "argmax": argmax,
    "argmin": argmin,
    "coordinate": coordinate,
    "crossing": crossing,
    "falling": falling,
    "knee": knee,
    "max": max_,
    "mean": mean,
    "median": median,
    "min": min_,
    "never_falling": never_falling,
    "never_rising": never_rising,
    "ratio": ratio,
    "rising": rising,
    "sum": sum_,
}
