"""Flexible Data Placement in a guest: nvme-cli, fio's passthrough engine and Linux's write streams on reclaim units."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from guest.test_guest_system import FOLDER, fetched, served

pytestmark = pytest.mark.system

CAPACITY = 208 << 20
SETS = {
    "ftl.slc_cache.size": "0B",
    "ftl.slc_cache.dynamic": "0B",
    "flash.channels": "2",
    "flash.chips": "1",
    "flash.dies": "2",
    "flash.blocks": "84",
    "flash.pages": "24",
    "ftl.capacity": f"{CAPACITY}B",
    "device.write_cache.size": "2MiB",
    "ftl.placement.handles": "3",
}
SUPERBLOCK = 2 * 1 * 2 * 2 * 24 * (16 << 10)
"""A block of each plane: two channels, one chip, two dies, two planes; 24 pages."""
BLOCKS = SUPERBLOCK // 512
PROGRAM = 2 * (16 << 10) // 512
"""Logical blocks of a program, which less data is padded to."""


def run(script: str, output: Path, isolation: str, kernel: str = "6.12") -> list[str]:
    """Run a script in a guest on a small drive with placement; return the lines that it printed."""
    served()
    fetched(kernel)
    sets = [word for key, value in SETS.items() for word in ("--set", f"{key}={value}")]
    line = [sys.executable, "-m", "nandram", "guest", "nvme-client-tlc", *sets]
    line += ["--set", f"ftl.placement.isolation={isolation}", "--kernel", kernel, "--folder", str(FOLDER)]
    line += ["-o", str(output), "--", "sh", "-c", script]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout.splitlines()


def found(output: Path, name: str) -> Any:
    return json.loads((output / f"out/{name}.json").read_text())


def available(output: Path, name: str) -> list[int]:
    status = found(output, name)["ruhss"]
    assert [(of["pid"], of["ruhid"]) for of in status] == [(0, 0), (1, 1), (2, 2)]
    return [of["ruamw"] for of in status]


COMMANDS = """
set -e
group() { nvme fdp $1 /dev/nvme0 -e 1 -o json $3 > /out/$2.json; }
status() { nvme fdp status /dev/nvme0n1 -o json > /out/$1.json; }
place() { nvme write /dev/nvme0n1 -s $1 -c 7 -z 4096 -d /data --dir-type=2 --dir-spec=$2 > /dev/null 2>&1; }
group configs configs; group usage usage; group stats new
nvme fdp feature /dev/nvme0 -e 1 | grep -o 'FDPE.*'
nvme fdp feature /dev/nvme0 -e 1 -d 2>&1 | grep -o 'Command Sequence Error' || true
nvme fdp set-events /dev/nvme0n1 -p 0 -e -t 3
nvme fdp set-events /dev/nvme0n1 -p 1 -e -t 0
dd if=/dev/urandom of=/data bs=4096 count=1 2> /dev/null
status empty
place 0 1; place 8 1; place 16 2; place 24 7
dd if=/data of=/dev/nvme0n1 bs=4096 seek=4 oflag=direct 2> /dev/null
status placed
fio --name=log --filename=/dev/ng0n1 --ioengine=io_uring_cmd --cmd_type=nvme --rw=write --bs=64k --offset=1m --size=1m \
    --fdp=1 --plids=2 --output=/dev/null
status written
nvme fdp update /dev/nvme0n1 --pids=1,2
status updated
nvme fdp update /dev/nvme0n1 --pids=3 2>&1 | grep -o 'Invalid Field in Command' || true
for lba in 0 8 16 24 32; do
    nvme read /dev/nvme0n1 -s $lba -c 7 -z 4096 -d /read > /dev/null 2>&1; cmp /read /data; echo same $?
done
group stats end; group events host -E; group events controller
nvme fdp events /dev/nvme0 -e 1 -E | grep -o 'Event Type.*'
"""


def test_nvme_cli_shows_and_changes_the_use_of_reclaim_units(tmp_path: Path) -> None:
    lines = run(COMMANDS, tmp_path, "persistent")
    assert lines == [
        "FDPE)       : Yes",
        "Command Sequence Error",
        "set-events: Success",
        "set-events: Success",
        "update: Success",
        "Invalid Field in Command",
        *["same 0"] * 5,
        "Event Type: 0x3 (Invalid Placement Identifier)",
        "Event Type: 0 (Reclaim Unit Not Fully Written)",
    ]
    (config,) = found(tmp_path, "configs")["configs"]
    assert (config["nruh"], config["nrg"], config["nnss"], config["runs"]) == (3, 1, 1, SUPERBLOCK)
    assert config["fdpa"] == 1 << 7 | 1 << 4
    assert found(tmp_path, "usage")["ruhus"] == [{"ruha": 1}] * 3
    # Writes without an identifier, or with one that does not exist, use the first handle.
    begun = BLOCKS - PROGRAM
    assert available(tmp_path, "empty") == [BLOCKS] * 3
    assert available(tmp_path, "placed") == [begun] * 3
    assert available(tmp_path, "written") == [begun, begun, begun - (1 << 20) // 512]
    assert available(tmp_path, "updated") == [begun, BLOCKS, BLOCKS]
    assert found(tmp_path, "new") == {"hbmw": 0, "mbmw": 0, "mbe": 0}
    end = found(tmp_path, "end")
    assert end["hbmw"] == 5 * 4096 + (1 << 20)
    assert end["mbmw"] > end["hbmw"]
    host = found(tmp_path, "host")
    assert [(event["type"], event["pid"], event["nsid"]) for event in host["events"]] == [(3, 7, 1), (0, 1, 1)]
    assert found(tmp_path, "controller")["n"] == 0
    placement = json.loads((tmp_path / "summary.json").read_text())["placement"]
    assert [of["host_bytes"] for of in placement["handles"]] == [2 * 4096, 2 * 4096, 4096 + (1 << 20)]


WRITERS = """
set -e
group() { nvme fdp $1 /dev/nvme0 -e 1 -o json $3 > /out/$2.json; }
logs() {
cat > /job.fio <<END
[global]
filename=/dev/ng0n1
ioengine=io_uring_cmd
cmd_type=nvme
rw=write
bs=64k
iodepth=4
fdp=1
size=100m
[hot]
io_size=400m
rate=64m
plids=1
[cold]
offset=100m
io_size=100m
rate=16m
plids=$1
END
fio /job.fio --output=/out/fio-$1-$2.txt
}
nvme fdp set-events /dev/nvme0n1 -p 1 -e -t 0x80 > /dev/null
for cold in 1 2; do
    nvme format /dev/nvme0n1 --lbaf=0 --force > /dev/null
    logs $cold first
    group stats $cold-before
    logs $cold second
    group stats $cold-after
    group events $cold-events
done
"""


def amplification(output: Path, handle: int) -> float:
    before, after = (found(output, f"{handle}-{state}") for state in ("before", "after"))
    assert after["hbmw"] - before["hbmw"] == 500 << 20
    return float(after["mbmw"] - before["mbmw"]) / float(after["hbmw"] - before["hbmw"])


def test_two_writers_of_different_rates_cost_less_through_two_handles(tmp_path: Path) -> None:
    run(WRITERS, tmp_path, "initial")
    one, two = (amplification(tmp_path, handle) for handle in (1, 2))
    print(f"one handle {one:.3f}, two {two:.3f}")
    assert one > 1.1
    assert two < 1.01
    # Collection moved data of the shared handle only.
    events = found(tmp_path, "1-events")["events"]
    assert {(event["type"], event["pid"]) for event in events} == {(0x80, 1)}
    assert all(0 < event["nlbam"] <= BLOCKS for event in events)
    # The log is the drive's own count.
    placement = json.loads((tmp_path / "summary.json").read_text())["placement"]
    end = found(tmp_path, "2-after")
    assert (end["hbmw"], end["mbe"]) == (placement["host_bytes"], placement["erased_bytes"])
    assert end["mbmw"] <= placement["media_bytes"]


def test_linux_7_3_offers_the_handles_as_write_streams(tmp_path: Path) -> None:
    script = "cd /sys/block/nvme0n1/queue; cat max_write_streams write_stream_granularity; dmesg | grep -ci fdp || true"
    assert run(script, tmp_path, "initial", kernel="7.3") == ["3", str(SUPERBLOCK), "0"]
