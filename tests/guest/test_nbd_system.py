"""`nandram serve --nbd` with nbdkit and its clients."""

import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nandram.errors import UserError
from nandram.nbd import plugin_path

pytestmark = pytest.mark.system

SMALL = """
title = "small"
[flash]
channels = 2
chips = 2
dies = 1
blocks = 24
pages = 64
[ftl]
over_provisioning = 0.4
[device]
write_cache = { size = "1MiB" }
"""


@pytest.fixture(autouse=True)
def installed() -> None:
    for program in ("nbdkit", "nbdcopy", "nbdinfo"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    try:
        plugin_path()
    except UserError as error:
        pytest.skip(str(error))


@pytest.fixture
def system(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@contextmanager
def served(*words: str, socket: Path) -> Iterator[str]:
    """Serve a drive; return its address."""
    line = [sys.executable, "-m", "nandram", "serve", *words, "--nbd", str(socket)]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("serving ")
        yield f"nbd+unix:///?socket={socket}"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def copy(source: str | Path, target: str | Path) -> None:
    subprocess.run(["nbdcopy", "--flush", str(source), str(target)], check=True, timeout=300)


def size(address: str) -> int:
    found = subprocess.run(["nbdinfo", "--size", address], capture_output=True, text=True, check=True, timeout=60)
    return int(found.stdout)


def test_a_copy_there_and_back_is_the_same_bytes_and_a_store_keeps_them(system: Path, tmp_path: Path) -> None:
    image, socket, store = tmp_path / "image", tmp_path / "socket", tmp_path / "store"
    words = [str(system), "--store", str(store)]
    with served(*words, socket=socket) as address:
        image.write_bytes(random.Random(1).randbytes(size(address)))
        copy(image, address)
        copy(address, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == image.read_bytes()
    assert not socket.exists()
    with served(*words, socket=socket) as address:
        copy(address, tmp_path / "kept")
    assert (tmp_path / "kept").read_bytes() == image.read_bytes()


def test_qemu_img_writes_and_compares_an_image(system: Path, tmp_path: Path) -> None:
    if shutil.which("qemu-img") is None:
        pytest.skip("qemu-img is not installed")
    image, socket = tmp_path / "image", tmp_path / "socket"
    with served(str(system), socket=socket) as address:
        # Behind them is a hole, which qemu-img writes as zeros.
        image.write_bytes(random.Random(3).randbytes(8 << 20))
        with image.open("r+b") as file:
            file.truncate(size(address))
        drive = f"nbd:unix:{socket}"
        for words in (["convert", "-n", "-f", "raw", "-O", "raw", str(image), drive], ["compare", str(image), drive]):
            subprocess.run(["qemu-img", *words], check=True, capture_output=True, timeout=300)


def test_a_killed_server_keeps_what_was_flushed(system: Path, tmp_path: Path) -> None:
    image, socket, store = tmp_path / "image", tmp_path / "socket", tmp_path / "store"
    image.write_bytes(random.Random(2).randbytes(4 << 20))
    plugin = [str(plugin_path()), f"system={system}", f"store={store}"]
    line = ["nbdkit", "--foreground", "--unix", str(socket), *plugin]
    process = subprocess.Popen(line)
    try:
        end = time.monotonic() + 60
        while not socket.exists() and time.monotonic() < end:
            time.sleep(0.05)
        copy(image, f"nbd+unix:///?socket={socket}")
    finally:
        process.kill()
        process.wait()
    socket.unlink()
    with served(str(system), "--store", str(store), socket=socket) as address:
        copy(address, tmp_path / "kept")
    assert (tmp_path / "kept").read_bytes()[: 4 << 20] == image.read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "flash.blocks=0"], "flash.blocks"),
        (["--vfio-user", "x"], "--vfio-user: found with --nbd, expected --vfio-user, which serves a guest"),
    ],
)
def test_a_mistake_is_one_line(system: Path, tmp_path: Path, words: list[str], message: str) -> None:
    line = [sys.executable, "-m", "nandram", "serve", str(system), *words, "--nbd", str(tmp_path / "socket")]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert message in done.stderr
