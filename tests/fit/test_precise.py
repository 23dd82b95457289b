"""The search for precise data on a simulated drive, whose parameters are known."""

import functools
from pathlib import Path

import pytest

from nandram.fit.bands import bands
from nandram.fit.evaluate import JOURNAL, Evaluator, Modeled
from nandram.fit.measurements.points import Conditions, Direction, Point
from nandram.fit.model import Guess, Model, dies
from nandram.fit.parameters import Space, quantity
from nandram.fit.precise import COMMANDS, _Search, precise_search
from nandram.fit.run import closed_form
from nandram.fit.search import ensemble
from nandram.system import System, load_system

from .test_search import START, TRUE

REQUESTS = 12_000


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> System:
    path = tmp_path_factory.mktemp("precise") / "start.toml"
    path.write_text(START)
    return load_system(path)


@pytest.fixture(scope="module")
def points(drive: System) -> list[Point]:
    """Return points of the true drive with all percentiles, the first one twice."""
    found = []
    for depth, seed in ((1, 1), (1, 2), (2, 1), (4, 1), (8, 1), (16, 1)):
        conditions = Conditions(Direction.READ, True, 4096, depth, 1, "spdk")
        guess = Point(conditions, 15_000.0 * min(depth, 6), None, (), None, "guess")
        evaluator = Evaluator(drive.with_(TRUE), precondition="fill", requests=REQUESTS, seed=seed)
        ((modeled,),) = evaluator.evaluate([({}, [guess])])
        times = tuple(sorted(modeled.percentiles.items()))
        found.append(Point(conditions, modeled.iops, modeled.mean_ns, times, None, "simulated"))
    return found


def test_precise_data_determine_the_page_types_and_their_bands_hold_the_truth(
    drive: System, points: list[Point], tmp_path: Path
) -> None:
    space = Space(drive, reads=True, writes=False, engines=["spdk"])
    begin = closed_form(space, points)
    wrong = Guess({**begin.structures[0], "flash.chips": 3}, begin.values)
    right = Guess({**begin.structures[0], "flash.chips": 2}, begin.values)
    evaluator = Evaluator(drive, precondition="fill", requests=REQUESTS, jobs=2, folder=tmp_path)
    found = precise_search(Model(drive, space, evaluator, points), points, [wrong, right], 0.001, lambda _: None)
    evaluator.close()
    alike = ensemble(found)
    assert {each.guess.structure["flash.chips"] for each in alike} == {2}
    found_bands = bands(alike, space.all, lambda guess: dies(space, guess.structure))
    by_name = {band.parameter.name: band for band in found_bands}
    for i, text in enumerate(TRUE["flash.read"]):
        band = by_name[f"flash.read[{i}]"]
        assert band.determined
        assert band.low <= quantity(text) <= band.high
        assert band.high / band.low < 1.3
    assert not by_name["device.max_commands"].determined
    assert (by_name["dies"].low, by_name["dies"].value, by_name["dies"].high) == (4, 4, 4)


def test_a_limit_of_commands_that_curves_seem_to_show_is_also_tried_without(drive: System, points: list[Point]) -> None:
    space = Space(drive, reads=True, writes=False, engines=["spdk"])
    model = Model(drive, space, Evaluator(drive, precondition="fill"), points)
    search = _Search(model, points, 0.001)
    values = space.start()
    assert [each.values for each in search.accepting(Guess({}, values))] == [values]
    limited = {**values, COMMANDS: 64.0}
    assert [each.values for each in search.accepting(Guess({}, limited))] == [limited, values]


def test_repeated_points_share_a_run(drive: System, points: list[Point]) -> None:
    space = Space(drive, reads=True, writes=False, engines=["spdk"])
    evaluator = Evaluator(drive, precondition="fill", requests=1000)
    (modeled,) = Model(drive, space, evaluator, points).evaluate([Guess({}, space.start())], points)
    assert len(modeled) == len(points)
    assert evaluator.runs == len(points) - 1
    assert modeled[0] == modeled[1]
    assert modeled[1] != modeled[2]


def test_a_journal_of_other_figures_is_ignored(drive: System, points: list[Point], tmp_path: Path) -> None:
    journal = tmp_path / JOURNAL
    opened = functools.partial(Evaluator, drive, precondition="fill", requests=1000, folder=tmp_path)
    first = opened()
    ((made,),) = first.evaluate([({}, points[:1])])
    first.close()
    lines = journal.read_text()
    journal.write_text(lines.replace('"p99_ns"', '"p98_ns"'))
    second = opened()
    ((again,),) = second.evaluate([({}, points[:1])])
    second.close()
    assert second.runs == 1
    assert isinstance(again, Modeled)
    assert again == made
