"""Entries of an experiment: our figure for each claim, and the test of the claim."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from nandram.language.expression import Expression
from nandram.language.grid import words
from nandram.language.tables import Table
from nandram.options import nearest
from nandram.papers import cells
from nandram.papers.claims import KINDS, Claims

SELF_EVIDENT = ("range", "shape")
"""Kinds of claims that need no test."""
_TEST = ("within", "factor", "holds", "set_by")


@dataclass(frozen=True)
class Criterion:
    """Test of a claim. Exactly one of `within`, `holds` and `factor` is given."""

    within: float | None
    """Allowed relative deviation."""
    holds: Expression | None
    set_by: str
    """Who chose the test."""
    factor: float | None = None
    """Factor by which the figures may differ; agreement within one is only `same-order`."""


@dataclass(frozen=True)
class Entry:
    """Our figure for a claim, and its test."""

    ours: Expression | None
    """None without a figure."""
    test: Criterion | None
    """None if the kind of claim implies the test."""
    note: str
    not_comparable: str
    """Why the figures cannot be compared; empty if they can."""
    counters: tuple[str, ...] = ()
    """Counter-models in which the claim must fail."""
    input: str = ""
    """The key of the system that our figure only reads back; empty if it does not."""


def read_tests(table: Table, constants: Collection[str]) -> dict[str, Criterion]:
    """Return the tests by kind of claim. Raises `UserError`."""
    tests = {}
    for kind, each in table.tables().items():
        each.only(*_TEST)
        if kind not in KINDS:
            raise table.one_of(kind, kind, tuple(KINDS))
        test = _test(each, constants)
        if test is None:
            raise each.missing("found none of `within`, `factor` and `holds`, expected one of them")
        tests[kind] = test
    return tests


def _test(table: Table, scope: Collection[str]) -> Criterion | None:
    """Return the test in a table; None if it has none."""
    within = table.take("within", "a number above 0", int, float, default=None)
    factor = table.take("factor", "a number above 1", int, float, default=None)
    holds = table.text("holds", None)
    set_by = table.text("set_by", None)
    given = [name for name, value in (("within", within), ("factor", factor), ("holds", holds)) if value is not None]
    if not given:
        if set_by is not None:
            raise table.error("set_by", set_by, "`within`, `factor` or `holds` as well")
        return None
    if len(given) > 1:
        raise table.missing(f"found `{'` and `'.join(given)}`, expected one of them")
    if within is not None and not within > 0:
        raise table.error("within", within, "a number above 0")
    if factor is not None and not factor > 1:
        raise table.error("factor", factor, "a number above 1")
    if set_by is None:
        raise table.error("set_by", "nothing", "who decided when the claim holds")
    if factor is not None:
        return Criterion(None, None, set_by, float(factor))
    if holds is None:
        return Criterion(float(within), None, set_by)
    expression = Expression(holds, table.place("holds"))
    expression.expect({"ours", "paper", *scope})
    return Criterion(None, expression, set_by)


def read_entries(
    table: Table,
    claims: Claims,
    tests: dict[str, Criterion],
    scope: Collection[str],
    counters: Sequence[str],
) -> dict[str, Entry]:
    """Return the entry of each claim, in the order of the claims. Raises `UserError`.

    `counters`: names of the counter-models.
    """
    entries: dict[str, Entry] = {}
    for key, value in table.values.items():
        pattern = cells.is_pattern(key)
        found = dict(cells.matches(key, claims.claims) if pattern else [(key, {})] if key in claims.claims else [])
        if not found:
            hint = nearest(key, tuple(claims.claims))
            raise table.error(key, key, f"the id of a claim of {claims.paper}{hint}")
        for name, names in found.items():
            if name in entries:
                raise table.error(key, name, "each claim once")
            entry = cells.fill(value, names)
            above = Table(table.file, table.key, {name: entry}) if pattern else table
            entries[name] = _entry(above, name, entry, claims.claims[name].kind, tests, scope, counters)
    return {name: entries[name] for name in claims.claims if name in entries}


def _entry(
    above: Table,
    name: str,
    value: object,
    kind: str,
    tests: dict[str, Criterion],
    scope: Collection[str],
    known: Sequence[str],
) -> Entry:
    counters: tuple[str, ...] = ()
    if isinstance(value, str):
        ours: Expression | None = Expression(value, above.place(name))
        test, note, reason, read_back = None, "", "", ""
    else:
        if not isinstance(value, dict):
            raise above.error(name, value, "an expression or a table")
        table = above.table(name)
        table.only("ours", "note", "not_comparable", "counter", "input", *_TEST)
        text, reason = table.text("ours", None), table.text("not_comparable", "")
        if text is None and not reason:
            raise table.missing("found neither `ours` nor `not_comparable`, expected one of them")
        ours = None if text is None else Expression(text, table.place("ours"))
        test, note, read_back = _test(table, scope), table.text("note", ""), table.text("input", "")
        named = table.take("counter", "the name of a counter-model, or a list of them", str, list, default=[])
        counters = (named,) if isinstance(named, str) else tuple(named)
        for each in counters:
            if each not in known:
                raise table.error("counter", each, f"{words(known)}{nearest(str(each), tuple(known))}")
    if ours is not None:
        ours.expect(scope)
    test = test or tests.get(kind)
    if test is None and not reason and kind not in SELF_EVIDENT:
        raise above.error(name, "no test", f"`within` or `holds`, here or in [tests] for every {kind}")
    return Entry(ours, test, note, reason, counters, read_back)
