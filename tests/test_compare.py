"""Comparison of two runs or systems."""

import json
import math
from pathlib import Path

import pytest
from scipy.stats import ttest_rel

import nandram
from conftest import TINY
from nandram.cli import main
from nandram.results.comparison import _difference, figures

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
    assert all((each.change, each.low, each.high) == (0, 0, 0) for each in same)
    assert not any(each.certain for each in same)


def test_intervals_are_those_of_scipy() -> None:
    a, b = [100.0, 104.0, 99.0, 101.0, 102.0], [103.0, 109.0, 100.0, 104.0, 106.0]
    found = _difference("x", a, b)
    wanted = ttest_rel(b, a).confidence_interval(0.95)
    mean = sum(a) / len(a)
    assert (found.low, found.high) == pytest.approx((wanted.low / mean, wanted.high / mean))
    assert math.isnan(_difference("x", [0.0, 0.0], [1.0, 1.0]).change)


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
    assert "means over 2 seeds, paired" in out
    assert "no difference beyond noise" in out
    found = json.loads(call(TINY, TINY, str(job), "--seeds", "2", "--json"))
    assert found["seeds"] == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nvme-cleint-tlc", "ufs2"], "nvme-client-tlc"),
        (["ufs2", "no-such-folder/"], "no-such-folder"),
        (["ufs2", "ufs2", "no-such.fio"], "no-such.fio"),
        (["ufs2", "ufs2", "--precondition", "fill"], "expected a workload to run"),
        (["ufs2", "ufs2", "x.fio", "--seeds", "0"], "seeds: found 0"),
        (["ufs2", "ufs2", "x.fio", "--seeds", "two"], "--seeds: found `two`"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["compare", *arguments])
    found = capsys.readouterr()
    assert (exit_.value.code, found.out, found.err.count("\n")) == (2, "", 1)
    assert message in found.err
