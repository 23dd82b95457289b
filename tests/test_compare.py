"""Comparison of two runs or systems."""

import hashlib
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import ttest_rel

import nandram
from conftest import TINY
from nandram.cli import main
from nandram.results.comparing import _Runs
from nandram.results.comparison import difference, figures

JOB = "[reads]\nrw=randread\nbs=4k\niodepth=4\nnumber_ios=2000\nnorandommap\n"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.fio"
    path.write_text(JOB)
    return path


def test_what_differs_in_configuration() -> None:
    found = nandram.compare(TINY, nandram.load_system(TINY, {"flash.read": "80us", "flash.planes": 1}))
    assert [(each.key, each.a, each.b) for each in found.settings] == [
        ("flash.planes", "2", "1"),
        ("flash.read", "50us", "80us"),
    ]
    assert found.differences == ()
    assert nandram.compare(TINY, TINY).settings == ()


def test_keys_that_one_of_them_does_not_have() -> None:
    found = {each.key: (each.a, each.b) for each in nandram.compare("sata-mlc", "ufs2").settings}
    assert found["link.type"] == ("sata", "ufs")
    assert found["link.gear"] == (None, "3")
    assert found["link.generation"] == ("3", None)


def test_a_change_that_is_none_and_one_that_is(job: Path) -> None:
    slower = nandram.load_system(TINY, {"flash.read": "60us"})
    found = {each.name: each for each in nandram.compare(TINY, slower, job, seeds=4, precondition="fill").differences}
    read = found["read_us"]
    assert read.certain
    assert read.low is not None
    assert read.high is not None
    assert 0.1 < read.low < read.change < read.high < 0.2
    assert "write_us" not in found
    same = nandram.compare(TINY, TINY, job, seeds=3, precondition="fill").differences
    assert all((each.change, each.low, each.high, each.verdict) == (0, 0, 0, "identical") for each in same)
    assert not any(each.certain for each in same)


def test_intervals_are_those_of_scipy_over_logarithms() -> None:
    a, b = [100.0, 104.0, 99.0, 101.0, 102.0], [103.0, 109.0, 100.0, 104.0, 106.0]
    found = difference("x", a, b)
    wanted = ttest_rel([math.log(each) for each in b], [math.log(each) for each in a]).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((math.expm1(wanted.low), math.expm1(wanted.high)))
    assert found.a is not None
    assert found.b is not None
    assert found.change == pytest.approx(found.b / found.a - 1)
    assert found.verdict == "changed"
    undefined = difference("x", [0.0, 0.0], [1.0, 1.0])
    assert math.isnan(undefined.change)
    assert undefined.verdict == "no ratio"


def test_no_interval_reaches_below_zero() -> None:
    """Differences of means once gave IOPS a change of -107 to +10 % and a median one of -2,558 to +4,078 %."""
    found = difference("iops", [200.0, 180.0, 220.0, 150.0, 190.0], [30.0, 160.0, 90.0, 145.0, 50.0])
    assert found.low is not None
    assert found.high is not None
    assert -1 < found.low < found.change < found.high
    wide = difference("p50", [1.0, 1e9, 1e-9], [1e300, 1e-300, 1.0])
    assert wide.low is None or wide.low >= -1


def test_two_modes_have_no_mean() -> None:
    modes, one = [81e3, 229e3, 227e3, 82e3], [100e3, 101e3, 99e3, 100.5e3]
    found = difference("iops", modes, one)
    assert found.a is None
    assert found.b == pytest.approx(100.1e3, rel=1e-3)
    assert math.isnan(found.change)
    assert found.verdict == "seeds disagree"
    [apart] = found.disagreements((1, 2, 3, 4))
    groups = "81000 to 82000 (seeds 1, 4); 227000 to 229000 (seeds 2, 3)"
    assert str(apart) == f"iops: the seeds fall into 2 groups: {groups}"
    # Both sides have the same modes, so their ratios have one value.
    paired = difference("iops", modes, [1.1 * each for each in modes])
    assert paired.a is None
    assert paired.b is None
    assert paired.change == pytest.approx(0.1)
    assert paired.certain


def test_copies_with_changed_keys(job: Path) -> None:
    slower, other = nandram.compare_changes(TINY, job, {"flash.read": "60us"}, {"flash.erase": "1ms"}, seeds=2)
    assert [each.key for each in slower.settings] == ["flash.read"]
    assert [each.key for each in other.settings] == ["flash.erase"]
    assert slower.a == other.a
    assert {each.verdict for each in other.differences} == {"identical"}
    assert not slower.followed
    with pytest.raises(nandram.UserError, match=r"flash\.raed"):
        nandram.compare_changes(TINY, None, {"flash.raed": "60us"})


def test_the_map_cache_follows_the_dram() -> None:
    [found] = nandram.compare_changes("nvme-client-tlc", None, {"device.dram": "512MiB"})
    settings = {each.key: (each.a, each.b) for each in found.settings}
    assert settings == {"device.dram": ("1GiB", "512MiB"), "ftl.map_cache.size": ("all", "496MiB")}
    assert found.followed == ("ftl.map_cache.size follows device.dram: 496MiB, which the other caches leave",)
    # A size that the caller chose is not changed, and a cache without room is refused.
    for changes in ({"ftl.map_cache.size": "600MiB"}, {"device.write_cache.size": "1GiB"}):
        with pytest.raises(nandram.UserError, match="are to be in it"):
            nandram.compare_changes("nvme-client-tlc", None, {"device.dram": "512MiB", **changes})


QUESTIONS = re.findall(r"`nandram (compare [^`]+)`", (Path(__file__).parents[1] / "docs/questions.md").read_text())


@pytest.mark.parametrize("command", QUESTIONS)
def test_every_question_of_the_page_changes_a_system(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([*command.split(), "--json"])
    assert exit_.value.code == 0
    asked = {change.partition("=")[0] for change in command.split() if "=" in change}
    found = {each["key"] for each in json.loads(capsys.readouterr().out)["settings"]}
    assert asked <= found


def test_an_interrupt_keeps_the_finished_seeds(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(self: _Runs, at: int, seed: int) -> None:
        if seed == 3:
            raise KeyboardInterrupt
        whole(self, at, seed)

    whole = _Runs._run
    monkeypatch.setattr(_Runs, "_run", run)
    with pytest.raises(nandram.ComparisonInterrupted) as interrupted:
        nandram.compare(TINY, TINY, job, seeds=5, jobs=1)
    [found] = interrupted.value.partial
    assert found.seeds == (1, 2)
    assert found.differences


def test_runs_that_are_there(result: nandram.Result, job: Path, tmp_path: Path) -> None:
    result.save(tmp_path / "one")
    nandram.run(TINY, job, set={"flash.channels": 1}, output=tmp_path / "other")
    found = nandram.compare(tmp_path / "one", tmp_path / "other")
    assert [each.key for each in found.settings] == ["flash.channels"]
    by_name = {each.name: each for each in found.differences}
    assert by_name["iops"].a == figures(result)["iops"] == pytest.approx(result.iops)
    # The two jobs run one after another, so the sum of their rates is meaningless.
    assert result.iops < 0.5 * sum(each.iops for each in result.traffic)
    assert by_name["iops"].low is None
    assert found.frame()["name"].to_list() == list(by_name)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("manifest.json", lambda found: found["settings"].update({"flash.read": 5})),
        ("manifest.json", lambda found: found.pop("options")),
        ("summary.json", lambda found: found["nandram"]["notes"].append("text")),
        ("summary.json", lambda found: found["jobs"][0]["read"].update(lat_ns=None)),
    ],
)
def test_contents_that_match_their_checksum_and_are_wrong(
    name: str, change: Callable[[dict[str, Any]], object], result: nandram.Result, tmp_path: Path
) -> None:
    folder = result.save(tmp_path / "run")
    found = json.loads((folder / name).read_text())
    change(found)
    (folder / name).write_text(json.dumps(found))
    files = [line.split("  ")[1] for line in (folder / "SHA256SUMS").read_text().splitlines()]
    sums = [f"{hashlib.sha256((folder / file).read_bytes()).hexdigest()}  {file}\n" for file in files]
    (folder / "SHA256SUMS").write_text("".join(sums))
    with pytest.raises(nandram.UserError, match=r"run: found a result of another version"):
        nandram.compare(folder, result)


def test_energy_of_runs_that_differ_in_length_is_not_compared(job: Path) -> None:
    slower = nandram.load_system(TINY, {"flash.read": "500us"})
    by_job = nandram.compare(TINY, slower, job, seeds=2, precondition="fill", until="job")
    assert "energy_j" in {each.name for each in by_job.differences}
    until = nandram.compare(TINY, slower, job, seeds=2, precondition="fill", until="5%")
    lengths = {result.inside["simulated_s"] for side in until.results for result in side}
    assert len(lengths) > 1
    assert "energy_j" not in {each.name for each in until.differences}
    assert "flash_mw" in {each.name for each in until.differences}


def test_the_command(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def call(*arguments: str) -> str:
        with pytest.raises(SystemExit) as exit_:
            main(["compare", *arguments])
        found = capsys.readouterr()
        return found.out if exit_.value.code == 0 else found.err

    out = call(TINY, "nvme-client-tlc")
    assert "flash.channels" in out
    assert "change" not in out
    out = call(TINY, TINY, str(job), "--seeds", "2")
    assert "the configurations are the same" in out
    assert "geometric means over 2 seeds" in out
    assert "identical" in out
    found = json.loads(call(TINY, TINY, str(job), "--seeds", "2", "--json"))
    assert found["seeds"] == [1, 2]
    assert {each["verdict"] for each in found["differences"]} == {"identical"}
    copies = (TINY, str(job), "--set-b", "flash.read=60us", "--set-c", "flash.read=70us", "--seeds", "2")
    out = call(*copies)
    assert f"B: {TINY} flash.read=60us" in out
    assert f"C: {TINY} flash.read=70us" in out
    assert len(json.loads(call(*copies, "--json"))["comparisons"]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nvme-cleint-tlc", "ufs2"], "nvme-client-tlc"),
        (["ufs2", "no-such-folder/"], "no-such-folder"),
        (["ufs2", "ufs2", "no-such.fio"], "no-such.fio"),
        (["ufs2", "ufs2", "--precondition", "fill"], "expected a workload to run"),
        (["ufs2", "ufs2", "x.fio", "--seeds", "0"], "seeds: found 0"),
        (["ufs2", "ufs2", "x.fio", "--seeds", "two"], "--seeds: found `two`"),
        (["ufs2", "ufs2", "x.fio", "--seeds", "1000000000"], "seeds: found 1000000000, expected at most 1000"),
        (["ufs2"], "expected a second side"),
        (["ufs2", "ufs2", "x.fio", "--set-b", "flash.read=60us"], "expected one system and a workload"),
        (["ufs2", "x.fio", "--set-b", "flash.read"], "expected KEY=VALUE"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["compare", *arguments])
    found = capsys.readouterr()
    assert (exit_.value.code, found.out, found.err.count("\n")) == (2, "", 1)
    assert message in found.err
