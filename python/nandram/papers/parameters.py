"""Declaration of a sensitivity analysis in an experiment: its parameters and claims.

[sensitivity]
claims = ["ddrssd.bandwidth.*"]                    patterns of claims that are numbers, or names of [values]
by = 0.2                                           20 % lower and 20 % higher
parameters = ["flash.program", "flash.rate"]       keys of the systems
[sensitivity.values]
"link.data_buffer" = ["512KiB", "2MiB"]            lower and higher values of what cannot be scaled
"""

import fnmatch
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nandram.language.tables import Table
from nandram.options import nearest

if TYPE_CHECKING:
    from nandram.papers.claims import Claims


@dataclass(frozen=True)
class Declared:
    """A declared sensitivity analysis."""

    claims: tuple[str, ...]
    """Ids of claims, or names of the experiment's values."""
    parameters: dict[str, tuple[str, str] | float]
    """Lower and higher value by key, or the fraction by which to scale."""
    place: str
    """Location of the declaration, for messages."""


def read(table: Table, claims: "Claims", values: Collection[str]) -> Declared | None:
    """Read the declaration; None if there is none. Raises `UserError`."""
    if not table.values:
        return None
    table.only("claims", "by", "parameters", "values")
    ids: list[str] = []
    for pattern in table.take("claims", "a list of patterns of claims", list):
        found = [pattern] if pattern in values else fnmatch.filter(claims.claims, str(pattern))
        if not found:
            raise table.error(
                "claims", pattern, f"claims of {claims.paper}{nearest(str(pattern), tuple(claims.claims))}"
            )
        ids += [each for each in found if each not in ids]
    by = table.take("by", "a part between 0 and 1", int, float, default=0.2)
    if not 0 < by < 1:
        raise table.error("by", by, "a part between 0 and 1")
    parameters: dict[str, tuple[str, str] | float] = {}
    for key in table.take("parameters", "a list of keys", list, default=[]):
        parameters[str(key)] = float(by)
    given = table.table("values")
    for key in given.values:
        pair = given.take(key, "[less, more]", list)
        if len(pair) != 2:
            raise given.error(key, pair, "[less, more]")
        parameters[key] = (str(pair[0]), str(pair[1]))
    return Declared(tuple(ids), parameters, table.place("parameters"))
