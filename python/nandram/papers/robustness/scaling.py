"""Values of settings, scaled by a factor."""

import json
import re
from collections.abc import Mapping
from typing import Any

from nandram.papers.constants import Constant

_AMOUNT = re.compile(r"([0-9.]+)(.*)")
_SMALLEST = ("ps", "pJ", "uW")
_SIZE = re.compile(r"[KMGT]?i?B|[kmgt]")


def plain(setting: Mapping[str, Any]) -> Constant:
    """Return a setting's value: a number, or a text with its unit."""
    text = str(setting["value"])
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, int | float | str) and not isinstance(found, bool) else text


def scaled(value: Constant, factor: float) -> Constant:
    """Return a number, or an amount with its unit, times a factor; anything else unchanged.

    Whole numbers stay whole and do not become zero. Sizes are unchanged: they are products of a geometry or powers of
    two, so the plausible ones have to be listed.
    """
    if isinstance(value, int):
        return max(1, round(value * factor)) if value > 0 else value
    if isinstance(value, float):
        return value * factor
    if value.startswith("["):
        try:
            return json.dumps([scaled(each, factor) for each in json.loads(value)])
        except (ValueError, AttributeError):
            return value
    found = _AMOUNT.fullmatch(value)
    if found is None:
        return value
    if _SIZE.fullmatch(found[2]):
        return value
    amount = float(found[1]) * factor
    if found[2] in _SMALLEST:
        return f"{max(1, round(amount))}{found[2]}"
    # Four digits, so that an amount is whole in the smallest unit.
    return f"{float(f'{amount:.4g}'):f}".rstrip("0").rstrip(".") + found[2]
