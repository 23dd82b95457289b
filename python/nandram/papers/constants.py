"""Constants of an experiment: their values, and what each rests on.

[constants]
light_jobs = 8
[basis]                           of every constant, in the form of a system file; `range` and `values` are optional
                                  (quick runs use the same part of their own value, and the same `values`)
light_jobs = { calibrated = "hmb.light.*: at 8 and 9 jobs these hold", values = [4, 8, 16] }
blocks = { assumed = "a smaller drive fills faster", range = [128, 256] }
"""

import fnmatch
import keyword
from dataclasses import dataclass
from typing import Literal

from nandram.language.functions import FUNCTIONS
from nandram.language.grid import words
from nandram.language.tables import Table
from nandram.options import nearest
from nandram.papers.claims import Claims

Constant = int | float | str
Kind = Literal["given", "assumed", "calibrated"]
KINDS: tuple[Kind, ...] = ("given", "assumed", "calibrated")

_RESERVED = {"ours", "paper", "jobs", "nandram"}
_VALUE = "a number or a text"


@dataclass(frozen=True)
class Basis:
    """Basis of a constant."""

    kind: Kind
    text: str
    """The source, the reason, or the claims to which the constant was calibrated."""
    claims: tuple[str, ...]
    """Ids of the claims to which the constant was calibrated."""
    factors: tuple[float, float] | None
    """Lowest and highest plausible value over the value; None for the usual range of an assumed number."""
    values: tuple[Constant, ...]
    """All plausible values; empty for a range."""


def check_name(table: Table, key: str) -> None:
    """Raise `UserError` for a name that expressions could not use."""
    if not key.isidentifier() or keyword.iskeyword(key) or key in FUNCTIONS or key in _RESERVED:
        raise table.error(key, key, "a name of letters, digits and underscores that expressions do not know already")


def read_constants(top: Table, *, quick: bool) -> dict[str, Constant]:
    """Return the constants of an experiment, in the order of the file. Raises `UserError`."""
    table, quicker = top.table("constants"), top.table("quick")
    found = {}
    for key in table.values:
        check_name(table, key)
        found[key] = table.take(key, _VALUE, int, float, str)
    for key in quicker.values:
        if key not in found:
            raise quicker.error(key, key, f"a constant: {words(found)}{nearest(key, tuple(found))}")
        value = quicker.take(key, _VALUE, int, float, str)
        found[key] = value if quick else found[key]
    return found


def read_basis(top: Table, claims: Claims) -> dict[str, Basis]:
    """Return the basis of each constant. Raises `UserError` for a constant without one."""
    table, constants = top.table("basis"), top.table("constants").values
    for key in table.values:
        if key not in constants:
            raise table.error(key, key, f"a constant: {words(constants)}{nearest(key, tuple(constants))}")
    for key in constants:
        if key not in table.values:
            raise table.error(
                key, "nothing", "what the constant rests on: { given = ... }, { assumed = ... } or { calibrated = ... }"
            )
    return {key: _basis(table.table(key), constants[key], claims) for key in constants}


def _basis(table: Table, value: Constant, claims: Claims) -> Basis:
    table.only(*KINDS, "range", "values")
    kinds = [kind for kind in KINDS if kind in table.values]
    if len(kinds) != 1:
        found = " and ".join(f"`{kind}`" for kind in kinds) or "none"
        raise table.missing(f"found {found}, expected one of {words(KINDS)}")
    kind = kinds[0]
    text = table.text(kind)
    fitted: tuple[str, ...] = ()
    if kind == "calibrated":
        patterns = [each.strip() for each in text.partition(":")[0].split(",")]
        for pattern in patterns:
            if not fnmatch.filter(claims.claims, pattern):
                known = tuple(claims.claims)
                raise table.error(kind, pattern, f"claims of {claims.paper}, before a colon{nearest(pattern, known)}")
        fitted = tuple(name for name in claims.claims if any(fnmatch.fnmatchcase(name, each) for each in patterns))
    if "range" in table.values and "values" in table.values:
        raise table.missing("found `range` and `values`, expected one of them")
    ends = table.take("range", "[lowest, highest]", list, default=None)
    if ends is not None:
        right = len(ends) == 2 and all(isinstance(each, int | float) and not isinstance(each, bool) for each in ends)
        if not right or not ends[0] < ends[1]:
            raise table.error("range", ends, "[lowest, highest]")
        if isinstance(value, str) or not value:
            raise table.error("range", ends, f"`values`: {value} cannot be scaled")
        ends = (ends[0] / value, ends[1] / value)
    values = table.take("values", "a list of values", list, default=[])
    if not all(isinstance(each, int | float | str) and not isinstance(each, bool) for each in values):
        raise table.error("values", values, "a list of numbers or texts")
    return Basis(kind, text, fitted, ends, tuple(values))
