"""Verdicts on claims, and their basis.

held            our figure agrees, and does not in a counter-model that the experiment names
not-tested      it agrees and names a counter-model, but none was evaluated since the experiment or the model changed
same-order      it agrees within a factor, as with a claim of "an order of magnitude", which tests little
trivial         it agrees, but no counter-model shows that it could fail
missed          it does not agree
calibrated      a value was fitted to this claim: agreement shows only that the fit works
read-back       our figure is an input of the model, measured again: agreement shows only that the measurement works
arithmetic      follows from the paper's own figures; no simulation is needed
not-comparable  no figure, or one for another case
"""

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from nandram.language.functions import kind as kind_of
from nandram.papers.claims import Claim, Claims
from nandram.papers.constants import Basis
from nandram.papers.entries import Criterion, Entry
from nandram.papers.runs.play import Outcome

if TYPE_CHECKING:
    from nandram.papers.robustness.table import Share

Verdict = Literal[
    "held", "not-tested", "same-order", "trivial", "missed", "calibrated", "read-back", "arithmetic", "not-comparable"
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
SIMULATED: tuple[Verdict, ...] = ("held", "not-tested", "same-order", "trivial", "missed")
"""Verdicts on claims that a simulation decides."""

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
    counters: tuple[str, ...] = ()
    """Counter-models that the claim names."""

    @property
    def brief(self) -> str:
        """A summary of the basis."""
        counted = ("given", self.given), ("assumed", self.assumed), ("set", self.set)
        parts = [f"{len(values)} {name}" for name, values in counted if values]
        if self.calibrated:
            names = [name.partition(".")[2] for name in self.fitted_to]
            to = f"{len(names)} claims" if len(names) > 1 else names[0] if names else "other figures"
            parts.append(f"{len(self.calibrated)} fitted to {to}")
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
    robustness: str = ""
    """The share of joint draws of everything assumed in which the claim holds, as ``58/64``; ``stale`` if the model or
    the experiment has changed since, and empty if no draws were made."""

    @property
    def share(self) -> float | None:
        """The share as a number; None without one."""
        held, slash, draws = self.robustness.partition("/")
        return int(held) / int(draws) if slash else None


def judge(
    claims: Claims,
    claim: Claim,
    entry: Entry | None,
    ours: Any,
    scope: dict[str, Any],
    outcomes: dict[str, Outcome],
    basis: dict[str, Basis],
) -> Row:
    """Return the row of a claim. Raises `UserError` if `ours` is not a figure.

    `ours`: value of the entry's expression, or None. `scope`: names that the test may use. `outcomes`: outcomes of the
    runs that the entry uses, by name. `basis`: of the experiment's constants.
    """
    rests_on = _rests_on(claims, claim, entry, outcomes, basis)
    if entry is None or entry.not_comparable or ours is None:
        figure = _figure(claim, entry, ours)
        return Row(claim.id, claim.value, figure, claim.unit, _deviation(claim, figure), "not-comparable", rests_on)
    figure, deviation, holds = assess(claim, entry, ours, scope)
    verdict: Verdict
    if claim.id in rests_on.fitted_to:
        verdict = "calibrated"
    elif not holds:
        verdict = "missed"
    elif claim.kind == "arithmetic" or not outcomes:
        verdict = "arithmetic"
    elif entry.input:
        verdict = "read-back"
    elif entry.test is not None and entry.test.factor is not None:
        verdict = "same-order"
    else:
        # `with_robustness` turns it into held once a counter-model has failed.
        verdict = "not-tested" if entry.counters else "trivial"
    return Row(claim.id, claim.value, figure, claim.unit, deviation, verdict, rests_on)


def with_robustness(row: Row, share: "Share | None", *, known: bool) -> Row:
    """Return a row with the share of draws in which its claim holds.

    A claim that agrees is held if one of its counter-models was evaluated and fails, and trivial if all were and none
    does; without a share it remains not tested. `known`: draws were once made for the claim, so that without a share
    they are stale.
    """
    if share is None:
        return replace(row, robustness="stale" if known else "")
    verdict = row.verdict
    if verdict == "not-tested":
        verdict = "held" if share.can_fail else "trivial"
    return replace(row, verdict=verdict, robustness=f"{share.held}/{share.draws}")


def assess(claim: Claim, entry: Entry, ours: Any, scope: dict[str, Any]) -> tuple[float, float | None, bool]:
    """Return our figure, its deviation and whether the claim holds. Raises `UserError` if `ours` is not a figure."""
    figure = _figure(claim, entry, ours)
    assert figure is not None
    deviation = _deviation(claim, figure)
    return figure, deviation, _holds(claim, entry.test, ours, figure, deviation, scope)


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
    if test.factor is not None:
        return deviation is not None and 1 / test.factor <= deviation + 1 <= test.factor
    assert test.holds is not None
    found = test.holds.evaluate({**scope, "ours": ours, "paper": claim.value})
    if not isinstance(found, bool):
        raise test.holds.error(f"found {kind_of(found)}, expected a truth value")
    return found


def _rests_on(
    claims: Claims, claim: Claim, entry: Entry | None, outcomes: dict[str, Outcome], constants: dict[str, Basis]
) -> RestsOn:
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
    named.update(name for each in constants.values() for name in each.claims)
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
        counters=entry.counters if entry else (),
    )


def _test(claim: Claim, entry: Entry | None) -> tuple[str, str]:
    """Return the condition of the claim in words, and who chose it."""
    if entry is None or entry.not_comparable or entry.ours is None:
        return "", ""
    if entry.test is None:
        return ("inside the range" if claim.kind == "range" else "it holds"), "the claim itself"
    if entry.test.within is not None:
        return f"within {100 * entry.test.within:g} %", entry.test.set_by
    if entry.test.factor is not None:
        return f"within a factor of {entry.test.factor:g}", entry.test.set_by
    assert entry.test.holds is not None
    return entry.test.holds.text, entry.test.set_by
