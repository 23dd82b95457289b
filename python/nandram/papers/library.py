"""Library of papers: the bundled files of ``claims/`` and ``experiments/``, and files of the user."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from nandram.errors import UserError
from nandram.language.grid import words
from nandram.language.tables import read_text
from nandram.options import nearest
from nandram.papers import claims as claims_file
from nandram.papers import experiment as experiment_file
from nandram.papers.claims import Claims
from nandram.papers.experiment import Experiment


@dataclass(frozen=True)
class Paper:
    """A paper's claims and the experiment that tests them."""

    claims: Claims
    experiment: Experiment | None
    """None if no experiment exists yet."""
    name: str
    """The name or file that it was loaded by."""


@cache
def _files() -> dict[str, str]:
    from nandram import _core

    return dict(_core.papers())


def papers() -> list[str]:
    """Return the names of the bundled papers."""
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
        return Paper(claims, None, name)
    top = experiment_file.tables(f"experiments/{name}.toml", text)
    return Paper(claims, experiment_file.read(top, None, claims, quick=quick), name)


def _check(name: object) -> None:
    """Raise `UserError` for a value from Python that is not a name."""
    if not isinstance(name, str):
        raise UserError(f"papers: found {name!r}, expected a paper's name or an experiment file")


def _claims(name: str, place: str) -> Claims:
    known = tuple(papers())
    if name not in known:
        # Only an argument may also be an experiment file.
        others = "" if place else ", or an experiment file (.toml)"
        raise UserError(f"{place}found the paper `{name}`, expected {words(known)}{others}{nearest(name, known)}")
    file = f"claims/{name}.toml"
    return claims_file.read(file, name, _files()[file])


def _from_file(path: Path, quick: bool) -> Paper:
    top = experiment_file.tables(str(path), read_text(path))
    name = top.text("paper", path.stem)
    if name.endswith(".toml") or "/" in name:
        beside = path.parent / name
        claims = claims_file.read(str(beside), beside.stem, read_text(beside))
    else:
        claims = _claims(name, f"{top.place('paper')}: ")
    return Paper(claims, experiment_file.read(top, path.parent, claims, quick=quick), str(path))
