"""Sides of a comparison: runs, systems, and changed copies of one system."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandram import units
from nandram.errors import UserError
from nandram.results.comparison import differences, notes

if TYPE_CHECKING:
    from nandram.results.result import Result
    from nandram.system import System


@dataclass(frozen=True)
class Side:
    """A run or a system to compare."""

    name: str
    settings: dict[str, str]
    """Values by key, as written in a file."""
    results: "tuple[Result, ...]"
    """The existing run; empty for a system."""
    system: "System | None"
    followed: tuple[str, ...] = ()
    """Lines on sizes that were adapted to the changes."""


def side(what: "str | os.PathLike[str] | System | Result") -> Side:
    """Read a folder of results, a system's file or a preset. Raises `UserError`."""
    from nandram.results.result import Result, read_result
    from nandram.system import System, load_system

    if isinstance(what, str | os.PathLike):
        if Path(what).is_dir():
            from nandram.results.output import interpreted

            result = read_result(what)
            with interpreted(Path(what)):
                found = _of_result(result)
                # Every figure and note is read once here, where an error can name the folder.
                differences((result,), (result,))
                notes("", (result,))
                run_settings(found)
            return found
        what = load_system(what)
    if isinstance(what, Result):
        return _of_result(what)
    if not isinstance(what, System):
        raise UserError(f"compare: found {what!r}, expected a folder of results, a result, or a system")
    return _of_system(what)


def changed_side(system: "System", changes: Iterable[str]) -> Side:
    """Return the side of a system with changes, each ``key=value``.

    If its caches no longer fit into its DRAM, its map cache takes what the others leave. Raises `UserError`.
    """
    from nandram.system import System

    scales = [change for change in system.changes if change.startswith("scale=")]
    rest = [change for change in system.changes if change not in scales]
    asked = (*rest, *changes)
    followed, line = _followed(system.source, asked)
    found = _of_system(System(system.source, (*asked, *followed, *scales)))
    return Side(found.name, found.settings, (), found.system, (line,) if line else ())


def _of_result(result: "Result") -> Side:
    name = str(result.output) if result.output is not None else result.title
    return Side(name, _values(result.manifest["settings"]), (result,), None)


def _of_system(system: "System") -> Side:
    from nandram import _core

    settings = json.loads(_core.settings(system.source, list(system.changes)))
    return Side(" ".join([system.source, *system.changes]), _values(settings), (), system)


_MAP = "ftl.map_cache.size"
_OTHERS = ("device.write_cache", "device.read_cache")


def _followed(source: str, changes: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return the change of the map cache that makes the caches fit into the DRAM, and a line on it.

    Without a change if they fit, if the map cache was chosen, or if a smaller one does not help: the system is
    refused with its own message.
    """
    from nandram import _core

    if any(change.partition("=")[0].strip() == _MAP for change in changes):
        return (), ""
    try:
        _core.check(source, list(changes))
    except UserError:
        try:
            values = _values(json.loads(_core.settings(source, [*changes, f"{_MAP}=1MiB"])))
        except UserError:
            return (), ""
        if values.get("ftl.map_cache.place") != "dram":
            return (), ""
        in_dram = [_bytes(values[f"{key}.size"]) for key in _OTHERS if values.get(f"{key}.place") == "dram"]
        room = (_bytes(values["device.dram"]) - sum(in_dram)) >> 20
        if room < 1:
            return (), ""
        text = f"{room}MiB"
        return (f"{_MAP}={text}",), f"{_MAP} follows device.dram: {text}, which the other caches leave"
    return (), ""


_SIZE = re.compile(r"(\d+)\s*([KMGT]i?)?B")
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def _bytes(text: str) -> int:
    found = _SIZE.fullmatch(text)
    assert found is not None, f"{text} is no size"
    unit = found[2] or ""
    factor: int = (1024 if unit.endswith("i") else 1000) ** _POWERS[unit[:1]]
    return int(found[1]) * factor


def _values(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    return {key: str(each["value"]).strip('"') for key, each in settings.items()}


def run_settings(side: Side) -> dict[str, str]:
    """Return the settings of a run other than its system."""
    (result,) = side.results
    manifest = result.manifest
    found = {"nandram": manifest["version"], "workload": Path(manifest["workload"]).name}
    jobs = result.summary["jobs"]
    for number, job in enumerate(jobs):
        clones = sum(other["jobname"] == job["jobname"] for other in jobs[:number])
        name = f"{job['jobname']}#{clones + 1}" if clones else job["jobname"]
        found |= {f"job {name}: {key}": str(value) for key, value in job["job options"].items()}
        found[f"job {name}: group"] = str(job["groupid"])
    found["workload_sha256"] = manifest["workload_sha256"][:12]
    found |= {name: str(value) for name, value in manifest["options"].items()}
    # The state that an automatic choice led to.
    found["precondition"] = result.inside["preparation"]["kind"]
    cut_as_asked = found["warm_up"].removesuffix("ps")
    if cut_as_asked.isdigit():
        found["warm_up"] = units.duration(int(cut_as_asked) / 1000)
    found["seed"] = str(manifest["seed"])
    cut = result.warm_up_s
    found["warm-up cut off"] = units.duration(cut * 1e9) if cut else "none"
    return found
