"""Storage on the memory bus in a guest: our driver, Linux's block layer and file systems over the shared buffer."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from guest.reboots import reboots
from guest.test_guest_system import FOLDER, served
from nandram.errors import UserError
from nandram.guest.folder import DEFAULT_KERNEL
from nandram.guest.packages.fetch import fetch

pytestmark = pytest.mark.system


def with_headers() -> None:
    served()
    try:
        fetch(FOLDER, DEFAULT_KERNEL, headers=True)
    except UserError as error:
        pytest.skip(f"packages cannot be had: {error}")


def run(script: str, output: Path, *options: str) -> list[str]:
    """Run a script in a guest on `drambus`; return the lines that it printed."""
    line = [sys.executable, "-m", "nandram", "guest", "drambus", "--folder", str(FOLDER), *options]
    line += ["-o", str(output), "--", "sh", "-c", script]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout.splitlines()


def test_the_driver_reads_back_discards_and_loads_again(tmp_path: Path) -> None:
    with_headers()
    script = """
    set -e
    cat /sys/block/drambus0/size
    dd if=/dev/urandom of=/data bs=4096 count=300 2> /dev/null
    dd if=/data of=/dev/drambus0 bs=1228800 oflag=direct 2> /dev/null
    dd if=/dev/drambus0 bs=4096 count=300 iflag=direct 2> /dev/null | cmp - /data; echo same $?
    cat /sys/block/drambus0/coherence/flushed_lines /sys/block/drambus0/coherence/invalidated_lines
    blkdiscard -f -o 0 -l 65536 /dev/drambus0
    dd if=/dev/drambus0 bs=65536 count=1 iflag=direct 2> /dev/null | cmp -n 65536 - /dev/zero; echo discarded $?
    # The other pair is for polled requests now.
    rmmod drambus; insmod /nandram/modules/drambus.ko poll_queues=1
    dmesg | grep -o '2 queue pairs (1 polled)'
    fio --name=poll --filename=/dev/drambus0 --direct=1 --rw=randread --bs=4k --size=1m --ioengine=pvsync2 --hipri \\
        --number_ios=64 | grep -o 'err= 0'"""
    lines = run(script, tmp_path / "out", "--set", "host.queue_pairs=2")
    assert lines[:2] == ["62500000", "same 0"]
    flushed, invalidated = map(int, lines[2:4])
    # All data passed the buffer; Identify and the partition table come on top of the reads.
    assert flushed == 300 * 4096 // 64
    assert 0 < invalidated - flushed < 2000
    assert lines[4:] == ["discarded 0", "2 queue pairs (1 polled)", "err= 0"]
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["read"]["errors"] == summary["write"]["errors"] == 0


def test_fio_verifies_what_it_wrote_through_every_layer(tmp_path: Path) -> None:
    with_headers()
    script = """
    set -e
    fio --name=v --filename=/dev/drambus0 --direct=1 --size=16m --verify=crc32c --verify_fatal=1 --rw=randwrite \\
        --bsrange=4k-512k --blockalign=4k --ioengine=libaio --iodepth=4 | grep -o 'err= 0'
    mkdir -p /mnt
    mkfs.ext4 -q -F /dev/drambus0 64m
    mount -t ext4 /dev/drambus0 /mnt
    fio --name=v --directory=/mnt --size=8m --rw=randwrite --bs=4k --verify=crc32c --ioengine=psync --fsync=16 \\
        | grep -o 'err= 0'
    umount /mnt
    e2fsck -fn /dev/drambus0 > /dev/null 2>&1; echo "e2fsck $?"
    """
    assert run(script, tmp_path / "out") == ["err= 0", "err= 0", "e2fsck 0"]


def test_linux_runs_with_its_root_on_the_drive(tmp_path: Path) -> None:
    with_headers()
    small = ("--set", "flash.blocks=24", "--set", "flash.pages=64", "--set", "ftl.capacity=64MiB")
    store = ("--store", str(tmp_path / "drive.store"))
    script = """
    set -e
    mkdir -p /mnt
    mkfs.ext4 -q -F /dev/drambus0
    mount -t ext4 /dev/drambus0 /mnt
    cp -a /bin /sbin /lib /lib64 /usr /etc /mnt
    echo kept > /mnt/kept
    umount /mnt"""
    assert run(script, tmp_path / "first", *small, *store) == []
    script = 'awk \'$2 == "/" && $1 != "rootfs" { print $1 }\' /proc/mounts; cat /kept; echo again >> /kept'
    for expected in (["kept"], ["kept", "again"]):
        found = run(script, tmp_path / "second", "--root", *small, *store)
        assert found == ["/dev/drambus0", *expected]


def test_a_guest_that_reboots_after_power_cuts_finds_what_sqlite_acknowledged(tmp_path: Path) -> None:
    with_headers()
    if shutil.which("sqlite3") is None:
        pytest.skip("the host has no sqlite3")
    found = reboots("drambus", 2, 1, tmp_path)
    assert [each for each in found if not each.is_whole] == []
    assert found[-1].acknowledged > found[0].acknowledged > 0


def test_polled_requests_complete_without_interrupts(tmp_path: Path) -> None:
    with_headers()
    script = """
    set -e
    dd if=/dev/urandom of=/dev/drambus0 bs=1M count=1 oflag=direct 2> /dev/null
    rmmod drambus; insmod /nandram/modules/drambus.ko poll_queues=1
    count() { awk '/drambus/ { n += $2 } END { print n + 0 }' /proc/interrupts; }
    read_blocks() {
        fio --name=r --filename=/dev/drambus0 --direct=1 --rw=randread --bs=4k --size=1m --number_ios=200 \
            --ioengine=io_uring --fixedbufs --output-format=json $1 > /r.json
        grep -m 1 -o '"total_ios" : [0-9]*' /r.json | grep -o '[0-9]*$'
    }
    count; read_blocks; count; read_blocks --hipri; count"""
    before, waited, amid, polled, after = map(int, run(script, tmp_path / "out", "--set", "host.queue_pairs=2"))
    assert (waited, polled) == (200, 200)
    assert amid - before >= 200
    # What else reads the block device, such as its partitions, is interrupted as before.
    assert after - amid < 10
