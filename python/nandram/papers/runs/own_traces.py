"""Page traces of the user's own in place of an experiment's."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from nandram.errors import UserError
from nandram.options import nearest
from nandram.papers.experiment import Experiment, Point

_ENDS = (".pages.zst", ".pages")


class OwnTraces:
    """The page traces in a folder, each of which replaces the trace of the same name."""

    def __init__(self, folder: Path) -> None:
        """List the traces, ``NAME.pages.zst`` or ``NAME.pages``, as ``nandram capture pages`` records them.

        Raises `UserError` if there is none.
        """
        self._folder = folder
        self._files: dict[str, Path] = {}
        try:
            found = sorted(folder.iterdir())
        except OSError as error:
            raise UserError(f"traces: {folder}: cannot be read: {error.strerror}") from None
        for file in found:
            name = _name(file)
            if name is not None:
                if name in self._files:
                    raise UserError(f"traces: {folder}: found `{name}` twice, expected one file of each name")
                self._files[name] = file
        if not self._files:
            raise UserError(f"traces: {folder}: found no page trace, expected files named NAME.pages.zst")

    def instead(self, point: Point) -> Point:
        """Return a run with the folder's trace, if it has one of the same name, and otherwise the run itself."""
        if point.pages is None or point.path is None:
            return point
        file = self._files.get(_name(point.path) or "")
        return point if file is None else replace(point, path=file)

    def check(self, experiments: Iterable[Experiment]) -> None:
        """Raise `UserError` for a trace that replaces none of the experiments'."""
        runs = [run for experiment in experiments for run in experiment.runs.values()]
        points = [run.point(place, run.seeds[0]) for run in runs for place in run.places()]
        paths = [point.path for point in points if point.pages is not None and point.path is not None]
        known = tuple(dict.fromkeys(name for path in paths if (name := _name(path)) is not None))
        if not known:
            raise UserError("traces: found no experiment with page traces, expected one, such as xip")
        for name in self._files:
            if name not in known:
                raise UserError(
                    f"traces: {self._folder}: found the trace `{name}`, expected the name of one of the experiment: "
                    f"{', '.join(known[:4])}, …{nearest(name, known)}"
                )


def _name(file: Path) -> str | None:
    """Return the name of a trace; None for another file."""
    return next((file.name.removesuffix(end) for end in _ENDS if file.name.endswith(end)), None)
