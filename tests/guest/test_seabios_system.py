"""SeaBIOS boots from a served drive: a second driver, which polls its own queues, before any kernel runs."""

import subprocess
import sys
from pathlib import Path

import pytest

from guest.test_guest_system import FOLDER, served
from nandram.guest.children import children
from nandram.guest.deadline import Deadline
from nandram.guest.drive import Server
from nandram.guest.folder import find_kernel, find_programs
from nandram.guest.qemu import PORTS, Machine, command_line

pytestmark = pytest.mark.system

CHANGES = ["flash.blocks=40", "ftl.capacity=4GiB"]
COPIED = 64
"""The block to which the boot sector copies blocks 1 and 2."""


def packet(segment_offset: int, block: int) -> bytes:
    """Return a disk address packet of INT 13h: two blocks."""
    return bytes([16, 0, 2, 0]) + segment_offset.to_bytes(2, "little") + bytes(2) + block.to_bytes(8, "little")


def boot_sector() -> bytes:
    """Return a boot sector that reads two blocks, writes them elsewhere, reads them there and prints them."""
    code = bytes.fromhex(
        "fa 31c0 8ed8 8ec0 8ed0 bc007c fb"  # cli; ds, es, ss = 0; sp = 7c00h; sti
        "be807c b442 cd13 7228"  # read by the packet at 7c80h; to the end if that fails
        "be907c b80043 cd13 721e"  # write by the one at 7c90h
        "bea07c b442 cd13 7215"  # read by the one at 7ca0h
        "be0090 b90004"  # 1,024 bytes from 9000h
        "bafd03 ec a820 74fb"  # wait for room in the serial port
        "ac baf803 ee e2f1"  # print a byte; next
        "b0fe e664 f4 ebfd"  # reset by the keyboard controller, which ends QEMU
    )
    packets = packet(0x8000, 1) + packet(0x8000, COPIED) + packet(0x9000, COPIED)
    return (code.ljust(0x80, b"\0") + packets).ljust(510, b"\0") + b"\x55\xaa"


def test_it_reads_and_writes_blocks(tmp_path: Path) -> None:
    served()
    text = bytes(32 + number * 7 % 95 for number in range(1024))
    (tmp_path / "image").write_bytes(boot_sector() + text)
    store = tmp_path / "store"
    line = [sys.executable, "-m", "nandram", "guest", "hmb-a", "--folder", str(FOLDER), "--store", str(store)]
    sets = [word for change in CHANGES for word in ("--set", change)]
    command = "dd if=/image of=/dev/nvme0n1 bs=512 oflag=direct 2> /dev/null && sync"
    copied = ["--copy", str(tmp_path / "image"), "--", "sh", "-c", command]
    subprocess.run([*line, *sets, *copied], check=True, timeout=600)

    console = tmp_path / "console"
    ports = {name: tmp_path / name for name in PORTS}
    machine = Machine(find_programs(FOLDER), find_kernel(FOLDER, "6.12"), tmp_path / "none", 256, console, ports)
    deadline = Deadline(300)
    server = Server("hmb-a", CHANGES, store)
    with children() as processes:
        words = command_line(machine, server.start(processes, tmp_path, tmp_path / "output", deadline))
        for option in ("-kernel", "-initrd", "-append"):
            at = words.index(option)
            del words[at : at + 2]
        qemu = processes.start(words, tmp_path / "qemu.txt", environment={})
        while qemu.poll() is None:
            server.check()
            deadline.pause("SeaBIOS booted")
        server.finish(deadline)
    assert console.read_bytes() == text, (tmp_path / "qemu.txt").read_text()
