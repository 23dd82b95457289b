"""Standard output that is closed early or full, and calls without a command."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import TINY

NANDRAM = f"{sys.executable} -m nandram"


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "job.fio").write_text("[job]\nrw=randread\nbs=4k\nnumber_ios=10\n")
    return tmp_path


COMMANDS = [f"run {TINY} job.fio", "schema", f"check {TINY}", f"compare {TINY} nvme-client-tlc", "--help"]


@pytest.mark.parametrize("command", COMMANDS)
def test_who_closes_it_has_enough(folder: Path, command: str) -> None:
    """rich and typer would report a failure."""
    found = shell(f"{NANDRAM} {command} | true", folder)
    assert (found.returncode, found.stderr) == (0, "")


def test_a_closed_reader_does_not_take_the_folder(folder: Path) -> None:
    found = shell(f"{NANDRAM} run {TINY} job.fio --cache none -o out | true", folder)
    assert (found.returncode, found.stderr) == (0, "")
    assert (folder / "out" / "summary.json").is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_told_in_one_line(folder: Path, command: str) -> None:
    found = shell(f"{NANDRAM} {command} > /dev/full", folder)
    assert found.stderr == "error: standard output cannot be written: No space left on device\n"
    assert found.returncode == 2


@pytest.mark.parametrize("command", ["systems", "check " + TINY, f"run {TINY} job.fio"])
def test_a_closed_output_is_one_line(folder: Path, command: str) -> None:
    found = shell(f"{NANDRAM} {command} >&-", folder)
    assert (found.returncode, found.stderr) == (2, "error: standard output is closed\n")


@pytest.mark.skipif(os.name != "posix", reason="there is no RLIMIT_FSIZE")
def test_a_disk_that_fills_takes_the_folder_and_not_the_figures(folder: Path) -> None:
    """The size of files is limited once the figures are due: everything larger than a kilobyte fails."""
    found = shell(f"ulimit -f 1; {NANDRAM} run {TINY} job.fio --cache none -o out", folder)
    assert "IOPS" in found.stdout
    assert found.stderr.startswith("error: out")
    assert "cannot be written" in found.stderr
    assert found.stderr.count("\n") == 1
    assert found.returncode == 2


@pytest.mark.skipif(os.name != "posix", reason="there is no RLIMIT_FSIZE")
def test_a_disk_that_fills_keeps_no_part_of_a_prepared_drive(folder: Path) -> None:
    found = shell(f"ulimit -f 1; {NANDRAM} run {TINY} job.fio --precondition random --cache drives", folder)
    assert found.returncode == 0, found.stderr
    assert list((folder / "drives").iterdir()) == []


@pytest.mark.parametrize("command", ["", "capture", "memory"])
def test_without_a_command_the_help_is_shown(folder: Path, command: str) -> None:
    found = shell(f"{NANDRAM} {command}", folder)
    assert found.stderr.startswith(f"Usage: nandram {command}".strip())
    assert (found.returncode, found.stdout) == (2, "")


@pytest.mark.parametrize("command", [f"run {TINY} long.fio", f"compare {TINY} {TINY} long.fio --jobs 1 --until job"])
def test_an_interruption_is_one_line(folder: Path, command: str) -> None:
    (folder / "long.fio").write_text("[job]\nrw=randread\nbs=4k\ntime_based\nruntime=100000\nnorandommap\n")
    process = subprocess.Popen(
        [*NANDRAM.split(), *command.split()], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(4)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err.strip()) == (130, "interrupted")
    # A run prints what it has measured; a comparison has no pair of runs yet.
    assert ("interrupted after " in out) == command.startswith("run")
    assert bool(out) == command.startswith("run")
