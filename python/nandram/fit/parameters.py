"""Parameters of a fit: keys of a system, their ranges, and what the start file already knows."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from nandram.system import System

SHORT_NS = 5_000.0
"""Times below this differ by their amount, longer ones by their ratio."""
POLLING = ("spdk", "io_uring_cmd")
"""Beginnings of the engines that poll for completions."""
_TIMES = {"ps": 1e-3, "ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_RATES = {"B/s": 1.0, "kB/s": 1e3, "KB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "KiB/s": 2.0**10, "MiB/s": 2.0**20}
_RATES |= {"GiB/s": 2.0**30, "Mb/s": 1e6 / 8, "Gb/s": 1e9 / 8}
_SIZES = {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40, "kB": 1e3, "MB": 1e6, "GB": 1e9}
_TRANSFERS = {"MT/s": 1e6, "GT/s": 1e9, "KT/s": 1e3, "T/s": 1.0}

Values = Mapping[str, float]
"""Values of parameters by name: nanoseconds, bytes per second, transfers per second, bytes or counts."""


@dataclass(frozen=True)
class Parameter:
    """One continuous degree of freedom."""

    name: str
    """The key; with ``[i]`` for one page type of a list, and ``@engine`` for a host's cost under one engine."""
    unit: str
    """``ns``, ``B/s``, ``T/s``, ``B`` or ``count``."""
    low: float
    high: float

    def place(self, value: float) -> float:
        """Return the coordinate of a value in the search: a logarithm, which is linear for short times."""
        return math.log(value + (SHORT_NS if self.unit == "ns" else 0.0))

    def at(self, place: float) -> float:
        """Return the value at a coordinate, within the range."""
        value = math.exp(place) - (SHORT_NS if self.unit == "ns" else 0.0)
        return min(max(value, self.low), self.high)

    @property
    def key(self) -> str:
        """The key of the system file."""
        return re.sub(r"(\[\d+\])?(@.*)?$", "", self.name)

    @property
    def engine(self) -> str | None:
        """The engine that it belongs to; None for all."""
        return self.name.partition("@")[2] or None


READS = (
    Parameter("device.firmware.wait.read", "ns", 1e2, 2e5),
    Parameter("device.firmware.wait.split", "ns", 1e2, 1e5),
    Parameter("device.firmware.wait.unit", "ns", 1e1, 2e4),
    Parameter("device.firmware.read", "ns", 5e1, 2e4),
    Parameter("device.staging.read", "B/s", 1e8, 3e10),
    Parameter("device.max_commands", "count", 16, 4096),
    Parameter("flash.read", "ns", 2e3, 3e5),
    Parameter("flash.rate", "T/s", 5e7, 4.8e9),
    Parameter("flash.command.read", "ns", 2e2, 3e4),
)
WRITES = (
    Parameter("device.firmware.wait.write", "ns", 1e2, 2e5),
    Parameter("device.firmware.wait.split", "ns", 1e2, 1e5),
    Parameter("device.firmware.wait.unit", "ns", 1e1, 2e4),
    Parameter("device.firmware.write", "ns", 5e1, 5e4),
    Parameter("device.firmware.jump", "ns", 1e1, 5e3),
    Parameter("device.staging.write", "B/s", 1e8, 3e10),
    Parameter("device.write_cache.size", "B", 2.0**18, 2.0**30),
    Parameter("flash.program", "ns", 5e4, 1e7),
)
BY_PAGE_TYPE = ("flash.read", "flash.program")
"""Keys with a value per page type."""
HOST = (
    Parameter("host.submit", "ns", 2e1, 2e4),
    Parameter("host.complete", "ns", 2e1, 2e4),
)
INTERRUPT = (
    Parameter("host.interrupt.handler", "ns", 2e1, 2e4),
    Parameter("host.interrupt.delivery", "ns", 1e2, 5e4),
)


class Space:
    """The free parameters of a start file, for the engines and directions of some points."""

    def __init__(self, system: System, *, reads: bool, writes: bool, engines: list[str]) -> None:
        from nandram import _core

        settings = json.loads(_core.settings(system.source, list(system.changes)))
        self._values = {key: json.loads(each["value"]) for key, each in settings.items() if key != "title"}
        self._given = {
            key for key, each in settings.items() if each["set_by"] != "default" and "given" in each.get("basis", {})
        }
        self.engines = tuple(engines)
        """Engines of the data, the most frequent first: its host's costs go to the file itself."""
        wanted = [*(READS if reads else ()), *(WRITES if writes else ())]
        hosts = [
            Parameter(f"{each.name}@{engine}", each.unit, each.low, each.high)
            for engine in engines
            for each in (*HOST, *(() if polls(engine) else INTERRUPT))
        ]
        types = self._page_types()
        spread = [
            Parameter(f"{each.name}[{i}]", each.unit, each.low, each.high)
            for each in wanted
            if each.name in BY_PAGE_TYPE
            for i in range(types)
        ]
        plain = [each for each in dict.fromkeys(wanted) if each.name not in BY_PAGE_TYPE]
        self.all: dict[str, Parameter] = {each.name: each for each in (*plain, *spread, *hosts)}
        self.free = {name: each for name, each in self.all.items() if each.key not in self._given}
        """Free parameters by name."""

    def _page_types(self) -> int:
        bits = {"slc": 1, "mlc": 2, "tlc": 3, "qlc": 4, "plc": 5}
        return bits[str(self._values["flash.cell"])]

    @property
    def given(self) -> list[str]:
        """Keys of parameters that the start file knows."""
        return sorted({each.key for each in self.all.values()} & self._given)

    def is_given(self, key: str) -> bool:
        """Return whether the start file gives a key, so that it stays."""
        return key in self._given

    def value(self, key: str) -> object:
        """Return the start file's value of a key, as in TOML."""
        return self._values.get(key)

    def number(self, name: str) -> float:
        """Return the start file's value of a parameter; infinite for ``unlimited``."""
        parameter = self.all[name]
        value = self._values.get(parameter.key)
        index = re.search(r"\[(\d+)\]", name)
        if isinstance(value, list):
            value = value[int(index[1]) if index else 0]
        if value is None:
            return parameter.low
        return quantity(value)

    def start(self) -> dict[str, float]:
        """Return the start file's values of the free parameters, within their ranges; those without limit left out."""
        found = {}
        for name, parameter in self.free.items():
            value = self.number(name)
            if value != float("inf"):
                found[name] = min(max(value, parameter.low), parameter.high)
        return found

    def changes(self, values: Values, engine: str | None = None) -> dict[str, object]:
        """Return the changes of the system for the values, as the host of `engine` (by default the first) sees it."""
        engine = self.engines[0] if engine is None else engine
        found: dict[str, object] = {}
        lists: dict[str, dict[int, str]] = {}
        for name, value in values.items():
            parameter = self.all[name]
            if parameter.engine not in (None, engine):
                continue
            index = re.search(r"\[(\d+)\]", name)
            if index:
                lists.setdefault(parameter.key, {})[int(index[1])] = str(text(value, parameter.unit))
            else:
                found[parameter.key] = text(value, parameter.unit)
        for key, items in lists.items():
            found[key] = [items[i] for i in sorted(items)]
        if not self.is_given("host.completion") and self._values.get("link.type") == "pcie":
            found["host.completion"] = "polling" if polls(engine) else "interrupt"
        return found


def polls(engine: str) -> bool:
    """Return whether an engine polls for completions."""
    return engine.startswith(POLLING)


def quantity(value: object) -> float:
    """Return the number of a value such as ``"40us"`` in nanoseconds, bytes, bytes or transfers per second."""
    if isinstance(value, int | float):
        return float(value)
    if value in ("unlimited", "auto"):
        return float("inf")
    match = re.fullmatch(r"([0-9_.]+)\s*(\S+)", str(value))
    assert match is not None, value
    scales = _TIMES | _RATES | _SIZES | _TRANSFERS
    return float(match[1].replace("_", "")) * scales[match[2]]


def text(value: float, unit: str) -> object:
    """Return a value with four digits as a system file has it; the rounding keeps hashes of evaluations stable."""
    if unit == "count":
        return round(value)
    if unit == "ns":
        return f"{_four(value / 1e3)}us" if value >= 1e3 else f"{_four(value)}ns"
    if unit == "B/s":
        return f"{_four(value / 1e6)}MB/s"
    if unit == "T/s":
        return f"{_four(value / 1e6)}MT/s"
    return f"{round(value / 4096) * 4}KiB"


def _four(value: float) -> str:
    rounded = float(f"{value:.4g}")
    return f"{rounded:.0f}" if rounded >= 1000 else f"{rounded:.6f}".rstrip("0").rstrip(".")
