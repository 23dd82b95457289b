"""Which parameters the data determine, and within which bands."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nandram.fit.model import Guess
from nandram.fit.parameters import Parameter
from nandram.fit.search import Found

NARROW = 0.2
"""Half width of a band, as a logarithm, up to which a parameter counts as determined."""
DEVIATIONS = 2.0
"""Standard errors on each side of a value: 95 % of a normal distribution."""
DIES = Parameter("dies", "count", 1, 4096)
"""Number of dies: channels times chips times dies per chip. Arrangements of equally many dies often fit alike."""


@dataclass(frozen=True)
class Band:
    """Range of a parameter that the data allow."""

    parameter: Parameter
    value: float
    low: float
    high: float
    determined: bool


def bands(alike: Sequence[Found], parameters: dict[str, Parameter], dies: Callable[[Guess], int]) -> list[Band]:
    """Return a band per free parameter over all files that fit as well, and that of the number of dies.

    A parameter's standard error follows from the slopes and the sizes of the residuals; its range in the table of
    parameters is the prior. `dies`: the number of dies of a guess.
    """
    spread = [_deviations(each, parameters) for each in alike]
    found = []
    for name, value in alike[0].guess.values.items():
        parameter = parameters[name]
        ends = [
            parameter.at(parameter.place(each.guess.values[name]) + sign * DEVIATIONS * deviations[name])
            for each, deviations in zip(alike, spread, strict=True)
            for sign in (-1, 1)
        ]
        low, high = min(ends), max(ends)
        determined = math.log(high / low) / 2 <= NARROW and all(name in each.searched for each in alike)
        found.append(Band(parameter, value, low, high, determined))
    counts = [dies(each.guess) for each in alike]
    if any(each.guess.structure for each in alike):
        determined = math.log(max(counts) / min(counts)) / 2 <= NARROW
        found.append(Band(DIES, counts[0], min(counts), max(counts), determined))
    return found


def _deviations(found: Found, parameters: dict[str, Parameter]) -> dict[str, float]:
    """Return the standard error of each parameter's coordinate."""
    import numpy as np

    prior = {name: (each.place(each.high) - each.place(each.low)) / 2 for name, each in parameters.items()}
    deviations = dict(prior)
    if not found.searched:
        return deviations
    slopes = np.array(found.jacobian) / np.array(found.sizes)[:, np.newaxis]
    information = slopes.T @ slopes + np.diag([prior[name] ** -2 for name in found.searched])
    variances = np.diag(np.linalg.inv(information))
    deviations.update(zip(found.searched, np.sqrt(variances).tolist(), strict=True))
    return deviations
