"""Latencies that a guest measures, next to those of a simulated run of the same job on the same system."""

import itertools
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from guest.test_guest_system import FOLDER, hashes, served
from guest.test_store_system import contents

pytestmark = pytest.mark.system

JOB = """
[global]
filename=/dev/nvme0n1
direct=1
ioengine=libaio
size=16m
percentile_list=25:50:75
[fill]
rw=write
bs=128k
end_fsync=1
[one]
stonewall
rw=randread
bs=4k
number_ios=200
[eight]
stonewall
rw=randread
bs=4k
number_ios=1000
iodepth=8
"""
TIMES = ("10us", "20us", "50us", "100us", "300us", "1ms", "3ms", "10ms")
ALIKE = (
    "ftl.slc_cache.size=0B",
    "ftl.slc_cache.dynamic=0B",
    "flash.variation.dies=0",
    "flash.variation.blocks=0",
    "flash.variation.word_lines=0",
)
"""Each read of flash takes the same time."""
SOFTWARE_US = 0.5
"""The guest's software takes the same time at each latency, within this: the mean, and the shortest read."""
DEVIATION_US = 3.0


@dataclass(frozen=True)
class Jobs:
    """The results of a job by name, in the guest and in the simulated run."""

    guest: dict[str, Any]
    run: dict[str, Any]
    output: Path
    store: Path


def nandram(*words: str) -> None:
    done = subprocess.run([sys.executable, "-m", "nandram", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def reads(text: str) -> dict[str, Any]:
    return {job["jobname"]: job["read"] for job in json.loads(text)["jobs"]}


def run(folder: Path, time: str) -> Jobs:
    job = folder / "job.fio"
    job.write_text(JOB)
    output = folder / "guest"
    sets = [word for key in (f"flash.read={time}", *ALIKE) for word in ("--set", key)]
    system = ["nvme-client-tlc", *sets]
    fio = ["fio", "/job.fio", "--output-format=json", "--output=/out/fio.json"]
    store = folder / "drive.store"
    files = ["--folder", str(FOLDER), "--store", str(store), "--copy", str(job), "-o", str(output)]
    nandram("guest", *system, *files, "--", *fio)
    nandram("run", system[0], str(job), *system[1:], "-o", str(folder / "run"))
    simulated = (folder / "run/summary.json").read_text()
    return Jobs(reads((output / "out/fio.json").read_text()), reads(simulated), output, store)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Jobs]:
    served()
    return {time: run(tmp_path_factory.mktemp(time), time) for time in TIMES}


@pytest.mark.parametrize("value", ["mean", "min"])
def test_the_guests_software_adds_the_same_time_at_each_of_eight_latencies(runs: dict[str, Jobs], value: str) -> None:
    added_us = {
        time: (jobs.guest["one"]["lat_ns"][value] - jobs.run["one"]["lat_ns"][value]) / 1000
        for time, jobs in runs.items()
    }
    print(value, added_us)
    assert min(added_us.values()) > 5, added_us
    assert max(added_us.values()) - min(added_us.values()) < SOFTWARE_US, added_us


@pytest.mark.parametrize("time", TIMES)
def test_reads_deviate_little(runs: dict[str, Jobs], time: str) -> None:
    # Those of the simulated run do not deviate at all.
    assert runs[time].run["one"]["lat_ns"]["stddev"] == 0
    deviation_ns = runs[time].guest["one"]["lat_ns"]["stddev"]
    print(time, deviation_ns)
    assert deviation_ns < DEVIATION_US * 1000


def quartiles(bins: dict[str, int]) -> list[int]:
    """Return the quartiles of a table of values and how often each was found."""
    found = sorted((int(value), count) for value, count in bins.items())
    total = sum(count for _, count in found)
    ranks = list(itertools.accumulate(count for _, count in found))
    return [
        next(value for (value, _), rank in zip(found, ranks, strict=True) if rank * 4 >= total * n) for n in (1, 2, 3)
    ]


@pytest.mark.parametrize("time", ["1ms", "10ms"])
def test_queued_reads_have_the_distribution_of_the_run(runs: dict[str, Jobs], time: str) -> None:
    guest = runs[time].guest["eight"]["clat_ns"]["percentile"]
    simulated = quartiles(runs[time].run["eight"]["clat_ns"]["bins"])
    print(time, guest, simulated)
    assert list(guest) == ["25.000000", "50.000000", "75.000000"]
    assert list(guest.values()) == pytest.approx(simulated, rel=0.02)


def test_a_second_run_gives_the_same_bytes(runs: dict[str, Jobs], tmp_path: Path) -> None:
    first = hashes(runs["1ms"].output)
    names = {"console.txt", "guest.json", "kernel.txt", "out/fio.json", "stderr.txt", "stdout.txt", "summary.json"}
    assert set(first) == names
    again = run(tmp_path, "1ms")
    assert hashes(again.output) == first
    assert contents(again.store) == contents(runs["1ms"].store)
