"""Runs that go on until the intervals of their measures are narrow."""

from pathlib import Path
from typing import Any

import pytest

import nandram
from conftest import TINY
from nandram.results.seeds import groups

WRITES = "[a]\nrw=randwrite\nbs=4k\niodepth=8\nnumber_ios=400\nnorandommap\nrandom_distribution=zipf:0.9\n"
SMALL = {
    "flash.channels": 2,
    "flash.blocks": 128,
    "flash.pages": 64,
    "ftl.gc.start": 4,
    "device.write_cache.size": "1MiB",
}
DEMO = Path(__file__).parents[1] / "examples" / "mixed.fio"


def kinds(result: nandram.Result) -> set[str]:
    return {note.kind for note in result.validity}


def test_two_policies_differ_in_runs_that_are_long_enough(tmp_path: Path) -> None:
    job = tmp_path / "writes.fio"
    job.write_text(WRITES)
    drive = nandram.load_system("mqsim-ideal-map", SMALL)
    (short,) = nandram.compare_changes(
        drive, job, {"ftl.gc.policy": "fifo"}, seeds=2, precondition="steady", until="job"
    )
    rate = next(each for each in short.differences if each.name == "iops")
    assert rate.verdict != "changed"
    assert "write_amplification" not in {each.name for each in short.differences}, "it chose few victims"
    options: dict[str, Any] = {"precondition": "steady", "max_requests": 300_000}
    (found,) = nandram.compare_changes(drive, job, {"ftl.gc.policy": "fifo"}, seeds=2, **options)
    verdicts = {each.name: each.verdict for each in found.differences}
    assert {"iops", "write_p99_us", "write_amplification"} <= verdicts.keys()
    assert verdicts["write_amplification"] == "changed"
    assert "identical" not in (verdicts["iops"], verdicts["write_amplification"])


def test_the_demo_covers_ten_collection_cycles() -> None:
    drive = nandram.load_system("nvme-client-tlc", scale="1/18")
    two_seconds = nandram.run(drive, DEMO, precondition="steady", warm_up="keep", set={"ftl.slc_cache.size": "0B"})
    found = nandram.run(drive, DEMO, precondition="steady", until="20%", set={"ftl.slc_cache.size": "0B"})
    until = found.inside["until"]
    assert (until["reached"], until["lacking"], until["ended_by"]) == (True, None, "intervals")
    assert until["cycles"] >= 10
    assert "until" in kinds(found)
    assert not {"few-cycles", "warm-up-not-found"} & kinds(found)
    assert found.inside["simulated_s"] > 0
    assert {each["direction"] for each in until["measures"]} == {"read", "write"}
    tail = next(each for each in until["measures"] if (each["direction"], each["measure"]) == ("write", "p99_ns"))
    assert tail["low"] <= tail["value"] <= tail["high"]
    assert "until" not in two_seconds.inside


def test_a_limit_is_a_note_and_no_failure() -> None:
    found = nandram.run(TINY, ["--name=a", "--rw=randread", "--iodepth=4"], until="0.1%", max_requests=20_000)
    assert "not-reached" in kinds(found)
    assert found.inside["until"]["ended_by"] == "requests"
    assert found.inside["requests"] == 20_000
    assert found.manifest["options"]["until"] == {"width": 0.001, "requests": 20_000, "rule": "always"}


def test_jobs_without_a_size_end_once_they_are_known() -> None:
    found = nandram.run(TINY, ["--name=a", "--rw=randread", "--iodepth=4"])
    assert found.inside["until"]["width"] == 0.01
    assert "until" not in found.manifest["options"], "the default"
    assert "until" not in nandram.run(TINY, ["--name=a", "--rw=randread", "--size=1m"]).inside


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"until": "1"}, "until: found `1`, expected `job`, or a part of the value from 0.1% to 50%"),
        ({"until": "0.01%"}, "until: found `0.01%`, expected `job`"),
        ({"until": "%"}, "until: found `%`, expected `job`"),
        ({"until": 1}, "until: found 1, expected a text"),
        ({"until": "1%", "max_requests": 0}, "max_requests: found 0, expected a whole number from 1"),
        ({"until": "job", "max_requests": 5}, "max_requests: found with until=`job`"),
    ],
)
def test_a_mistake_is_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(nandram.UserError) as error:
        nandram.run(TINY, ["--name=a", "--rw=randread"], **options)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_seeds_agree_on_a_drive_with_half_its_map_cached() -> None:
    """Runs of two seconds on the drive of full size gave 81,000 IOPS with two seeds and 228,000 with two others.

    Each saw a part of one collection. The copy collects dozens of times; its hot writes first move it from the steady
    state of uniform ones, at 75,000 to 87,000 IOPS.
    """
    changes = {"device.dram": "512MiB", "ftl.map_cache.size": "480MiB"}
    drive = nandram.load_system("nvme-client-tlc", changes, scale="1/16")
    given: dict[str, Any] = {"precondition": "steady", "cache": None, "until": "5%", "max_requests": 1_200_000}
    rates = [nandram.run(drive, DEMO, seed=seed, **given).iops for seed in range(1, 5)]
    assert len(groups(rates)) == 1
    assert max(rates) / min(rates) < 1.1
