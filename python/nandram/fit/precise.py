"""The search for precise data: each figure counts by its noise."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from nandram.fit.evaluate import Modeled
from nandram.fit.figures import Figure, figures, log_errors, sizes_left
from nandram.fit.measurements.points import Point
from nandram.fit.model import DIES, Guess, Model, cost
from nandram.fit.problem import STEP, Problem, minimized
from nandram.fit.search import REACH, Found, Stage

if TYPE_CHECKING:
    from nandram.fit.problem import Vector

PRECISE = 0.005
"""Largest noise of rates for this search: fio's percentiles, which are counted in buckets, are not more precise."""
WIDER = 1.5
"""Factor of the standard deviations of the bands, for what slopes leave out (calibrated on drives 31, 33 and 35 of the
blind test, which has 30)."""
SCALE = 3.0
"""Residuals beyond this many standard deviations count linearly (assumed)."""
TIGHT = 0.5
"""Standard deviation of a prior around the start, as a coordinate: holds parameters that the data hardly see
(assumed)."""
NEAR = 0.1
"""Largest move of a coordinate for which slopes remain valid."""
INFLUENCE = 0.2
"""Largest change of any residual, in standard deviations, under a step of a parameter that the data do not see."""
ROUNDS = 3
"""Most refinements of a choice."""
SETTLED = 0.95
"""Ratio of the sizes after and before a round from which a further one is not worth its runs."""
EVALUATIONS = 5
"""Evaluations of each refinement."""
COMMANDS = "device.max_commands"
WAIT = "device.firmware.wait.read"
DIVISIONS = (0.0, 0.1, 0.2)
"""Parts of the array's time that are given to the firmware (calibrated on drives 2, 33 and 35 of the blind test)."""
RANKED = 15
"""Further choices that are compared, also at the best one's parameters."""
FURTHER = 2
"""Further choices that are refined."""


def precise_search(
    model: Model, points: Sequence[Point], guesses: Sequence[Guess], noise: float, stage: Stage
) -> list[Found]:
    """Return the local optima of the most likely guesses, best first.

    `points`: all that the search sees. `noise`: relative noise of the rates.
    """
    search = _Search(model, points, noise)
    coarse = _Search(model, _subset(points), noise)
    divided = [each for guess in guesses for choice in search.accepting(guess) for each in _divisions(choice)]
    stage(f"{len(guesses)} choices at the start, with {len(DIVISIONS)} divisions of the time at depth 1")
    nearest: dict[str, Guess] = {}
    for guess in coarse.ranked(divided):
        nearest.setdefault(f"{guess.structure} {guess.values.get(COMMANDS)}", guess)
    kinds: dict[str, Guess] = {}
    for guess in nearest.values():
        kinds.setdefault(_kind(guess), guess)
    found = []
    for number, guess in enumerate(kinds.values(), 1):
        stage(f"refining the first choice of kind {number} of {len(kinds)}")
        found.append(search.refined(guess))
    first = search.judged(found)[0].guess
    tried = [each.guess.structure for each in found]
    others = [guess for guess in nearest.values() if guess.structure not in tried][:RANKED]
    stage(f"{len(others)} further choices, also at its parameters")
    learned = [Guess(guess.structure, {**guess.values, **first.values}) for guess in others]
    further: dict[str, Guess] = {}
    for guess in search.ranked([*others, *learned]):
        further.setdefault(str(guess.structure), guess)
    for number, guess in enumerate(list(further.values())[:FURTHER], 1):
        stage(f"refining further choice {number} of {min(FURTHER, len(others))}")
        found.append(search.refined(guess))
    return search.judged(found)


def _subset(points: Sequence[Point]) -> list[Point]:
    """Return the lowest, middle and highest depths of the smallest and the largest size."""
    sizes = sorted({point.conditions.size_bytes for point in points})
    found = []
    for size in dict.fromkeys((sizes[0], sizes[-1])):
        row = {point.conditions.outstanding: point for point in points if point.conditions.size_bytes == size}
        depths = sorted(row)
        found += [row[depth] for depth in sorted({*depths[:2], depths[len(depths) // 2], depths[-1]})]
    return found


def _kind(guess: Guess) -> str:
    """Return what two guesses share if they differ in the arrangement of dies alone."""
    choices = sorted((key, str(value)) for key, value in guess.structure.items() if key not in DIES)
    return f"{choices} {guess.values.get(COMMANDS)}"


class _Search:
    """The points, and their figures."""

    def __init__(self, model: Model, points: Sequence[Point], noise: float) -> None:
        self._model = model
        self._points = points
        types = sum(name.startswith("flash.read[") for name in model.space.all)
        self._figures = figures(points, types, noise)

    def accepting(self, guess: Guess) -> list[Guess]:
        """Return a guess, and if its curves seem to show how many commands the drive accepts, one without that limit.

        Where all dies are busy, even the fastest reads wait in the drive as well.
        """
        if COMMANDS not in guess.values:
            return [guess]
        unlimited = self._model.space.number(COMMANDS)
        if math.isinf(unlimited) or guess.values[COMMANDS] == unlimited:
            return [guess]
        return [guess, Guess(guess.structure, {**guess.values, COMMANDS: unlimited})]

    def ranked(self, guesses: Sequence[Guess]) -> list[Guess]:
        """Return the guesses by their errors, the best first."""
        noise = [figure.noise for figure in self._figures]
        errors = [log_errors(self._points, self._figures, each) for each in self._model.evaluate(guesses, self._points)]
        order = sorted(range(len(guesses)), key=lambda i: _cost(errors[i], noise))
        return [guesses[i] for i in order]

    def refined(self, guess: Guess) -> Found:
        """Refine a guess in rounds, each with the sizes of the residuals that the one before left."""
        refining = _Refining(self._model, self._points, self._figures, guess)
        sizes = sizes_left(self._figures, refining.errors)
        for _ in range(ROUNDS):
            found = refining.refined(sizes)
            sizes, before = sizes_left(self._figures, found.residuals), sizes
            if sum(sizes) > SETTLED * sum(before):
                break
        return found

    def judged(self, found: Sequence[Found]) -> list[Found]:
        """Return the optima by their costs, all with the sizes of the residuals that the best one leaves."""
        noise = [figure.noise for figure in self._figures]
        best = min(found, key=lambda each: _cost(each.residuals, noise))
        sizes = sizes_left(self._figures, best.residuals)
        wider = [WIDER * size for size in sizes]
        return sorted(
            (replace(each, sizes=wider, cost=_cost(each.residuals, sizes)) for each in found),
            key=lambda each: each.cost,
        )


def _divisions(guess: Guess) -> list[Guess]:
    """Return a guess, and ones that divide the time of depth 1 differently among array and firmware.

    The start takes the longest waits at depth 2 for the time of a page of the middle type, but they are those for the
    slowest one: its array times are too long.
    """
    names = sorted(name for name in guess.values if name.startswith("flash.read["))
    if not names or WAIT not in guess.values:
        return [guess]
    moved = []
    for share in DIVISIONS:
        taken = share * guess.values[names[0]]
        values = {name: guess.values[name] - taken for name in names}
        moved.append(Guess(guess.structure, {**guess.values, **values, WAIT: guess.values[WAIT] + taken}))
    return moved


class _Refining:
    """The refinement of one choice."""

    def __init__(self, model: Model, points: Sequence[Point], figures: Sequence[Figure], guess: Guess) -> None:
        def logs(of: Sequence[Point], modeled: Sequence[Modeled]) -> list[float]:
            return log_errors(of, figures, modeled)

        every = Problem(model, points, guess, list(guess.values), logs)
        self._place = every.start()
        self.errors = every.residuals(self._place).tolist()
        """The logarithmic errors at the start."""
        self._slopes_at = self._place
        self._slopes = every.jacobian(self._place)
        self._problem = every
        self._whole = True

    def refined(self, sizes: Sequence[float]) -> Found:
        """Refine the parameters that the data see, if each figure has the standard deviation `sizes`."""
        import numpy as np

        scale = np.array(sizes)
        if self._whole:
            self._drop_unseen(scale)
        start, names = self._place, self._problem.names

        def residuals(place: "Vector") -> "Vector":
            return np.concatenate([self._problem.residuals(place) / scale, (place - start) / TIGHT])

        def jacobian(place: "Vector") -> "Vector":
            return np.vstack([self._slopes_near(place) / scale[:, np.newaxis], np.eye(len(names)) / TIGHT])

        if not names:
            left = list(self.errors)
            return Found(self._problem.guess(start), _cost(left, sizes), left, [[]] * len(left), (), list(sizes))
        bounds = self._problem.bounds(start, REACH)
        self._place = minimized(residuals, jacobian, start, bounds, scale=SCALE, evaluations=EVALUATIONS, step=2e-4)
        left = [float(each) for each in self._problem.residuals(self._place)]
        slopes = self._slopes_near(self._place).tolist()
        return Found(self._problem.guess(self._place), _cost(left, sizes), left, slopes, tuple(names), list(sizes))

    def _drop_unseen(self, scale: "Vector") -> None:
        """Leave out the parameters that the data do not see."""
        import numpy as np

        seen = np.max(np.abs(self._slopes) / scale[:, np.newaxis], axis=0) * STEP > INFLUENCE
        self._problem = self._problem.only([name for name, each in zip(self._problem.names, seen, strict=True) if each])
        self._place, self._slopes_at, self._slopes = self._place[seen], self._slopes_at[seen], self._slopes[:, seen]
        self._whole = False

    def _slopes_near(self, place: "Vector") -> "Vector":
        """Return the slopes at a place, computed again if it is far from where they were computed."""
        import numpy as np

        if np.max(np.abs(place - self._slopes_at), initial=0.0) > NEAR:
            self._slopes_at, self._slopes = place.copy(), self._problem.jacobian(place)
        return self._slopes


def _cost(errors: Sequence[float], sizes: Sequence[float]) -> float:
    return cost([error / size for error, size in zip(errors, sizes, strict=True)], SCALE)
