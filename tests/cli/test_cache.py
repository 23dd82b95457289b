"""The cache of prepared drives and runs."""

import json
import os
from pathlib import Path

import pytest

from nandram.cli import main


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(list(arguments))
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def _keep(folder: Path, name: str, length: int, age: int) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(length))
    os.utime(path, (1_700_000_000 - age,) * 2)
    return path


def test_the_oldest_files_are_pruned_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = _keep(tmp_path, "drive-a.zst", 3000, 30)
    run = _keep(tmp_path, "runs/ab/abc.json", 1000, 20)
    new = _keep(tmp_path, "drive-b.zst", 2000, 10)
    other = _keep(tmp_path, "notes.txt", 9000, 90)
    assert call("cache", "list", "--cache", str(tmp_path)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines[:3]] == [str(old), str(run), str(new)]
    assert "6.00 kB  in 3 files" in lines[3]
    assert call("cache", "list", "--json", "--cache", str(tmp_path)) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(each["path"], each["bytes"]) for each in listed] == [(str(old), 3000), (str(run), 1000), (str(new), 2000)]
    assert call("cache", "prune", "--size", "3KB", "--cache", str(tmp_path)) == 0
    assert capsys.readouterr().out == "removed 1 file, kept 2 files (3.00 kB)\n"
    assert (old.exists(), run.exists(), new.exists()) == (False, True, True)
    assert call("cache", "prune", "--cache", str(tmp_path)) == 0
    assert not run.exists()
    assert not new.exists()
    assert other.exists()


def test_where_follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NANDRAM_CACHE", str(tmp_path / "kept"))
    assert call("cache", "where") == 0
    assert capsys.readouterr().out == f"{tmp_path / 'kept'}\n"


@pytest.mark.parametrize("size", ["2", "GB", "1.5GB", "2 TB"])
def test_a_size_that_is_none_is_refused(size: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("cache", "prune", "--size", size, "--cache", str(tmp_path)) == 2
    assert capsys.readouterr().err == f"error: --size: found `{size}`, expected a size such as 500MB or 1GiB\n"
