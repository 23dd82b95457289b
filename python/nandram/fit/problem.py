"""A least-squares problem over the coordinates of some parameters."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from nandram.fit.evaluate import Modeled
from nandram.fit.measurements.points import Point
from nandram.fit.model import Guess, Model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

STEP = 0.06
"""Step of the differences, in coordinates of `Parameter.place`: larger than what the runs' randomness hides."""

Residuals = Callable[[Sequence[Point], Sequence[Modeled]], list[float]]


def minimized(
    residuals: "Callable[[Vector], Vector]",
    jacobian: "Callable[[Vector], Vector]",
    start: "Vector",
    bounds: "tuple[Vector, Vector]",
    *,
    scale: float,
    evaluations: int,
    step: float,
) -> "Vector":
    """Return a place with smaller residuals, found in at most `evaluations`, the last with a step of at least `step`.

    Residuals beyond `scale` count linearly instead of squared.
    """
    from scipy.optimize import least_squares

    found: Vector = least_squares(
        residuals,
        start,
        jac=jacobian,
        bounds=bounds,
        loss="soft_l1",
        f_scale=scale,
        x_scale=0.3,
        max_nfev=evaluations,
        xtol=step,
        ftol=2e-3,
    ).x
    return found


class Problem:
    """The residuals of a guess whose parameters `names` move, and their differences."""

    def __init__(
        self, model: Model, points: Sequence[Point], guess: Guess, names: Sequence[str], residuals: Residuals
    ) -> None:
        self._model = model
        self._points = points
        self._guess = guess
        self._residuals = residuals
        self.names = list(names)

    def only(self, names: Sequence[str]) -> "Problem":
        """Return the problem in which only `names` move."""
        return Problem(self._model, self._points, self._guess, names, self._residuals)

    def start(self) -> "Vector":
        """Return the coordinates of the guess."""
        import numpy as np

        return np.array([self._model.space.all[name].place(self._guess.values[name]) for name in self.names])

    def bounds(self, start: "Vector", reach: float) -> "tuple[Vector, Vector]":
        """Return the lowest and the highest coordinates: `reach` from the start, and the ends of the ranges."""
        import numpy as np

        ranges = [self._model.space.all[name] for name in self.names]
        low = np.maximum(start - reach, [each.place(each.low) for each in ranges]) - 1e-9
        high = np.minimum(start + reach, [each.place(each.high) for each in ranges]) + 1e-9
        return low, high

    def guess(self, place: Any) -> Guess:
        """Return the guess at a place."""
        parameters = self._model.space.all
        values = {name: parameters[name].at(float(each)) for name, each in zip(self.names, place, strict=True)}
        return Guess(self._guess.structure, {**self._guess.values, **values})

    def residuals(self, place: "Vector") -> "Vector":
        """Return the residuals at a place."""
        import numpy as np

        (modeled,) = self._model.evaluate([self.guess(place)], self._points)
        return np.array(self._residuals(self._points, modeled))

    def jacobian(self, place: "Vector") -> "Vector":
        """Return the residuals' change along each parameter; all runs are one batch."""
        import numpy as np

        moved = []
        for i, name in enumerate(self.names):
            step = np.zeros(len(place))
            # Away from the nearer end of the range.
            parameter = self._model.space.all[name]
            step[i] = STEP if place[i] + 2 * STEP < parameter.place(parameter.high) else -STEP
            moved.append(place + step)
        answers = self._model.evaluate([self.guess(each) for each in (place, *moved)], self._points)
        base, *others = (np.array(self._residuals(self._points, each)) for each in answers)
        columns = [(other - base) / np.sum(to - place) for other, to in zip(others, moved, strict=True)]
        return np.column_stack(columns) if columns else np.zeros((len(base), 0))
