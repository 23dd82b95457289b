"""Captures real programs with a real strace."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nandram.capture import capture_block

pytestmark = pytest.mark.system

PROGRAM = """
import os, subprocess, sys, threading, mmap
fd = os.open("data one", os.O_RDWR | os.O_CREAT)
os.write(fd, b"x" * 100)
os.pwrite(fd, b"y" * 50, 4096)
os.fdatasync(fd)
if os.fork() == 0:
    os.write(fd, b"z" * 10)
    os._exit(0)
os.wait()
os.lseek(fd, 0, os.SEEK_SET)
thread = threading.Thread(target=lambda: os.read(fd, 7))
thread.start(); thread.join()
os.ftruncate(fd, 10)
with open("old.log", "a") as log:
    log.write("one line\\n")
subprocess.run(["sh", "-c", "cat 'data one' >> old.log; echo more >> old.log"], check=True)
os.pwritev(fd, [b"a" * 3, b"b" * 4], 8192, os.RWF_DSYNC)
copy = os.open("copy", os.O_RDWR | os.O_CREAT | os.O_SYNC)
os.sendfile(copy, fd, 0, 10)
os.fsync(copy)
os.unlink("copy")
os.close(copy)
sys.exit(3)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(path: Path) -> list[str]:
    """Return the trace without its times."""
    return [
        line.partition(" ")[2] for line in path.read_text().splitlines()[1:] if not line.endswith((" add", " open"))
    ]


def test_a_program_and_its_children(folder: Path) -> None:
    Path("old.log").write_text("before\n" * 3)
    names = ["data one", "old.log", "copy"]
    result = capture_block([sys.executable, "-c", PROGRAM], "t.iolog", include=names)
    assert result.exit_status == 3
    found = lines(result.path)
    # cat may copy by read and write or by copy_file_range: both are recorded as a read and a write.
    assert found == [
        "data%20one write 0 100",
        "data%20one write 4096 50",
        "data%20one datasync 0 0",
        "data%20one write 100 10",
        "data%20one read 0 7",
        "data%20one trim 4096 4096",
        "old.log write 21 9",
        "data%20one read 0 10",
        "old.log write 30 10",
        "old.log write 40 5",
        "data%20one write 8192 7",
        "data%20one datasync 0 0",
        "data%20one read 0 10",
        "copy write 0 10",
        "copy sync 0 0",
        "copy sync 0 0",
        "copy trim 0 4096",
    ]
    assert (result.files, result.reads, result.writes, result.syncs, result.trims) == (3, 3, 8, 4, 2)
    assert result.notes.assumed_offsets == 0
    assert result.notes.unknown_lines == 0


def test_redirected_output_is_recorded_where_it_goes(folder: Path) -> None:
    code = "import nandram.capture; nandram.capture.capture_block(['sh', '-c', 'echo hello; echo oh >&2'], 't.iolog')"
    with Path("out").open("w") as out:
        out.write("0123456789")
        out.flush()
        subprocess.run([sys.executable, "-c", code], stdout=out, stderr=out, check=True)
    assert [line for line in lines(Path("t.iolog")) if line.startswith("out")] == ["out write 10 6", "out write 16 3"]


def test_a_memory_map_is_noted(folder: Path) -> None:
    code = (
        "import mmap, os; f = os.open('m', os.O_RDWR | os.O_CREAT); os.ftruncate(f, 4096); "
        "m = mmap.mmap(f, 4096); m[0] = 1; m.flush()"
    )
    result = capture_block([sys.executable, "-c", code], "t.iolog", include=["m"])
    assert lines(result.path) == ["m datasync 0 0"]
    assert list(result.notes.stored_through_maps) == [str(folder / "m")]


def test_a_command_that_a_signal_ends(folder: Path) -> None:
    result = capture_block(["sh", "-c", "echo x > f; kill -TERM $$"], "t.iolog.gz", include=["f"])
    assert result.exit_status == 128 + signal.SIGTERM
    assert result.writes == 1


def test_the_command_line(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nandram", "capture", "block", "-o", "t.iolog", "--include", "f", "--", "sh", "-c",
         "echo hello > f; echo said; exit 5"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 5
    assert done.stdout == "said\n"
    assert done.stderr.splitlines()[0].startswith("t.iolog: 1 file, 0 reads (0 B), 1 write (6 B), 0 syncs, 0 trims")
    assert done.stderr.splitlines()[-1] == "the command exited with status 5"


def test_ctrl_c_ends_the_command_and_keeps_the_trace(folder: Path) -> None:
    script = "echo x > f; echo ready; exec sleep 60"
    process = subprocess.Popen(
        [sys.executable, "-m", "nandram", "capture", "block", "-o", "t.iolog", "--include", "f", "--",
         "sh", "-c", script],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGINT
    assert lines(Path("t.iolog")) == ["f write 0 2"]
    assert "the command exited with status 130" in errors
