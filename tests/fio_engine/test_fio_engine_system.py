"""fio with nandram's engine, next to simulated runs of the same jobs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.system

ENGINE = Path(__file__).parents[2] / "build/fio/libnandram_fio.so"
SYSTEM = "nvme-client-tlc"
ALIKE = ("flash.read=50us", "flash.variation.dies=0", "flash.variation.blocks=0", "flash.variation.word_lines=0")
"""fio draws other offsets than the run does."""
NEAR = 0.001
COMPARED = """
[global]
size=1g
bs=4k
[one]
rw=randread
number_ios=100000
[eight]
stonewall
rw=randread
iodepth=8
[writes]
stonewall
rw=write
bs=128k
size=4g
iodepth=4
[mixed]
stonewall
rw=randrw
rwmixread=70
iodepth=32
"""
MANY = """
[global]
size=1g
bs=4k
iodepth=4
runtime=100ms
time_based
[read]
rw=randread
numjobs=3
[write]
rw=randwrite
fsync=64
[paced]
rw=randread
rate_iops=1000
[thinking]
rw=read
thinktime=500
[polled]
stonewall
rw=randread
iodepth_batch_complete_min=0
iodepth_batch_complete_max=4
[trimmed]
rw=randtrim
"""


@pytest.fixture(autouse=True)
def built() -> None:
    if not ENGINE.exists():
        pytest.skip("the engine is not built: make fio-engine")
    assert shutil.which("fio")


def fio(*words: str, preload: bool = True) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LD_PRELOAD": str(ENGINE)} if preload else dict(os.environ)
    line = ["fio", f"--ioengine=external:{ENGINE}", *words]
    return subprocess.run(line, capture_output=True, text=True, env=environment, timeout=300, check=False)


def jobs(folder: Path, text: str, *words: str) -> list[dict[str, Any]]:
    job, output = folder / "job.fio", folder / "fio.json"
    job.write_text(text)
    drive = (f"--system={SYSTEM}", f"--set={' '.join(('scale=1/16', *ALIKE))}", "--prepare=fill")
    done = fio(*drive, *words, str(job), "--output-format=json", f"--output={output}")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    found: list[dict[str, Any]] = json.loads(output.read_text())["jobs"]
    return found


def iops(job: dict[str, Any]) -> float:
    return float(job["read"]["iops"] + job["write"]["iops"])


def test_iops_are_those_of_a_simulated_run(tmp_path: Path) -> None:
    found = jobs(tmp_path, COMPARED)
    line = [sys.executable, "-m", "nandram", "run", SYSTEM, str(tmp_path / "job.fio"), "--precondition", "fill"]
    line += [word for key in ALIKE for word in ("--set", key)]
    done = subprocess.run([*line, "--scale", "1/16", "-o", str(tmp_path / "run")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = json.loads((tmp_path / "run/summary.json").read_text())["jobs"]
    ratios = {job["jobname"]: iops(job) / iops(other) - 1 for job, other in zip(found, expected, strict=True)}
    print(ratios)
    assert max(map(abs, ratios.values())) < NEAR, ratios
    one, other = (each[0]["read"]["lat_ns"] for each in (found, expected))
    assert one["mean"] == pytest.approx(other["mean"], abs=1)


def test_many_jobs_repeat_and_keep_their_pace(tmp_path: Path) -> None:
    first, second = (
        [
            {way: (job[way]["total_ios"], job[way]["lat_ns"]) for way in ("read", "write", "trim", "sync")}
            for job in jobs(tmp_path, MANY)
        ]
        for _ in range(2)
    )
    assert first == second
    named = dict(zip(("a", "b", "c", "write", "paced", "thinking", "polled", "trimmed"), first, strict=True))
    # Until a sync completes, fio submits one in place of each write.
    assert named["write"]["sync"][0] == 4 * (named["write"]["write"][0] // 64)
    assert named["paced"]["read"][0] == pytest.approx(100, abs=2)
    # At most one request every 500 us.
    assert 150 < named["thinking"]["read"][0] <= 201
    assert min(named[each]["read"][0] for each in ("a", "b", "c", "polled")) > 4000
    assert named["trimmed"]["trim"][0] > 4000


def test_the_drive_writes_its_summary(tmp_path: Path) -> None:
    found = jobs(tmp_path, "[a]\nrw=write\nbs=4k\nsize=1m\nsync=1\n", f"--summary={tmp_path / 'summary.json'}")
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert found[0]["write"]["total_ios"] == 256
    assert summary["jobs"][0]["write"]["total_ios"] == 256


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--system=hmb-z",), 'nandram: no system "hmb-z": neither a file nor a preset'),
        ((), "nandram: job x: system: missing, expected a preset or a system file"),
        (("--system=hmb-a", "--set=flash.blocks=0"), "nandram: "),
        (("--system=hmb-a", "--verify=md5"), "nandram: job x: verify: "),
        (("--system=hmb-a", "--startdelay=3"), "nandram: job x: startdelay: "),
        (("--system=hmb-a", "--flow=3"), "nandram: job x: flow: "),
        (("--system=hmb-a", "--ss=iops:1%", "--ss_dur=3"), "nandram: job x: steadystate_duration: "),
        (("--system=hmb-a", "--thinktime=1", "--thinktime_spin=1"), "nandram: job x: thinktime_spin: "),
        (("--system=hmb-a", "--gtod_cpu=1"), "nandram: job x: gtod_cpu: "),
        (("--system=hmb-a", "--create_serialize=0"), "nandram: job x: create_serialize: "),
        (("--system=hmb-a", "--summary=/nonexistent/summary"), "nandram: summary: /nonexistent/summary: No such file"),
        (("--system=hmb-a", "--bs=1000"), "nandram: request 0: bytes: found 1000, expected a multiple of 512"),
    ],
)
def test_what_cannot_be_simulated_is_refused(words: tuple[str, ...], message: str) -> None:
    done = fio("--name=x", "--rw=read", "--size=1m", *words)
    assert done.returncode == 1
    assert done.stderr.startswith(message), done.stderr


def test_jobs_with_different_systems_are_refused() -> None:
    job = ("--rw=read", "--size=1m")
    done = fio("--name=x", *job, "--system=hmb-a", "--name=y", *job, "--system=hmb-b")
    assert done.returncode == 1
    assert done.stderr.startswith("nandram: job y: system: expected the system, set, prepare and seed of the first job")


def test_a_pace_without_simulated_sleep_is_refused() -> None:
    done = fio("--name=x", "--rw=read", "--size=1m", "--rate=1m", "--system=hmb-a", preload=False)
    assert done.returncode == 1
    assert done.stderr == "nandram: job x: rate: needs simulated sleep: run fio with LD_PRELOAD=libnandram_fio.so\n"


def test_an_engine_that_is_not_preloaded_has_the_same_latencies(tmp_path: Path) -> None:
    job = ("--name=x", "--rw=randread", "--size=16m", "--system=hmb-a", "--prepare=fill", "--set=scale=1/16")
    found = []
    for preload in (True, False):
        done = fio(*job, "--output-format=json", f"--output={tmp_path / 'out'}", preload=preload)
        assert (done.returncode, done.stderr) == (0, "")
        found.append(json.loads((tmp_path / "out").read_text())["jobs"][0]["read"]["lat_ns"])
    assert found[0] == found[1]
    assert found[0]["min"] > 40_000
