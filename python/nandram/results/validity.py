"""The validity of the figures of a result: its notes, and which figures they withhold."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

NOT_SHOWN = "not shown"
"""The text in place of a figure that a note makes worthless."""


@dataclass(frozen=True)
class Note:
    """A note on a result."""

    kind: str
    """Its kind, such as ``empty-drive``, ``not-steady`` or ``few-cycles``."""
    text: str
    withholds: tuple[str, ...] = ()
    """Figures that it makes worthless: ``read``, ``energy``, ``write-tail``, ``write-amplification``,
    ``lifetime``."""
    qualifies: tuple[str, ...] = ()
    """Figures that must not be shown without it: ``rates``, ``wear``."""


def notes_of(summary: Mapping[str, Any]) -> tuple[Note, ...]:
    """Return the notes of a summary."""
    return tuple(
        Note(each["kind"], each["text"], tuple(each["withholds"]), tuple(each["qualifies"]))
        for each in summary["nandram"]["notes"]
    )


def withheld(notes: Iterable[Note]) -> frozenset[str]:
    """Return the kinds of figures that the notes make worthless."""
    return frozenset(figure for note in notes for figure in note.withholds)


def qualified(notes: Iterable[Note], figure: str) -> bool:
    """Return whether a note qualifies this kind of figure."""
    return any(figure in note.qualifies for note in notes)


_CONCERNS = (
    ("read", re.compile(r"\bread\b")),
    ("energy", re.compile(r"energy")),
    ("lifetime", re.compile(r"lifetime_days")),
    ("write-amplification", re.compile(r"write_amplification")),
    ("write-tail", re.compile(r"\bwrite\b.*lat_ns\.(max|percentile\W*(99|100))")),
)


def concerns(expression: str) -> frozenset[str]:
    """Return the kinds of figures that an expression over a summary reads."""
    return frozenset(kind for kind, pattern in _CONCERNS if pattern.search(expression))


def supported(notes: Iterable[Note], frame: "pl.DataFrame") -> "pl.DataFrame":
    """Return the rows of directions whose figures no note makes worthless."""
    return frame.filter(~frame["direction"].is_in(list(withheld(notes))))


def is_tail(direction: str, percent: float) -> bool:
    """Return whether a percentile is among the highest of the write times."""
    return direction == "write" and percent >= 99


def kinds(notes: Iterable[Note]) -> list[str]:
    """Return the kinds of the notes that say what figures are valid for, each once."""
    return list(dict.fromkeys(note.kind for note in notes if note.kind not in ("remark", "prepared")))
