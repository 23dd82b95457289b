"""`nandram guest` with Debian's QEMU, kernels and programs, which are fetched into `build/guest` once."""

import hashlib
import importlib.util
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from guest.emulated import EmulatedDrive
from nandram.errors import UserError
from nandram.guest.arguments import copies
from nandram.guest.cpio import File, Link, write_archive
from nandram.guest.folder import KERNELS, find_kernel, find_programs
from nandram.guest.modules import find_modules
from nandram.guest.packages.fetch import fetch
from nandram.guest.run import Finished, Guest, run_guest

pytestmark = pytest.mark.system

FOLDER = Path(__file__).parents[2] / "build" / "guest"
LIMIT_S = 600.0
CLOUD_KERNELS = [name for name in KERNELS if not name.endswith("-amd64")]
"""Those with the drivers and file systems of the tests built in. The generic one has them as modules."""


def fetched(kernel: str = "6.12") -> Path:
    try:
        fetch(FOLDER, kernel)
    except UserError as error:
        pytest.skip(f"packages cannot be had: {error}")
    return FOLDER


def on_an_emulated_drive(
    output: Path, *command: str, kernel: str = "6.12", copy: tuple[str, ...] = (), module: tuple[str, ...] = ()
) -> Finished:
    image = find_kernel(FOLDER, kernel)
    guest = Guest(command, find_programs(FOLDER), image, copies(copy), find_modules(image, list(module)))
    return run_guest(guest, EmulatedDrive(), output, LIMIT_S)


def test_busybox_unpacks_the_archive(tmp_path: Path) -> None:
    busybox = find_programs(fetched()).busybox
    file = io.BytesIO()
    write_archive(file, {"/a/b": File(b"content", executable=True), "/a/empty": File(b""), "/link": Link("a/b")})
    line = [str(busybox), "cpio", "-i", "-d"]
    subprocess.run(line, input=file.getvalue(), cwd=tmp_path, check=True, capture_output=True)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["a", "a/b", "a/empty", "link"]
    assert (tmp_path / "link").read_bytes() == b"content"
    assert os.access(tmp_path / "a/b", os.X_OK)
    assert (tmp_path / "a/empty").read_bytes() == b""


@pytest.mark.parametrize("kernel", CLOUD_KERNELS)
def test_every_kernel_boots_and_hands_over(kernel: str, tmp_path: Path) -> None:
    fetched(kernel)
    (tmp_path / "data").write_bytes(bytes(range(256)) * 4096)
    script = """
    uname -r; grep -c ^loop /proc/modules; cat /proc/mounts > /dev/stderr
    nvme id-ctrl /dev/nvme0 | grep '^mn '; fio --version
    mkfs.ext4 -q -F /dev/nvme0n1 16m > /dev/stdout; echo mkfs $?
    mkdir -p /out/folder; cp /data /out/folder/data; ln -s folder/data /out/link; mknod /out/null c 1 3
    sleep 100000 & exit 3"""
    output = tmp_path / "output"
    copy = (str(tmp_path / "data"),)
    found = on_an_emulated_drive(output, "sh", "-c", script, kernel=kernel, copy=copy, module=("loop",))
    assert found == Finished(3, ["folder/data"], ["link", "null"])
    release, loop, model, fio, mkfs = (output / "stdout.txt").read_text().splitlines()
    assert release.startswith(f"{kernel}.")
    assert (loop, model.split(":")[1].strip(), fio, mkfs) == ("1", "QEMU NVMe Ctrl", "fio-3.39", "mkfs 0")
    assert "/proc" in (output / "stderr.txt").read_text()
    assert (output / "out/folder/data").read_bytes() == (tmp_path / "data").read_bytes()
    assert release in (output / "kernel.txt").read_text()


def test_an_own_kernel_and_a_program_that_a_signal_ends(tmp_path: Path) -> None:
    image = str(find_kernel(fetched(), "6.12").image)
    found = on_an_emulated_drive(tmp_path / "output", "sh", "-c", "kill -9 $$", kernel=image)
    assert found.exit_status == 128 + signal.SIGKILL


def served() -> None:
    """Skip if this installation cannot serve a drive in virtual time."""
    fetched()
    if importlib.util.find_spec("nandram.guest.plugin") is None:
        pytest.skip("this installation has no plug-in for QEMU")


def hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("kernel", CLOUD_KERNELS)
def test_the_driver_of_every_kernel_uses_the_drive_and_its_host_memory_buffer(kernel: str, tmp_path: Path) -> None:
    served()
    fetched(kernel)
    script = """
    set -e
    nvme id-ctrl /dev/nvme0 | grep '^mn '
    nvme list | grep -c nvme0n1
    nvme smart-log /dev/nvme0 | grep '^available_spare[^_]'
    dd if=/dev/urandom of=/data bs=4096 count=256 2> /dev/null
    dd if=/data of=/dev/nvme0n1 bs=4096 oflag=direct 2> /dev/null
    dd if=/dev/nvme0n1 bs=4096 count=256 iflag=direct 2> /dev/null | cmp - /data; echo same $?
    blkdiscard -f -o 0 -l 4096 /dev/nvme0n1
    dd if=/dev/nvme0n1 bs=4096 count=1 iflag=direct 2> /dev/null | cmp -n 4096 - /dev/zero; echo discarded $?
    nvme format /dev/nvme0n1 -f"""
    line = [sys.executable, "-m", "nandram", "guest", "hmb-a", "--kernel", kernel, "--folder", str(FOLDER)]
    done = subprocess.run(
        [*line, "-o", str(tmp_path / "out"), "--", "sh", "-c", script], capture_output=True, text=True
    )
    model, listed, spare, same, discarded, formatted = done.stdout.splitlines()
    assert (done.returncode, model.split(":")[1].strip()) == (0, "nandram DRAM-less NVMe TLC drive with Ho")
    assert (listed, spare.split()[-1], same, discarded) == ("1", "100%", "same 0", "discarded 0")
    assert formatted == "Success formatting namespace:1"
    assert "allocated 64 MiB host memory buffer" in (tmp_path / "out/kernel.txt").read_text()


def test_an_interrupt_ends_the_guest_and_the_server(tmp_path: Path) -> None:
    served()
    line = [sys.executable, "-m", "nandram", "guest", "hmb-a", "--folder", str(FOLDER), "--", "sleep", "100000"]
    with (tmp_path / "stderr").open("w") as stderr:
        process = subprocess.Popen(line, stderr=stderr)
    end = time.monotonic() + 60
    while len(descendants(process.pid)) < 2 and time.monotonic() < end:
        time.sleep(0.1)
    children = descendants(process.pid)
    assert len(children) == 2
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    assert (tmp_path / "stderr").read_text() == "interrupted\n"
    assert [child for child in children if Path(f"/proc/{child}").exists()] == []


def descendants(parent: int) -> list[int]:
    text = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return [int(child) for child in text.split()]
