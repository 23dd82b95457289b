"""The bundled claims and experiments."""

from pathlib import Path

import pytest

import nandram
from nandram import _core
from nandram.papers import library
from nandram.papers.runs import play

TOP = Path(__file__).parents[2]


def test_the_files_are_those_of_the_folders() -> None:
    there = {
        str(path.relative_to(TOP)): path.read_text()
        for folder in ("claims", "experiments")
        for path in (TOP / folder).glob("*.toml")
    }
    assert dict(_core.papers()) == there


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", library.papers())
def test_every_experiment_is_in_order(name: str, quick: bool) -> None:
    """Check that all names, systems and placeholders of jobs exist, and that every claim of a paper has an entry."""
    paper = library.load(name, quick=quick)
    assert paper.claims.claims
    if paper.experiment is None:
        pytest.skip("there is none yet")
    assert list(paper.experiment.entries) == list(paper.claims.claims)
    used = {run for entry in paper.experiment.entries.values() for run in paper.experiment.runs_of(entry)}
    used.update(run for band in paper.experiment.bands.values() for run in paper.experiment.runs_of_band(band))
    used.update(run for chart in paper.experiment.charts.values() for run in paper.experiment.runs_of_chart(chart))
    assert used == set(paper.experiment.runs)
    for run in paper.experiment.runs.values():
        for place in run.places():
            play.task(run.point(place, run.seeds[0]), run.name, name)


def test_an_experiment_of_the_program_is_the_same_from_its_file() -> None:
    [row] = nandram.reproduce("ssd_crosscheck", quick=True, claims="*.ideal_map")
    [other] = nandram.reproduce(str(TOP / "experiments/ssd_crosscheck.toml"), quick=True, claims="*.ideal_map")
    assert row == other
    # The basis of the two keys that were set with knowledge of this figure says so.
    assert row.verdict == "calibrated"
    assert row.deviation is not None
    assert abs(row.deviation) < 0.05
