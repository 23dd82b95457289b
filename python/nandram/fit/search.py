"""The local search: choices are enumerated, parameters refined by least squares around the closed-form start."""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nandram.fit.measurements.points import Point
from nandram.fit.model import Guess, Model, cost, residuals
from nandram.fit.problem import STEP, Problem, minimized

SCALE = 0.04
"""Residuals beyond this count linearly instead of squared: mechanisms that the model lacks must not bend the rest."""
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
    sizes: list[float]
    """Standard deviation of each residual: the data's noise, or what the model leaves if that is more."""


def search(model: Model, points: Sequence[Point], guesses: Sequence[Guess], noise: float, stage: Stage) -> list[Found]:
    """Return the local optima of the most likely guesses, best first.

    `points`: all that the search sees. `noise`: relative noise of the data.
    """
    stage(f"{len(guesses)} choices at the start")
    tried = model.evaluate(guesses, points)
    ranked = sorted(zip(guesses, tried, strict=True), key=lambda each: cost(residuals(points, each[1]), SCALE))
    found: list[Found] = []
    for number, (guess, _) in enumerate(ranked[:REFINED], 1):
        stage(f"refining choice {number} of {min(REFINED, len(ranked))}")
        # Choices share most of their parameters: what the first one taught is where the others begin.
        begin = guess if not found else Guess(guess.structure, found[0].guess.values)
        found.append(_refined(model, points, begin, FURTHER if found else ITERATIONS, noise))
    return sorted(found, key=lambda each: each.cost)


def ensemble(found: Sequence[Found]) -> list[Found]:
    """Return the optima that fit as well as the best one."""
    return [each for each in found if each.cost <= ALIKE * found[0].cost]


def _refined(model: Model, points: Sequence[Point], guess: Guess, iterations: int, noise: float) -> Found:
    """Refine a guess's parameters."""
    names = _influential(model, points, guess)
    problem = Problem(model, points, guess, names, residuals)
    start = final = problem.start()
    if names:
        bounds = problem.bounds(start, REACH)
        final = minimized(
            problem.residuals, problem.jacobian, start, bounds, scale=SCALE, evaluations=iterations, step=2e-3
        )
    left = [float(each) for each in problem.residuals(final)]
    size = max(noise, spread(left))
    slopes = problem.jacobian(final).tolist()
    return Found(problem.guess(final), cost(left, SCALE), left, slopes, tuple(names), [size] * len(left))


def spread(found: Sequence[float]) -> float:
    """Return a robust standard deviation: a quarter of the points may follow a mechanism that the model lacks."""
    return 1.48 * statistics.median(map(abs, found))


def _influential(model: Model, points: Sequence[Point], guess: Guess) -> list[str]:
    """Return the parameters that the data see at the start; only these are searched."""
    import numpy as np

    every = Problem(model, points, guess, list(guess.values), residuals)
    table = every.jacobian(every.start())
    return [
        name for name, column in zip(every.names, table.T, strict=True) if np.max(np.abs(column)) * STEP > INFLUENCE
    ]
