"""Runs that probe: what `nandram probe` finds of a simulated drive, in virtual time."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from nandram.errors import UserError
from nandram.language.tables import Table

Progress = Callable[[float, float, int], bool]
"""As of `nandram.run`."""

STATES = {None: "only", True: "on", False: "off"}
"""What a finding's state of the host memory buffer is called; ``only`` if that is not touched."""


@dataclass(frozen=True)
class ProbeRun:
    """The probe tests of a run."""

    tests: tuple[str, ...]
    """As of `nandram.probe.run.run_probe`."""
    method: str
    every: int | None


def probe_run(table: Table, filled: Callable[[Table, str, object], Any]) -> ProbeRun:
    """Return what the table ``probe`` of a run asks. Raises `UserError`."""
    from nandram.probe.run import METHODS, check_method, check_tests

    table.only("tests", "method", "every")
    tests = table.take("tests", "a list of tests", list)
    if not tests or not all(isinstance(each, str) for each in tests):
        raise table.error("tests", tests, "a list of tests")
    names = [str(filled(table, "tests", each)) for each in tests]
    method = table.text("method", METHODS[0])
    if method not in METHODS:
        raise table.one_of("method", method, METHODS)
    every = table.take("every", "a whole number", int, default=None)
    for key, check in (("tests", check_tests), ("method", partial(check_method, method, every))):
        try:
            check(names)
        except UserError as error:
            raise UserError(f"{table.place(key)}: {error}") from None
    return ProbeRun(tuple(names), method, every)


def play(
    system: str,
    changes: dict[str, object],
    options: dict[str, Any],
    run: ProbeRun,
    cache: Path | None,
    progress: Progress,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a summary and a manifest. Raises `UserError`.

    In the summary ``nandram.run_probe`` has, by what a finding is about and by the state of the host memory buffer
    (`STATES`), ``verdict``, ``place`` (empty if it is not told), ``size``, ``low`` and ``high`` (all 0 where no size
    was told) and the finding's numbers.
    """
    from nandram import _core
    from nandram.probe.run import run_probe
    from nandram.system import load_system

    def tell(done: int, of: int, _test: str, _hmb: bool | None) -> bool:
        return progress(done / of, 0.0, done)

    of = load_system(system, changes)
    found = run_probe(
        system,
        tests=run.tests,
        method=run.method,
        every=run.every,
        set=changes,
        cache=cache,
        progress=tell,
        **options,
    )
    by: dict[str, dict[str, Any]] = {}
    for finding in found.findings:
        size = finding["size"] or {"value": 0.0, "low": 0.0, "high": 0.0}
        by.setdefault(finding["about"], {})[STATES[finding["hmb"]]] = {
            "verdict": finding["verdict"],
            "place": finding["place"] or "",
            "size": size["value"],
            "low": size["low"],
            "high": size["high"],
            **finding["numbers"],
        }
    spent = found.report["spent"]
    summary = {
        "jobs": [],
        "nandram": {"requests": spent["requests"], "simulated_s": spent["target_ps"] / 1e12, "probe": by},
    }
    manifest = {
        "system": of.source,
        "changes": list(of.changes),
        "workload": f"probe: {', '.join(run.tests)}" + (" (the paper's method)" if run.method == "paper" else ""),
        "version": _core.__version__,
        "settings": json.loads(_core.settings(of.source, list(of.changes))),
    }
    return summary, manifest
