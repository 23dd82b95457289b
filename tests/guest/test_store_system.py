"""A guest's drive in a file: it outlives the server, two runs leave the same bytes, and power cuts lose nothing."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from guest.interruptions import interruptions
from guest.power_cuts import cut
from guest.reboots import reboots
from guest.test_guest_system import FOLDER, served

pytestmark = pytest.mark.system

_SCRIPT = """
set -e
mkdir -p /mnt
[ "$1" = first ] && mkfs.ext4 -q -F /dev/nvme0n1 64m
mount -t ext4 /dev/nvme0n1 /mnt
echo "$1" >> /mnt/starts
umount /mnt
[ "$1" = first ] || { mount -t ext4 /dev/nvme0n1 /mnt; cat /mnt/starts; umount /mnt; }
"""


def contents(store: Path) -> dict[int, str]:
    """Return the hash of each page of a sparse file of 58 GB, by offset, except pages of zeros."""
    found: dict[int, str] = {}
    with store.open("rb") as file:
        at = 0
        while True:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:
                return found
            data = os.pread(file.fileno(), 4096, at)
            if any(data):
                found[at] = hashlib.sha256(data).hexdigest()
            at += 4096


def start(store: Path, script: Path, word: str) -> str:
    line = [sys.executable, "-m", "nandram", "guest", "hmb-a", "--set", "flash.blocks=64", "--set", "ftl.capacity=16GB"]
    options = ["--folder", str(FOLDER), "--store", str(store), "--copy", f"{script}:/script.sh"]
    done = subprocess.run(
        [*line, *options, "--", "sh", "/script.sh", word], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_file_system_outlives_the_server_and_repeats_to_the_byte_on_a_busy_machine(tmp_path: Path) -> None:
    served()
    script = tmp_path / "script.sh"
    script.write_text(_SCRIPT)
    stores = [tmp_path / "one.store", tmp_path / "two.store"]
    start(stores[0], script, "first")
    with interruptions(tmp_path):
        start(stores[1], script, "first")
    one, two = map(contents, stores)
    assert one == two
    assert start(stores[0], script, "second") == "first\nsecond\n"


def test_power_cuts_leave_what_sqlite_acknowledged(tmp_path: Path) -> None:
    served()
    if shutil.which("sqlite3") is None:
        pytest.skip("the host has no sqlite3")
    cuts = cut("hmb-a", 10, 1, tmp_path)
    assert [each.fault for each in cuts if each.fault] == []


def test_a_guest_that_reboots_after_power_cuts_finds_what_sqlite_acknowledged(tmp_path: Path) -> None:
    served()
    if shutil.which("sqlite3") is None:
        pytest.skip("the host has no sqlite3")
    found = reboots("hmb-a", 2, 1, tmp_path)
    assert [each for each in found if not each.is_whole] == []
    assert found[-1].acknowledged > found[0].acknowledged > 0
