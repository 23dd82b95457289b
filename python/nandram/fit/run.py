"""A fit from start to end."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from nandram.errors import UserError
from nandram.fit.bands import bands
from nandram.fit.closed_form.curves import Curves
from nandram.fit.closed_form.reads import Start, read_start
from nandram.fit.closed_form.writes import add_writes
from nandram.fit.evaluate import Evaluator, Told
from nandram.fit.measurements.files import read_measurements
from nandram.fit.measurements.points import Direction, Measurements, Point, size_text, waits_busily
from nandram.fit.model import Guess, Model, dies
from nandram.fit.parameters import Space, polls, quantity
from nandram.fit.precise import PRECISE, precise_search
from nandram.fit.result import Fit
from nandram.fit.search import ensemble, search
from nandram.fit.split import directions, split, without
from nandram.fit.tries import Tries, combinations
from nandram.system import System, load_system

NOISE = 0.02
"""Noise that is assumed of data without repeated points."""


def run_fit(
    data: Sequence[str | os.PathLike[str]],
    system: str | os.PathLike[str] | System,
    *,
    precondition: str = "fill",
    drop: Sequence[str] = (),
    tries: Tries | None = None,
    hold_out: Sequence[str] | None = None,
    share: float | None = None,
    noise: float | None = None,
    seed: int = 1,
    jobs: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    start_only: bool = False,
    told: Told | None = None,
    stage: Callable[[str], None] | None = None,
) -> Fit:
    """Fit a system to measurements of a drive.

    `data`: fio's JSON output and CSV files (`nandram.fit.measurements.files`). `system`: the start; values with the
    basis ``given`` stay, the others are free. `precondition`: state of the simulated drive, as in `nandram.run`.
    `drop`: regions of the data that are ignored. `tries`: values of further keys, all combinations of which are tried,
    such as ``{"flash.channels": [4, 8]}``. `hold_out`: regions that are only predicted, such as ``bs=8k`` or
    ``depth=16``; None draws them by `seed`. `share`: fraction of the other points that is held out at random, by
    default 0.2. `noise`: relative noise of the data; by default that of repeated points; up to 0.5 % the search is that
    for precise data. `jobs`: parallel runs, by default one per processor. `folder`: results of runs; a fit with the
    same folder resumes. `start_only`: stop at the start in closed form. `told`, `stage`: called with the progress of
    the runs, and with the name of each stage.

    Raises `UserError` for a mistake in any argument or file.
    """
    from nandram.options import at_a_time

    measured = _with_busy_hosts(without(read_measurements(data), drop))
    base = system if isinstance(system, System) else load_system(system)
    _check(base, measured)
    parts = split(measured.points, hold_out, share, seed)
    space = _space(base, parts.fitted)
    floor = noise if noise is not None else measured.repeated_noise()
    report = stage or (lambda _: None)
    if tries and start_only:
        raise UserError("--try: values are tried by the search, but --closed-form stops before it")
    starts = _starts(base, space, parts.fitted, tries or {})
    start = next(iter(starts))[1]
    evaluator = Evaluator(
        base,
        precondition=precondition,
        seed=seed,
        jobs=at_a_time(jobs),
        folder=None if folder is None else Path(folder),
        told=told,
    )
    try:
        model = Model(base, space, evaluator, measured.points)
        guesses = [Guess({**each, **tried}, one.values) for tried, one in starts for each in one.structures]
        best = guesses[0]
        alike = []
        if not start_only:
            assumed = NOISE if floor is None else floor
            chosen = precise_search if assumed <= PRECISE else search
            alike = ensemble(chosen(model, parts.fitted, guesses, assumed, report))
            best = alike[0].guess
            start = next(one for tried, one in starts if tried.items() <= best.structure.items())
        report("all points")
        shown = [each.guess for each in alike] or [best]
        modeled = model.evaluate(shown, measured.points)
    finally:
        evaluator.close()
    return Fit(
        system=base,
        measured=measured,
        split=parts,
        start=start,
        guesses=shown,
        modeled=modeled,
        bands=bands(alike, space.all, lambda guess: dies(space, guess.structure)) if alike else [],
        noise=floor,
        space=space,
        precondition=precondition,
        seed=seed,
    )


def _with_busy_hosts(measured: Measurements) -> Measurements:
    """Return the data with a remark on each engine whose core is busy at depth 1 already, though it does not poll."""
    remarks = list(measured.remarks)
    for engine in dict.fromkeys(point.conditions.engine for point in measured.points):
        points = [point for point in measured.points if point.conditions.engine == engine]
        if not polls(engine) and waits_busily(points):
            remarks.append(
                f"{engine} keeps its core busy at depth 1 too: its host polls, so that busy cores do not show a limit"
            )
    return replace(measured, remarks=tuple(remarks))


def _starts(base: System, space: Space, points: Sequence[Point], tries: Tries) -> list[tuple[dict[str, object], Start]]:
    """Return the start in closed form for each combination of tried values."""
    found = []
    for tried in combinations(tries, space):
        start = closed_form(_space(base.with_(tried), points) if tried else space, points)
        for key, value in tried.items():
            start.sentences[key] = f"{value} fits best of {', '.join(map(str, tries[key]))}"
        found.append((tried, start))
    return found


def closed_form(space: Space, points: Sequence[Point]) -> Start:
    """Return the start in closed form from the fitted points."""
    unit = int(quantity(space.value("ftl.unit")))
    start = Start(space.start(), [{}])
    if Direction.READ in directions(points):
        curves = [Curves(points, Direction.READ, engine, unit) for engine in space.engines]
        start = read_start(curves[0], curves[1:], space)
    if Direction.WRITE in directions(points):
        engine = space.engines[0]
        sequential = Curves(points, Direction.WRITE, engine, unit, random=False)
        add_writes(start, Curves(points, Direction.WRITE, engine, unit), sequential, space)
    return start


def _space(system: System, points: Sequence[Point]) -> Space:
    engines = [point.conditions.engine for point in points]
    order = sorted(set(engines), key=lambda engine: (-engines.count(engine), engine))
    present = directions(points)
    _check_completion(system, order)
    space = Space(system, reads=Direction.READ in present, writes=Direction.WRITE in present, engines=order)
    if not space.free:
        raise UserError(f"{system.source}: gives all of {', '.join(space.given)}: expected at least one assumed value")
    return space


def _check_completion(system: System, engines: Sequence[str]) -> None:
    """Raise `UserError` if the start gives a way of completion that the engines of the data do not use."""
    values = system.values
    basis = values.get("basis", {}).get("host.completion", {})
    completion = values["host"]["completion"]
    for engine in engines:
        expected = "polling" if polls(engine) else "interrupt"
        if "given" in basis and completion != expected:
            raise UserError(
                f"{system.source}: gives host.completion as {completion}, but the data were measured with {engine}: "
                f"expected {expected}, or another basis than given"
            )


def _check(system: System, measured: Measurements) -> None:
    """Raise `UserError` if the data cannot come from such a system."""
    values = system.values
    if values["link"]["type"] != "pcie":
        raise UserError(
            f"{system.source}: link.type is {values['link']['type']}, expected pcie: fits start from an NVMe drive"
        )
    if zones := values["device"].get("zones", {}).get("count"):
        raise UserError(
            f"{system.source}: has {zones} zones, expected a start that maps pages, such as nvme-client-tlc: "
            "its array, channels and host are fitted, and zones change none of them"
        )
    capacity = values["ftl"]["capacity"]
    if capacity != "auto":
        for point in measured.points:
            size = point.conditions.size_bytes
            if size * point.conditions.outstanding > quantity(capacity):
                raise UserError(
                    f"{point.source}: keeps {point.conditions.outstanding} requests of {size_text(size)} in flight, "
                    f"more than the {capacity} of {system.source}"
                )
