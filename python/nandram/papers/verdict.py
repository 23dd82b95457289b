"""Verdicts on claims, and their basis."""

import math
import re
from dataclasses import dataclass
from typing import Any, Literal

from nandram.language.functions import kind as kind_of
from nandram.papers.claims import Claim, Claims
from nandram.papers.entries import Criterion, Entry
from nandram.papers.runs.play import Outcome

Verdict = Literal["held", "missed", "calibrated", "not-comparable"]
VERDICTS: tuple[Verdict, ...] = ("held", "missed", "calibrated", "not-comparable")

BASES = ("given", "assumed", "calibrated")


@dataclass(frozen=True)
class RestsOn:
    """Basis of a row's figure and verdict. Lists only system values other than defaults."""

    test: str
    """Condition under which the claim holds; empty if it was not tested."""
    set_by: str
    """Who chose the test."""
    note: str
    """Open points and contradictions of the paper, and remarks of the experiment."""
    runs: tuple[str, ...]
    given: tuple[dict[str, str], ...]
    """Values with a source: ``system``, ``key``, ``value``, ``source``."""
    assumed: tuple[dict[str, str], ...]
    """Values without a source: ``system``, ``key``, ``value``, ``why``."""
    calibrated: tuple[dict[str, str], ...]
    """Fitted values: ``system``, ``key``, ``value``, ``to``."""
    fitted_to: tuple[str, ...]
    """Claims of this paper to which values were fitted."""
    set: tuple[dict[str, str], ...]
    """Values without a stated basis, set by the experiment or a file: ``system``, ``key``, ``value``."""

    @property
    def brief(self) -> str:
        """A summary of the basis."""
        counted = ("given", self.given), ("assumed", self.assumed), ("set", self.set)
        parts = [f"{len(values)} {name}" for name, values in counted if values]
        if self.calibrated:
            names = [name.partition(".")[2] for name in self.fitted_to]
            parts.append(f"{len(self.calibrated)} fitted to {', '.join(names) or 'other figures'}")
        return ", ".join(parts) or "no run"


@dataclass(frozen=True)
class Row:
    """A claim with our figure and the verdict."""

    id: str
    paper: float | tuple[float, float]
    """The printed figure, or the bounds of a range."""
    ours: float | None
    """Our figure, or None; for a shape 1 if it holds, else 0."""
    unit: str
    deviation: float | None
    """Relative to the paper's figure; 0 inside a range; None for shapes, and where there is no figure."""
    verdict: Verdict
    rests_on: RestsOn


def judge(
    claims: Claims, claim: Claim, entry: Entry | None, ours: Any, scope: dict[str, Any], outcomes: dict[str, Outcome]
) -> Row:
    """Return the row of a claim. Raises `UserError` if `ours` is not a figure.

    `ours`: value of the entry's expression, or None. `scope`: names that the test may use. `outcomes`: outcomes of the
    runs that the entry uses, by name.
    """
    figure = _figure(claim, entry, ours)
    deviation = _deviation(claim, figure)
    rests_on = _rests_on(claims, claim, entry, outcomes)
    verdict: Verdict
    if entry is None or entry.not_comparable or figure is None:
        verdict = "not-comparable"
    elif claim.id in rests_on.fitted_to:
        verdict = "calibrated"
    else:
        verdict = "held" if _holds(claim, entry.test, ours, figure, deviation, scope) else "missed"
    return Row(claim.id, claim.value, figure, claim.unit, deviation, verdict, rests_on)


def claim_ids(text: str) -> set[str]:
    """Return possible ids of claims in a text: words joined by dots."""
    return set(re.findall(r"\w+(?:\.[\w-]+)+", text))


def _figure(claim: Claim, entry: Entry | None, ours: Any) -> float | None:
    if entry is None or entry.ours is None:
        return None
    if isinstance(ours, bool) and claim.kind == "shape":
        return float(ours)
    if isinstance(ours, bool) or not isinstance(ours, int | float) or (claim.kind == "shape" and claim.unit == "holds"):
        expected = "a truth value" if claim.kind == "shape" and claim.unit == "holds" else "a number"
        raise entry.ours.error(f"found {kind_of(ours)}, expected {expected}")
    if not math.isfinite(ours):
        raise entry.ours.error(f"found {ours}, expected a finite number")
    return float(ours)


def _deviation(claim: Claim, ours: float | None) -> float | None:
    if ours is None or claim.kind == "shape":
        return None
    if isinstance(claim.value, tuple):
        low, high = claim.value
        near = low if ours < low else high if ours > high else ours
    else:
        near = claim.value
    if near == 0:
        # No relative deviation from 0 exists, except for an exact match.
        return 0.0 if ours == 0 else None
    return ours / near - 1


def _holds(
    claim: Claim, test: Criterion | None, ours: Any, figure: float, deviation: float | None, scope: dict[str, Any]
) -> bool:
    if test is None:
        return deviation == 0 if claim.kind == "range" else figure == claim.value
    if test.within is not None:
        return deviation is not None and abs(deviation) <= test.within
    assert test.holds is not None
    found = test.holds.evaluate({**scope, "ours": ours, "paper": claim.value})
    if not isinstance(found, bool):
        raise test.holds.error(f"found {kind_of(found)}, expected a truth value")
    return found


def _rests_on(claims: Claims, claim: Claim, entry: Entry | None, outcomes: dict[str, Outcome]) -> RestsOn:
    tested, set_by = _test(claim, entry)
    reason = "no experiment yet" if entry is None else entry.not_comparable
    note = "; ".join(each for each in (reason, claim.note, entry.note if entry else "") if each)
    found: dict[str, dict[tuple[str, str, str], dict[str, str]]] = {name: {} for name in (*BASES, "set")}
    for outcome in outcomes.values():
        manifest = outcome.manifest
        for key, setting in manifest["settings"].items():
            if setting["set_by"] == "default" or key == "title":
                continue
            about = {"system": manifest["system"], "key": key, "value": setting["value"]}
            ((basis, text),) = setting.get("basis", {"set": ""}).items()
            word = {"given": "source", "assumed": "why", "calibrated": "to"}.get(basis)
            found[basis].setdefault((manifest["system"], key, setting["value"]), about | ({word: text} if word else {}))
    named = {name for each in found["calibrated"].values() for name in claim_ids(each["to"])}
    return RestsOn(
        test=tested,
        set_by=set_by,
        note=note,
        runs=tuple(outcomes),
        given=tuple(found["given"].values()),
        assumed=tuple(found["assumed"].values()),
        calibrated=tuple(found["calibrated"].values()),
        fitted_to=tuple(name for name in claims.claims if name in named),
        set=tuple(found["set"].values()),
    )


def _test(claim: Claim, entry: Entry | None) -> tuple[str, str]:
    """Return the condition of the claim in words, and who chose it."""
    if entry is None or entry.not_comparable or entry.ours is None:
        return "", ""
    if entry.test is None:
        return ("inside the range" if claim.kind == "range" else "it holds"), "the claim itself"
    if entry.test.within is not None:
        return f"within {100 * entry.test.within:g} %", entry.test.set_by
    assert entry.test.holds is not None
    return entry.test.holds.text, entry.test.set_by
