"""`nandram serve --nbd` with nbdkit and its clients."""

import errno
import json
import os
import random
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from guest.nbd_client import FLUSH, READ, TRIM, WRITE, Client
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


def nbdkit_of(process: "subprocess.Popen[str]") -> int:
    """Return the process number of the server that `nandram serve` has started."""
    [child] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(child)


@contextmanager
def serving(*words: str, socket: Path, log: Path) -> Iterator["subprocess.Popen[str]"]:
    """Serve a drive; the messages go to `log`."""
    line = [sys.executable, "-m", "nandram", "serve", *words, "--nbd", str(socket)]
    with log.open("w") as errors:
        process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("serving ")
        yield process
    finally:
        process.kill()
        process.wait()


def contents(page: int, version: int) -> bytes:
    return struct.pack("<QQ", version, page) * 256


class History:
    """The writes of a client, and the versions of its pages that it has flushed."""

    def __init__(self, pages: int) -> None:
        self.random = random.Random(4)
        self.pages, self.version = pages, 0
        self.written: dict[int, int] = {}
        self.flushed: dict[int, int] = {}

    def write(self, client: Client) -> int:
        self.version += 1
        page = self.random.randrange(self.pages)
        error, _ = client.run(WRITE, page * 4096, data=contents(page, self.version))
        if error == 0:
            self.written[page] = self.version
        return error

    def flush(self, client: Client) -> int:
        error, _ = client.run(FLUSH)
        if error == 0:
            self.flushed = dict(self.written)
        return error

    def check(self, client: Client) -> None:
        """Check that each page has the version that was flushed, or a newer one."""
        for page, flushed in self.flushed.items():
            error, data = client.run(READ, page * 4096, 4096)
            version = struct.unpack_from("<Q", data)[0]
            assert error == 0
            assert flushed <= version <= self.version
            assert data == contents(page, version)


def test_a_full_disk_fails_commands_at_ten_places_and_loses_nothing(system: Path, tmp_path: Path) -> None:
    socket, store, log = tmp_path / "socket", tmp_path / "store", tmp_path / "log"
    history = History(3000)
    for place in range(10):
        with serving(str(system), "--store", str(store), socket=socket, log=log) as process, Client(socket) as client:
            server = nbdkit_of(process)
            history.check(client)
            history.written = dict(history.flushed)
            for number in range(300):
                assert history.write(client) == 0
                if number % 20 == 0:
                    assert history.flush(client) == 0
            _, hard = resource.prlimit(server, resource.RLIMIT_FSIZE)
            limit = (1 << 20) + store.stat().st_size * place // 12
            resource.prlimit(server, resource.RLIMIT_FSIZE, (limit, hard))
            errors: list[int] = []
            while len(errors) < 50:
                assert history.version < 50_000, "no write met the limit"
                found = history.write(client), history.flush(client) if history.version % 16 == 0 else 0
                errors += [error for error in found if error]
            assert set(errors) == {errno.ENOSPC}
            history.check(client)
            with Client(socket) as other:
                assert other.bytes == client.bytes
            if place % 3 == 0:
                os.kill(server, signal.SIGKILL)
                process.wait(60)
                continue
            if place % 3 == 1:
                resource.prlimit(server, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, hard))
                assert history.write(client) == history.flush(client) == 0
        socket.unlink(missing_ok=True)
        message = f"nandram: store {store}: cannot be written: File too large (os error 27); the drive fails writes"
        first, *others = log.read_text().splitlines()
        assert first == f"{message} until it can"
        again = [f"nandram: store {store}: can be written again and has every change"]
        assert others == (again if place % 3 == 1 else [])
    with serving(str(system), "--store", str(store), socket=socket, log=log), Client(socket) as client:
        history.check(client)


def test_an_end_without_room_is_one_line_with_status_2(system: Path, tmp_path: Path) -> None:
    socket, store, log = tmp_path / "socket", tmp_path / "store", tmp_path / "log"
    with serving(str(system), "--store", str(store), socket=socket, log=log) as process:
        with Client(socket) as client:
            history = History(3000)
            server = nbdkit_of(process)
            _, hard = resource.prlimit(server, resource.RLIMIT_FSIZE)
            resource.prlimit(server, resource.RLIMIT_FSIZE, (1 << 20, hard))
            while history.write(client) == history.flush(client) == 0:
                assert history.version < 1000, "no write met the limit"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 2
    assert log.read_text().splitlines()[1:] == [
        f"error: store {store}: cannot be written: File too large (os error 27)"
    ]


def test_holes_are_what_was_not_written_or_discarded(system: Path, tmp_path: Path) -> None:
    socket = tmp_path / "socket"
    with served(str(system), socket=socket) as address:
        with Client(socket) as client:
            for offset, data in ((1 << 20, b"x" * 65_536), (1 << 21, bytes(4096)), (1 << 22, b"y" * 4096)):
                assert client.run(WRITE, offset, data=data)[0] == 0
            assert client.run(TRIM, (1 << 20) + 8192, 16_384)[0] == 0
            end = client.bytes
        line = ["nbdinfo", "--map", "--json", address]
        found = json.loads(subprocess.run(line, capture_output=True, text=True, check=True, timeout=60).stdout)
    starts = [0, 1 << 20, (1 << 20) + 8192, (1 << 20) + 24_576, (1 << 20) + 65_536, 1 << 21, (1 << 21) + 4096, 1 << 22]
    assert [each["offset"] for each in found] == [*starts, (1 << 22) + 4096]
    assert [each["type"] for each in found] == [3, 0, 3, 0, 3, 0, 3, 0, 3]
    assert sum(each["length"] for each in found) == end


def test_idle_clients_do_not_lock_out_the_next(system: Path, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with served(str(system), socket=path) as address:
        idle = [socket.socket(socket.AF_UNIX) for _ in range(200)]
        try:
            for number, each in enumerate(idle):
                each.connect(str(path))
                if number % 2:
                    assert each.recv(18).startswith(b"NBDMAGIC")
            started = time.monotonic()
            assert size(address) > 0
            assert time.monotonic() - started < 10
        finally:
            for each in idle:
                each.close()


def test_a_client_that_stays_does_not_keep_the_server(system: Path, tmp_path: Path) -> None:
    socket, log = tmp_path / "socket", tmp_path / "log"
    with serving(str(system), socket=socket, log=log) as process, Client(socket):
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert log.read_text() == "nandram: a client stayed connected; what it has not flushed may be lost\n"
    assert not socket.exists()
