"""The result of a fit: errors, noise floor, bands, and the fitted file."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nandram.fit.bands import Band
from nandram.fit.closed_form.reads import Start
from nandram.fit.evaluate import Modeled
from nandram.fit.measurements.points import Measurements, Point
from nandram.fit.model import FIGURES, Guess, errors
from nandram.fit.parameters import Space
from nandram.fit.split import Split
from nandram.system import System


@dataclass(frozen=True)
class ErrorRow:
    """Absolute relative errors of one figure over some points."""

    figure: str
    """``iops``, ``p50``, ``p99``, or ``all`` for the three pooled."""
    points: str
    """``fitted`` or ``held out``."""
    count: int
    median: float
    p90: float
    largest: float


@dataclass(frozen=True)
class Fit:
    """A fitted system, and how far to trust it."""

    system: System
    measured: Measurements
    split: Split
    start: Start
    guesses: list[Guess]
    """All files that fit as well, the best first."""
    modeled: list[list[Modeled]]
    """Per guess, the modeled points in the order of the data."""
    bands: list[Band]
    """Empty for a start alone."""
    noise: float | None
    """Relative noise of the data; None if unknown."""
    space: Space
    precondition: str
    seed: int

    def errors(self, points: Sequence[Point], guess: int = 0) -> dict[str, list[float]]:
        """Return the signed relative errors by figure over some points of the data, for one of the guesses."""
        wanted = set(points)
        found: dict[str, list[float]] = {figure: [] for figure in FIGURES}
        for point, modeled in zip(self.measured.points, self.modeled[guess], strict=True):
            if point in wanted:
                for figure, error in errors(point, modeled).items():
                    found[figure].append(error)
        return found

    def table(self) -> list[ErrorRow]:
        """Return the errors of the best file, per figure and pooled, of fitted and held-out points."""
        rows = []
        for name, points in (("fitted", self.split.fitted), ("held out", self.split.held_out)):
            by_figure = self.errors(points)
            pooled = [error for each in by_figure.values() for error in each]
            rows += [_row(figure, name, each) for figure, each in (*by_figure.items(), ("all", pooled)) if each]
        return rows

    def median_error(self, points: Sequence[Point]) -> float:
        """Return the median absolute error over IOPS, p50 and p99 of some points, pooled."""
        pooled = [abs(error) for each in self.errors(points).values() for error in each]
        return statistics.median(pooled)

    def prediction_bands(self) -> list[dict[str, tuple[float, float]]]:
        """Return for each point the lowest and highest figure over all files that fit as well; times in nanoseconds."""
        found = []
        for i in range(len(self.measured.points)):
            each = [row[i] for row in self.modeled]
            columns = {
                "iops": [one.iops for one in each],
                "p50": [one.p50_ns for one in each],
                "p99": [one.p99_ns for one in each],
            }
            found.append({name: (min(column), max(column)) for name, column in columns.items()})
        return found

    def undetermined(self) -> list[str]:
        """Return the names of the parameters that the data do not determine."""
        return [band.parameter.name for band in self.bands if not band.determined]

    def save(self, path: Path) -> list[Path]:
        """Write the fitted file, one per further engine and one per further fit; return their paths."""
        from nandram.fit.write import write_files

        return write_files(self, path)


def _row(figure: str, points: str, found: Sequence[float]) -> ErrorRow:
    sizes = sorted(map(abs, found))
    p90 = sizes[min(len(sizes) - 1, int(0.9 * len(sizes)))]
    return ErrorRow(figure, points, len(sizes), statistics.median(sizes), p90, sizes[-1])
