"""Making the runs of experiments: each distinct one once, in native threads, kept by the hash of all that shaped it."""

import json
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nandram.errors import UserError
from nandram.hashes import file_hash, joint_hash, program_hash, text_hash
from nandram.papers.experiment import Point
from nandram.papers.runs import pages, probes

Report = Callable[[int, int, float], None]
"""Called as runs go on: how many are done, of how many, and how much of all is done, from 0 to 1."""

_POLL_S = 0.1


@dataclass(frozen=True)
class Outcome:
    """The result of a run."""

    summary: dict[str, Any]
    manifest: dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A run to be made."""

    point: Point
    name: str
    """What it is called in messages, in its manifest and in the folder of results."""
    place: str
    """Where it is declared: file and key."""
    key: str
    """The hash of all that shapes it: the program, the system, the workload, the options."""


def task(point: Point, name: str, place: str) -> Task:
    """Check the system and the workload of a run, and hash them. Raises `UserError`."""
    from nandram import _core
    from nandram.options import set_lines

    try:
        system = _core.check(point.system, set_lines(point.changes))
    except UserError as error:
        raise UserError(f"{place}: {error}") from None
    if point.path is None:
        assert point.text is not None
        workload = text_hash(point.text)
    else:
        try:
            workload = file_hash(point.path)
        except OSError as error:
            raise UserError(f"{place}.trace: {point.path}: cannot be read: {error.strerror}") from None
    options = json.dumps(point.options, sort_keys=True)
    asked = "".join(repr(each) for each in (point.pages, point.probe) if each is not None)
    parts = (program_hash(), text_hash(system), workload, text_hash(options), text_hash(f"{point.file}{asked}"))
    return Task(point, name, place, joint_hash(*parts).hex())


def play(
    tasks: Iterable[Task],
    *,
    jobs: int,
    cache: Path | None,
    report: Report | None = None,
    errors: dict[str, UserError] | None = None,
) -> dict[str, Outcome]:
    """Make the runs, `jobs` at a time; return the outcomes by key. Raises `UserError`.

    `errors`: where the errors of single runs are put, by key, instead of being raised; these have no outcome.

    Runs in the folder `cache` are not repeated; new ones are stored there.
    """
    wanted = {each.key: each for each in tasks}
    outcomes: dict[str, Outcome] = {}
    for key in wanted:
        kept = _kept(cache, key)
        if kept is not None:
            outcomes[key] = kept
    left = [each for key, each in wanted.items() if key not in outcomes]
    fractions = dict.fromkeys((each.key for each in left), 0.0)
    stop = threading.Event()

    def one(each: Task) -> Outcome:
        def progress(fraction: float, _simulated_s: float, _done: int) -> bool:
            fractions[each.key] = fraction
            return not stop.is_set()

        outcome = _play(each, cache, progress)
        _keep(cache, each.key, outcome)
        return outcome

    def tell() -> None:
        if report is not None:
            share = (len(wanted) - len(left) + sum(fractions.values())) / max(len(wanted), 1)
            report(len(outcomes), len(wanted), share)

    with ThreadPoolExecutor(jobs) as pool:
        running: dict[Future[Outcome], Task] = {pool.submit(one, each): each for each in left}
        try:
            while running:
                tell()
                done, _ = wait(running, timeout=_POLL_S, return_when=FIRST_COMPLETED)
                for future in done:
                    each = running.pop(future)
                    try:
                        outcomes[each.key] = future.result()
                    except UserError as error:
                        if errors is None:
                            raise
                        errors[each.key] = error
                    fractions[each.key] = 1.0
        except BaseException:
            # A mistake or Ctrl-C: those under way stop where they next say how far they are.
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    tell()
    return outcomes


def _play(each: Task, cache: Path | None, progress: Callable[[float, float, int], bool]) -> Outcome:
    from nandram.simulate import run

    point = each.point
    if point.pages is not None:
        assert point.path is not None
        try:
            return Outcome(*pages.play(point.system, point.changes, point.path, point.pages))
        except UserError as error:
            raise UserError(f"{each.place}: {error}") from None
    if point.probe is not None:
        try:
            return Outcome(*probes.play(point.system, point.changes, point.options, point.probe, cache, progress))
        except UserError as error:
            raise UserError(f"{each.place}: {error}") from None
    options = dict(point.options)
    with TemporaryDirectory(prefix="nandram-") as folder:
        if point.path is None:
            assert point.text is not None
            path = Path(folder, point.file)
            path.write_text(point.text, encoding="utf-8")
        else:
            path = point.path
        try:
            result = run(point.system, path, set=point.changes, cache=cache, progress=progress, **options)
        except UserError as error:
            # A job of the file has no path that the user knows.
            raise UserError(f"{each.place}: {str(error).replace(str(path), path.name)}") from None
    if point.path is None:
        # The folder is gone, and was another one each time.
        result.manifest["workload"] = each.name
        for job in result.summary["jobs"]:
            if "trace" in job["job options"]:
                job["job options"]["trace"] = each.name
    return Outcome(result.summary, result.manifest)


# -- what is kept


def _file(cache: Path, key: str) -> Path:
    return cache / "runs" / key[:2] / f"{key}.json"


def _kept(cache: Path | None, key: str) -> Outcome | None:
    if cache is None:
        return None
    try:
        found = json.loads(_file(cache, key).read_text(encoding="utf-8"))
        return Outcome(found["summary"], found["manifest"])
    except (OSError, ValueError, KeyError):
        # None, or one that was not written to its end: it is made again.
        return None


def _keep(cache: Path | None, key: str, outcome: Outcome) -> None:
    if cache is None:
        return
    file = _file(cache, key)
    part = file.with_name(f"{key}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps({"summary": outcome.summary, "manifest": outcome.manifest}), encoding="utf-8")
        part.replace(file)
    except OSError as error:
        raise UserError(f"{error.filename or file}: cannot be written: {error.strerror}") from error


def save(folder: Path, each: Task, outcome: Outcome) -> None:
    """Write a run to a folder of its own: its job or trace, ``summary.json``, ``manifest.json``. Raises `UserError`."""
    place = folder / "runs" / each.name
    try:
        place.mkdir(parents=True, exist_ok=True)
        if each.point.text:
            (place / each.point.file).write_text(each.point.text, encoding="utf-8")
        for name, values in (("manifest.json", outcome.manifest), ("summary.json", outcome.summary)):
            (place / name).write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{error.filename or place}: cannot be written: {error.strerror}") from error
