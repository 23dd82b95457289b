"""The Host Memory Buffer of a stock Linux: the drive's map in the kernel's memory, on, off and after resets."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from guest.test_guest_system import FOLDER, fetched, served

pytestmark = pytest.mark.system

SYSTEM = ["hmb-a", "--set", "ftl.slc_cache.size=0B"]
FILL = """
[global]
filename=/dev/nvme0n1
direct=1
ioengine=libaio
size=256m
"""
WRITE = """
[fill]
rw=write
bs=128k
end_fsync=1
"""
# One read in each of 64 translation units, of which the controller holds three: a hit in host memory, or a miss.
STRIDE = """
stonewall
rw=read:4092k
bs=4k
number_ios=64
"""
WARM = f"[warm]{STRIDE}"
ONE = f"[one]{STRIDE}"
NEAR_US = 1.0
JOBS = {"fill": FILL + WRITE, "warm": FILL + WARM + ONE, "one": FILL + ONE}
# The states of the buffer, the command that leads to each, and the job that reads then. Linux 6.12 has no switch.
# After a reset the kernel returns the memory with its contents, so nothing has to be warmed.
STEPS = {
    "6.12": (
        ("on", "true", "warm"),
        ("reset", "echo 1 > /sys/class/nvme/nvme0/reset_controller; sleep 2", "one"),
        ("reset again", "echo 1 > /sys/class/nvme/nvme0/reset_controller; sleep 2", "one"),
    ),
    "7.3": (
        ("on", "true", "warm"),
        ("off", "echo 0 > /sys/class/nvme/nvme0/hmb", "warm"),
        ("on again", "echo 1 > /sys/class/nvme/nvme0/hmb", "warm"),
        ("reset", "echo 1 > /sys/class/nvme/nvme0/reset_controller; sleep 2", "one"),
        ("off again", "echo 0 > /sys/class/nvme/nvme0/hmb", "warm"),
        ("on at last", "echo 1 > /sys/class/nvme/nvme0/hmb", "warm"),
    ),
}


@dataclass(frozen=True)
class Measured:
    """Mean latencies of reads in microseconds, by the state of the buffer, and what the drive found in it."""

    guest: dict[str, float]
    run: dict[str, float]
    kernel: str
    lines: dict[str, int]


def nandram(*words: str) -> None:
    done = subprocess.run([sys.executable, "-m", "nandram", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def latency_us(text: str) -> float:
    jobs: list[dict[str, Any]] = json.loads(text)["jobs"]
    return next(float(job["read"]["lat_ns"]["mean"]) for job in jobs if job["jobname"] == "one") / 1000


def simulated_us(folder: Path, *sets: str) -> float:
    (folder / "run.fio").write_text(FILL + WRITE + WARM + ONE)
    nandram("run", SYSTEM[0], str(folder / "run.fio"), *SYSTEM[1:], *sets, "-o", str(folder / "run"))
    return latency_us((folder / "run/summary.json").read_text())


def measure(folder: Path, kernel: str) -> Measured:
    script = ["set -e", "fio /fill.fio > /dev/null"]
    for number, (_, command, job) in enumerate(STEPS[kernel]):
        script += [command, f"fio /{job}.fio --output-format=json --output=/out/{number}.json"]
    for name, job in JOBS.items():
        (folder / f"{name}.fio").write_text(job)
    copies = [word for name in JOBS for word in ("--copy", str(folder / f"{name}.fio"))]
    output = folder / "guest"
    line = [*SYSTEM, "--kernel", kernel, "--folder", str(FOLDER), *copies, "-o", str(output), "--"]
    nandram("guest", *line, "sh", "-c", "\n".join(script))
    states = [state for state, _, _ in STEPS[kernel]]
    guest = {state: latency_us((output / f"out/{number}.json").read_text()) for number, state in enumerate(states)}
    none = ("--set", "device.hmb.size=0B", "--set", "device.hmb.minimum=0B")
    run = {"on": simulated_us(folder), "off": simulated_us(folder, *none)}
    lines = json.loads((output / "summary.json").read_text())["host_memory_lines"]
    return Measured(guest, run, (output / "kernel.txt").read_text(), lines)


@pytest.mark.parametrize("kernel", STEPS)
def test_hits_and_misses_take_the_times_of_the_model(kernel: str, tmp_path: Path) -> None:
    served()
    fetched(kernel)
    found = measure(tmp_path, kernel)
    print(kernel, found.guest, found.run, found.lines)
    assert found.run["off"] > found.run["on"] + 50
    # Each state adds the same time of the guest's software to the model's.
    added = {state: us - found.run["off" if "off" in state else "on"] for state, us in found.guest.items()}
    assert max(added.values()) - min(added.values()) < NEAR_US, (found.guest, found.run)
    # The kernel lent memory, and every line that the drive read there was its own.
    assert "allocated 64 MiB host memory buffer" in found.kernel
    assert "failed to set host mem" not in found.kernel
    assert found.lines["verified"] > 180
    assert (found.lines["late"], found.lines["damaged"], found.lines["forged"]) == (0, 0, 0), found.lines
