"""Joint draws of everything that an experiment assumes: its constants, and the assumed values of its systems.

A draw changes all these values at once (Latin hypercube: each parameter's range is divided into as many parts as there
are draws, and each part is used once). A key that several systems assume changes by the same factor in each.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nandram.errors import UserError
from nandram.options import set_lines
from nandram.papers.constants import Constant
from nandram.papers.robustness.scaling import plain, scaled
from nandram.papers.robustness.variants import Variant, settings_of, settings_of_point

if TYPE_CHECKING:
    from nandram.papers.experiment import Experiment, Point


@dataclass(frozen=True)
class Parameter:
    """Something that is drawn."""

    name: str
    """A constant, or a key of the systems."""
    constant: bool
    values: tuple[object, ...]
    """All plausible values; empty if it is scaled."""
    low: float
    """Lowest factor."""
    high: float
    """Highest factor."""

    def at(self, part: float) -> "object | float":
        """Return the value, or else the factor, at a part of the range from 0 to 1."""
        if self.values:
            return self.values[min(int(part * len(self.values)), len(self.values) - 1)]
        return self.low + part * (self.high - self.low)


@dataclass(frozen=True)
class Drawn:
    """The drawn parameters of an experiment, and those that are not drawn."""

    parameters: tuple[Parameter, ...]
    fixed: dict[str, str]
    """Assumed constants and keys that are not drawn, with the reason."""


def parameters_of(experiment: "Experiment") -> Drawn:
    """Return what is drawn. Raises `UserError` for a declaration that matches nothing."""
    ranges = experiment.ranges
    parameters: list[Parameter] = []
    fixed: dict[str, str] = {}
    for name, value in experiment.constants.items():
        basis = experiment.basis.get(name)
        if basis is None or basis.kind != "assumed":
            continue
        if basis.values:
            parameters.append(Parameter(name, True, basis.values, 1, 1))
            continue
        low, high = basis.factors or (1 - ranges.by, 1 + ranges.by)
        if _is_fixed(value, (low, high)):
            fixed[name] = "no number that can be scaled"
            continue
        parameters.append(Parameter(name, True, (), low, high))
    points = _distinct_points(experiment)
    keys = dict.fromkeys(key for point in points for key, each in settings_of_point(point).items() if _assumed(each))
    for key in (*ranges.values, *ranges.factors, *ranges.fixed):
        if key not in keys:
            raise UserError(
                f"{experiment.file}: robustness: found `{key}`, expected an assumed key of the runs' systems"
            )
    for key in keys:
        if key in ranges.fixed:
            fixed[key] = ranges.fixed[key]
        elif key in ranges.values:
            parameters.append(Parameter(key, False, ranges.values[key], 1, 1))
        else:
            low, high = ranges.factors.get(key, (1 - ranges.by, 1 + ranges.by))
            reason = _why_fixed(points, key, (low, high))
            if reason:
                fixed[key] = reason
            else:
                parameters.append(Parameter(key, False, (), low, high))
    return Drawn(tuple(parameters), fixed)


def draws(
    experiment: "Experiment", drawn: Drawn, count: int, seed: str, names: tuple[str, ...] | None = None
) -> list[Variant]:
    """Return joint draws of the parameters; the same for the same seed.

    `names`: what earlier draws drew, to make these again. Systems may have more keys since, which are not drawn then.
    """
    chosen = random.Random(seed)
    parts: dict[str, list[float]] = {}
    for name in [parameter.name for parameter in drawn.parameters] if names is None else names:
        order = list(range(count))
        chosen.shuffle(order)
        parts[name] = [(each + chosen.random()) / count for each in order]
    drawn = replace(drawn, parameters=tuple(each for each in drawn.parameters if each.name in parts))
    return [
        _variant(experiment, drawn, {name: each[index] for name, each in parts.items()}, f"draw-{index}")
        for index in range(count)
    ]


def _variant(experiment: "Experiment", drawn: Drawn, parts: Mapping[str, float], name: str) -> Variant:
    constants: dict[str, Constant] = {}
    keys: dict[str, tuple[Parameter, Any]] = {}
    for parameter in drawn.parameters:
        value: Any = parameter.at(parts[parameter.name])
        if not parameter.constant:
            keys[parameter.name] = (parameter, value)
        elif parameter.values:
            constants[parameter.name] = value
        else:
            constants[parameter.name] = scaled(experiment.constants[parameter.name], value)

    def change(_run: str, settings: Mapping[str, Mapping[str, Any]]) -> Mapping[str, object]:
        found: dict[str, object] = {}
        for key, (parameter, value) in keys.items():
            if key in settings and _assumed(settings[key]):
                found[key] = value if parameter.values else scaled(plain(settings[key]), value)
        return found

    return Variant(name, constants, change)


def _distinct_points(experiment: "Experiment") -> "list[Point]":
    """Return one run for each system and set of changes."""
    found: dict[tuple[str, tuple[str, ...]], Point] = {}
    for run in experiment.runs.values():
        for place in run.places():
            point = run.point(place, run.seeds[0])
            found.setdefault((point.system, tuple(set_lines(point.changes))), point)
    return list(found.values())


def _assumed(setting: Mapping[str, Any]) -> bool:
    return "assumed" in setting.get("basis", {})


def _is_fixed(value: Constant, factors: tuple[float, float]) -> bool:
    """Return whether both ends of a range are the value itself. The value may well be one end."""
    return all(scaled(value, factor) == value for factor in factors)


def _why_fixed(points: "list[Point]", key: str, factors: tuple[float, float]) -> str:
    """Return why a key is not drawn.

    Empty if both ends of its range are valid in every system, and change it in at least one.
    """
    why = ""
    is_scaled = False
    for point in points:
        settings = settings_of_point(point)
        if key not in settings or not _assumed(settings[key]):
            continue
        now = plain(settings[key])
        if _is_fixed(now, factors):
            why = f"{now} cannot be scaled"
            continue
        is_scaled = True
        for factor in factors:
            value = scaled(now, factor)
            changed = replace(point, changes={**point.changes, key: value})
            try:
                settings_of(changed.system, tuple(set_lines(changed.changes)))
            except UserError:
                return f"{value} is refused"
    return "" if is_scaled else why
