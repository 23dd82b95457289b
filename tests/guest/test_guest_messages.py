"""Mistakes on the command line of `nandram guest`: one line, exit status 2, and nothing is written."""

import subprocess
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from conftest import TINY
from guest.fakes import install
from nandram.cli import main


def on(*options: str) -> list[str]:
    return [TINY, *options, "--folder", "fetched", "--", "true"]


MISTAKES: dict[str, list[str]] = {
    "no command": [TINY],
    "no command after --": [TINY, "--"],
    "empty command": [TINY, "--", ""],
    "no system": ["--", "true"],
    "unknown system": ["nvme-cleint-tlc", "--", "true"],
    "unknown option": on("--memry", "1GiB"),
    "option of the command without --": [TINY, "ls", "--all"],
    "change without a value": on("--set", "link.lanes"),
    "unknown key": on("--set", "link.lanez=2"),
    "memory without a unit": on("--memory", "1024"),
    "too little memory": on("--memory", "64MiB"),
    "too much memory": on("--memory", "999999999G"),
    "time without a unit": on("--time-limit", "10"),
    "no time": on("--time-limit", "0s"),
    "no such file": on("--copy", "no.fio"),
    "a folder": on("--copy", "fetched"),
    "two files of one name": on("--copy", "job.fio", "--copy", "fetched/job.fio"),
    "relative path": on("--copy", "job.fio:/a/../b"),
    "path of a folder": on("--copy", "job.fio:/a/"),
    "reserved path": on("--copy", "job.fio:/dev/x"),
    "unreadable file": on("--copy", "loop"),
    "unreadable parameter": on("--append", "nohz=\x7f"),
    "too many parameters": on("--append", "a=" + "b" * 1000, "--append", "c " * 500),
    "unknown kernel": on("--kernel", "6.2"),
    "kernel that was not fetched": on("--kernel", "7.3"),
    "no such image": on("--kernel", "./bzImage"),
    "no image": on("--kernel", "job.fio"),
    "unknown module": on("--module", "nvmee-core"),
    "no such module": on("--module", "./x.ko"),
    "no module": on("--module", "./job.fio"),
    "output is a file": on("-o", "job.fio"),
    "nothing fetched": [TINY, "--", "true"],
    "nothing fetched in the folder": [TINY, "--folder", "empty", "--", "true"],
    "fetch: unknown kernel": ["fetch", "--kernel", "6.21"],
    "fetch: no address": ["fetch", "--mirror", "mirror.example"],
    "fetch: argument": ["fetch", "6.12"],
    "fetch: folder is a file": ["fetch", "--folder", "job.fio", "--mirror", "http://mirror.example/debian"],
}


class NoProcess:
    """Stands for `Popen`, of which modules that are imported later take the type."""

    def __init__(self, *arguments: object, **_: object) -> None:
        raise AssertionError(f"started {arguments}")

    def __class_getitem__(cls, _: object) -> type["NoProcess"]:
        return cls


@pytest.mark.parametrize("name", MISTAKES)
def test_message(
    name: str,
    snapshot: SnapshotAssertion,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NANDRAM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(subprocess, "Popen", NoProcess)
    install(tmp_path / "fetched")
    Path("job.fio").write_text("[job]\nrw=read\n")
    Path("fetched/job.fio").write_text("")
    Path("loop").symlink_to("loop")
    Path("empty").mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SystemExit) as exit_:
        main(["guest", *MISTAKES[name]])
    found = capsys.readouterr()
    assert exit_.value.code == 2
    assert sorted(tmp_path.rglob("*")) == before
    assert found.out == ""
    assert found.err.count("\n") == 1
    assert found.err.replace(str(tmp_path), "FOLDER").replace(TINY, "tiny.toml") == snapshot
