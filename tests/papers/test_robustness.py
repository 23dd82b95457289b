"""Robustness of verdicts: joint draws, counter-models, and the kept table."""

import json
import random
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import nandram
from nandram.cli.terminal.claims import show
from nandram.errors import UserError
from nandram.papers import library
from nandram.papers.robustness import table
from nandram.papers.robustness.draws import draws, parameters_of
from nandram.papers.robustness.scaling import scaled
from nandram.papers.robustness.variants import Variant, settings_of_point, tasks_of
from nandram.papers.verdict import with_robustness

BUNDLED = [paper for paper in library.papers() if library.load(paper).experiment is not None]


@cache
def evaluated(paper: str, runs: Path) -> tuple[tuple[int, ...], table.PaperRobustness]:
    """Evaluate a paper's claims, counter-models and two of its kept draws, if any. Return these draws, too."""
    kept = table.load().get(paper)
    count = table.DRAWS if kept is None else kept.count
    drawn = () if kept is None else tuple(random.Random(kept.key).sample(range(count), 2))
    loaded = library.load(paper, quick=True)
    return drawn, table.evaluate(loaded, count=count, quick=True, jobs=2, cache=runs, only=drawn)


def points(variant: Variant, paper: library.Paper) -> dict[str, dict[str, object]]:
    """Return the changes that a variant makes to each run."""
    assert paper.experiment is not None
    made = tasks_of(paper.experiment, variant)
    return {f"{name},{place}": dict(task.point.changes) for (name, place, _), task in made.items()}


def test_each_part_of_each_range_is_drawn_once(tiny: Path) -> None:
    paper = library.load(str(tiny))
    assert paper.experiment is not None
    drawn = parameters_of(paper.experiment)
    # Two dies can be neither 25 % more nor less.
    assert "flash.dies" in drawn.fixed
    assert drawn.fixed["ftl.gc.start"] == "a drive this small has no room for less"
    number = next(each for each in drawn.parameters if each.name == "requests")
    assert (number.low, number.high) == (0.75, 1.25)
    found = sorted(int(str(each.constants["requests"])) for each in draws(paper.experiment, drawn, 8, "seed"))
    # 400 requests, from 300 to 500 in eight parts of 25.
    assert [(each - 300) // 25 for each in found] == list(range(8))
    names = [each.constants for each in draws(paper.experiment, drawn, 8, "seed")]
    assert names == [each.constants for each in draws(paper.experiment, drawn, 8, "seed")]
    assert names != [each.constants for each in draws(paper.experiment, drawn, 8, "other")]


def test_what_is_given_is_not_drawn(tiny: Path) -> None:
    paper = library.load(str(tiny))
    assert paper.experiment is not None
    names = {each.name for each in parameters_of(paper.experiment).parameters}
    assert "kib" not in names
    assert "flash.channels" not in names
    assert "host.submit" in names


def test_a_draw_scales_each_system_s_own_value(tiny: Path) -> None:
    paper = library.load(str(tiny))
    assert paper.experiment is not None
    (one,) = draws(paper.experiment, parameters_of(paper.experiment), 1, "seed")
    changes = points(one, paper)
    assert len(changes) == 4
    base = settings_of_point(paper.experiment.runs["traced"].point({}, 1))["host.submit"]["value"]
    assert {str(each["host.submit"]) for each in changes.values()} != {base}
    assert len({str(each["host.submit"]) for each in changes.values()}) == 1


@pytest.mark.parametrize(
    ("value", "factor", "expected"),
    [
        (400, 0.75, 300),
        (1, 0.6, 1),
        (0, 1.25, 0),
        (0.28, 1.25, 0.28 * 1.25),
        ("50us", 1.25, "62.5us"),
        ("127ns", 0.9, "114.3ns"),
        ("80pJ", 0.9871, "79pJ"),
        ("450MB/s", 1.1, "495MB/s"),
        ("16KiB", 1.25, "16KiB"),
        ("greedy", 1.25, "greedy"),
        ('["25us", "50us"]', 2.0, '["50us", "100us"]'),
    ],
)
def test_scaling(value: object, factor: float, expected: object) -> None:
    assert scaled(value, factor) == expected  # type: ignore[arg-type]


def test_shares_and_counter_models(tiny: Path) -> None:
    found = nandram.reproduce(str(tiny), cache=None, draws=6, output="out")
    shares = {row.id: row.robustness for row in found}
    assert shares["tiny.lifetime"] == ""
    assert shares["tiny.gain"] == "6/6"
    assert found["tiny.gain"].verdict == "held"
    kept = table.from_json(json.loads(Path("out/robustness.json").read_text())["tiny"])
    assert kept.shares["tiny.gain"].counters == {"one_die": False}
    assert kept.shares["tiny.gain"].ours == found["tiny.gain"].ours


def test_a_claim_that_its_counter_model_does_not_break_is_trivial(tiny: Path) -> None:
    tiny.write_text(tiny.read_text().replace('set = { "flash.dies" = 1,', 'set = { "flash.program" = "1ms" }\n#'))
    found = nandram.reproduce(str(tiny), cache=None, draws=1)
    assert found["tiny.gain"].verdict == "trivial"


def test_a_claim_that_hangs_on_an_assumption_is_shown_to(tiny: Path) -> None:
    # The claim holds within 0.1 % of what it is now: next to no draw gives that.
    text = tiny.read_text().replace(
        '"tiny.read_us" = "one.read_us"', '"tiny.read_us" = { ours = "one.read_us", HOLDS }'
    )
    now = nandram.reproduce(str(tiny), cache=None)["tiny.read_us"].ours
    assert now is not None
    tiny.write_text(text.replace("HOLDS", f'holds = "abs(ours / {now} - 1) < 0.001", set_by = "nobody"'))
    row = nandram.reproduce(str(tiny), cache=None, draws=8)["tiny.read_us"]
    assert row.verdict == "trivial"
    assert row.share is not None
    assert row.share < 0.5


def test_a_kept_share_is_stale_once_anything_changed(tiny: Path) -> None:
    paper = library.load(str(tiny))
    kept = table.evaluate(paper, count=2, quick=False, jobs=2, cache=None)
    key = table.key_of(paper)
    ours = kept.shares["tiny.gain"].ours
    assert ours is not None
    assert kept.share("tiny.gain", key, ours, quick=False) is kept.shares["tiny.gain"]
    assert kept.share("tiny.gain", key, ours * 1.001, quick=False) is None
    assert kept.share("tiny.gain", "another", ours, quick=False) is None
    row = nandram.reproduce(str(tiny), cache=None)["tiny.gain"]
    assert with_robustness(row, None, known=True).robustness == "stale"
    assert with_robustness(row, None, known=False).robustness == ""
    drive = Path("drive.toml").read_text()
    Path("drive.toml").write_text(drive.replace('read = "50us"', 'read = "51us"'))
    assert table.key_of(paper) != key


def test_a_table_survives_its_file(tiny: Path, tmp_path: Path) -> None:
    kept = table.evaluate(library.load(str(tiny)), count=2, quick=True, jobs=2, cache=None)
    table.save({"tiny": kept}, tmp_path / "kept.json")
    assert table.from_json(json.loads((tmp_path / "kept.json").read_text())["tiny"]) == kept


def test_kept_papers_are_replaced_one_by_one(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = table.evaluate(library.load(str(tiny)), count=2, quick=True, jobs=2, cache=None)
    monkeypatch.setattr(table, "kept_file", lambda: tmp_path / "kept.json")
    table.save({"other": replace(found, key="1"), "tiny": replace(found, key="2")}, tmp_path / "kept.json")
    table.save({"tiny": found}, tmp_path / "new.json")
    assert table.keep(tmp_path / "new.json") == ("tiny",)
    assert {paper: each.key for paper, each in table.load().items()} == {"other": "1", "tiny": found.key}
    (tmp_path / "new.json").write_text("[1]")
    with pytest.raises(UserError, match=r"new\.json: expected a table of robustness"):
        table.keep(tmp_path / "new.json")
    with pytest.raises(UserError, match=r"none\.json: cannot be read"):
        table.keep(tmp_path / "none.json")


def test_only_what_decides_a_claim_makes_the_table_stale(tiny: Path) -> None:
    text, key = tiny.read_text(), table.key_of(library.load(str(tiny)))

    def changed(old: str, new: str) -> str:
        assert text.count(old) == 1, old
        tiny.write_text(text.replace(old, new))
        return table.key_of(library.load(str(tiny)))

    said = '"tiny.read_us" = { ours = "one.read_us", note = "a remark" }'
    assert changed('"tiny.read_us" = "one.read_us"', said.replace(', note = "a remark"', "")) != key
    with_note = changed('"tiny.read_us" = "one.read_us"', said)
    assert with_note == changed('"tiny.read_us" = "one.read_us"', said.replace("a remark", "another"))
    shown = '\n[bands.all]\ntitle = "all"\nours = "reads.read_iops"\nover = "depth"\npaper = 1\n\n[tests]\n'
    assert changed("\n[tests]\n", shown) == key


@pytest.mark.parametrize("factor", [0.5, 2])
def test_a_range_with_the_value_at_one_end_is_drawn(tiny: Path, factor: float) -> None:
    ends = sorted([400, int(400 * factor)])
    text = tiny.read_text()
    assert text.count("requests = {") == 1, text
    start = text.index("requests = {")
    line = text[start : text.index("\n", start)]
    tiny.write_text(text.replace(line, f'requests = {{ assumed = "one end", range = {ends} }}'))
    paper = library.load(str(tiny))
    assert paper.experiment is not None
    drawn = parameters_of(paper.experiment)
    number = next(each for each in drawn.parameters if each.name == "requests")
    assert (400 * number.low, 400 * number.high) == tuple(ends)


@pytest.mark.parametrize("draws", [0, True, "x", 1.5])
def test_draws_that_are_not_a_number_from_1_are_refused(tiny: Path, draws: object) -> None:
    with pytest.raises(UserError, match=rf"draws: found {draws!r}, expected a whole number from 1"):
        nandram.reproduce(str(tiny), draws=draws)  # type: ignore[arg-type]


def test_all_claims_are_shown_in_each_variant(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    variants = """
[variants.slow]
why = "flash that reads in ten times the time"
set = { "flash.read" = "500us" }
[variants.single]
why = "one die"
set = { "flash.dies" = 1 }
"""
    tiny.write_text(tiny.read_text() + variants)
    found = nandram.reproduce(str(tiny), cache=None, variants=True, output="out")
    (shown,) = found.variants
    assert list(shown.whys) == ["slow", "single"]
    assert list(shown.claims["tiny.gain"]) == ["experiment", "slow", "single"]
    ours, holds = shown.claims["tiny.gain"]["experiment"]
    assert (ours, holds) == (found["tiny.gain"].ours, True)
    assert not shown.claims["tiny.gain"]["single"][1]
    slow, fast = (shown.claims["tiny.read_us"][name][0] for name in ("slow", "experiment"))
    assert slow is not None
    assert fast is not None
    assert slow > 400 + fast
    assert json.loads(Path("out/variants.json").read_text())[0]["whys"] == shown.whys
    show(found, every=False)
    text = capsys.readouterr().out
    assert "slow: flash that reads in ten times the time" in text
    assert nandram.reproduce(str(tiny), cache=None).variants == []


def test_a_variant_names_what_it_changes(tiny: Path) -> None:
    text = tiny.read_text()
    tiny.write_text(text + '\n[variants.empty]\nwhy = "nothing"\n')
    with pytest.raises(UserError, match=r"found neither `set` nor `constants`, expected a change"):
        nandram.reproduce(str(tiny), variants=True)


@pytest.mark.parametrize("paper", BUNDLED)
def test_no_held_claim_holds_in_its_counter_models(paper: str, runs: Path) -> None:
    _, found = evaluated(paper, runs)
    for claim in (row.id for row in nandram.reproduce(paper, quick=True) if row.verdict == "held"):
        assert found.shares[claim].counters, claim
        assert found.shares[claim].can_fail, claim


@pytest.mark.parametrize("paper", table.load())
def test_the_kept_table_is_of_this_model(paper: str, runs: Path) -> None:
    kept = table.load()
    loaded = library.load(paper, quick=True)
    assert kept[paper].key == table.key_of(loaded)
    rows = nandram.reproduce(paper, quick=True)
    assert not [row.id for row in rows if row.robustness == "stale"]


@pytest.mark.parametrize("paper", table.load())
def test_a_sample_of_the_kept_draws_comes_out_again(paper: str, runs: Path) -> None:
    kept = table.load()[paper]
    drawn, found = evaluated(paper, runs)
    for claim, share in found.shares.items():
        assert share.failed == tuple(index for index in drawn if index in kept.shares[claim].failed), claim


def test_whole_runs_show_the_shares_of_quick_ones() -> None:
    rows = nandram.reproduce("ddrssd", claims="ddrssd.bandwidth.read_hit.*")
    kept = table.load()["ddrssd"].shares
    assert [row.robustness for row in rows] == [f"{kept[row.id].held}/{kept[row.id].draws}" for row in rows]
