"""Keys whose values are tried one after another, beyond what the curves show."""

import itertools
import math
import tomllib
from collections.abc import Mapping, Sequence

from nandram.errors import UserError
from nandram.fit.parameters import Space

COMBINATIONS_MAX = 64
"""Most combinations of tried values: each is evaluated on all fitted points."""

Tries = Mapping[str, Sequence[object]]


def parsed(texts: Sequence[str]) -> dict[str, list[object]]:
    """Return the keys and values of texts such as ``flash.channels=4,8``. Raises `UserError`."""
    found: dict[str, list[object]] = {}
    for text in texts:
        key, equals, values = text.partition("=")
        if not key or not equals or not all(values.split(",")):
            raise UserError(f"--try: found `{text}`, expected KEY=VALUE,VALUE such as flash.channels=4,8")
        if key in found:
            raise UserError(f"--try: found {key} twice, expected all of its values in one option")
        found[key] = [_value(each) for each in values.split(",")]
    return found


def combinations(tries: Tries, space: Space) -> list[dict[str, object]]:
    """Return every combination of the tried values. Raises `UserError` if a key cannot be tried, or for too many."""
    free = {parameter.key for parameter in space.free.values()}
    for key in tries:
        if key in free:
            raise UserError(f"--try: the search refines {key}, expected a key that it leaves alone")
        if space.is_given(key):
            raise UserError(f"--try: the start file gives {key}, expected another key, or another basis than given")
    count = math.prod(len(values) for values in tries.values())
    if count > COMBINATIONS_MAX:
        raise UserError(f"--try: found {count} combinations, expected at most {COMBINATIONS_MAX}")
    return [dict(zip(tries, each, strict=True)) for each in itertools.product(*tries.values())]


def _value(text: str) -> object:
    """Return a number or a boolean as TOML has it, or the text itself."""
    try:
        value: object = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value if isinstance(value, bool | int | float) else text
