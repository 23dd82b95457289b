"""The expression language of experiments: syntax and meaning."""

import math
import operator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from nandram import UserError
from nandram.language.expression import Expression
from nandram.language.functions import FUNCTIONS
from nandram.language.grid import Grid, GridError, pointwise


def line(axis: str, coordinates: list[Any], values: list[Any]) -> Grid:
    return Grid({axis: tuple(coordinates)}, {(at,): value for at, value in zip(coordinates, values, strict=True)})


SIZES = [4, 64, 256, 512]
TABLE = Grid(
    {"chunk": (4, 64), "buffer": (64, 128, 256)},
    dict(
        zip(
            [(c, b) for c in (4, 64) for b in (64, 128, 256)],
            [90.0, 91.0, 91.0, 200.0, 380.0, 381.0],
            strict=True,
        )
    ),
)


class Run:
    """A run as seen by an expression."""

    def __init__(self, **measures: float) -> None:
        self._measures = measures

    def measure(self, name: str) -> float:
        if name not in self._measures:
            raise GridError(f"found the measure `{name}`")
        return self._measures[name]


SCOPE: dict[str, Any] = {
    "a": 6,
    "b": 1.5,
    "word": "text",
    "yes": True,
    "fast": Run(read_mb_s=400.0, read_us=10.0),
    "slow": Run(read_mb_s=100.0, read_us=40.0),
    "up": line("chunk", SIZES, [10.0, 90.0, 98.0, 99.0]),
    "down": line("chunk", SIZES, [0.7, 0.3, 0.1, 0.05]),
    "flat": line("chunk", SIZES, [1.0, 1.0, 1.0, 1.0]),
    "other": line("chunk", [1, 2, 3, 4], [1.0, 1.0, 1.0, 1.0]),
    "table": TABLE,
    "sweep": Grid({"chunk": (4, 64)}, {(4,): Run(read_mb_s=50.0), (64,): Run(read_mb_s=300.0)}),
    "jobs": [
        {"jobname": "fill", "read": {"bw_bytes": 0}, "write": {"bw_bytes": 7}},
        {"jobname": "reader", "read": {"bw_bytes": 100}, "write": {"bw_bytes": 0}},
        {"jobname": "reader", "read": {"bw_bytes": 200}, "write": {"bw_bytes": 0}},
    ],
    "nandram": {"busy": {"flash channel 0": 0.25}, "notes": [], "ftl": {"map_reads": 3}},
}


def value(text: str) -> Any:
    return Expression(text, "x.toml: claims.c").evaluate(SCOPE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b * 2", 9.0),
        ("-a ** 2 / 4", -9.0),
        ("1 - slow.read_mb_s / fast.read_mb_s", 0.75),
        ("ratio(fast.read_mb_s, slow.read_mb_s)", 4.0),
        ("5 <= a < 7", True),
        ("5 <= a < 6", False),
        ("a == 6 and not (b > 2 or a != 6)", True),
        ('word == "text"', True),
        ("abs(b - a)", 4.5),
        ("min(a, b, 2)", 1.5),
        ("max(up)", 99.0),
        ("sum(flat)", 4.0),
        ("sum(b)", 1.5),
        ("mean(down)", 0.2875),
        ("median(up)", 94.0),
        ("up(chunk=64)", 90.0),
        ("(up / 2)(chunk=a - 2)", 5.0),
        ("rising(up)", True),
        ("rising(flat)", False),
        ("falling(down)", True),
        ("falling(up)", False),
        ("never_falling(flat)", True),
        ("never_rising(up)", False),
        ("never_rising(up, slack=10)", True),
        ("never_falling(down, slack=0.7)", True),
        ("never_falling(down, slack=0.5)", False),
        ("knee(up)", 256),
        ("knee(up, within=0.1)", 64),
        ("knee(flat)", 4),
        ("knee(down)", 4),
        ("argmax(down)", 4),
        ("argmin(down)", 512),
        ("crossing(up, 50)", 34.0),
        ("crossing(up, 92)", 112.0),
        ("crossing(up, 5)", 4),
        ("all(down < flat)", True),
        ("all(up > 50)", False),
        ("any(up > 98)", True),
        ("all(knee(table, over='buffer') <= 128)", True),
        ("knee(table, over='buffer')(chunk=4)", 64),
        ("max(table, over='chunk')(buffer=256)", 381.0),
        ("(up / coordinate(up))(chunk=64)", 90 / 64),
        ("(table / coordinate(table, over='chunk'))(chunk=64, buffer=128)", 380 / 64),
        ("max(table)", 381.0),
        ("table(chunk=64)(buffer=128) / table(chunk=4, buffer=128)", 380 / 91),
        ("sweep(chunk=64).read_mb_s / sweep.read_mb_s(chunk=4)", 6.0),
        ("sum(jobs.read.bw_bytes)", 300),
        ('sum(jobs["reader"].read.bw_bytes)', 300),
        ('jobs["fill"].write.bw_bytes', 7),
        ("jobs[1].read.bw_bytes", 100),
        ('nandram.busy["flash channel 0"]', 0.25),
        ("sum(nandram.notes)", 0),
    ],
)
def test_value(text: str, expected: object) -> None:
    found = value(text)
    assert found == pytest.approx(expected) if isinstance(expected, float) else found == expected
    assert isinstance(found, bool) is isinstance(expected, bool)


MISTAKES = [
    "",
    "1 +",
    "a b",
    "__import__('os')",
    "().__class__",
    "a.__class__",
    "[a, b]",
    "{a: b}",
    "lambda: 1",
    "a if b else 1",
    "[x for x in up]",
    "f'{a}'",
    "a := 1",
    "a % 2",
    "a // 2",
    "a @ b",
    "a in up",
    "a is b",
    "jobs[a]",
    "jobs[1:2]",
    "b'bytes'",
    "...",
    "knee",
    "nee(up)",
    "maks(up, 1)",
    "knee()",
    "knee(up, whithin=1)",
    "knee(*up)",
    "max(**up)",
    "up()",
    "up(4)",
    "up(chunck=4)",
    "up(chunk=5)",
    "a(chunk=4)",
    "up + other",
    "1 / (a - 6)",
    "10.0 ** 1000 ** 1000",
    "(-a) ** 0.5",
    "a + word",
    "a + yes",
    "a + up.x",
    "-yes",
    "not a",
    "a and b",
    "up > 50 and yes",
    "all(up)",
    "sum(up > 50)",
    "sum()",
    "sum(up, b, over='chunk')",
    "rising(a)",
    "rising(table)",
    "rising(table, over='bufer')",
    "coordinate(table)",
    "coordinate(b)",
    "coordinate(up, over='buffer')",
    "a.read_mb_s",
    "fast.raed_mb_s",
    "word < 3",
    "nandram.fdl.map_reads",
    'jobs["raeder"].read',
    "fast[0]",
    'a["x"]',
    "max(fast, slow)",
]


@pytest.mark.parametrize("text", MISTAKES)
def test_mistake(text: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UserError) as error:
        value(text)
    assert "\n" not in str(error.value)
    assert str(error.value) == snapshot


@pytest.mark.parametrize("text", ["-" * 2000 + "a", "(" * 300 + "a" + ")" * 300, "a" + " + a" * 5000])
def test_too_deep(text: str) -> None:
    with pytest.raises(UserError, match=r"too deep|expected an expression"):
        value(text)


def test_unknown_names_are_told_before_anything_runs() -> None:
    expression = Expression("up / dwon", "x.toml: values.v")
    assert expression.names == {"up", "dwon"}
    with pytest.raises(UserError, match=r"x.toml: values.v: found the name `dwon`, expected .*; the nearest is `down`"):
        expression.expect(SCOPE)


def test_members_are_those_of_a_run_at_any_of_its_points() -> None:
    expression = Expression("sweep(chunk=4).read_mb_s / sweep.read_us + fast.mb_s", "x")
    assert expression.members("sweep") == {"read_mb_s", "read_us"}
    assert expression.members("fast") == {"mb_s"}
    assert expression.points("sweep") == {("chunk", 4)}


def test_every_function_is_documented_in_a_line() -> None:
    assert all(function.__doc__ and "\n" not in function.__doc__ for function in FUNCTIONS.values())
    assert list(FUNCTIONS) == sorted(FUNCTIONS)


# -- against Python itself

NUMBERS = st.integers(-50, 50) | st.floats(-50, 50, allow_nan=False).map(lambda x: round(x, 3))


def trees() -> st.SearchStrategy[str]:
    leaves = NUMBERS.map(lambda x: f"({x})") | st.sampled_from(["p", "q"])
    return st.recursive(
        leaves,
        lambda inner: (
            st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})")
            | inner.map(lambda t: f"-{t}")
        ),
        max_leaves=12,
    )


@given(trees(), st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), trees(), NUMBERS, NUMBERS)
def test_arithmetic_and_comparisons_are_those_of_python(
    left: str, compare: str, right: str, p: float, q: float
) -> None:
    text = f"{left} {compare} {right}"
    names = {"p": p, "q": q}
    try:
        expected = eval(text, {}, names)
    except ZeroDivisionError:
        with pytest.raises(UserError, match="zero"):
            Expression(text, "x").evaluate(names)
        return
    assert Expression(text, "x").evaluate(names) is expected
    number = Expression(left, "x").evaluate(names)
    assert number == eval(left, {}, names)


@given(
    st.lists(NUMBERS, min_size=3, max_size=3),
    st.lists(NUMBERS, min_size=6, max_size=6),
    st.sampled_from([operator.add, operator.mul, operator.sub]),
)
def test_series_of_different_axes_meet_point_by_point(short: list[float], long: list[float], function: Any) -> None:
    row = line("b", [1, 2, 3], short)
    table = Grid({"a": (1, 2), "b": (1, 2, 3)}, {(n // 3 + 1, n % 3 + 1): v for n, v in enumerate(long)})
    found = pointwise(function, table, row)
    assert found.axes == table.axes
    for (a, b), cell in found.cells.items():
        assert cell == function(long[(a - 1) * 3 + b - 1], short[b - 1])
    assert found.at(a=2, b=3) == found.at(b=3).at(a=2) == found.cells[2, 3]


@given(st.lists(st.integers(1, 20), min_size=1, max_size=8), st.floats(0, 1))
def test_a_knee_is_the_first_place_beyond_which_little_is_gained(values: list[int], within: float) -> None:
    found = FUNCTIONS["knee"](line("x", list(range(len(values))), values), within=within)
    gains = [max(values[n:]) / values[n] for n in range(len(values))]
    assert gains[found] <= 1 + within + 1e-9
    assert all(gain > 1 + within - 1e-9 for gain in gains[:found])
    assert math.isfinite(found)
