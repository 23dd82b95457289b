"""The probe inside a guest, next to the probe of the same simulated drive."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from guest.test_guest_system import FOLDER, fetched, served
from nandram.guest.initramfs import OWN

pytestmark = pytest.mark.system

# Flash ten times slower than the presets': a guest's processor, of one instruction per nanosecond, could not keep
# all dies busy otherwise. A small drive and a small buffer, so that both have an end that few requests reach.
SLOW = ["flash.read=650us", "flash.program=7ms", "ftl.slc_cache.size=0B", "ftl.capacity=1GiB"]
HALF = ["device.hmb.size=512KiB", "device.hmb.minimum=512KiB"]
WHOLE = ["device.hmb.size=1MiB", "device.hmb.minimum=1MiB"]
SYSTEMS = {
    "hmb-a": ["flash.blocks=20", *HALF],
    "hmb-b": ["flash.blocks=30", *WHOLE],
    "hmb-c": ["flash.blocks=20", *HALF],
    "hmb-d": ["flash.blocks=20"],
}
FILL = (
    "fio --name=fill --filename=/dev/nvme0n1 --direct=1 --rw=write --bs=128k --iodepth=8 --ioengine=libaio"
    " --zero_buffers > /dev/null"
)
PROBE = f"{FILL} && nandram-probe /dev/nvme0n1 --json /out/probe.json --allow-write --confirm NANDRAM0000000000001"


def nandram(*words: str) -> None:
    done = subprocess.run([sys.executable, "-m", "nandram", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def changes(system: str) -> list[str]:
    return [word for change in (*SLOW, *SYSTEMS[system]) for word in ("--set", change)]


def in_a_guest(folder: Path, system: str) -> list[dict[str, Any]]:
    fetched("7.3")
    line = ["guest", system, *changes(system), "--kernel", "7.3", "--folder", str(FOLDER)]
    nandram(*line, "--time-limit", "30m", "-o", str(folder / "guest"), "--", "sh", "-c", PROBE)
    report = json.loads((folder / "guest/out/probe.json").read_text())
    assert report["ended"] is None
    found: list[dict[str, Any]] = report["findings"]
    return found


def simulated(folder: Path, system: str) -> list[dict[str, Any]]:
    nandram("probe", system, *changes(system), "--json", str(folder / "simulated.json"))
    found: list[dict[str, Any]] = json.loads((folder / "simulated.json").read_text())["findings"]
    return found


def verdicts(findings: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(each["about"], each["hmb"], each["verdict"], each["place"]) for each in findings]


def check_sizes(guest: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    for one, other in zip(guest, expected, strict=True):
        if other["size"] is None:
            assert one["size"] is None, (one, other)
        elif one["size"]["unit"] == "reads at once":
            # A ratio of throughputs, in which a guest's software has its part.
            assert one["size"]["low"] <= other["size"]["high"], (one, other)
            assert one["size"]["high"] >= other["size"]["low"], (one, other)
        else:
            assert one["size"] == other["size"], (one, other)


@pytest.fixture(autouse=True)
def built() -> None:
    served()
    if not OWN["nandram-probe"].is_file():
        pytest.skip("this installation has no nandram-probe")


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_probe_in_a_guest_finds_what_it_finds_of_the_simulated_drive(system: str, tmp_path: Path) -> None:
    found, expected = in_a_guest(tmp_path, system), simulated(tmp_path, system)
    for one, other in zip(found, expected, strict=True):
        print(one["about"], one["hmb"], one["verdict"], one["size"], other["size"])
    assert verdicts(found) == verdicts(expected)
    check_sizes(found, expected)
    # The kernel switched the buffer for it, and again at the end.
    assert {each["hmb"] for each in found} == ({None} if system == "hmb-d" else {True, False})
