"""Sweeps: runs, stored results, and evaluation."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import nandram
from conftest import TINY
from nandram.cli import main
from nandram.sweep import declared as declared_file
from nandram.sweep import local, store
from nandram.sweep.explained import explained
from nandram.sweep.result import Sweep


def same(one: Sweep, other: Sweep) -> bool:
    """Return whether two sweeps have equal results, apart from run times."""
    return one.table.drop("run_s").equals(other.table.drop("run_s"))


def test_a_row_is_that_run(declared: Path, tmp_path: Path) -> None:
    found = nandram.run_sweep(declared, tmp_path / "out")
    assert found.done == len(found.table) == 2 * 40
    row = found.table.to_dicts()[7]
    job = tmp_path / "job.fio"
    job.write_text(f"[reads]\nrw=randread\nbs=4k\niodepth={row['depth']}\nnumber_ios=400\nnorandommap\n")
    one = nandram.run(
        TINY, job, set={"flash.read": row["flash.read"]}, precondition="fill", seed=row["seed"], cache=None
    )
    assert row["iops"] == one.iops
    assert row["p99_us"] == one.summary["jobs"][0]["read"]["clat_ns"]["percentile"]["99.000000"] / 1000
    assert row["write_us"] is None
    assert set(found.table["seed"]) == {1, 2}
    assert same(found, nandram.read_sweep(tmp_path / "out"))


def test_any_number_of_jobs_gives_the_same(declared: Path, tmp_path: Path) -> None:
    assert same(
        nandram.run_sweep(declared, tmp_path / "1", jobs=1), nandram.run_sweep(declared, tmp_path / "3", jobs=3)
    )


def test_what_is_there_is_not_made_again(declared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = nandram.run_sweep(declared, tmp_path / "out")
    asked: list[int] = []
    whole = local.made

    def made(works: list[Any], *rest: Any) -> Any:
        asked.append(len(works))
        return whole(works, *rest)

    monkeypatch.setattr(local, "made", made)
    again = nandram.run_sweep(declared, tmp_path / "out")
    assert again.table.equals(first.table)
    # A third seed is an additional axis value.
    declared.write_text(declared.read_text().replace("repeat = 2", "repeat = 3"))
    more = nandram.run_sweep(declared, tmp_path / "out")
    assert asked == [0, 40]
    assert more.done == 120
    kept = more.table.filter(pl.col("seed") < 3).select("depth", "flash.read", "seed", "run_s")
    assert kept.equals(first.table.select("depth", "flash.read", "seed", "run_s"))


def test_killed_at_any_moment_it_goes_on_where_it_was(declared: Path, tmp_path: Path) -> None:
    """The run time identifies a run, so equal run times prove that existing results were kept."""
    declared.write_text(declared.read_text().replace("samples = 40", "samples = 150"))
    out = tmp_path / "out"
    command = [sys.executable, "-m", "nandram", "sweep", str(declared), "-o", str(out), "--jobs", "2"]
    chance = random.Random(8)
    there: dict[str, float] = {}
    for kill in range(4):
        wanted = len(there) + chance.randrange(1, 40)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 120
        while process.poll() is None and lines(out) < wanted and time.monotonic() < deadline:
            time.sleep(chance.random() * 0.01)
        process.send_signal(signal.SIGKILL)
        _, errors = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), errors
        before, there = there, {row["key"]: row["run_s"] for row in store.results(out).to_dicts()}
        assert len(there) >= min(wanted, 300)
        assert there.items() >= before.items()
        if kill == 2:
            # The state after a machine stops in the middle of a line.
            with (out / "journal.jsonl").open("ab") as journal:
                journal.write(b'{"key": "cut o')
    assert subprocess.run(command, check=True, capture_output=True).returncode == 0
    last = {row["key"]: row["run_s"] for row in store.results(out).to_dicts()}
    assert last.items() >= there.items()
    assert len(last) == 300
    assert same(nandram.read_sweep(out), nandram.run_sweep(declared, tmp_path / "whole"))


def lines(folder: Path) -> int:
    """Return the existing results."""
    try:
        return (folder / "journal.jsonl").read_bytes().count(b"\n") + 500 * len(list(folder.glob("part-*.parquet")))
    except FileNotFoundError:
        return 0


def test_killed_between_a_part_and_its_journal_nothing_is_double(declared: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = nandram.run_sweep(declared, out)
    rows = pl.read_parquet(next(out.glob("part-*.parquet"))).to_dicts()
    (out / "journal.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:30]))
    assert nandram.run_sweep(declared, out).table.equals(found.table)


def test_parts_are_parquet_with_units(declared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PART", 16)
    nandram.run_sweep(declared, tmp_path / "out")
    parts = sorted((tmp_path / "out").glob("part-*.parquet"))
    assert [pq.read_metadata(part).num_rows for part in parts] == [16] * 5
    assert pq.read_schema(parts[0]).field("run_s").metadata == {b"unit": b"s"}


def test_a_front_has_what_nothing_beats(declared: Path, tmp_path: Path) -> None:
    found = nandram.run_sweep(declared, tmp_path / "out")
    front = found.pareto().select("iops", "flash_mw").rows()
    rows = found.means().select("iops", "flash_mw").rows()
    for iops, mw in rows:
        beaten = any(a >= iops and b <= mw and (a, b) != (iops, mw) for a, b in rows)
        assert ((iops, mw) in front) is not beaten
    assert found.pareto(iops="maximize")["iops"].to_list() == [max(iops for iops, _ in rows)]
    with pytest.raises(nandram.UserError, match="expected a measure"):
        found.pareto(iosp="maximize")


def test_sensitivity_knows_a_sum(tmp_path: Path) -> None:
    """For y = 3 a + b with identically distributed, independent a and b, a explains 90 % of the variance.

    Epsilon squared estimates this without the part that chance adds: 1 - (1 - 0.9) 63 / 56.
    """
    rows = [{"index": 0, "seed": 1, "a": a, "b": b, "y": 3.0 * a + b, "run_s": 1.0} for a in range(8) for b in range(8)]
    found = Sweep(tmp_path, pl.DataFrame(rows), ("a", "b"), ("y",), {}).sensitivity()
    assert found["share"].to_list() == pytest.approx([0.8875, 0.0])
    assert found["rank"][0] > found["rank"][1] > 0
    assert found["low"][0] < 0.9 < found["high"][0]
    assert found["low"][1] == 0


@pytest.mark.parametrize("heavy", [False, True])
def test_an_axis_without_effect_is_not_told_from_chance(heavy: bool) -> None:
    """The correlation ratio of eight groups of 30 values has a mean of 24 % without any effect."""
    draws = np.random.default_rng(5)
    shares, told = [], 0
    for _ in range(300):
        values = draws.normal(0, 1, 30)
        share, low, high = explained([at % 8 for at in range(30)], (np.exp(values) if heavy else values).tolist())
        assert share is not None
        assert low is not None
        assert high is not None
        assert low <= share <= high or share == 0
        shares.append(share)
        told += low > 0
    assert np.mean(shares) < 0.1
    assert told / 300 <= 0.05


def test_intervals_of_shares_hold_the_share() -> None:
    draws, held = np.random.default_rng(1), 0
    groups = [at % 4 for at in range(40)]
    effect = np.array([[0.0, 1.0, 2.0, 3.0][group] for group in groups])
    truth = effect.var() / (effect.var() + 1)
    for _ in range(500):
        _, low, high = explained(groups, (effect + draws.normal(0, 1, 40)).tolist())
        held += low is not None and high is not None and low <= truth <= high
    assert 0.92 <= held / 500 <= 0.98


def test_an_axis_whose_values_have_one_configuration_each_explains_nothing(tmp_path: Path) -> None:
    rows = [{"index": a, "seed": 1, "a": a, "y": 3.0 * a, "run_s": 1.0} for a in range(4)]
    found = Sweep(tmp_path, pl.DataFrame(rows), ("a",), ("y",), {}).sensitivity()
    assert found.rows() == [("y", "a", None, None, None, 1.0)]


def test_seeds_in_two_modes_have_no_mean(tmp_path: Path) -> None:
    modes = {1: 81e3, 2: 229e3, 3: 227e3, 4: 81.5e3}
    rows = [
        {"index": 4 * a + seed, "seed": seed, "a": a, "y": value if a else 100e3 + seed, "run_s": 1.0}
        for a in range(2)
        for seed, value in modes.items()
    ]
    found = Sweep(tmp_path, pl.DataFrame(rows), ("a",), ("y",), {"y": "maximize"})
    assert found.means()["y"].to_list() == [pytest.approx(100_002.5), None]
    [apart] = found.disagreements()
    assert (apart.where, apart.seeds, apart.groups) == ("a=1", (1, 2, 3, 4), ((0, 3), (2, 1)))


def test_the_command(declared: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(declared.parent)
    with pytest.raises(SystemExit) as exit_:
        main(["sweep", "reads.toml"])
    assert exit_.value.code == 0
    out = capsys.readouterr().out
    assert "80 rows over depth, flash.read in reads" in out
    assert "Pareto front of iops (maximize), flash_mw (minimize)" in out
    assert "iops varies with depth" in out
    with pytest.raises(SystemExit):
        main(["sweep", "reads.toml", "--json"])
    shown = json.loads(capsys.readouterr().out)
    assert shown["rows"] == 80
    assert {each["axis"] for each in shown["sensitivity"]} == {"depth", "flash.read"}
    nandram.write_report("reads", output="report.html")
    text = Path("report.html").read_text()
    assert "Pareto front" in text
    # The units of axes follow from the suffixes of the measures' names.
    assert '"title":"iops (requests/s)"' in text


MISTAKES = [
    ('kind = "latin-hypercube"', 'kind = "latin-hypercub"'),
    ('kind = "latin-hypercube"', 'kind = "grid"'),
    ("samples = 40", "samples = 0"),
    ("samples = 40", ""),
    ("samples = 40", "sampels = 40"),
    ("depth = [1, 2, 4, 8]", "depth = []"),
    ("depth = [1, 2, 4, 8]", "depth = [1, 1]"),
    ("depth = [1, 2, 4, 8]", "deph = [1, 2]"),
    ("depth = [1, 2, 4, 8]", "depth = [1]\nwidth = [2]"),
    ('"flash.read" = {', '"flash.raed" = {'),
    ('from = "40us"', 'from = "40"'),
    ('from = "40us"', 'from = "90us"'),
    ('from = "40us"', 'from = "40ms"'),
    ('from = "40us", to', 'from = "0us", scale = "log", to'),
    ('to = "80us"', 'to = "80us", steps = 4'),
    ('to = "80us"', 'to = "80us", scale = "lgo"'),
    ("p99_us =", "iops ="),
    ("p99_us =", "run_s ="),
    ("p99_us =", "depth ="),
    ('jobs["reads"].read', "job.read"),
    ('iops = "maximize"', 'iosp = "maximize"'),
    ('iops = "maximize"', 'iops = "more"'),
    ('precondition = "fill"', 'precondtion = "fill"'),
    ('precondition = "fill"', 'precondition = "fil"'),
    ('precondition = "fill"', 'trace = "x.iolog"'),
    ("bs=4k", "bs=4q"),
    ("tiny.toml", "tinny.toml"),
]


@pytest.mark.parametrize(("old", "new"), MISTAKES)
def test_a_mistake_is_one_line(declared: Path, tmp_path: Path, old: str, new: str) -> None:
    text = declared.read_text()
    assert old in text
    declared.write_text(text.replace(old, new, 1))
    with pytest.raises(nandram.UserError, match=r"^.*(found|expected|unknown key|does not exist).*$") as found:
        nandram.run_sweep(declared, tmp_path / "out")
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("name", ["index", "key", "seed", "run_s", "iops"])
def test_an_axis_is_not_named_like_a_column_of_the_results(declared: Path, tmp_path: Path, name: str) -> None:
    declared.write_text(declared.read_text().replace("{depth}", f"{{{name}}}").replace("depth = [", f"{name} = ["))
    with pytest.raises(nandram.UserError, match=f"space.axes.{name}: found `{name}`, expected another name: "):
        nandram.run_sweep(declared, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_text_in_place_of_a_number_is_shown_in_quotes(declared: Path, tmp_path: Path) -> None:
    declared.write_text(declared.read_text().replace("samples = 40", 'samples = "40"'))
    with pytest.raises(nandram.UserError, match='samples: found `"40"`, expected a whole number from 1'):
        nandram.run_sweep(declared, tmp_path / "out")


def test_a_folder_without_a_sweep(tmp_path: Path) -> None:
    with pytest.raises(nandram.UserError, match="holds no sweep"):
        nandram.read_sweep(tmp_path)


def test_keys_say_all_that_shapes_a_run(declared: Path) -> None:
    def keys() -> list[str]:
        return [work.key for work in declared_file.read(declared).works(None)]

    text, first = declared.read_text(), keys()
    assert len(set(first)) == 80
    assert keys() == first
    for old, new in [
        ("number_ios=400", "number_ios=401"),
        ('"fill"', '"random"'),
        ("samples = 40", "samples = 40\nseed = 2"),
    ]:
        declared.write_text(text.replace(old, new))
        assert not set(keys()) & set(first)
    # Neither the measures nor the place of execution affect a run.
    declared.write_text(text.replace("p99_us =", "tail_us ="))
    assert keys() == first
    assert os.fspath(declared) not in "".join(first)


def test_a_key_behind_the_clones_of_a_job_is_an_error_that_says_so() -> None:
    from nandram.language.expression import Expression

    clones = [{"jobname": "a", "times": {"50": 1}}, {"jobname": "a", "times": {"50": 2}}]
    with pytest.raises(nandram.UserError, match="behind a list without jobs"):
        Expression('jobs["a"].times["50"]', "measure p50").evaluate({"jobs": clones})
