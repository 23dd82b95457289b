"""The commands that run and show systems."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from conftest import TINY, TWO_JOBS
from nandram.cli import main
from nandram.system import systems

TRACE = "fio version 3 iolog\n0 sda add\n0 sda open\n" + "".join(f"{n} sda write {4096 * n} 4096\n" for n in range(300))


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(list(arguments))
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def test_run_prints_a_table(
    capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(TINY).parent)
    assert call("run", "tiny.toml", "two-jobs.fio", "--precondition", "steady") == 0
    found = capsys.readouterr()
    assert found.out == snapshot
    # No progress display without a terminal.
    assert found.err == ""


READS = "[job]\nrw=randread\nbs=4k\nnumber_ios=300\n"


def test_a_job_on_standard_input_is_the_same_run(tmp_path: Path) -> None:
    (tmp_path / "job.fio").write_text(READS)
    outputs: list[str] = []
    for name, text in (("job.fio", ""), ("-", READS), ("-", READS)):
        command = [sys.executable, "-m", "nandram", "run", TINY, name, "--cache", "none", "-o", f"out-{len(outputs)}"]
        found = subprocess.run(command, cwd=tmp_path, input=text, capture_output=True, text=True, check=True)
        outputs.append(found.stdout)
    folders = [tmp_path / f"out-{number}" for number in range(3)]
    assert outputs[1].startswith(f"- on {TINY}, seed 1\n")
    assert outputs[0].splitlines()[1:-1] == outputs[1].splitlines()[1:-1]
    summaries = [(folder / "summary.json").read_bytes() for folder in folders]
    assert summaries[0] == summaries[1]
    assert (folders[1] / "manifest.json").read_bytes() == (folders[2] / "manifest.json").read_bytes()
    command = [sys.executable, "-m", "nandram", "run", TINY, "-"]
    wrong = subprocess.run(command, input="[job]\nrw=no\n", capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("error: -:2: ")


def test_json_is_the_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "job.fio").write_text(READS)
    assert call("run", TINY, str(tmp_path / "job.fio"), "--json", "-o", str(tmp_path / "out")) == 0
    assert json.loads(capsys.readouterr().out) == json.loads((tmp_path / "out" / "summary.json").read_text())


def test_the_manifest_does_not_depend_on_the_order_of_changes(tmp_path: Path) -> None:
    (tmp_path / "job.fio").write_text(READS)
    orders = (("flash.read=60us", "link.lanes=1"), ("link.lanes=1", "flash.read=60us"))
    for number, order in enumerate(orders):
        changes = [part for change in order for part in ("--set", change)]
        assert call("run", TINY, str(tmp_path / "job.fio"), *changes, "-o", str(tmp_path / f"{number}")) == 0
    assert (tmp_path / "0" / "manifest.json").read_bytes() == (tmp_path / "1" / "manifest.json").read_bytes()


@pytest.mark.parametrize("command", [["run"], ["compare", "--set-b", "link.lanes=1"]])
def test_a_job_before_its_system_is_named(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = tmp_path / "job.fio"
    job.write_text(READS)
    assert call(command[0], str(job), "nvme-client-tlc", *command[1:]) == 2
    message = f"error: {command[0]}: found the file `{job}` before `nvme-client-tlc`, expected the system first\n"
    assert capsys.readouterr().err == message


def test_columns_name_the_fields_of_a_trace(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    trace = tmp_path / "any.csv"
    trace.write_text("when,what,lba,bytes\n" + "".join(f"{n}.5,Read,{8 * n},4096\n" for n in range(200)))
    columns = "time=0:us,op=1,offset=2:sectors,bytes=3"
    assert call("run", TINY, str(trace), "--columns", columns, "-o", str(tmp_path / "out")) == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["jobs"][0]["read"]["io_bytes"] == 200 * 4096
    capsys.readouterr()
    assert call("run", TINY, str(trace), "--columns", "offset=2:blocks") == 2
    message = 'error: columns: offset: found the unit "blocks", expected one of bytes, sectors, kib, pages\n'
    assert capsys.readouterr().err == message


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], {"payload": "none", "precondition": "auto", "replay": "open", "wrap": False, "warm_up": "detect"}),
        (["--payload", "stamp"], {"payload": "stamp"}),
        (["--wrap"], {"wrap": True}),
        (["--precondition", "steady"], {"precondition": "steady"}),
        (["--precondition", "fill"], {"precondition": "fill"}),
        (["--precondition", "random"], {"precondition": "random"}),
        (["--warm-up", "50us"], {"warm_up": "50000000ps"}),
        (["--warm-up", "keep"], {"warm_up": "keep"}),
        (["--replay", "closed:32"], {"replay": "closed:32"}),
        (["--replay", "scaled:0.5"], {"replay": "scaled:0.5"}),
    ],
    ids=str,
)
def test_options_reach_the_simulator(arguments: list[str], expected: dict[str, object], tmp_path: Path) -> None:
    trace = tmp_path / "trace.iolog"
    trace.write_text(TRACE)
    assert call("run", TINY, str(trace), "--seed", "7", "-o", str(tmp_path), *arguments) == 0
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["seed"] == 7
    assert manifest["options"].items() >= expected.items()


def test_prepared_drives_are_kept_where_the_environment_says(
    prepared_drives: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drives = tmp_path / "drives"
    monkeypatch.setenv("NANDRAM_CACHE", str(drives))

    def run(*more: str) -> list[bytes]:
        assert call("run", TINY, TWO_JOBS, "--precondition", "random", "-o", str(tmp_path / "result"), *more) == 0
        return [(tmp_path / "result" / name).read_bytes() for name in ("summary.json", "manifest.json")]

    before = run("--cache", "none")
    assert not drives.exists()
    # A drive that was kept is not told from one that is prepared again.
    assert run() == before
    (kept,) = drives.iterdir()
    used = kept.stat().st_mtime_ns
    assert run() == before
    assert kept.stat().st_mtime_ns > used
    assert run("--cache", str(tmp_path / "elsewhere")) == before
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == [kept.name]


def test_a_drive_that_is_laid_out_is_not_kept(tmp_path: Path) -> None:
    for precondition in ("fill", "steady"):
        assert call("run", TINY, TWO_JOBS, "--precondition", precondition, "--cache", str(tmp_path / "drives")) == 0
    assert not list((tmp_path / "drives").iterdir())


def test_a_damaged_prepared_drive_is_prepared_anew(tmp_path: Path) -> None:
    arguments = ["run", TINY, TWO_JOBS, "--precondition", "random", "--cache", str(tmp_path), "-o", str(tmp_path / "o")]
    assert call(*arguments) == 0
    before = (tmp_path / "o" / "summary.json").read_bytes()
    (kept,) = tmp_path.glob("drive-*")
    for damaged in (b"", kept.read_bytes()[:1000], bytes(5000)):
        kept.write_bytes(damaged)
        assert call(*arguments) == 0
        assert (tmp_path / "o" / "summary.json").read_bytes() == before


def test_changes_keep_their_order(tmp_path: Path) -> None:
    changes = ["--set", "link.lanes=2", "--set", "link.lanes=1"]
    assert call("run", TINY, TWO_JOBS, "-o", str(tmp_path), *changes) == 0
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["changes"] == ["link.lanes=2", "link.lanes=1"]
    assert manifest["settings"]["link.lanes"]["value"] == "1"


def test_an_output_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "results"
    assert call("run", TINY, TWO_JOBS, "-o", str(folder), "--timeline") == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "SHA256SUMS",
        "dies.parquet",
        "drive.parquet",
        "inputs",
        "latency.parquet",
        "latency_over_time.parquet",
        "manifest.json",
        "report.html",
        "run.json",
        "samples.parquet",
        "summary.json",
        "timeline.json",
    ]
    assert json.loads((folder / "summary.json").read_text())["jobs"][0]["read"]["iops"] > 10_000
    assert str(folder / "report.html") in capsys.readouterr().out
    assert call("run", TINY, TWO_JOBS, "-o", str(folder)) == 0
    assert not (folder / "timeline.json").exists()


@pytest.mark.parametrize("precondition", ["none", "random"])
def test_interrupted(precondition: str, tmp_path: Path) -> None:
    """Interrupt a run long before its end, also during the preparation of the drive."""
    job = tmp_path / "job.fio"
    job.write_text("[long]\nrw=randread\niodepth=32\nnorandommap\nnumber_ios=100000000\n")
    command = ["run", "nvme-enterprise-tlc", str(job), "--precondition", precondition, "--cache", "none"]
    code = f"from nandram.cli import main; import nandram._core; print('on', flush=True); main({command})"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130
        assert errors == b"interrupted\n"


def test_check_prints_the_resolved_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("show", "nvme-client-tlc", "--set", "link.lanes=2") == 0
    found = capsys.readouterr().out
    assert re.search(r"^lanes = 2 +# --set", found, re.MULTILINE)
    assert "[basis]" in found
    for only in ([], ["--changed"]):
        assert call("show", "nvme-client-tlc", "--set", "link.lanes=2", "--json", *only) == 0
        values = json.loads(capsys.readouterr().out)
        assert values["link"]["lanes"] == 2
        assert ("host" in values) == (not only)


def test_what_check_prints_is_a_system_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert call("show", "nvme-client-tlc") == 0
    first = capsys.readouterr().out
    resolved = tmp_path / "resolved.toml"
    resolved.write_text(first)
    assert call("show", str(resolved)) == 0

    def values(text: str) -> list[str]:
        return [line.partition("#")[0].rstrip() for line in text.splitlines() if not line.startswith(("#", '"'))]

    assert values(capsys.readouterr().out) == values(first)


def test_schema_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("schema") == 0
    assert json.loads(capsys.readouterr().out)["$schema"].startswith("https://json-schema.org/")


def test_systems_are_listed(capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    assert call("systems") == 0
    assert capsys.readouterr().out == snapshot
    assert call("systems", "--json") == 0
    assert json.loads(capsys.readouterr().out) == systems()
