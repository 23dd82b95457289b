"""Claims of a paper: the figures that it reports, with place and conditions. One file per paper in ``claims/``.

title = "the paper's title"

[given]                   the paper's description of its system, for human readers
[[claim]]
id = "ddrssd.bandwidth.write.sata"      the paper's name, what is claimed, the condition
value = 35.96             as printed; [low, high] for a range; 1 with the unit "holds" for a statement
unit = "MB/s"
kind = "number"
where = "Table 3"
when = "the conditions"
note = "what the paper leaves open, or contradicts"      optional

[[table]]                 a table of the paper, each cell a claim: `nandram.papers.cells`
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nandram.language.tables import Table, parse
from nandram.papers.cells import claims_of

KINDS = {
    "number": "a figure",
    "ratio": "a quotient of two figures",
    "range": "a lowest and a highest figure",
    "bound": "a floor or a ceiling",
    "shape": "an ordering, a knee or the like, which holds or does not",
    "arithmetic": "follows from the paper's own figures; checks how they were read",
}


@dataclass(frozen=True)
class Claim:
    """One figure that a paper states."""

    id: str
    value: float | tuple[float, float]
    """The printed figure, or the bounds of a range."""
    unit: str
    kind: str
    """One of `KINDS`."""
    where: str
    when: str
    note: str


@dataclass(frozen=True)
class Claims:
    """All claims of a paper."""

    paper: str
    """Short name of the paper, the prefix of each id."""
    title: str
    claims: dict[str, Claim]
    """Claims by id, in the order of the file."""


def read(file: str, paper: str, text: str) -> Claims:
    """Read the claims of a paper. Raises `UserError`."""
    top = parse(file, text)
    top.only("title", "given", "claim", "table")
    title = top.text("title")
    top.table("given")
    claims: dict[str, Claim] = {}
    for table in _tables(top):
        claim = _claim(table, paper)
        if claim.id in claims:
            raise table.error("id", claim.id, "each id once")
        claims[claim.id] = claim
    return Claims(paper, title, claims)


def _tables(top: Table) -> Iterator[Table]:
    """Yield one table per claim: single claims first, then the cells of tables."""
    for number, values in enumerate(top.take("claim", "[[claim]] tables", list)):
        yield Table(top.file, f"claim {number + 1}", values if isinstance(values, dict) else {})
    for number, values in enumerate(top.take("table", "[[table]] tables", list, default=[])):
        place = f"table {number + 1}"
        table = Table(top.file, place, values if isinstance(values, dict) else {})
        for cell in claims_of(table):
            yield Table(top.file, place, cell)


def _claim(table: Table, paper: str) -> Claim:
    name = table.text("id")
    if not name.startswith(f"{paper}."):
        raise table.error("id", name, f"an id that begins with `{paper}.`")
    table = Table(table.file, name, table.values)
    table.only("id", "value", "unit", "kind", "where", "when", "note")
    kind = table.text("kind")
    if kind not in KINDS:
        raise table.one_of("kind", kind, tuple(KINDS))
    return Claim(
        id=table.text("id"),
        value=_value(table, kind),
        unit=table.text("unit"),
        kind=kind,
        where=table.text("where"),
        when=table.text("when"),
        note=table.text("note", ""),
    )


def _value(table: Table, kind: str) -> float | tuple[float, float]:
    if kind != "range":
        return float(table.take("value", "a number", int, float))
    found: list[Any] = table.take("value", "[lowest, highest]", list)
    if len(found) != 2 or not all(isinstance(each, int | float) for each in found) or found[0] > found[1]:
        raise table.error("value", found, "[lowest, highest]")
    return float(found[0]), float(found[1])
