"""The verdict of a claim, and its basis."""

from typing import Any

import pytest

from nandram import UserError
from nandram.language.expression import Expression
from nandram.papers.claims import Claim, Claims
from nandram.papers.entries import Criterion, Entry
from nandram.papers.robustness.table import Share
from nandram.papers.runs.play import Outcome
from nandram.papers.verdict import Row, claim_ids, judge, with_robustness


def claim(kind: str, value: float | tuple[float, float], unit: str = "us") -> Claim:
    return Claim("p.a", value, unit, kind, "Table 1", "always", "")


def row(of: Claim, ours: Any, test: Criterion | None, basis: dict[str, str] | None = None, reason: str = "") -> Row:
    entry = Entry(Expression("x", "e.toml: claims.c"), test, "", reason, ("other",))
    setting = {"value": "1", "set_by": "s.toml:1:1"} | ({} if basis is None else {"basis": basis})
    outcome = Outcome({}, {"system": "s", "settings": {"flash.read": setting}})
    claims = Claims("p", "P", {"p.a": of, "p.b": of})
    return judge(claims, of, entry, ours, {"x": ours, "limit": 5}, {"p/run": outcome}, {})


def within(part: float) -> Criterion:
    return Criterion(part, None, "somebody")


def holds(text: str) -> Criterion:
    return Criterion(None, Expression(text, "e.toml: claims.c.holds"), "somebody")


def factor(of: float) -> Criterion:
    return Criterion(None, None, "somebody", of)


@pytest.mark.parametrize(
    ("of", "ours", "test", "verdict", "deviation"),
    [
        (claim("number", 100), 109.0, within(0.1), "not-tested", 0.09),
        (claim("number", 100), 91, within(0.1), "not-tested", -0.09),
        (claim("number", 100), 111.0, within(0.1), "missed", 0.11),
        (claim("number", 100), 89.0, within(0.1), "missed", -0.11),
        (claim("number", -2), -2.1, within(0.1), "not-tested", 0.05),
        (claim("number", 0), 0.0, within(0.1), "not-tested", 0.0),
        (claim("number", 0), 0.1, within(0.1), "missed", None),
        (claim("ratio", 10), 20.0, holds("5 <= ours <= 20"), "not-tested", 1.0),
        (claim("ratio", 10), 20.5, holds("5 <= ours <= 20"), "missed", 1.05),
        (claim("ratio", 10), 5.4, factor(2), "same-order", -0.46),
        (claim("ratio", 10), 20.0, factor(2), "same-order", 1.0),
        (claim("ratio", 10), 4.9, factor(2), "missed", -0.51),
        (claim("ratio", 10), 21.0, factor(2), "missed", 1.1),
        (claim("bound", 0.125), 0.1, holds("ours < paper"), "not-tested", -0.2),
        (claim("bound", 0.125), 0.125, holds("ours < paper"), "missed", 0.0),
        (claim("bound", 10), 3.0, holds("ours < limit"), "not-tested", -0.7),
        (claim("range", (2, 4)), 2.0, None, "not-tested", 0.0),
        (claim("range", (2, 4)), 5.0, None, "missed", 0.25),
        (claim("range", (2, 4)), 1.0, None, "missed", -0.5),
        (claim("shape", 1, "holds"), True, None, "not-tested", None),
        (claim("shape", 1, "holds"), False, None, "missed", None),
        (claim("shape", 512, "KB"), 512, None, "not-tested", None),
        (claim("shape", 512, "KB"), 256, None, "missed", None),
        (claim("shape", 512, "KB"), 256, holds("ours <= paper"), "not-tested", None),
        (claim("arithmetic", 0.005), 0.004, holds("ours <= paper"), "arithmetic", -0.2),
    ],
)
def test_verdict(of: Claim, ours: Any, test: Criterion | None, verdict: str, deviation: float | None) -> None:
    found = row(of, ours, test)
    assert found.verdict == verdict
    assert found.deviation == (None if deviation is None else pytest.approx(deviation))
    assert found.ours == float(ours)
    assert row(of, ours, test, reason="the trace is lost").verdict == "not-comparable"


@pytest.mark.parametrize(
    ("of", "ours"),
    [
        (claim("number", 1), True),
        (claim("number", 1), "text"),
        (claim("number", 1), None),
        (claim("shape", 1, "holds"), 1),
        (claim("shape", 512, "KB"), "512"),
    ],
)
def test_what_is_no_figure_is_a_mistake(of: Claim, ours: Any) -> None:
    with pytest.raises(UserError, match=r"e.toml: claims.c: `x`: found .*, expected "):
        row(of, ours, within(0.1))


@pytest.mark.parametrize(
    ("to", "verdict"),
    [
        ("p.a", "calibrated"),
        ("p.a: with all that is known", "calibrated"),
        ("to p.b, and p.a.", "calibrated"),
        ("p.b", "not-tested"),
        ("p.a.other", "not-tested"),
        ("q.p.a", "not-tested"),
        ("the paper's Table 1", "not-tested"),
    ],
)
def test_what_was_fitted_to_a_claim_proves_nothing_of_it(to: str, verdict: str) -> None:
    found = row(claim("number", 1), 1.0, within(0.1), {"calibrated": to})
    assert found.verdict == verdict
    assert found.rests_on.calibrated == ({"system": "s", "key": "flash.read", "value": "1", "to": to},)
    assert ("p.a" in found.rests_on.fitted_to) is (verdict == "calibrated")


def test_a_fitted_claim_is_calibrated_even_if_it_is_missed() -> None:
    assert row(claim("number", 1), 9.0, within(0.1), {"calibrated": "p.a"}).verdict == "calibrated"


@pytest.mark.parametrize(
    ("counters", "verdict"),
    [
        (None, "not-tested"),
        ({"other": False}, "held"),
        ({"other": True}, "trivial"),
        ({"other": True, "another": False}, "held"),
    ],
)
def test_a_claim_is_held_only_once_a_counter_model_has_failed(counters: dict[str, bool] | None, verdict: str) -> None:
    agrees = row(claim("number", 1), 1.0, within(0.1))
    share = None if counters is None else Share(1.0, 4, (3,), counters)
    found = with_robustness(agrees, share, known=True)
    assert found.verdict == verdict
    assert found.robustness == ("stale" if share is None else "3/4")
    # A row that does not agree, or agrees in its order alone, is no better for a counter-model that fails.
    for test, ours, same in ((within(0.1), 2.0, "missed"), (factor(2), 1.9, "same-order")):
        assert with_robustness(row(claim("number", 1), ours, test), share, known=True).verdict == same


def test_ids_in_a_text() -> None:
    assert claim_ids("fitted to p.a_1.x, (q.b) and v. 3.") == {"p.a_1.x", "q.b"}


def test_a_claim_without_an_entry_is_shown() -> None:
    of = claim("number", 1)
    found = judge(Claims("p", "P", {"p.a": of}), of, None, None, {}, {}, {})
    assert (found.verdict, found.ours, found.deviation) == ("not-comparable", None, None)
    assert found.rests_on.note == "no experiment yet"
