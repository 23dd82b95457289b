"""The local search: choices are enumerated, parameters refined by least squares around the closed-form start."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nandram.fit.measurements.points import Point
from nandram.fit.model import Guess, Model, cost, residuals

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

SCALE = 0.04
"""Residuals beyond this count linearly instead of squared: mechanisms that the model lacks must not bend the rest."""
STEP = 0.06
"""Step of the differences, in coordinates of `Parameter.place`: larger than what the runs' randomness hides."""
INFLUENCE = 0.004
"""Largest change of any residual under a step of a parameter that the data do not see."""
REACH = math.log(3.0)
"""Largest change of a parameter's coordinate from its start."""
REFINED = 2
"""Choices whose parameters are refined."""
ITERATIONS = 5
"""Evaluations of the first choice; each improves all parameters at once."""
FURTHER = 3
"""Evaluations of the further choices."""
ALIKE = 1.25
"""Ratio of costs up to which a file fits as well as the best one."""

Stage = Callable[[str], None]


@dataclass(frozen=True)
class Found:
    """A local optimum."""

    guess: Guess
    cost: float
    residuals: list[float]
    jacobian: list[list[float]]
    """Change of each residual per coordinate (`Parameter.place`) of each searched parameter."""
    searched: tuple[str, ...]


def search(model: Model, points: Sequence[Point], guesses: Sequence[Guess], stage: Stage) -> list[Found]:
    """Return the local optima of the most likely guesses, best first. `points` are all that the search sees."""
    stage(f"{len(guesses)} choices at the start")
    tried = model.evaluate(guesses, points)
    ranked = sorted(zip(guesses, tried, strict=True), key=lambda each: cost(residuals(points, each[1]), SCALE))
    found: list[Found] = []
    for number, (guess, _) in enumerate(ranked[:REFINED], 1):
        stage(f"refining choice {number} of {min(REFINED, len(ranked))}")
        # Choices share most of their parameters: what the first one taught is where the others begin.
        begin = guess if not found else Guess(guess.structure, found[0].guess.values)
        found.append(_refined(model, points, begin, FURTHER if found else ITERATIONS))
    return sorted(found, key=lambda each: each.cost)


def ensemble(found: Sequence[Found]) -> list[Found]:
    """Return the optima that fit as well as the best one."""
    return [each for each in found if each.cost <= ALIKE * found[0].cost]


def _refined(model: Model, points: Sequence[Point], guess: Guess, iterations: int) -> Found:
    """Refine a guess's parameters."""
    import numpy as np
    from scipy.optimize import least_squares

    search = _Search(model, points, guess)
    names = search.influential()
    start = np.array([model.space.all[name].place(guess.values[name]) for name in names])
    ranges = [model.space.all[name] for name in names]
    low = np.maximum(start - REACH, [each.place(each.low) for each in ranges]) - 1e-9
    high = np.minimum(start + REACH, [each.place(each.high) for each in ranges]) + 1e-9
    if names:
        solution = least_squares(
            search.residuals,
            start,
            jac=search.jacobian,
            bounds=(low, high),
            loss="soft_l1",
            f_scale=SCALE,
            x_scale=0.3,
            max_nfev=iterations,
            xtol=2e-3,
            ftol=2e-3,
        )
        final = solution.x
    else:
        final = start
    left = search.residuals(final)
    return Found(
        search.guess(final),
        cost(list(map(float, left)), SCALE),
        [float(each) for each in left],
        [[float(cell) for cell in row] for row in search.jacobian(final)],
        tuple(names),
    )


class _Search:
    """The functions of a least-squares problem over the logarithms of some parameters."""

    def __init__(self, model: Model, points: Sequence[Point], guess: Guess) -> None:
        self._model = model
        self._points = points
        self._guess = guess
        self._names = list(guess.values)

    def influential(self) -> list[str]:
        """Return the parameters that the data see at the start; only these are searched."""
        import numpy as np

        table = self.jacobian(np.array([self._place(name) for name in self._names]))
        self._names = [
            name for name, column in zip(self._names, table.T, strict=True) if np.max(np.abs(column)) * STEP > INFLUENCE
        ]
        return self._names

    def _place(self, name: str) -> float:
        return self._model.space.all[name].place(self._guess.values[name])

    def guess(self, place: Any) -> Guess:
        """Return the guess at a place."""
        parameters = self._model.space.all
        values = {name: parameters[name].at(float(each)) for name, each in zip(self._names, place, strict=True)}
        return Guess(self._guess.structure, {**self._guess.values, **values})

    def residuals(self, place: "Vector") -> "Vector":
        """Return the residuals at a place."""
        import numpy as np

        (modelled,) = self._model.evaluate([self.guess(place)], self._points)
        return np.array(residuals(self._points, modelled))

    def jacobian(self, place: "Vector") -> "Vector":
        """Return the residuals' change along each parameter; all runs are one batch."""
        import numpy as np

        moved = []
        for i, name in enumerate(self._names):
            step = np.zeros(len(place))
            # Away from the nearer end of the range.
            parameter = self._model.space.all[name]
            step[i] = STEP if place[i] + 2 * STEP < parameter.place(parameter.high) else -STEP
            moved.append(place + step)
        answers = self._model.evaluate([self.guess(each) for each in (place, *moved)], self._points)
        base, *others = (np.array(residuals(self._points, each)) for each in answers)
        columns = [(other - base) / np.sum(to - place) for other, to in zip(others, moved, strict=True)]
        return np.column_stack(columns) if columns else np.zeros((len(base), 0))
