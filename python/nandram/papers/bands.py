"""Tables of a paper compared with the median and range of several results of ours."""

import itertools
import statistics
from dataclasses import dataclass
from typing import Any

from nandram.errors import UserError
from nandram.language.functions import kind
from nandram.language.grid import Coordinate, Grid, words
from nandram.papers.cells import fill
from nandram.papers.claims import Claims
from nandram.papers.experiment import Band


@dataclass(frozen=True)
class Cell:
    """One figure of a paper's table, with our median and range."""

    place: dict[str, Coordinate]
    """Coordinates of the cell."""
    paper: float
    """The printed figure."""
    median: float
    low: float
    high: float
    """Range of our results."""

    @property
    def inside(self) -> bool:
        """Whether the paper's figure lies within our range."""
        return self.low <= self.paper <= self.high

    @property
    def error(self) -> float | None:
        """Relative deviation of the median from the printed figure; None if that is zero."""
        return self.median / self.paper - 1 if self.paper else None


@dataclass(frozen=True)
class BandTable:
    """A table of a paper with our results."""

    paper: str
    """The paper's short name."""
    name: str
    title: str
    over: str
    """The axis along which median and range are taken."""
    count: int
    """Number of our results per cell."""
    unit: str
    """Unit of the paper's claims; empty if the figure is not a claim."""
    cells: tuple[Cell, ...]


def evaluate(claims: Claims, name: str, band: Band, names: dict[str, Any]) -> BandTable:
    """Evaluate a band with the values of `names`. Raises `UserError`."""
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
    """Return the paper's figure for a cell and its unit."""
    if not isinstance(band.paper, str):
        return float(band.paper), ""
    claim = claims.claims.get(fill(band.paper, {axis: str(coordinate) for axis, coordinate in place.items()}))
    if claim is None or isinstance(claim.value, tuple):
        raise UserError(
            f"{band.place}: found `{band.paper}`, expected the name of a claim, filled in by {words(place)}"
        )
    return claim.value, claim.unit
