"""Runs of page traces: policies side by side, and the best of PM-XIP's windows and thresholds."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nandram.errors import UserError
from nandram.language.tables import Table


@dataclass(frozen=True)
class PagesRun:
    """The measurements to make with a page trace."""

    policies: tuple[str, ...]
    """As of `nandram.run_paging`."""
    windows: str
    """Of the sweep of PM-XIP; empty for none."""
    bound_rounds: int
    """Of the lower bound; 0 for none."""
    requests: int
    """Of the trace, the first so many; 0 for all."""


def pages_run(table: Table, filled: Callable[[Table, str, object], Any], folder: Path | None) -> tuple[PagesRun, Path]:
    """Return what the table ``pages`` of a run asks, and the trace: a file, or the name of one that came with us."""
    table.only("trace", "policies", "windows", "bound_rounds", "requests")
    policies = table.take("policies", "a list of policies", list)
    if not policies or not all(isinstance(each, str) for each in policies):
        raise table.error("policies", policies, "a list of policies")
    name = str(filled(table, "trace", table.text("trace")))
    try:
        path = find_trace(name, folder)
    except UserError as error:
        raise UserError(f"{table.place('trace')}: {error}") from None
    run = PagesRun(
        tuple(str(filled(table, "policies", each)) for each in policies),
        str(filled(table, "windows", table.text("windows", ""))),
        table.whole("bound_rounds", 0, 0),
        _whole(table, filled),
    )
    return run, path


def _whole(table: Table, filled: Callable[[Table, str, object], Any]) -> int:
    found = filled(table, "requests", table.take("requests", "a whole number", int, str, default=0))
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise table.error("requests", found, "a whole number")
    return found


def find_trace(name: str, folder: Path | None) -> Path:
    """Return the file of a page trace: one that came with us, by its name, or one beside an experiment.

    Raises `UserError`.
    """
    from nandram.traces import bundled, path_of

    known = bundled()
    if name in known:
        return path_of(name)
    if folder is not None and (folder / name).is_file():
        return folder / name
    from nandram.options import nearest

    raise UserError(
        f"found the trace `{name}`, expected one of {len(known)} that came with nandram{nearest(name, known)}"
    )


def play(system: str, changes: dict[str, object], path: Path, run: PagesRun) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a summary and a manifest. The SRAM is the system's. Raises `UserError`.

    In the summary ``nandram.run_paging`` has, by policy, the four counts, ``time_s`` and ``energy_j``; with a sweep
    ``best_time`` and ``best_energy``, with ``window`` and ``threshold``, and ``threshold_0``, of the smallest window.
    """
    from nandram import _core
    from nandram.paging.run import run_paging, run_paging_sweep
    from nandram.system import load_system

    of = load_system(system, changes)
    sram = str(of.values["host"]["sram"]["size"])
    first = run.requests or None
    table = run_paging(
        path, policies=run.policies, sram=[sram], system=of, bound_rounds=run.bound_rounds, requests=first
    ).table
    rows: dict[str, dict[str, Any]] = {row.pop("policy"): row for row in table.to_dicts()}
    (trace,) = {row.pop("trace") for row in rows.values()}
    if run.windows:
        sweep = run_paging_sweep(path, windows=run.windows, sram=[sram], system=of, requests=first)
        for by in ("time", "energy"):
            (rows[f"best_{by}"],) = sweep.best(by).to_dicts()
        rows["threshold_0"] = sweep.table.to_dicts()[0]
    requests = table["requests"][0]
    summary = {"jobs": [], "nandram": {"requests": requests, "paging": rows}}
    manifest = {
        "system": of.source,
        "changes": list(of.changes),
        "workload": trace,
        "version": _core.__version__,
        "settings": json.loads(_core.settings(of.source, list(of.changes))),
    }
    return summary, manifest
