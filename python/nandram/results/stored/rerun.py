"""Running a result again, and comparing the bytes."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from nandram.errors import UserError
from nandram.results import output
from nandram.results.result import Result, read_result
from nandram.results.stored import inputs

if TYPE_CHECKING:
    from nandram.simulate import Progress

LINES_MAX = 10
"""Maximum number of differing figures that are listed."""


@dataclass(frozen=True)
class Rerun:
    """The outcome of running a result again."""

    same: tuple[str, ...]
    """Files with the same SHA-256."""
    differing: tuple[str, ...]
    figures: tuple[str, ...]
    """The first values of ``summary.json`` and ``manifest.json`` that differ, one line each."""
    other_program: str | None
    """A line on the program that made the result, unless it is this one."""

    def __bool__(self) -> bool:
        """Whether all files are the same."""
        return not self.differing


def rerun(
    folder: str | os.PathLike[str],
    output_folder: str | os.PathLike[str] | None = None,
    *,
    progress: "Progress | None" = None,
) -> Rerun:
    """Run the system, the workload and the options stored in a folder of results again, and compare the files.

    `output_folder`: where to write the new result. Raises `UserError` if the folder holds no inputs, or if an input
    that is not stored has changed.
    """
    old = read_result(folder)
    stored = inputs.read(Path(folder))
    if any(note.kind == "interrupted" for note in old.validity):
        raise UserError(f"{folder}: found an interrupted run, expected a complete one")
    with TemporaryDirectory(prefix="nandram-") as place:
        before = output.sums(Path(folder))
        # Where the time of the requests goes is in the folder if each was logged.
        log = Path(place) / "requests.parquet" if "breakdown.parquet" in before else None
        new = stored.run(progress, log)
        _check_inputs(folder, stored, old, new)
        after = output.sums(output.write(new, Path(output_folder or Path(place) / "out")))
    same = tuple(name for name in before if before[name] == after.get(name))
    differing = tuple(name for name in before if name not in same)
    lines = [*_differences("manifest", old.manifest, new.manifest), *_differences("summary", old.summary, new.summary)]
    return Rerun(same, differing, tuple(lines[:LINES_MAX]), stored.other_program())


def _check_inputs(folder: str | os.PathLike[str], stored: inputs.Stored, old: Result, new: Result) -> None:
    """Raise `UserError` if an input that is not stored has changed."""
    for what in ("system", "workload"):
        key = f"{what}_sha256"
        if old.manifest[key] != new.manifest[key] and getattr(stored, what) is None:
            named = getattr(stored.inputs, what)
            raise UserError(f"{folder}: {what}: {named} has changed since the run, and the folder has no copy")


def _differences(path: str, old: Any, new: Any) -> Iterator[str]:
    """Yield a line for each value that differs."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            yield from _differences(f"{path}.{key}", old.get(key), new.get(key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (first, second) in enumerate(zip(old, new, strict=True)):
            yield from _differences(f"{path}[{number}]", first, second)
    elif old != new:
        yield f"{path}: {json.dumps(old)}, now {json.dumps(new)}"
