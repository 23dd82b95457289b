"""Statistics over seeds: values that fall into groups, and relative changes with their intervals."""

import itertools
import math
from collections.abc import Sequence

CONFIDENCE = 0.95
GROUP_GAP = math.log(1.1)
"""Minimum gap between two groups; groups whose values differ by less than a tenth would change no answer."""
GROUP_RATIOS = {4: 16.0, 5: 8.0}
GROUP_RATIO = 5.0
"""Minimum gap between two groups as a multiple of the wider group, by number of values; fewer values are close by
chance more often. With these multiples at most 1 % of samples of a normal distribution are split."""
CUTS_MAX = 2
"""Maximum number of gaps between groups."""
FEW_RATIO = math.log(1.5)
"""Of two or three values no multiple tells groups from chance. They are listed if they differ by more than half."""


def groups(values: Sequence[float]) -> list[list[int]]:
    """Return the groups into which positive values fall, as lists of indices, the lowest values first.

    All indices are in one group if the values are one distribution, as far as they tell.
    """
    order = sorted(range(len(values)), key=lambda index: values[index])
    if len(values) < 2 or values[order[0]] <= 0 or not math.isfinite(values[order[-1]]):
        return [order]
    logs = [math.log(values[index]) for index in order]
    if len(order) < 4:
        return _cut(order, logs, 1) if logs[-1] - logs[0] > FEW_RATIO else [order]
    for cuts in range(1, min(CUTS_MAX, len(order) // 2 - 1) + 1):
        parts = _cut(order, logs, cuts)
        if _separate(parts, values):
            return parts
    return [order]


def _cut(order: list[int], logs: list[float], cuts: int) -> list[list[int]]:
    """Cut sorted values at the widest gaps."""
    gaps = sorted(range(1, len(logs)), key=lambda at: logs[at] - logs[at - 1])
    ends = [0, *sorted(gaps[-cuts:]), len(logs)]
    return [order[start:end] for start, end in itertools.pairwise(ends)]


def _separate(parts: list[list[int]], values: Sequence[float]) -> bool:
    """Return whether the gaps between groups are wide in comparison with the groups."""
    width = max(math.log(values[part[-1]] / values[part[0]]) for part in parts)
    gap = min(math.log(values[above[0]] / values[below[-1]]) for below, above in itertools.pairwise(parts))
    return gap >= max(GROUP_GAP, GROUP_RATIOS.get(sum(map(len, parts)), GROUP_RATIO) * width)


def mean(values: Sequence[float]) -> float | None:
    """Return the geometric mean; of values that are not all positive, the arithmetic one; None over several groups."""
    if not values or len(groups(values)) > 1:
        return None
    if min(values) <= 0:
        return math.fsum(values) / len(values)
    return math.exp(math.fsum(math.log(value) for value in values) / len(values)) if len(values) > 1 else values[0]


def relative_change(a: Sequence[float], b: Sequence[float]) -> tuple[float, float | None, float | None]:
    """Return the relative change from `a` to `b` with the bounds of its 95 % interval.

    The interval is Student's, over the logarithms of the ratios of paired values, so that no bound is below -1 and
    variation common to both systems cancels. The change is NaN if a value is not positive or if the ratios fall into
    groups, which have no common change; the bounds are None then, and for one pair.
    """
    if min(*a, *b) <= 0 or len(a) != len(b):
        return math.nan, None, None
    if len(a) == 1:
        return b[0] / a[0] - 1, None, None
    if len(groups([second / first for first, second in zip(a, b, strict=True)])) > 1:
        return math.nan, None, None
    from scipy.stats import t

    logs = [math.log(second) - math.log(first) for first, second in zip(a, b, strict=True)]
    middle = math.fsum(logs) / len(logs)
    deviation = math.sqrt(math.fsum((each - middle) ** 2 for each in logs) / (len(logs) - 1))
    half = float(t.ppf((1 + CONFIDENCE) / 2, len(logs) - 1)) * deviation / math.sqrt(len(logs))
    return math.expm1(middle), math.expm1(middle - half), _bounded(middle + half)


def _bounded(logarithm: float) -> float:
    """Return the relative change of a logarithm, infinite beyond the range of numbers."""
    try:
        return math.expm1(logarithm)
    except OverflowError:
        return math.inf
