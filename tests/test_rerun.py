"""Results that are run again from the inputs in their folder."""

import io
import json
import shutil
import sys
from pathlib import Path

import pytest

import nandram
from nandram.cli import main
from nandram.results.output import sums

JOB = "[reads]\nrw=randread\nbs=4k\niodepth=4\nnumber_ios=2000\nnorandommap\n"
BASE = 'extends = "mqsim-default"\n[flash]\nread = "60us"\n[basis]\n"flash.read" = { assumed = "a test" }\n'
SLOW = 'extends = "base/base.toml"\n[link]\nlanes = 2\n[basis]\n"link.lanes" = { assumed = "a test" }\n'


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "there" / "base").mkdir(parents=True)
    (tmp_path / "there" / "base" / "base.toml").write_text(BASE)
    (tmp_path / "there" / "slow.toml").write_text(SLOW)
    (tmp_path / "there" / "job.fio").write_text(JOB)
    monkeypatch.chdir(tmp_path / "there")
    return tmp_path


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(list(arguments))
    return int(exit_.value.code or 0)


@pytest.mark.parametrize("absolute", [False, True])
def test_a_folder_that_was_moved_gives_the_same_sums(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, absolute: bool
) -> None:
    folder = f"{place}/there/" if absolute else ""
    options = ("--set", "flash.channels=2", "--seed", "3", "--precondition", "fill")
    assert call("run", f"{folder}slow.toml", f"{folder}job.fio", *options, "-o", "out") == 0
    shutil.move("out", place / "moved")
    shutil.rmtree(place / "there")
    capsys.readouterr()
    monkeypatch.chdir(place)
    assert call("rerun", str(place / "moved"), "-o", str(place / "again")) == 0
    assert capsys.readouterr().out == "7 of 7 files have the same SHA-256\n"
    assert (place / "moved" / "SHA256SUMS").read_bytes() == (place / "again" / "SHA256SUMS").read_bytes()
    assert call("rerun", str(place / "again")) == 0


def test_a_job_on_standard_input_is_stored(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(JOB.encode())))
    assert call("run", "mqsim-default", "-", "-o", "out") == 0
    assert (place / "there" / "out" / "inputs" / "workload" / "stdin.fio").read_text() == JOB
    assert nandram.rerun("out")


def test_a_run_whose_requests_were_logged_is_logged_again(place: Path) -> None:
    assert call("run", "mqsim-default", "job.fio", "-o", "out", "--request-log", "requests.parquet") == 0
    found = nandram.rerun("out")
    assert "breakdown.parquet" in found.same
    assert not found.differing


def test_what_differs_is_listed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run", "slow.toml", "job.fio", "-o", "out") == 0
    capsys.readouterr()
    base = place / "there" / "out" / "inputs" / "system" / "base" / "base.toml"
    base.write_text(base.read_text().replace("60us", "70us"))
    found = json.loads(Path("out/run.json").read_text())
    found["program_sha256"] = "0" * 64
    Path("out/run.json").write_text(json.dumps(found))
    assert call("rerun", "out") == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("made by another build: version ")
    assert "summary.json: differs" in lines
    assert any(line.startswith("manifest.settings.flash.read.value") and "70us" in line for line in lines)
    assert call("rerun", "out", "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert "summary.json" in found["differing"]
    assert found["other_program"].startswith("made by another build: version ")
    # The old folder is unchanged.
    tables = ("samples", "drive", "latency", "dies", "latency_over_time")
    assert sums(Path("out")).keys() == {f"{name}.parquet" for name in tables} | {"manifest.json", "summary.json"}


def test_a_workload_without_a_copy_must_not_have_changed(place: Path) -> None:
    Path("read.iolog").write_text("fio version 2 iolog\nf add\nf open\nf read 0 4096\nf close\n")
    Path("names.fio").write_text("[a]\nread_iolog=read.iolog\n")
    nandram.run("mqsim-default", "names.fio", output="out", cache=None)
    assert not (place / "there" / "out" / "inputs").exists()
    assert nandram.rerun("out")
    Path("names.fio").write_text("[b]\nread_iolog=read.iolog\n")
    with pytest.raises(nandram.UserError, match=r"names\.fio has changed since the run"):
        nandram.rerun("out")


def test_folders_without_inputs_are_named(place: Path) -> None:
    nandram.run("mqsim-default", "job.fio", output="out", cache=None)
    Path("out/run.json").unlink()
    with pytest.raises(nandram.UserError, match=r"out: found no run\.json"):
        nandram.rerun("out")
    Path("out/run.json").write_text("{}")
    with pytest.raises(nandram.UserError, match=r"run\.json: cannot be read"):
        nandram.rerun("out")
