"""Tables of a paper beside ours, where ours are many: their median and range."""

import itertools
import statistics
from dataclasses import dataclass
from typing import Any

from nandram.errors import UserError
from nandram.papers.cells import fill
from nandram.papers.claims import Claims
from nandram.papers.experiment import Band
from nandram.papers.functions import kind
from nandram.papers.grid import Coordinate, Grid, words


@dataclass(frozen=True)
class Cell:
    """One figure of a paper's table, and ours."""

    place: dict[str, Coordinate]
    """Its coordinates."""
    paper: float
    """As printed."""
    median: float
    low: float
    high: float
    """Of ours."""

    @property
    def inside(self) -> bool:
        """Whether the paper's figure lies in the range of ours."""
        return self.low <= self.paper <= self.high


@dataclass(frozen=True)
class BandTable:
    """A table of a paper beside ours."""

    paper: str
    """The paper's short name."""
    name: str
    title: str
    over: str
    """The axis along which ours were taken."""
    count: int
    """How many of ours stand behind a cell."""
    unit: str
    """That of the paper's claims; empty where the table's figure is no claim."""
    cells: tuple[Cell, ...]


def evaluate(claims: Claims, name: str, band: Band, names: dict[str, Any]) -> BandTable:
    """Return the table of a band where expressions see `names`. Raises `UserError`."""
    ours = band.ours.evaluate(names)
    if not isinstance(ours, Grid):
        raise band.ours.error(f"found {kind(ours)}, expected a series")
    if band.over not in ours.axes:
        raise UserError(f"{band.place}: found no axis `{band.over}` of ours, expected {words(ours.axes)}")
    rest = {axis: coordinates for axis, coordinates in ours.axes.items() if axis != band.over}
    lines = ours.over(band.over, lambda _, line: tuple(line))
    cells = []
    unit = ""
    for key in itertools.product(*rest.values()):
        line = lines.cells[key] if isinstance(lines, Grid) else lines
        place = dict(zip(rest, key, strict=True))
        printed, unit = _printed(claims, band, place)
        cells.append(Cell(place, printed, statistics.median(line), min(line), max(line)))
    return BandTable(claims.paper, name, band.title, band.over, len(ours.axes[band.over]), unit, tuple(cells))


def _printed(claims: Claims, band: Band, place: dict[str, Coordinate]) -> tuple[float, str]:
    """The paper's figure at a place, and its unit."""
    if not isinstance(band.paper, str):
        return float(band.paper), ""
    claim = claims.claims.get(fill(band.paper, {axis: str(coordinate) for axis, coordinate in place.items()}))
    if claim is None or isinstance(claim.value, tuple):
        raise UserError(
            f"{band.place}: found `{band.paper}`, expected the name of a claim, filled in by {words(place)}"
        )
    return claim.value, claim.unit
