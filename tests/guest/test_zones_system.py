"""A zoned drive in a guest: blkzone, nvme zns, fio on zones, and file systems that need or use them, on Linux 6.12."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from guest.test_guest_system import FOLDER, fetched, hashes, served

pytestmark = pytest.mark.system

SYSTEM = [
    "wd-zn540",
    *(
        word
        for key, value in {
            "device.zones.size": "64MiB",
            "device.zones.capacity": "48MiB",
            "device.zones.count": "32",
            "flash.blocks": "60",
            "flash.pages": "128",
        }.items()
        for word in ("--set", f"{key}={value}")
    ),
]
"""A ZN540 with 32 zones of 64 MiB, of which 48 MiB can be written."""
ZONE = 0x20000
"""Sectors of a zone."""


def run(output: Path, script: str, *options: str) -> str:
    """Run a script in a guest; return its output."""
    line = [sys.executable, "-m", "nandram", "guest", *SYSTEM, "--folder", str(FOLDER), *options]
    done = subprocess.run(
        [*line, "-o", str(output), "--", "sh", "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr + done.stdout
    return done.stdout


def zones(text: str) -> list[tuple[int, str]]:
    """Return the write pointer, from the zone's start, and the condition of each zone of a report of blkzone."""
    rows = re.findall(r"start: (0x\w+), len 0x020000, cap 0x018000, wptr (0x\w+) .* zcond: *\d+\((\w+)\)", text)
    assert [int(start, 16) for start, _, _ in rows] == [number * ZONE for number in range(len(rows))]
    return [(int(pointer, 16), condition) for _, pointer, condition in rows]


MANAGE = f"""
set -e
drive=/dev/nvme0n1
report() {{ echo "report"; blkzone report -c 6 $drive; }}
cd /sys/block/nvme0n1/queue
cat zoned nr_zones max_open_zones max_active_zones chunk_sectors zone_append_max_bytes logical_block_size
report
dd if=/dev/urandom of=/data bs=4096 count=24 2> /dev/null
dd if=/data of=$drive bs=4096 oflag=direct 2> /dev/null
dd if=/data of=$drive bs=4096 oflag=direct seek={2 * ZONE // 8} 2> /dev/null
blkzone open -o {ZONE} -c 1 $drive
blkzone close -o {2 * ZONE} -c 1 $drive
blkzone finish -o {3 * ZONE} -c 1 $drive
report
dd if=$drive bs=4096 count=24 iflag=direct 2> /dev/null | cmp - /data
echo same $?
dd if=/data of=$drive bs=4096 oflag=direct seek=5 2> /dev/null || echo refused
blkzone reset -c 4 $drive
report
dd if=$drive bs=4096 count=24 iflag=direct 2> /dev/null | cmp -n 98304 - /dev/zero
echo zeros $?
nvme zns id-ns $drive -o json > /out/id-ns.json
nvme zns id-ctrl /dev/nvme0 -o json > /out/id-ctrl.json
nvme zns list -o json > /out/list.json || true
nvme zns zone-append $drive -s {ZONE // 8} -z 8192 -d /data
nvme zns zone-append $drive -s {ZONE // 8} -z 4096 -d /data
nvme zns open-zone $drive -s {2 * ZONE // 8}
nvme zns close-zone $drive -s {ZONE // 8}
nvme zns finish-zone $drive -s {3 * ZONE // 8}
nvme zns report-zones $drive -d 6 -o json > /out/zones.json
nvme zns reset-zone $drive -a
nvme zns report-zones $drive -d 2
nvme effects-log /dev/nvme0 -c 2 > /out/effects.txt || nvme effects-log /dev/nvme0 > /out/effects.txt
"""


def test_blkzone_and_nvme_zns_manage_zones_at_times_that_repeat(tmp_path: Path) -> None:
    served()
    text = run(tmp_path / "one", MANAGE)
    head, new, used, emptied = text.split("report\n")
    assert head.split() == ["host-managed", "32", "14", "14", str(ZONE), head.split()[5], "4096"]
    assert int(head.split()[5]) >= 128 << 10
    assert zones(new) == [(0, "em")] * 6
    assert zones(used) == [(192, "oi"), (0, "oe"), (192, "cl"), (ZONE, "fu"), (0, "em"), (0, "em")]
    assert used.splitlines()[6:] == ["same 0", "refused"]
    assert zones(emptied) == [(0, "em")] * 6
    rest = emptied.splitlines()[6:]
    assert rest[0] == "zeros 0"
    block = ZONE // 8
    assert [int(each, 16) for each in re.findall(r"appended data to LBA (\w+)", emptied)] == [block, block + 2]
    found = json.loads((tmp_path / "one/out/zones.json").read_text())
    states = [(zone["state"], zone["wp"] - zone["slba"]) for zone in found["zone_list"][1:4]]
    assert [state for state, _ in states] == ["CLOSED", "EXP_OPENED", "FULL"], found
    assert [pointer for _, pointer in states[:2]] == [3, 0]
    assert re.findall(r"State: (\w+)", emptied) == ["0x10", "0x10"]
    namespace = json.loads((tmp_path / "one/out/id-ns.json").read_text())
    assert (namespace["mar"], namespace["mor"], namespace["lbafe"][0]["zsze"]) == (13, 13, block)
    run(tmp_path / "two", MANAGE)
    assert hashes(tmp_path / "one") == hashes(tmp_path / "two")


FIO = """
set -e
for how in write randwrite; do
    fio --name=$how --filename=/dev/nvme0n1 --direct=1 --zonemode=zbd --rw=$how --bs=64k --size=1g --io_size=160m \
        --max_open_zones=4 --ioengine=libaio --iodepth=4 --verify=crc32c --verify_fatal=1 --output-format=json
done
blkzone report -c 32 /dev/nvme0n1 | grep -c 'zcond:14(fu)'
"""


def test_fio_writes_zones_and_verifies_them(tmp_path: Path) -> None:
    served()
    text = run(tmp_path, FIO)
    decoder = json.JSONDecoder()
    at = 0
    for how in ("write", "randwrite"):
        found, end = decoder.raw_decode(text[at:])
        at += end + len(text[at + end :]) - len(text[at + end :].lstrip())
        job = found["jobs"][0]
        assert (job["jobname"], job["error"], job["write"]["io_bytes"]) == (how, 0, 160 << 20)
        assert job["read"]["io_bytes"] >= 160 << 20
    assert int(text[at:]) >= 2
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["write"]["errors"] == summary["read"]["errors"] == 0


BTRFS_MAKE = """
set -e
mkfs.btrfs -q -O zoned -d single -m single /dev/nvme0n1
mkdir -p /mnt
mount -t btrfs /dev/nvme0n1 /mnt
fio --name=mixed --directory=/mnt --rw=randwrite --bs=16k --size=64m --direct=1 --ioengine=libaio --iodepth=8 \
    --verify=crc32c --verify_fatal=1 --end_fsync=1 --output=/out/mixed.txt
fio --name=buffered --directory=/mnt --rw=write --bs=128k --size=96m --verify=crc32c --verify_fatal=1 --end_fsync=1 \
    --output=/out/buffered.txt
rm /mnt/buffered.0.0
dd if=/dev/urandom of=/mnt/kept bs=1M count=20 2> /dev/null
md5sum < /mnt/kept > /mnt/sum
umount /mnt
btrfs check /dev/nvme0n1 2>&1 | grep -c 'no error found'
"""
BTRFS_FIND = """
set -e
mkdir -p /mnt
mount -t btrfs /dev/nvme0n1 /mnt
md5sum < /mnt/kept | cmp - /mnt/sum
fio --name=mixed --directory=/mnt --rw=randwrite --bs=16k --size=64m --direct=1 --verify=crc32c --verify_only \
    --verify_fatal=1 --output=/out/again.txt
btrfs scrub start -B /mnt > /out/scrub.txt
grep -c 'no errors found' /out/scrub.txt
umount /mnt
blkzone report /dev/nvme0n1 | grep -c 'zcond: 1(em)'
"""


def test_btrfs_keeps_verified_files_on_zones_that_outlive_the_server(tmp_path: Path) -> None:
    served()
    options = ["--module", "btrfs", "--store", str(tmp_path / "drive.store")]
    assert run(tmp_path / "make", BTRFS_MAKE, *options) == "1\n"
    whole, empty = run(tmp_path / "find", BTRFS_FIND, *options).splitlines()
    assert (whole, 20 < int(empty) < 32) == ("1", True)
    assert "err= 0" in (tmp_path / "find/out/again.txt").read_text()
    assert "zoned mode enabled with zone size 67108864" in (tmp_path / "find/kernel.txt").read_text()


F2FS = [
    *("--kernel", "6.12-amd64", "--module", "f2fs", "--module", "crc32_generic"),
    # fsck.f2fs 1.16 counts the segments that a zone's capacity leaves out as free.
    *("--set", "device.zones.capacity=64MiB", "--set", "device.zones.conventional=512MiB"),
]
FIND = """
set -e
# Linux names namespaces in the order in which it finds them, which varies.
for each in nvme0n1 nvme0n2; do
    [ "$(cat /sys/block/$each/queue/zoned)" = none ] && conventional=/dev/$each || zoned=/dev/$each
done
"""
F2FS_MAKE = """
nvme list-ns /dev/nvme0 -y 2 | grep -c '\\]:'
mkfs.f2fs -q -f -m -c $zoned $conventional > /out/mkfs.txt
mkdir -p /mnt
mount -t f2fs $conventional /mnt
fio --name=mixed --directory=/mnt --rw=randwrite --bs=16k --size=64m --direct=1 --ioengine=libaio --iodepth=8 \
    --verify=crc32c --verify_fatal=1 --end_fsync=1 --output=/out/mixed.txt
fio --name=buffered --directory=/mnt --rw=write --bs=128k --size=96m --verify=crc32c --verify_fatal=1 --end_fsync=1 \
    --output=/out/buffered.txt
dd if=/dev/urandom of=/mnt/kept bs=1M count=20 2> /dev/null
md5sum < /mnt/kept > /mnt/sum
umount /mnt
"""
F2FS_FIND = """
fsck.f2fs --dry-run $conventional > /out/fsck.txt
grep -c 'Fail' /out/fsck.txt || true
mkdir -p /mnt
mount -t f2fs $conventional /mnt
md5sum < /mnt/kept | cmp - /mnt/sum
fio --name=mixed --directory=/mnt --rw=randwrite --bs=16k --size=64m --direct=1 --verify=crc32c --verify_only \
    --verify_fatal=1 --output=/out/again.txt
umount /mnt
blkzone report $zoned | grep -c 'zcond: 1(em)'
"""


def test_f2fs_keeps_verified_files_on_zones_and_a_conventional_namespace(tmp_path: Path) -> None:
    served()
    fetched("6.12-amd64")
    options = [*F2FS, "--store", str(tmp_path / "drive.store")]
    assert run(tmp_path / "make", FIND + F2FS_MAKE, *options) == "1\n"
    failed, empty = run(tmp_path / "find", FIND + F2FS_FIND, *options).splitlines()
    assert (failed, 20 < int(empty) < 32) == ("0", True)
    assert "err= 0" in (tmp_path / "find/out/again.txt").read_text()
    assert (
        "[FSCK] Write pointers consistency                     [Ok..]" in (tmp_path / "find/out/fsck.txt").read_text()
    )
