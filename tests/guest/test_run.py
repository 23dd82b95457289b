"""A run from start to end, with a process that plays QEMU."""

import base64
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from guest.fakes import NoDrive, Steps, install, play
from guest.test_archive import member, packed
from nandram.errors import UserError
from nandram.guest.errors import GuestError, TimeLimitError
from nandram.guest.folder import Kernel, Programs
from nandram.guest.run import Guest, Watch, run_guest

Installed = tuple[Programs, Kernel]


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    return install(tmp_path / "fetched")


def files(tmp_path: Path) -> tuple[str, object]:
    return "files", base64.b64encode(packed(tmp_path / "a.tar", [member("./result")]).read_bytes()).decode()


def complete(tmp_path: Path, *steps: tuple[str, object], status: int = 0) -> Steps:
    running: Steps = [("status", "running\n"), *steps, ("status", f"exit {status}\n"), ("kernel", "[0] Linux\n")]
    return [*running, files(tmp_path), ("status", "done\n")]


def guest(installed: Installed, *command: str) -> Guest:
    return Guest(command or ("true",), *installed)


def alive(started: Path) -> list[int]:
    """Return the processes of the simulated QEMU that still run."""
    return [int(line) for line in started.read_text().split() if Path(f"/proc/{line}").exists()]


def test_results_are_brought_back(installed: Installed, tmp_path: Path) -> None:
    play(installed[0], complete(tmp_path, ("stdout", "one\n"), ("sleep", 0.2), ("stderr", "two\n"), status=3))
    phases: list[str] = []
    streams = bytearray()
    output = tmp_path / "output"
    watch = Watch(phases.append, streams.extend, streams.extend)
    found = run_guest(guest(installed, "sh", "-c", "exit 3"), NoDrive(), output, 60, watch)
    assert (found.exit_status, found.files, found.refused) == (3, ["result"], [])
    assert bytes(streams) == b"one\ntwo\n"
    assert list(dict.fromkeys(phases))[:2] == ["preparing the drive", "booting Linux"]
    assert (output / "out" / "result").read_text() == "content"
    assert (output / "stdout.txt").read_text() == "one\n"
    assert (output / "stderr.txt").read_text() == "two\n"
    assert (output / "kernel.txt").read_text() == "[0] Linux\n"
    record = json.loads((output / "guest.json").read_text())
    assert (record["command"], record["exit_status"]) == (["sh", "-c", "exit 3"], 3)
    assert record["parameters"] == []
    assert record["programs"]["qemu-system-x86"] == "1:11.1.3"


def test_a_second_run_replaces_the_files_of_the_first(installed: Installed, tmp_path: Path) -> None:
    play(installed[0], complete(tmp_path))
    output = tmp_path / "output"
    run_guest(guest(installed), NoDrive(), output, 60)
    (output / "out" / "stale").touch()
    before = (output / "guest.json").read_bytes()
    run_guest(guest(installed), NoDrive(), output, 60)
    assert (output / "guest.json").read_bytes() == before
    assert [path.name for path in (output / "out").iterdir()] == ["result"]


def test_a_users_folder_is_left_alone(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "output" / "out").mkdir(parents=True)
    with pytest.raises(UserError, match="already exists, expected a folder without `out`"):
        run_guest(guest(installed), NoDrive(), tmp_path / "output", 60)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], "the guest ended before the command ran; QEMU: it printed no message"),
        ([("qemu", "qemu: no such device")], "the guest ended before the command ran; QEMU: qemu: no such device"),
        ([("console", "[1] Kernel panic - not syncing\n")], "[1] Kernel panic - not syncing"),
        ([("status", "running\n")], "the guest ended before the command's results were complete"),
        ([("status", "running\nexit 0\n")], "the guest ended before the command's results were complete"),
        ([("status", "drive /dev/nvme0n1\n")], "the guest found no /dev/nvme0n1"),
    ],
)
def test_a_guest_that_fails(installed: Installed, tmp_path: Path, steps: Steps, message: str) -> None:
    play(installed[0], steps)
    with pytest.raises(GuestError) as error:
        run_guest(guest(installed), NoDrive(), tmp_path / "output", 60)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "output" / "guest.json").exists()


@pytest.mark.parametrize(
    ("steps", "doing"),
    [([("sleep", 60)], "Linux booted"), ([("status", "running\n"), ("sleep", 60)], "the command ran")],
)
def test_the_time_limit_ends_the_guest(installed: Installed, tmp_path: Path, steps: Steps, doing: str) -> None:
    started = play(installed[0], steps)
    with pytest.raises(TimeLimitError, match=rf"the time limit of 1 s ended while {doing} \(--time-limit\)"):
        run_guest(guest(installed), NoDrive(), tmp_path / "output", 1)
    assert len(started.read_text().split()) == 1
    assert alive(started) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_the_guest(installed: Installed, tmp_path: Path, number: int) -> None:
    started = play(installed[0], [("sleep", 60)])

    def interrupt() -> None:
        wait_for(started)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run_guest(guest(installed), NoDrive(), tmp_path / "output", 60)
    thread.join()
    assert alive(started) == []


def test_a_killed_run_leaves_no_guest(installed: Installed, tmp_path: Path) -> None:
    started = play(installed[0], [("sleep", 60)])
    code = f"""
import sys; sys.path[:0] = {sys.path!r}
from pathlib import Path
from guest.fakes import NoDrive
from nandram.guest.folder import find_kernel, find_programs
from nandram.guest.run import Guest, run_guest
folder = Path({str(tmp_path / "fetched")!r})
guest = Guest(["true"], find_programs(folder), find_kernel(folder, "6.12"))
run_guest(guest, NoDrive(), folder / "output", 60)
"""
    process = subprocess.Popen([sys.executable, "-c", code])
    wait_for(started)
    process.kill()
    process.wait()
    end = time.monotonic() + 10
    while alive(started) and time.monotonic() < end:
        time.sleep(0.02)
    assert alive(started) == []


def wait_for(started: Path) -> None:
    """Wait until QEMU has started."""
    end = time.monotonic() + 30
    while not (started.exists() and started.read_text().endswith("\n")) and time.monotonic() < end:
        time.sleep(0.02)
