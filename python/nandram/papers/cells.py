"""Tables of a paper, each cell of which is a claim.

In a claims file:

[[table]]
id = "xip.table5"
axes = { program = ["djpeg", "fft"], sram_kib = [4, 8], column = ["time", "energy"] }
values = [[[0.43, 0.39], [0.43, 0.36]], [[0.61, 0.54], [0.75, 0.64]]]      by the axes, in their order
unit, kind, where, when, note                                              as in a claim

defines eight claims, ``xip.table5.djpeg.4.time`` and so on. An experiment refers to them with patterns such as
``"xip.table5.{program}.{sram_kib}.time" = "..."``; the names in braces are substituted in the value as well.
"""

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any

from nandram.language.grid import Coordinate
from nandram.language.tables import Table

_IN_BRACES = re.compile(r"\{([A-Za-z_]\w*)\}")
_PART = re.compile(r"[\w()-]+")


def claims_of(table: Table) -> Iterator[dict[str, Any]]:
    """Yield the claims that a table defines, in the form of a claims file. Raises `UserError`."""
    table.only("id", "axes", "values", "unit", "kind", "where", "when", "note")
    name = table.text("id")
    axes = table.table("axes")
    coordinates: list[list[Coordinate]] = []
    for axis in axes.values:
        found = axes.take(axis, "a list of numbers or texts", list)
        right = all(isinstance(each, int | str) and _PART.fullmatch(str(each)) for each in found)
        if not found or not right or len(set(found)) != len(found):
            raise axes.error(axis, found, "a list of different whole numbers or words")
        coordinates.append(found)
    if not coordinates:
        raise table.error("axes", "none", "an axis")
    rest = {key: value for key, value in table.values.items() if key not in ("id", "axes", "values")}
    values = table.take("values", "lists of numbers", list)
    for places in itertools.product(*map(enumerate, coordinates)):
        value = values
        for depth, (index, _) in enumerate(places):
            if not isinstance(value, list) or len(value) != len(coordinates[depth]):
                raise table.error(
                    "values", value, f"a list of {len(coordinates[depth])}, by {list(axes.values)[depth]}"
                )
            value = value[index]
        yield {"id": ".".join([name, *(str(coordinate) for _, coordinate in places)]), "value": value, **rest}


def is_pattern(name: str) -> bool:
    """Whether the name of a claim contains names in braces."""
    return _IN_BRACES.search(name) is not None


def matches(pattern: str, names: Iterable[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the `names` that match a pattern, each with the values of the names in braces."""
    parts = _IN_BRACES.split(pattern)
    text = "".join(f"(?P<{part}>[^.]+)" if odd % 2 else re.escape(part) for odd, part in enumerate(parts))
    form = re.compile(text)
    for name in names:
        found = form.fullmatch(name)
        if found:
            yield name, found.groupdict()


def fill(value: Any, names: dict[str, str]) -> Any:
    """Return an entry of an experiment with the names in braces substituted."""
    if isinstance(value, str):
        return _IN_BRACES.sub(lambda match: names.get(match[1], match[0]), value)
    if isinstance(value, dict):
        return {key: fill(each, names) for key, each in value.items()}
    return value
