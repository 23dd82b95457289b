"""The expressions of an experiment file: arithmetic and comparisons over what runs gave, and a few functions.

    1 - protocol.read_mb_s / interface.read_mb_s        runs, or values named above, and what was measured of them
    protocol(chunk_kib=512).read_mb_s                   one point of a sweep; the rest of the axes stay
    all(ours.read_us < ufs.read_us)                     a comparison of series holds point by point
    knee(sweep.read_mb_s, over="buffer_kib")            functions: `nandram.language.functions`
    jobs["reader"].read.bw_bytes                        in a measure: the job of that name in summary.json

Nothing else of Python is known here: the text is parsed, checked against a list of what may stand in it, and walked.
"""

import ast
import inspect
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol, runtime_checkable

from nandram.errors import UserError
from nandram.language.functions import FUNCTIONS, kind
from nandram.language.grid import Grid, GridError, listed, pointwise, words
from nandram.options import nearest


@runtime_checkable
class Measured(Protocol):
    """A source of measures by name: a run."""

    def measure(self, name: str) -> Any:
        """Return a measure. Raises `GridError`."""


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    # Of floats: whole numbers would grow without a bound.
    ast.Pow: lambda a, b: float(a) ** float(b),
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class Expression:
    """An expression, parsed and checked."""

    def __init__(self, text: str, place: str) -> None:
        """Parse `text`; `place` (file and key) begins its messages. Raises `UserError`."""
        self.text = text
        self.place = place
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else str(error) or "too deep"
            raise UserError(f"{place}: found `{text}`, expected an expression: {reason}") from None
        self._names: set[str] = set()
        try:
            self._check(self._tree)
        except RecursionError:
            raise UserError(f"{place}: found an expression that is too deep") from None

    @property
    def names(self) -> set[str]:
        """The names that it takes from its surroundings."""
        return set(self._names)

    def expect(self, known: Collection[str]) -> None:
        """Raise `UserError` if a name is not one of `known`."""
        for name in sorted(self._names):
            if name not in known:
                hint = nearest(name, tuple(known))
                raise UserError(f"{self.place}: found the name `{name}`, expected {words(sorted(known))}{hint}")

    def members(self, of: str) -> set[str]:
        """The names that directly follow the name `of` and a dot, whether or not a point was picked before."""
        found = set()
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Attribute):
                base = node.value.func if isinstance(node.value, ast.Call) else node.value
                if isinstance(base, ast.Name) and base.id == of:
                    found.add(node.attr)
        return found

    def points(self, of: str) -> set[tuple[str, Any]]:
        """The axes, with coordinates, of the points of `of` that it picks; None is a coordinate that it computes."""
        found = set()
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call):
                base = node.func.value if isinstance(node.func, ast.Attribute) else node.func
                if isinstance(base, ast.Name) and base.id == of:
                    for each in node.keywords:
                        found.add((str(each.arg), each.value.value if isinstance(each.value, ast.Constant) else None))
        return found

    def picked(self, of: str) -> dict[str, set[Any]]:
        """The coordinates of `of` that it can see, by axis; of an axis that is not there, all."""
        calls = [node for node in ast.walk(self._tree) if isinstance(node, ast.Call)]
        bases = [node.func.value if isinstance(node.func, ast.Attribute) else node.func for node in calls]
        picks = [
            {str(each.arg): each.value.value for each in call.keywords if isinstance(each.value, ast.Constant)}
            for call, base in zip(calls, bases, strict=True)
            if isinstance(base, ast.Name) and base.id == of
        ]
        uses = sum(isinstance(node, ast.Name) and node.id == of for node in ast.walk(self._tree))
        if not picks or len(picks) < uses:
            return {}
        return {axis: {pick[axis] for pick in picks} for axis in set.intersection(*map(set, picks))}

    def evaluate(self, scope: Mapping[str, Any]) -> Any:
        """Return its value where the names are those of `scope`. Raises `UserError`."""
        try:
            return self._value(self._tree, scope)
        except (GridError, ZeroDivisionError) as error:
            raise self.error(str(error)) from None
        except OverflowError:
            raise self.error("found a number that is too large") from None
        except RecursionError:
            raise UserError(f"{self.place}: found an expression that is too deep") from None

    # -- what may stand in it

    def _check(self, node: ast.expr) -> None:
        match node:
            case ast.Constant(value=bool() | int() | float() | str()):
                return
            case ast.Name(id=name):
                if name in FUNCTIONS:
                    raise self.error(f"found the function `{name}` without its arguments")
                self._names.add(name)
            case ast.Attribute(value=value, attr=attr):
                if attr.startswith("_"):
                    raise self.error(f"found `.{attr}`, expected the name of a measure or a key")
                self._check(value)
            case ast.Subscript(value=value, slice=ast.Constant(value=str() | int())):
                self._check(value)
            case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
                self._check(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                self._check(left)
                self._check(right)
            case ast.BoolOp(values=values):
                for each in values:
                    self._check(each)
            case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARE for op in ops):
                for each in (left, *others):
                    self._check(each)
            case ast.Call():
                self._check_call(node)
            case _:
                found = ast.get_source_segment(self.text.strip(), node) or type(node).__name__
                raise self.error(f"found `{found}`, expected arithmetic, comparisons, runs, values and functions")

    def _check_call(self, node: ast.Call) -> None:
        if any(keyword.arg is None for keyword in node.keywords) or any(isinstance(a, ast.Starred) for a in node.args):
            raise self.error("found `*`, expected arguments one by one")
        for each in (*node.args, *(keyword.value for keyword in node.keywords)):
            self._check(each)
        names = [keyword.arg for keyword in node.keywords if keyword.arg is not None]
        match node.func:
            case ast.Name(id=name) if name in FUNCTIONS:
                try:
                    inspect.signature(FUNCTIONS[name]).bind(*node.args, **dict.fromkeys(names))
                except TypeError as error:
                    raise self.error(f"{name}: {error}") from None
            case ast.Name(id=name) if node.args:
                known = tuple(FUNCTIONS)
                raise self.error(f"found the function `{name}`, expected {words(known)}{nearest(name, known)}")
            case func if node.args or not names:
                raise self.error("found a call, expected a point such as (chunk_kib=4)")
            case func:
                self._check(func)

    def error(self, message: str) -> UserError:
        """A mistake in the expression."""
        return UserError(f"{self.place}: `{self.text}`: {message}")

    # -- its value

    def _value(self, node: ast.expr, scope: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return _known(scope[name])
            case ast.Attribute(value=value, attr=attr):
                return member(self._value(value, scope), attr)
            case ast.Subscript(value=value, slice=ast.Constant(value=str() | int() as key)):
                return _item(self._value(value, scope), key)
            case ast.UnaryOp(op=op, operand=operand):
                function = _negative if isinstance(op, ast.USub) else _inverse
                return pointwise(function, self._value(operand, scope))
            case ast.BinOp(left=left, op=op, right=right):
                of_two = _arithmetic(_BINARY[type(op)])
                return pointwise(of_two, self._value(left, scope), self._value(right, scope))
            case ast.BoolOp(op=op, values=values):
                truths = [_truth(self._value(each, scope)) for each in values]
                return all(truths) if isinstance(op, ast.And) else any(truths)
            case ast.Compare(left=left, ops=ops, comparators=others):
                operands = [self._value(each, scope) for each in (left, *others)]
                functions = [_comparison(_COMPARE[type(op)]) for op in ops]
                return pointwise(lambda *each: all(f(each[n], each[n + 1]) for n, f in enumerate(functions)), *operands)
            case ast.Call(func=func, args=args, keywords=keywords):
                named = {str(keyword.arg): self._value(keyword.value, scope) for keyword in keywords}
                if isinstance(func, ast.Name) and func.id in FUNCTIONS:
                    return FUNCTIONS[func.id](*(self._value(each, scope) for each in args), **named)
                grid = self._value(func, scope)
                if not isinstance(grid, Grid):
                    raise GridError(f"found a point of {kind(grid)}, expected one of a series")
                return _known(grid.at(**named))
        raise AssertionError(f"checked, but not known: {ast.dump(node)}")


def member(value: Any, name: str) -> Any:
    """Return what stands behind a dot: a measure of a run, a key of a table, of each where it is a series."""
    if isinstance(value, Grid):
        return pointwise(lambda each: member(each, name), value)
    if isinstance(value, dict):
        return _of_table(value, name)
    if isinstance(value, Measured):
        return value.measure(name)
    raise GridError(f"found `.{name}` behind {kind(value)}, expected it behind a run or a table")


def _of_table(table: dict[str, Any], key: str) -> Any:
    if key not in table:
        raise GridError(f"found the key `{key}`, expected {words(list(table))}{nearest(key, tuple(table))}")
    return _known(table[key])


def _item(value: Any, key: str | int) -> Any:
    """A key of a table, or of a list its entry by number, or those whose job has that name."""
    if isinstance(value, dict) and isinstance(key, str):
        return _of_table(value, key)
    if not isinstance(value, Grid) or "index" not in value.axes:
        raise GridError(f"found `[{key!r}]` behind {kind(value)}, expected it behind a table or a list")
    if isinstance(key, int):
        return _known(value.at(index=key))
    jobs = [cell for cell in value.cells.values() if isinstance(cell, dict) and cell.get("jobname") == key]
    if not jobs:
        tables = [cell for cell in value.cells.values() if isinstance(cell, dict) and "jobname" in cell]
        if not tables:
            raise GridError(f"found `[{key!r}]` behind a list without jobs, expected a number")
        names = tuple({cell["jobname"]: None for cell in tables})
        raise GridError(f"found the job `{key}`, expected {words(names)}{nearest(key, names)}")
    return jobs[0] if len(jobs) == 1 else listed(jobs)


def _known(value: Any) -> Any:
    return listed(value) if isinstance(value, list) else value


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise GridError(f"found {kind(value)}, expected a number")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise GridError(f"found {kind(value)}, expected a truth value: all() and any() make one of a series")
    return value


def _negative(value: Any) -> Any:
    return -_number(value)


def _inverse(value: Any) -> bool:
    return not _truth(value)


def _arithmetic(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def computed(a: Any, b: Any) -> Any:
        found = function(_number(a), _number(b))
        if isinstance(found, complex):
            raise GridError("found a root of a negative number")
        return found

    return computed


def _comparison(function: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compared(a: Any, b: Any) -> bool:
        if isinstance(a, str) and isinstance(b, str):
            return function(a, b)
        return function(_number(a), _number(b))

    return compared
