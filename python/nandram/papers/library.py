"""The papers there are: the files of ``claims/`` and ``experiments/``, which came with the program, or a user's own."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from nandram.errors import UserError
from nandram.options import nearest
from nandram.papers import claims as claims_file
from nandram.papers import experiment as experiment_file
from nandram.papers.claims import Claims
from nandram.papers.experiment import Experiment
from nandram.papers.grid import words


@dataclass(frozen=True)
class Paper:
    """A paper's claims and the experiment that tests them."""

    claims: Claims
    experiment: Experiment | None
    """None if there is none yet."""


@cache
def _files() -> dict[str, str]:
    from nandram import _core

    return dict(_core.papers())


def papers() -> list[str]:
    """Return the names of the papers that came with the program."""
    return [name[len("claims/") : -len(".toml")] for name in _files() if name.startswith("claims/")]


def load(name: str, *, quick: bool = False) -> Paper:
    """Read a paper's claims and experiment; a name that ends in ``.toml`` or has a ``/`` is an experiment file.

    Raises `UserError`.
    """
    _check(name)
    if name.endswith(".toml") or "/" in name:
        return _from_file(Path(name), quick)
    text = _files().get(f"experiments/{name}.toml")
    claims = _claims(name, "")
    if text is None:
        return Paper(claims, None)
    top = experiment_file.tables(f"experiments/{name}.toml", text)
    return Paper(claims, experiment_file.read(top, None, claims, quick=quick))


def _check(name: object) -> None:
    """What Python's callers may have given that is no name."""
    if not isinstance(name, str):
        raise UserError(f"papers: found {name!r}, expected a paper's name or an experiment file")


def _claims(name: str, place: str) -> Claims:
    known = tuple(papers())
    if name not in known:
        # In a file it can be nothing else; as an argument it may be.
        others = "" if place else ", or an experiment file (.toml)"
        raise UserError(f"{place}found the paper `{name}`, expected {words(known)}{others}{nearest(name, known)}")
    file = f"claims/{name}.toml"
    return claims_file.read(file, name, _files()[file])


def _from_file(path: Path, quick: bool) -> Paper:
    top = experiment_file.tables(str(path), _text(path))
    name = top.text("paper", path.stem)
    if name.endswith(".toml") or "/" in name:
        beside = path.parent / name
        claims = claims_file.read(str(beside), beside.stem, _text(beside))
    else:
        claims = _claims(name, f"{top.place('paper')}: ")
    return Paper(claims, experiment_file.read(top, path.parent, claims, quick=quick))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not TOML: it is no UTF-8 text") from None
