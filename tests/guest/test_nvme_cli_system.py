"""nvme-cli and the block layer's discard on a served drive, with each kernel."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from guest.test_guest_system import CLOUD_KERNELS, FOLDER, fetched, served

pytestmark = pytest.mark.system

WRITTEN = 64 << 20
SIZE = 4 << 30
SYSTEM = ["hmb-a", "--set", "flash.blocks=40", "--set", f"ftl.capacity={SIZE}B"]
SCRIPT = f"""
set -e
queue=/sys/block/nvme0n1/queue
state() {{ nvme smart-log /dev/nvme0 -o json > /out/smart-$1.json; }}
first() {{ dd if=/dev/nvme0n1 bs=4096 count=1 iflag=direct 2> /dev/null | md5sum | cut -c 1-32; }}
nvme id-ctrl /dev/nvme0 -o json > /out/id-ctrl.json
nvme id-ns /dev/nvme0n1 -o json > /out/id-ns.json
nvme list -o json > /out/list.json
state new
dd if=/dev/urandom of=/dev/nvme0n1 bs=1M count={WRITTEN >> 20} oflag=direct 2> /dev/null
state written
cat $queue/discard_max_bytes $queue/discard_granularity $queue/write_zeroes_max_bytes $queue/write_cache
mkfs.ext4 -q -F /dev/nvme0n1 256m
mkdir /mnt
mount -t ext4 /dev/nvme0n1 /mnt
dd if=/dev/urandom of=/mnt/file bs=1M count=100 2> /dev/null
sync
rm /mnt/file
sync
fstrim -v /mnt | grep -o '[0-9]* bytes' | cut -d ' ' -f 1
umount /mnt
nvme write-zeroes /dev/nvme0n1 --start-block=0 --block-count=2047 > /dev/null
first
dd if=/dev/urandom of=/dev/nvme0n1 bs=1M count=1 oflag=direct 2> /dev/null
blkdiscard -f /dev/nvme0n1
first
dd if=/dev/urandom of=/dev/nvme0n1 bs=1M count=1 oflag=direct 2> /dev/null
nvme format /dev/nvme0n1 --lbaf=1 --force
cat $queue/logical_block_size
first
dd if=/dev/urandom of=/dev/nvme0n1 bs=1M count=1 oflag=direct 2> /dev/null
nvme format /dev/nvme0n1 --lbaf=0 --ses=1 --force
cat $queue/logical_block_size
first
state end
"""
ZEROS = "620f0b67a91f7f74151bc5be745b7110"
"""MD5 of 4,096 zeros."""


def found(folder: Path, name: str) -> dict[str, Any]:
    text: dict[str, Any] = json.loads((folder / f"out/{name}.json").read_text())
    return text


@pytest.mark.parametrize("kernel", CLOUD_KERNELS)
def test_its_commands_work_as_their_users_expect(kernel: str, tmp_path: Path) -> None:
    served()
    fetched(kernel)
    line = [sys.executable, "-m", "nandram", "guest", *SYSTEM, "--kernel", kernel, "--folder", str(FOLDER)]
    done = subprocess.run([*line, "-o", str(tmp_path), "--", "sh", "-c", SCRIPT], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    discard, granularity, zeroes, cache, trimmed, *rest = done.stdout.splitlines()
    assert int(discard) > 1 << 20
    assert int(granularity) in (512, 4096)
    assert int(zeroes) > 0
    assert cache == "write back"
    assert int(trimmed) > 100 << 20
    format_ = "Success formatting namespace:1"
    assert rest == [ZEROS, ZEROS, format_, "4096", ZEROS, format_, "512", ZEROS]

    controller = found(tmp_path, "id-ctrl")
    assert controller["mn"].strip() == "nandram DRAM-less NVMe TLC drive with Ho"
    assert controller["sn"].strip() == "NANDRAM0000000000001"
    assert (controller["hmpre"], controller["hmmin"]) == (64 << 8, 8 << 8)
    # Format; dataset management and write zeroes; a volatile write cache.
    assert controller["oacs"] & 2
    assert controller["oncs"] & 4
    assert controller["oncs"] & 8
    assert controller["vwc"] & 1
    namespace = found(tmp_path, "id-ns")
    assert (namespace["nsze"], namespace["ncap"]) == (SIZE // 512, SIZE // 512)
    listed = json.dumps(found(tmp_path, "list"))
    assert '"/dev/nvme0n1"' in listed or '"nvme0n1"' in listed
    assert str(SIZE) in listed

    new, written, end = (found(tmp_path, f"smart-{state}") for state in ("new", "written", "end"))
    units = -(-WRITTEN // 512_000)
    assert written["data_units_written"] - new["data_units_written"] in (units - 1, units)
    assert written["host_write_commands"] - new["host_write_commands"] == WRITTEN // (128 << 10)
    assert new["avail_spare"] == written["avail_spare"] == 100
    assert (new["percent_used"], new["critical_warning"], end["media_errors"]) == (0, 0, 0)
    assert 273 < new["temperature"] < 373
    assert end["data_units_read"] > new["data_units_read"]
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["trim"]["total_ios"] > 0


INNER = """
set -e
queue=/sys/block/nvme0n1/queue
part() { dd if=/dev/nvme0n1 bs=4096 skip=$1 count=$2 iflag=direct 2> /dev/null | md5sum | cut -c 1-32; }
compare() { nvme compare /dev/nvme0n1 -s 0 -c 15 -z 8192 -d $1 > /out/compare-$2 2>&1; echo $?; }
cat $queue/atomic_write_unit_max_bytes $queue/atomic_write_boundary_bytes
nvme id-ctrl /dev/nvme0 -o json > /out/id-ctrl.json
nvme id-ns /dev/nvme0n1 -o json > /out/id-ns.json
dd if=/dev/urandom of=/tmp/data bs=4096 count=2 2> /dev/null
dd if=/tmp/data of=/dev/nvme0n1 bs=8192 oflag=direct 2> /dev/null
compare /tmp/data same || true
cp /tmp/data /tmp/other
printf x | dd of=/tmp/other bs=1 seek=8191 conv=notrunc 2> /dev/null
printf y | dd of=/tmp/other bs=1 seek=4096 conv=notrunc 2> /dev/null
(set +e; compare /tmp/other other)
nvme verify /dev/nvme0n1 -s 0 -c 2047
(set +e; nvme verify /dev/nvme0n1 -s 99999999999 -c 7 > /out/verify 2>&1; echo $?)
nvme copy /dev/nvme0n1 --sdlba=800 --slbs=8,0 --blocks=7,7
part 0 1
part 1 1
part 100 1
part 101 1
(set +e; nvme copy /dev/nvme0n1 --sdlba=800 --slbs=0 --blocks=9999 > /out/copy 2>&1; echo $?)
"""


def test_it_compares_verifies_and_copies_inside_the_drive(tmp_path: Path) -> None:
    served()
    fetched("6.12")
    line = [sys.executable, "-m", "nandram", "guest", *SYSTEM, "--kernel", "6.12", "--folder", str(FOLDER)]
    done = subprocess.run([*line, "-o", str(tmp_path), "--", "sh", "-c", INNER], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    largest, boundary, same, other, verified, far, copied, *rest = done.stdout.splitlines()
    assert (largest, boundary, same) == ("4096", "4096", "0")
    assert "Success" in verified
    assert "success" in copied.lower()
    first, second, of_second, of_first, limit = rest
    assert (of_second, of_first) == (second, first) != (first, second)
    assert "0" not in (other, far, limit)
    texts = [(tmp_path / f"out/{name}").read_text() for name in ("compare-other", "verify", "copy")]
    # Compare Failure, LBA Out of Range, Command Size Limit Exceeded.
    expected = ("0x4285", "0x4080", "0x4183")
    assert all(status in text for status, text in zip(expected, texts, strict=True)), texts

    controller, namespace = found(tmp_path, "id-ctrl"), found(tmp_path, "id-ns")
    # Compare, Verify and Copy.
    assert controller["oncs"] & 0b1_1000_0001 == 0b1_1000_0001
    assert (controller["ocfs"], controller["fuses"]) == (1, 1)
    assert (namespace["nawun"], namespace["nawupf"], namespace["nacwu"], namespace["nabspf"]) == (7, 7, 7, 7)
    assert namespace["mcl"] == namespace["mssrl"] > 0
    assert namespace["msrc"] == 127


MANAGE = """
set -e
dd if=/dev/urandom of=/dev/nvme0n1 bs=1M count=8 oflag=direct 2> /dev/null
nvme detach-ns /dev/nvme0 -n 1 -c 0 > /out/detach
while [ -e /sys/block/nvme0n1 ]; do sleep 1; done
nvme delete-ns /dev/nvme0 -n 1 > /out/delete
nvme create-ns /dev/nvme0 -s 262144 -c 262144 -f 0
nvme create-ns /dev/nvme0 -s 65537 -c 65537 -f 1
set +e
nvme create-ns /dev/nvme0 -s 100 -c 50 -f 0 > /out/thin 2>&1
nvme create-ns /dev/nvme0 -s 8388608 -c 8388608 -f 0 > /out/large 2>&1
set -e
nvme list-ns /dev/nvme0 --all -o json > /out/all.json
nvme attach-ns /dev/nvme0 -n 1 -c 0 > /out/attach
until [ -b /dev/nvme0n1 ]; do sleep 1; done
nvme attach-ns /dev/nvme0 -n 2 -c 0 >> /out/attach
until [ -b /dev/nvme0n2 ]; do sleep 1; done
cat /sys/block/nvme0n1/size /sys/block/nvme0n2/size /sys/block/nvme0n2/queue/logical_block_size
dd if=/dev/nvme0n1 bs=1M iflag=direct 2> /dev/null | tr -d '\\0' | wc -c
dd if=/dev/urandom of=/dev/nvme0n2 bs=4096 seek=65536 count=1 oflag=direct 2> /dev/null
dd if=/dev/nvme0n2 bs=4096 skip=65536 iflag=direct 2> /dev/null | md5sum | cut -c 1-32
nvme id-ctrl /dev/nvme0 -o json > /out/id-ctrl.json
nvme id-ns /dev/nvme0 -n 2 -o json > /out/id-ns.json
sync
"""
MANAGED = """
for i in 1 2; do
    until [ -b /dev/nvme0n$i ]; do sleep 1; done
    grep -q 4096 /sys/block/nvme0n$i/queue/logical_block_size && large=nvme0n$i
done
cat /sys/block/$large/size
dd if=/dev/$large bs=4096 skip=65536 iflag=direct 2> /dev/null | md5sum | cut -c 1-32
"""


def test_namespaces_are_managed_and_kept_in_a_store(tmp_path: Path) -> None:
    served()
    fetched("6.12")
    line = [sys.executable, "-m", "nandram", "guest", *SYSTEM, "--kernel", "6.12", "--folder", str(FOLDER)]
    line += ["--store", str(tmp_path / "drive.store"), "-o"]

    def run(folder: str, script: str) -> list[str]:
        command = [*line, str(tmp_path / folder), "--", "sh", "-c", script]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout.splitlines()

    first, second, *rest = run("first", MANAGE)
    assert (first, second) == ("create-ns: Success, created nsid:1", "create-ns: Success, created nsid:2")
    small, large, block, used, digest = rest
    assert (small, large, block, used) == ("262144", str(65537 * 8), "4096", "0")
    assert digest != ZEROS
    out = tmp_path / "first/out"
    # Thin Provisioning Not Supported, Namespace Insufficient Capacity.
    assert "0x411b" in (out / "thin").read_text()
    assert "0x4115" in (out / "large").read_text()
    listed = found(tmp_path / "first", "all")
    assert [each["nsid"] for each in listed["nsid_list"]] == [1, 2]
    controller, namespace = found(tmp_path / "first", "id-ctrl"), found(tmp_path / "first", "id-ns")
    assert controller["oacs"] & 8
    assert int(controller["tnvmcap"]) - int(controller["unvmcap"]) == (262144 // 8 + 65537) * 4096
    assert (namespace["nsze"], namespace["nuse"], int(namespace["nvmcap"])) == (65537, 65537, 65537 * 4096)
    assert run("second", MANAGED) == [large, digest]
