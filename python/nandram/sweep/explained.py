"""The fraction of a variance that a factor explains, against chance."""

from collections.abc import Hashable, Sequence

CONFIDENCE = 0.95


def explained(groups: Sequence[Hashable], values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Return the fraction of the variance of `values` that their groups explain, and its 95 % interval.

    The fraction is epsilon squared (Kelley, 1935), at least 0: the correlation ratio less its mean for groups without
    effect. The interval inverts the noncentral F distribution of an analysis of variance (Steiger, 2004), for groups of
    normal values with one variance. All are None if there is one group, or no group with two values.
    """
    import numpy as np

    _, index = np.unique(np.array([repr(group) for group in groups]), return_inverse=True)
    found = np.asarray(values, dtype=float)
    count, of_groups = len(found), int(index.max()) + 1
    within, between = count - of_groups, of_groups - 1
    if within < 1 or between < 1:
        return None, None, None
    sizes = np.bincount(index)
    means = np.bincount(index, found) / sizes
    rest = float(((found - means[index]) ** 2).sum())
    whole = float(((found - found.mean()) ** 2).sum())
    share = 1 - (rest / within) / (whole / (count - 1))
    if rest <= 1e-24 * whole:
        return 1.0, 1.0, 1.0
    ratio = ((whole - rest) / between) / (rest / within)
    low, high = (_noncentrality(ratio, between, within, part) for part in ((1 + CONFIDENCE) / 2, (1 - CONFIDENCE) / 2))
    return max(share, 0.0), low / (low + count), high / (high + count)


def _noncentrality(ratio: float, between: int, within: int, part: float) -> float:
    """Return the noncentrality at which an F ratio is at most `ratio` with probability `part`; 0 if there is none."""
    from scipy.optimize import brentq
    from scipy.stats import ncf

    def above(noncentrality: float) -> float:
        return float(ncf.cdf(ratio, between, within, noncentrality)) - part

    if above(0.0) <= 0:
        return 0.0
    upper = 1.0
    while above(upper) > 0:
        upper *= 2
    return float(brentq(above, 0.0, upper, xtol=1e-9 * upper))
