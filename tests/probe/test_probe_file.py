"""Probing a real file: reading changes nothing, writing needs permission, and an interrupt ends cleanly."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from syrupy.assertion import SnapshotAssertion

import nandram
from nandram import UserError
from nandram.cli import main
from nandram.probe import run as probing
from probe.images import MEGABYTE, checksum, image
from report.pages import Page, values

ABOUT = {"read_cache", "mapping_cache", "mapping_unit", "stripe", "parallelism", "write_buffer", "flush"}


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file that may only be read; skip the test if the temporary folder is in memory."""
    path = image(tmp_path_factory.mktemp("disk") / "some.img")
    try:
        probing.plan(path)
    except UserError as error:
        if "in memory" in str(error) or "O_DIRECT" in str(error):
            pytest.skip(f"the temporary folder is not on a drive: {error}")
        raise
    return path


@pytest.fixture
def scratch(disk: Path, tmp_path: Path) -> Path:
    """Return a writable copy."""
    copy = tmp_path / "scratch.img"
    shutil.copyfile(disk, copy)
    return copy


def exit_of(arguments: list[str]) -> object:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    return exit_.value.code


def test_a_file_is_read_and_stays_as_it_is(disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, written = checksum(disk), disk.stat().st_mtime_ns
    report = tmp_path / "report.json"
    assert exit_of(["probe", str(disk), "--json", str(report)]) == 0
    assert (checksum(disk), disk.stat().st_mtime_ns) == (before, written)
    out = capsys.readouterr().out
    assert out.startswith(f"{disk}: file, 67.1 MB\nnothing is written\nleft out, as it writes: write-buffer")
    found = json.loads(report.read_text())
    assert {finding["about"] for finding in found["findings"]} >= {
        "read_cache",
        "mapping_cache",
        "parallelism",
        "stripe",
    }
    for finding in found["findings"]:
        assert finding["verdict"] in ("supported", "refuted", "inconclusive")
        assert finding["about"] in ABOUT
        assert finding["evidence"] in out
    assert found["ended"] is None
    assert found["spent"]["written_bytes"] == 0
    assert found["target"]["clock"] == "real"
    assert found["target"]["environment"]["kernel"] == os.uname().release
    assert len(found["samples"]["latency_ns"]) == found["spent"]["requests"]


def test_from_python(disk: Path) -> None:
    before = checksum(disk)
    calls: list[tuple[int, int, str, bool | None]] = []

    def note(done: int, of: int, test: str, hmb: bool | None) -> bool:
        calls.append((done, of, test, hmb))
        return True

    found = nandram.run_probe(disk, tests=["parallelism"], progress=note)
    assert [finding["about"] for finding in found.findings] == ["parallelism"]
    assert all(call == (0, 1, "parallelism", None) for call in calls)
    assert not found.interrupted
    assert found.ended is None
    assert found.not_restored is None
    assert checksum(disk) == before


def test_a_folder_has_report_samples_and_plots(disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "out"
    assert exit_of(["probe", str(disk), "--test", "parallelism", "-o", str(folder)]) == 0
    assert capsys.readouterr().out.endswith(f"{folder / 'report.html'}\n")
    found = nandram.Probe((folder / "probe.json").read_text())
    samples = pq.read_table(folder / "samples.parquet")
    assert samples.num_rows == found.report["spent"]["requests"]
    assert samples.column("latency_ns").to_pylist() == found.report["samples"]["latency_ns"]
    assert samples.schema.field("latency_ns").metadata == {b"unit": b"ns"}
    page = (folder / "report.html").read_text()
    assert page.count("<svg") == 1
    assert "parallelism" in page
    assert not re.search(r"(src|href)=.https?:", page)
    [spec] = [figure["spec"] for figure in Page(page).figures]
    curve, knee = values(spec, spec["layer"][0]), values(spec, spec["layer"][-1])
    measured = found.findings[0]["curve"]
    points = [(float(f"{each['x']:.6g}"), float(f"{each['y']:.6g}")) for each in measured["points"]]
    assert [(row["x"], row["y"]) for row in curve] == sorted(points)
    assert [row["x"] for row in knee] == [pytest.approx(measured["knee"], rel=1e-5)]


def test_writes_stay_within_what_was_said(scratch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = checksum(scratch)
    planned = probing.plan(scratch, tests=["write-buffer"], allow_write=True)
    found = nandram.run_probe(scratch, tests=["write-buffer"], allow_write=True, confirm=str(scratch))
    assert {finding["about"] for finding in found.findings} == {"write_buffer", "flush"}
    assert 0 < found.report["spent"]["written_bytes"] <= planned["write_bytes_max"]
    assert checksum(scratch) != before
    assert scratch.stat().st_size == 64 * MEGABYTE


def test_a_plan_touches_nothing(disk: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    before = disk.stat()
    assert exit_of(["probe", str(disk), "--plan", "--allow-write"]) == 0
    after = disk.stat()
    assert (after.st_mtime_ns, after.st_ctime_ns) == (before.st_mtime_ns, before.st_ctime_ns)
    assert capsys.readouterr().out.replace(str(disk), "DISK") == snapshot


def test_a_plan_opens_nothing_for_writing(disk: Path, tmp_path: Path) -> None:
    """Neither an immutable file nor one on a read-only mount could be opened for writing.

    The trace of the kernel proves it: an open for writing would be in it.
    """
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("needs strace to see what is opened")
    log = tmp_path / "log"
    command = [strace, "-f", "-e", "trace=openat,open,creat", "-o", str(log), sys.executable, "-m", "nandram"]
    subprocess.run([*command, "probe", str(disk), "--plan", "--allow-write"], check=True, capture_output=True)
    opened = [line for line in log.read_text().splitlines() if str(disk) in line]
    assert opened
    assert all("O_RDONLY" in line for line in opened)


def wait_until_it_reads(started: "subprocess.Popen[str]") -> None:
    """Wait until a process has read a megabyte from a drive."""

    def read() -> int:
        fields = dict(line.split(": ") for line in Path(f"/proc/{started.pid}/io").read_text().splitlines())
        return int(fields["read_bytes"])

    before = read()
    while read() < before + MEGABYTE:
        assert started.poll() is None, started.communicate()
        time.sleep(0.001)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_ends_it_in_good_order(disk: Path, tmp_path: Path, number: signal.Signals) -> None:
    before = checksum(disk)
    report = tmp_path / "report.json"
    # A high confidence, so that the probe takes long.
    command = [
        sys.executable,
        "-m",
        "nandram",
        "probe",
        str(disk),
        "--confidence",
        "0.999999999",
        "--json",
        str(report),
    ]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert started.stdout is not None
    assert started.stdout.readline() == f"{disk}: file, 67.1 MB\n"
    wait_until_it_reads(started)
    started.send_signal(number)
    out, err = started.communicate(timeout=60)
    assert started.returncode == 128 + number, (out, err)
    assert err.startswith("interrupted: ")
    assert err.endswith("; the host memory buffer is in its original state\n")
    found = json.loads(report.read_text())
    assert found["ended"] == "interrupted"
    assert {finding["evidence"] in out for finding in found["findings"]} <= {True}
    assert checksum(disk) == before


def at_a_terminal(command: list[str], typed: str) -> tuple[int, str]:
    """Run a command on a terminal, type a line, and return its status and messages."""
    ours, theirs = pty.openpty()
    started = subprocess.Popen(command, stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL)
    os.close(theirs)
    said = b""
    while b": " not in said.rpartition(b"To go on, type ")[2]:
        said += os.read(ours, 4096)
    os.write(ours, typed.encode() + b"\n")
    while True:
        try:
            more = os.read(ours, 4096)
        except OSError:  # End of a terminal in Linux.
            break
        if not more:
            break
        said += more
    os.close(ours)
    return started.wait(timeout=60), said.decode().replace("\r\n", "\n")


def test_at_a_terminal_the_path_is_asked_for(scratch: Path) -> None:
    before = checksum(scratch)
    command = [sys.executable, "-m", "nandram", "probe", str(scratch), "--test", "write-buffer", "--allow-write"]
    status, said = at_a_terminal(command, "yes")
    assert status == 2
    assert said.startswith("The data on the target will be destroyed: at most ")
    assert f"error: --confirm: found `yes`, expected the file's path from the root: {scratch}\n" in said
    assert checksum(scratch) == before
    status, said = at_a_terminal(command, str(scratch))
    assert (status, "error" in said) == (0, False), said
    assert checksum(scratch) != before


def test_a_callback_that_has_enough_ends_it(disk: Path) -> None:
    with pytest.raises(nandram.ProbeInterrupted) as interrupted:
        nandram.run_probe(disk, confidence=0.999999999, progress=lambda *_: False)
    assert interrupted.value.partial.ended == "interrupted"
    assert isinstance(interrupted.value, KeyboardInterrupt)


def test_a_callback_that_raises_ends_it(disk: Path) -> None:
    def fail(*_: object) -> bool:
        raise ValueError("not an interrupt")

    with pytest.raises(ValueError, match="not an interrupt"):
        nandram.run_probe(disk, confidence=0.999999999, progress=fail)


def test_a_simulated_drive_is_probed_by_the_same_command(capsys: pytest.CaptureFixture[str]) -> None:
    from conftest import TINY

    assert exit_of(["probe", TINY, "--test", "parallelism", "--set", "flash.blocks=64"]) == 0
    out = capsys.readouterr().out
    assert "parallelism" in out
    again = [nandram.run_probe(TINY, tests=["parallelism"]).report_json for _ in range(2)]
    assert again[0] == again[1]
