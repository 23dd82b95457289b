"""Writing of fitted system files: every changed value carries ``calibrated`` with the data's hash."""

import json
import math
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandram.errors import UserError
from nandram.fit.measurements.points import Direction
from nandram.fit.model import Guess, kept_capacity
from nandram.fit.parameters import polls, quantity
from nandram.language.tables import table_lines, value_text

if TYPE_CHECKING:
    from nandram.fit.result import Fit


def write_files(fit: "Fit", path: Path) -> list[Path]:
    """Write the best file, one that extends it per further engine, the other files that fit as well, points and report.

    Raises `UserError` if one cannot be written, or the simulator refuses it.
    """
    from nandram.report.fit import page

    written = [_write(path, fitted_text(fit, fit.guesses[0]))]
    for engine in fit.space.engines[1:]:
        beside = path.with_name(f"{path.stem}-{engine.replace('_', '-')}.toml")
        written.append(_write(beside, _engine_text(fit, path.name, engine)))
    for number, guess in enumerate(fit.guesses[1:], 2):
        beside = path.with_name(f"{path.stem}-alike-{number}.toml")
        written.append(_write(beside, fitted_text(fit, guess)))
    written.append(_write(path.with_name(f"{path.stem}-points.csv"), points_text(fit)))
    written.append(_write(path.with_name(f"{path.stem}.html"), page(fit)))
    return written


def points_text(fit: "Fit") -> str:
    """Return a CSV table of the points: measured and modeled figures, and their range over all files that fit as well.

    Times are response times in nanoseconds; ``held_out`` is 1 for points that the fit did not see.
    """
    figures = ("iops", "p50", "p99")
    names = [f"{figure}_{what}" for figure in figures for what in ("measured", "modeled", "low", "high")]
    lines = [",".join(["rw", "bs_bytes", "iodepth", "numjobs", "engine", "held_out", *names])]
    held_out = set(fit.split.held_out)
    best = fit.modeled[0]
    for point, modeled, band in zip(fit.measured.points, best, fit.prediction_bands(), strict=True):
        conditions = point.conditions
        measured = {"iops": point.iops, "p50": point.percentile(50.0), "p99": point.percentile(99.0)}
        ours = {"iops": modeled.iops, "p50": modeled.p50_ns, "p99": modeled.p99_ns}
        order = "rand" if conditions.random else ""
        cells = [f"{order}{conditions.direction}", conditions.size_bytes, conditions.depth, conditions.jobs]
        cells += [conditions.engine, int(point in held_out)]
        for figure in figures:
            values = (measured[figure], ours[figure], *band[figure])
            cells += ["" if value is None else f"{value:.6g}" for value in values]
        lines.append(",".join(map(str, cells)))
    return "\n".join(lines) + "\n"


def fitted_text(fit: "Fit", guess: Guess) -> str:
    """Return the file of a guess, for the engine with most points."""
    changes = _new(fit, {**fit.space.changes(guess.values), **guess.structure})
    changes |= kept_capacity(fit.space, changes)
    system = fit.system.with_(changes)
    table = tomllib.loads(system.changed_toml)
    basis = table.pop("basis", {})
    title = str(table.pop("title", fit.system.source))
    for key in changes:
        basis[key] = _basis(fit, key, fit.space.engines[0])
    extends = _extends(fit)
    head = [f"extends = {value_text(extends)}"] if extends else []
    return "\n".join(
        [
            f"# Fitted by `nandram fit` to {len(fit.split.fitted)} of {len(fit.measured.points)} points; "
            f"{len(fit.split.held_out)} were held out.",
            *head,
            f"title = {value_text(_fitted_title(title))}",
            "",
            *table_lines(table),
            "[basis]",
            *(f"{json.dumps(key)} = {value_text(basis[key])}" for key in basis),
            "",
        ]
    )


def _new(fit: "Fit", changes: dict[str, object]) -> dict[str, object]:
    """Return the changes without values that the start file already has: those keep their basis."""
    return {key: value for key, value in changes.items() if not _same(fit.space.value(key), value)}


def _same(before: object, after: object) -> bool:
    if isinstance(before, list) or isinstance(after, list):
        return before == after
    if isinstance(before, bool) or isinstance(after, bool) or before is None:
        return before is after
    if isinstance(before, str) and not before[:1].isdigit():
        return before == after
    return math.isclose(quantity(before), quantity(after), rel_tol=1e-3)


def _engine_text(fit: "Fit", base: str, engine: str) -> str:
    """Return a file that extends the fitted one with the host's costs under another engine."""
    changes = {
        key: value for key, value in fit.space.changes(fit.guesses[0].values, engine).items() if key.startswith("host.")
    }
    table: dict[str, Any] = {}
    for key, value in changes.items():
        *folders, last = key.split(".")
        place = table
        for folder in folders:
            place = place.setdefault(folder, {})
        place[last] = value
    how = "polls for completions" if polls(engine) else "waits for interrupts"
    return "\n".join(
        [
            f"# The same drive under {engine}, which {how}.",
            f"extends = {value_text(base)}",
            f"title = {value_text(f'{_fitted_title(_title(fit))}, under {engine}')}",
            "",
            *table_lines(table),
            "[basis]",
            *(f"{json.dumps(key)} = {value_text(_basis(fit, key, engine))}" for key in changes),
            "",
        ]
    )


def _title(fit: "Fit") -> str:
    return str(fit.system.values.get("title", fit.system.source))


def _fitted_title(title: str) -> str:
    return title if title.endswith(", fitted") else f"{title}, fitted"


def _extends(fit: "Fit") -> str | None:
    """Return what the file extends: the preset that the fit started from, or what its start file extends."""
    source = Path(fit.system.source)
    if not source.is_file():
        return fit.system.source
    found = tomllib.loads(source.read_text(encoding="utf-8")).get("extends")
    return None if found is None else str(found)


def _basis(fit: "Fit", key: str, engine: str) -> dict[str, str]:
    """Return the basis of a changed value."""
    if key == "flash.blocks":
        return {"assumed": "keeps the raw capacity of the start file with the fitted number of dies"}
    if key == "host.completion":
        return {"given": f"the data were measured with {engine}"}
    sentences = fit.start.sentences
    sentence = sentences.get(f"{key}@{engine}", sentences.get(key, "refined together with the other parameters"))
    open_names = {
        band.parameter.key for band in fit.bands if not band.determined and band.parameter.engine in (None, engine)
    }
    if key in open_names:
        sentence += "; the data do not determine it within 20 %"
    directions = sorted({str(point.conditions.direction) for point in fit.split.fitted}, reverse=True)
    what = " and ".join(f"{each}s" for each in directions) if Direction.WRITE in directions else "reads"
    return {"calibrated": f"{len(fit.split.fitted)} points of {what}, sha256 {fit.measured.hash[:16]}: {sentence}"}


def _write(path: Path, text: str) -> Path:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error
    return path
