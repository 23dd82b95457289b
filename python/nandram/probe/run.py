"""Black-box probes of simulated drives, files and real drives."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from nandram.errors import UserError
from nandram.options import SEED_MAX, Precondition, default_cache, nearest, one_of, set_lines

Progress = Callable[[int, int, str, bool | None], bool]
"""Called ten times per second with the finished tests, the number of tests, the current test and whether the host
memory buffer is enabled for it (None if it is not switched); returning False stops the probe."""

DEFAULT_PRECONDITION = Precondition.FILL

METHODS = ("search", "paper")
"""How sizes are found: by doubling and bisection, or by the sizes of Kim and Kim in order."""

PAPER_TESTS = ("read-cache", "mapping-cache", "write-buffer")
"""The tests that the paper has."""

EVERY_MAX = 64


@dataclass(frozen=True)
class Probe:
    """Result of a probe."""

    report_json: str
    """The report as JSON: target, options, findings with their evidence, every latency."""
    interrupted: bool = False
    """Whether the probe was stopped early; it holds the findings so far, and `ended` gives the reason."""
    not_restored: str | None = None
    """What could not be put back as it was found, and how a user does it."""
    model_of: Callable[[], str] | None = field(default=None, repr=False, compare=False)
    """Creates the text for `save_model`; None for a report that was read from a file."""

    @cached_property
    def report(self) -> dict[str, Any]:
        """The report."""
        found: dict[str, Any] = json.loads(self.report_json)
        return found

    @property
    def findings(self) -> list[dict[str, Any]]:
        """One finding per hypothesis, with ``about``, ``hmb``, ``verdict``, ``size``, ``place`` and ``evidence``."""
        found: list[dict[str, Any]] = self.report["findings"]
        return found

    @property
    def ended(self) -> str | None:
        """Why the probe ended early; None if it completed."""
        found: str | None = self.report["ended"]
        return found

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write ``probe.json``, ``samples.parquet`` and ``report.html``. Raises `UserError` if that cannot be done."""
        from nandram.probe import report

        report.write(self, Path(folder))

    def save_json(self, path: str | os.PathLike[str]) -> None:
        """Write the report as JSON. Raises `UserError` if it cannot be written."""
        try:
            Path(path).write_text(self.report_json, encoding="utf-8")
        except OSError as error:
            raise UserError(f"{os.fspath(path)}: cannot be written: {error.strerror}") from error


def save_model(probe: Probe, path: str | os.PathLike[str]) -> None:
    """Write a system file that simulates the probed drive.

    Sizes come from the findings, flash times are calibrated against random reads and writes, and other values are
    marked as assumed. Raises `UserError` if required tests are missing or the file cannot be written.
    """
    if probe.model_of is None:
        raise UserError(f"{os.fspath(path)}: found a report without its probe, expected a probe that was just made")
    text = probe.model_of()
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{os.fspath(path)}: cannot be written: {error.strerror}") from error


class ProbeInterrupted(KeyboardInterrupt):
    """A probe was stopped by a signal and ended in an orderly way."""

    def __init__(self, partial: Probe) -> None:
        super().__init__("the probe was interrupted")
        self.partial = partial
        """The result with the findings so far."""


def tests() -> dict[str, tuple[bool, str]]:
    """Return the tests by name: whether each writes, and a description."""
    from nandram import _core

    return {name: (writes, does) for name, writes, does in _core.probe_tests()}


def check_tests(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of all tests. Raises `UserError` if `names` contains an unknown one."""
    known = tuple(tests())
    for name in names:
        if name not in known:
            expected = f"all, {', '.join(known[:-1])} or {known[-1]}{nearest(name, known)}"
            raise UserError(f"test: found `{name}`, expected {expected}")
    return known


def check_method(method: str, every: int | None, names: Sequence[str]) -> None:
    """Check how the sizes of the tests `names` are found. Raises `UserError`."""
    one_of("method", method, METHODS)
    if method == "paper":
        for name in names:
            if name not in PAPER_TESTS:
                raise UserError(
                    f"test: found `{name}` with method paper, expected {', '.join(PAPER_TESTS[:-1])} or "
                    f"{PAPER_TESTS[-1]}"
                )
        if every is not None and not 1 <= every <= EVERY_MAX:
            raise UserError(f"every: found {every}, expected a whole number from 1 to {EVERY_MAX}")
    elif every is not None:
        raise UserError(f"every: found {every} with method {method}, expected it with method paper")


def plan(target: str | os.PathLike[str], **options: Any) -> dict[str, Any]:
    """Return the steps of `run_probe` on a target and their costs, without writing or switching anything.

    `options` are those of `run_probe`; `confirm` is not needed. ``actions``: in their order, each with ``does`` and
    ``write_bytes_max``; ``write_bytes_max`` and ``drive_writes``, the wear; ``confirm``, what must be typed;
    ``left_out``, tests that write and may not; ``notes``. Raises `UserError` if the target must not be probed.
    """
    return _planned(target, *_asked(**options))


def run_probe(
    target: str | os.PathLike[str],
    *,
    tests: Sequence[str] | None = None,
    allow_write: bool = False,
    confirm: str | None = None,
    method: str = "search",
    every: int | None = None,
    confidence: float = 0.99,
    seed: int = 1,
    set: Mapping[str, object] | None = None,  # noqa: A002
    precondition: str = DEFAULT_PRECONDITION,
    cache: str | os.PathLike[str] | None = "default",
    keep_hmb: bool = False,
    root: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Probe:
    """Detect the caches and buffers of a drive from the latencies of its requests.

    `target`: a preset or system file (simulated, in virtual time), a file or a block device (asked past the page cache,
    on the clock). A file or device is opened for reading, and what something else uses is refused. `tests`: names of
    `nandram.probe.run.tests`; all of them if None, of a real target those that only read. `allow_write`: also those
    that write, if `confirm` is the drive's serial number (a file's path, if it is one): they destroy what is there.
    `method`: one of `METHODS`; ``paper`` has the tests `PAPER_TESTS` and tries each `every`-th of the paper's sizes (if
    None, all).
    `confidence`: how sure verdicts are to be. `set`: changes of a simulated system. `precondition` and `cache`: of a
    simulated drive, as in `nandram.run`. `keep_hmb`: do not switch an NVMe drive's host memory buffer off and on, which
    otherwise is done for a comparison, and undone whatever happens. `root`: a folder with another `sys` and `proc`.

    Raises `UserError` for a mistake and for each reason not to probe a target, `ProbeInterrupted` (a
    `KeyboardInterrupt`) if a signal ends it: with what was found until then, after everything was put back.
    """
    from nandram import _core

    sets, asked = _asked(
        tests=tests,
        allow_write=allow_write,
        confirm=confirm,
        method=method,
        every=every,
        confidence=confidence,
        seed=seed,
        set=set,
        precondition=precondition,
        cache=cache,
        keep_hmb=keep_hmb,
        root=root,
    )
    _planned(target, sets, asked)
    output = _core.probe(os.fspath(target), sets, asked, progress)
    found = Probe(output.report_json, output.interrupted, output.not_restored, output.model)
    if found.interrupted:
        raise ProbeInterrupted(found)
    return found


def _planned(target: str | os.PathLike[str], sets: list[str], asked: dict[str, Any]) -> dict[str, Any]:
    """Return the plan after checks that depend on the kind of target. Raises `UserError`."""
    from nandram import _core

    found: dict[str, Any] = json.loads(_core.probe_plan(os.fspath(target), sets, asked))
    simulated = found["kind"] == "simulated"
    if simulated and (asked["allow_write"] or asked["confirm"] is not None):
        given = "allow-write" if asked["allow_write"] else "confirm"
        raise UserError(
            f"{given}: found for {os.fspath(target)}, which is simulated, expected it for a file or a drive"
        )
    if asked["confirm"] is not None and not asked["allow_write"]:
        raise UserError("confirm: found without allow-write, expected both or neither")
    if asked["all_needed"] and found["left_out"]:
        destroys = f"{', '.join(found['left_out'])}, which destroys what is on {os.fspath(target)}"
        raise UserError(f"test: found {destroys}: needs allow-write")
    if not simulated and asked["precondition"] != DEFAULT_PRECONDITION:
        raise UserError(
            f"precondition: found for {os.fspath(target)}, expected it for a simulated drive: a real one is as it is"
        )
    return found


def _asked(
    *,
    tests: Sequence[str] | None = None,
    allow_write: bool = False,
    confirm: str | None = None,
    method: str = "search",
    every: int | None = None,
    confidence: float = 0.99,
    seed: int = 1,
    set: Mapping[str, object] | None = None,  # noqa: A002
    precondition: str = DEFAULT_PRECONDITION,
    cache: str | os.PathLike[str] | None = "default",
    keep_hmb: bool = False,
    root: str | os.PathLike[str] | None = None,
) -> tuple[list[str], dict[str, Any]]:
    """Check the options and convert them for the native module. Raises `UserError`."""
    known = check_tests(tests or ())
    check_method(method, every, tests or ())
    if method == "paper":
        known = PAPER_TESTS
    if not 0.5 < confidence < 1:
        raise UserError(f"confidence: found {confidence}, expected a number above 0.5 and below 1")
    if not 0 <= seed <= SEED_MAX:
        raise UserError(f"seed: found {seed}, expected a whole number from 0 to {SEED_MAX}")
    kept = default_cache() if cache == "default" else None if cache is None else os.fspath(cache)
    return set_lines(set or {}), {
        "tests": list(known if tests is None else tests),
        "every": (every or 1) if method == "paper" else None,
        "all_needed": tests is not None,
        "confidence": float(confidence),
        "seed": seed,
        "allow_write": allow_write,
        "confirm": confirm,
        "switch_hmb": not keep_hmb,
        "precondition": one_of("precondition", precondition, tuple(Precondition)),
        "cache": kept,
        "root": None if root is None else os.fspath(root),
    }
