"""All figures cover the window of the table, also for storage behind a shared buffer and for main memory."""

import math
from pathlib import Path

import pytest

import nandram
from test_programs import GUPS, SYSTEMS

JOB = "[job]\nrw=randrw\nbs=4k\nnumber_ios=3000\niodepth=4\nsize=64m\nnorandommap\n"
SMALL: dict[str, object] = {"flash.blocks": 40, "flash.pages": 64, "ftl.capacity": "128MiB"}


def test_a_shared_buffer_counts_the_window(tmp_path: Path) -> None:
    path = tmp_path / "job.fio"
    path.write_text(JOB)
    result = nandram.run("drambus", path, set=SMALL, precondition="fill", warm_up="50ms", cache=None)
    window, whole_run = result.inside["shared_buffer"], result.inside["whole_run"]["shared_buffer"]
    requests, span = sum(each.requests for each in result.traffic), result.inside["window"]["span_s"]
    # Except for the requests outstanding at the cut.
    assert abs(window["requests"] - requests) <= 8
    assert abs(window["interface"]["bytes"] - 4096 * requests) <= 8 * 4096
    assert (whole_run["requests"], whole_run["interface"]["bytes"]) == (3000, 3000 * 4096)
    assert requests < 2990
    assert window["energy_j"]["flash"] == result.energy_j < whole_run["energy_j"]["flash"]
    assert window["energy_j"]["total"] == pytest.approx(window["power_w"] * span)
    always = {name: each["energy_j"]["always"] for name, each in (("window", window), ("whole", whole_run))}
    assert always["window"] / span == pytest.approx(always["whole"] / result.inside["simulated_s"])
    for part in ("dma", "banks"):
        assert 0 < window[part]["utilization"] <= 1


def test_without_a_warm_up_the_window_is_the_whole_run(tmp_path: Path) -> None:
    path = tmp_path / "job.fio"
    path.write_text(JOB)
    inside = nandram.run("drambus", path, set=SMALL, precondition="fill", warm_up="keep", cache=None).inside
    assert inside["shared_buffer"] == inside["whole_run"]["shared_buffer"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_main_memory_counts_from_when_measuring_began(name: str, tmp_path: Path) -> None:
    path = tmp_path / "gups.toml"
    path.write_text(GUPS)
    inside = nandram.run(name, path, set=SYSTEMS[name], cache=None).inside
    whole_run, window = inside["whole_run"], inside["window"]
    # The whole table is written before measuring begins.
    assert window["from_s"] == inside["warm_up"]["cut_s"] > 0
    assert window["span_s"] == inside["measured_s"]
    assert 0 < inside["energy_j"]["total"] < whole_run["energy_j"]["total"]
    if "cache" in inside:
        # Processor and cache count the same requests, except lines outstanding when measuring began.
        assert abs(inside["cache"]["fills"] - inside["cpu"]["fills"]) <= 20
        assert whole_run["cache"]["fills"] > 10 * inside["cache"]["fills"]
        assert sum(inside["memory_energy_j"].values()) == pytest.approx(inside["energy_j"]["total"])
    if "drive" in inside:
        # Pages in transit when measuring began reach the drive afterwards. Reclaim has at most as many under way as its
        # high watermark: one and a half times the root of 16 times the 4,096 kilobytes, in pages of 4.
        high = 3 * math.isqrt(16 * 4096) // 4 // 2
        assert 0 <= inside["drive"]["host_units"] - inside["linux"]["pages_written"] <= high
        assert whole_run["drive"]["host_units"] > inside["drive"]["host_units"]
        parts = inside["energy_j"]["memory"] + inside["drive"]["energy_j"]
        assert inside["energy_j"]["total"] == pytest.approx(parts)


def test_a_program_without_a_warm_up_is_measured_whole(tmp_path: Path) -> None:
    path = tmp_path / "stream.toml"
    path.write_text('kind = "stream"\nkernel = "copy"\narray = "1MiB"\n')
    inside = nandram.run("nvmm", path, set=SYSTEMS["nvmm"], cache=None).inside
    assert inside["window"]["from_s"] == 0
    for part in ("energy_j", "cache", "nvmm", "memory_energy_j", "lifetime_days"):
        assert inside[part] == inside["whole_run"][part], part
