"""fio's own options in place of a file."""

import json
from pathlib import Path

import pytest

import nandram
from nandram.cli import main
from nandram.errors import UserError

TINY = str(Path(__file__).parents[1] / "data" / "tiny.toml")
OPTIONS = ["--name=a", "--rw=randread", "--bs=4k", "--number_ios=100"]


def status(*arguments: str) -> int:
    """Run a command; return its exit status."""
    with pytest.raises(SystemExit) as exit_:
        main(list(arguments))
    return int(exit_.value.code or 0)


def test_options_of_fio_are_a_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert status("run", TINY, "-o", str(out), "--cache", "none", "--", *OPTIONS) == 0
    assert capsys.readouterr().out.startswith("command line on ")
    job = tmp_path / "job.fio"
    job.write_text("[a]\nrw=randread\nbs=4k\nnumber_ios=100\n")
    by_file = nandram.run(TINY, job, cache=None)
    by_options = nandram.read_result(out)
    assert by_options.iops == by_file.iops
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["arguments"] == OPTIONS


def test_mistakes_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in [
        (["--", "--name=a", "--rw=randred"], "command line:2: rw: found"),
        (["--", "--rw=read"], "command line:1: found no job, expected --name=JOB before its options"),
        (["a.fio", "b.fio"], "WORKLOAD: found `b.fio` after `a.fio`, expected one file, or -- and fio's options"),
    ]:
        assert status("run", TINY, *arguments) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1


def test_options_run_on_drives_alone() -> None:
    with pytest.raises(UserError, match="found fio's options, which run on a drive"):
        nandram.run("dram-only", OPTIONS, cache=None)
    with pytest.raises(UserError, match="expected fio's options as texts"):
        nandram.run(TINY, ["--name=a", 7], cache=None)  # type: ignore[list-item]
