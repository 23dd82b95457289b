"""Comparison with the real fio, and fio's example jobs (`make test-system` installs fio, its examples and fio-plot)."""

import json
import math
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import nandram
from nandram.errors import UserError

pytestmark = pytest.mark.system

EXAMPLES = Path("/usr/share/doc/fio/examples")
SMALL = {"flash.blocks": 40, "ftl.capacity": "15628201984B"}
"""`nvme-client-tlc` at 1/64 of its capacity, with the blocks that its collection and SLC cache need."""

RUN_AT_LEAST = 50
REFUSED = {
    "cpuio": "ioengine",
    "e4defrag": "ioengine",
    "e4defrag2": "ioengine",
    "exec": "ioengine",
    "falloc": "ioengine",
    "filecreate-ioengine": "ioengine",
    "filedelete-ioengine": "ioengine",
    "filestat-ioengine": "ioengine",
    "ftruncate": "ioengine",
    "gpudirect-rdmaio-client": "ioengine",
    "gpudirect-rdmaio-server": "ioengine",
    "http-webdav": "ioengine",
    "netio": "ioengine",
    "libzbc-rand-write": "ioengine",
    "sg_verify": "sg_write_mode",
}
"""Examples that are not block workloads, or that no drive here supports, with the key named in the message."""


def test_most_of_fio_s_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each with at most 100 requests per job; others are refused in one line that names the engine or key."""
    variables = {"FIO_RW": "randwrite", "FIO_IODEPTH": "4", "FIO_BS": "8k", "FIO_DIR": "/data", "GPU_DEV_IDS": "0"}
    variables |= {"POOL": "pool", "CONT": "container", "unixsocket": "/tmp/socket"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    drive = nandram.load_system("nvme-client-tlc", SMALL)
    jobs = sorted(EXAMPLES.glob("*.fio"))
    assert len(jobs) == 86
    ran, refused = [], {}
    for job in jobs:
        short = tmp_path / job.name
        short.write_text("[global]\nnumber_ios=100\n" + job.read_text(encoding="utf-8"), encoding="utf-8")
        try:
            result = nandram.run(drive, short, cache=None, warm_up="keep")
        except UserError as error:
            refused[job.stem] = str(error)
        else:
            ran.append(job.stem)
            assert (
                sum(
                    job["read"]["total_ios"] + job["write"]["total_ios"] + job["trim"]["total_ios"]
                    for job in result.summary["jobs"]
                )
                > 0
            )
    assert len(ran) >= RUN_AT_LEAST, f"{len(ran)} run; {refused}"
    for name, message in refused.items():
        reason = r"(unknown key \"\w+\"|\w+: (found |not supported: ))[^\n]*$"
        assert re.match(rf"[^\n]*{re.escape(name)}\.fio:\d+: {reason}", message), message
    for name, key in REFUSED.items():
        assert key in refused[name], refused[name]


EXACT = """
rw=read
rw=write bs=64k
rw=read:8k io_size=8m
rw=read:8k
rw=read:-8k
rw=write:12k
rw=read bs=24k size=10m
rw=trim bs=64k
rw=trimwrite
rw=write fsync=4
rw=write fdatasync=32
rw=read offset=4m size=8m
rw=read offset=2m io_size=4m size=8m
rw=read io_size=50%
rw=read io_size=40m
rw=read number_ios=77
rw=read number_ios=33 loops=3
rw=read number_ios=40 loops=3 size=128k
rw=write loops=2
rw=read bs=4kib kb_base=1000
rw=read bs=8ki
rw=read zonemode=strided zonesize=256k zonerange=512k zoneskip=512k io_size=4m
""".split("\n")[1:-1]
"""Fully determined jobs: identical requests in the same order."""

DRAWN = """
rw=randread
rw=randwrite bs=16k
rw=randtrim bs=64k
rw=randtrimwrite
rw=randread norandommap
rw=randread bssplit=4k/50:16k/50
rw=randread bssplit=4k/90:64k/10
rw=randread bssplit=4k/50:16k/50 random_generator=lfsr
rw=randwrite bssplit=4k/60:16k/30:64k/ norandommap
rw=randread bsrange=4k-64k norandommap
rw=randread bsrange=4k-10k norandommap
rw=randread bsrange=4k-64k
rw=randrw rwmixread=70
rw=randrw fsync=8
rw=rw rwmixwrite=30
rw=randread blockalign=16k
rw=randread percentage_random=30 norandommap
rw=randread:8 norandommap
rw=randread:8 rw_sequencer=identical norandommap
rw=randread loops=3
rw=randwrite io_size=40m
rw=randread random_distribution=zoned:60/10:30/20:8/30:2/40
rw=randread random_distribution=zoned:80/20:20/80 io_size=64m
""".split("\n")[1:-1]
"""Jobs with random draws: equal counts, coverage, sizes and offsets, up to random variation."""

SKEWED = """
rw=randread random_distribution=zipf:1.1 io_size=64m
rw=randread random_distribution=zipf:0.8 io_size=64m
rw=randread random_distribution=pareto:0.2 io_size=64m
""".split("\n")[1:-1]
"""Jobs with scattered hot blocks: equal popularity distributions, regardless of the blocks."""

Request = tuple[str, int, int]


def requests(log: Path) -> list[Request]:
    """Return operation, offset and bytes of each request of an iolog; a flush has neither."""
    rows = [line.split() for line in log.read_text().splitlines()[1:]]
    found = []
    for row in rows:
        if len(row) == 5 and row[2] in {"read", "write", "trim"}:
            found.append((row[2], int(row[3]), int(row[4])))
        elif len(row) >= 3 and row[2] in {"sync", "datasync"}:
            found.append(("sync", 0, 0))
    return found


def both(keys: str, tmp_path: Path) -> tuple[list[Request], list[Request]]:
    """Return the requests that fio and nandram log for a job with these keys on a file or drive of 16 MiB."""
    given = {part.partition("=")[0]: part.partition("=")[2] or "1" for part in keys.split()}
    given = {"size": "16m"} | given
    lines = [f"{key}={value}" for key, value in given.items()]
    place = [f"filename={tmp_path / 'drive'}", "ioengine=null"]
    theirs, ours = tmp_path / "theirs.log", tmp_path / "ours.log"
    job = tmp_path / "job.fio"
    job.write_text("\n".join(["[job]", *place, *lines, f"write_iolog={theirs}", ""]))
    subprocess.run(["fio", "--output=/dev/null", job], check=True, capture_output=True, cwd=tmp_path)
    job.write_text("\n".join(["[job]", *place, *lines, f"write_iolog={ours}", ""]))
    nandram.run("nvme-client-tlc", job, set=SMALL, cache=None, warm_up="keep")
    return requests(theirs), requests(ours)


@pytest.mark.parametrize("keys", EXACT)
def test_given_requests_are_fio_s_one_by_one(keys: str, tmp_path: Path) -> None:
    theirs, ours = both(keys, tmp_path)
    assert theirs
    assert ours == theirs


def close(ours: float, theirs: float, mine: int, other: int) -> bool:
    """Return whether two fractions of this many draws differ by at most five standard deviations."""
    share = (ours * mine + theirs * other) / (mine + other)
    return abs(ours - theirs) <= 5 * math.sqrt(share * (1 - share) * (1 / mine + 1 / other)) + 1e-9


def distance(ours: list[float], theirs: list[float]) -> float:
    """Return the Kolmogorov-Smirnov distance of two samples."""
    ours, theirs = sorted(ours), sorted(theirs)
    i = j = 0
    found = 0.0
    while i < len(ours) and j < len(theirs):
        value = min(ours[i], theirs[j])
        while i < len(ours) and ours[i] == value:
            i += 1
        while j < len(theirs) and theirs[j] == value:
            j += 1
        found = max(found, abs(i / len(ours) - j / len(theirs)))
    return found


def check_counts(ours: list[Request], theirs: list[Request]) -> None:
    """Return the total bytes, the operations and the sizes."""
    total = [sum(bytes_ for _, _, bytes_ in side) for side in (ours, theirs)]
    largest = max(bytes_ for _, _, bytes_ in ours + theirs)
    assert abs(total[0] - total[1]) <= 2 * largest
    for kind in (0, 2):
        counts = [Counter(request[kind] for request in side) for side in (ours, theirs)]
        assert counts[0].keys() == counts[1].keys()
        for value in counts[0]:
            mine, other = counts[0][value] / len(ours), counts[1][value] / len(theirs)
            assert close(mine, other, len(ours), len(theirs)), (value, counts)


def blocks(side: list[Request]) -> Counter[int]:
    """Return the number of accesses to each 4 KiB block."""
    return Counter(
        block for op, at, size in side if op != "sync" for block in range(at // 4096, (at + size + 4095) // 4096)
    )


@pytest.mark.parametrize("keys", DRAWN)
def test_drawn_requests_are_distributed_as_fio_s(keys: str, tmp_path: Path) -> None:
    theirs, ours = both(keys, tmp_path)
    check_counts(ours, theirs)
    covered = [len(blocks(side)) for side in (ours, theirs)]
    if covered[1] == 4096:
        assert covered[0] == 4096
    else:
        assert covered[0] == pytest.approx(covered[1], rel=0.06)
    offsets = [[float(at) for op, at, _ in side if op != "sync"] for side in (ours, theirs)]
    # 2.5 is exceeded by chance once in 100,000 samples; requests of one run are not independent.
    run = 8 if "randread:8" in keys or "percentage_random" in keys else 1
    bound = 2.5 * math.sqrt(run * (1 / len(offsets[0]) + 1 / len(offsets[1])))
    assert distance(offsets[0], offsets[1]) <= bound


@pytest.mark.parametrize("keys", SKEWED)
def test_skewed_requests_are_as_popular_as_fio_s(keys: str, tmp_path: Path) -> None:
    theirs, ours = both(keys, tmp_path)
    check_counts(ours, theirs)
    shares = []
    for side in (ours, theirs):
        counts = sorted(blocks(side).values(), reverse=True)
        shares.append([sum(counts[:top]) / sum(counts) for top in (1, 4, 16, 64, 256, 1024)])
    # fio's hash has collisions, so that some hot blocks combine two ranks.
    for mine, other in zip(*shares, strict=True):
        assert mine == pytest.approx(other, abs=0.06)


def test_at_least_forty_jobs_are_compared() -> None:
    assert len(EXACT) + len(DRAWN) + len(SKEWED) >= 40


def test_fio_plot_draws_from_a_summary(tmp_path: Path) -> None:
    """Draw fio-plot's standard charts: latency and IOPS over queue depth, and a histogram."""
    results = tmp_path / "results"
    results.mkdir()
    for depth in (1, 4, 16):
        job = tmp_path / "job.fio"
        job.write_text(f"[global]\nrw=randread\nbs=4k\nnumjobs=1\n[job]\niodepth={depth}\nnumber_ios=3000\n")
        result = nandram.run("nvme-client-tlc", job, set=SMALL, precondition="fill", cache=None)
        (results / f"randread-{depth}-1.json").write_text(json.dumps(result.summary))
    environment = tmp_path / "plot"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    subprocess.run([environment / "bin/pip", "install", "--quiet", "fio-plot"], check=True)
    kinds = {
        "depth": ["-l", "-d", "1", "4", "16", "-n", "1"],
        "histogram": ["-H", "-d", "4", "-n", "1"],
    }
    for name, options in kinds.items():
        picture = tmp_path / f"{name}.png"
        command = [environment / "bin/fio-plot", "-i", results, "-T", "nandram", "-r", "randread", *options]
        command += ["-o", picture]
        found = subprocess.run(
            [str(part) for part in command], check=False, capture_output=True, text=True, cwd=tmp_path
        )
        assert found.returncode == 0, found.stdout + found.stderr
        assert picture.stat().st_size > 10_000, found.stdout + found.stderr
