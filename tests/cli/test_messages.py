"""A user's mistake: one line that says what was found and what was expected, and exit status 2."""

import os
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from fake_core import FakeCore
from nandram.cli import main

MISTAKES = [
    ["rnu"],
    ["run"],
    ["run", "client"],
    ["run", "client", "job.fio", "extra"],
    ["run", "cleint", "job.fio"],
    ["run", "client", "job.fio", "--sed", "1"],
    ["run", "client", "job.fio", "--seed"],
    ["run", "client", "job.fio", "--seed", "one"],
    ["run", "client", "job.fio", "--seed", "-1"],
    ["run", "client", "job.fio", "--seed", "18446744073709551616"],
    ["run", "client", "job.fio", "--set", "link.lanes"],
    ["run", "client", "job.fio", "--set", "=4"],
    ["run", "client", "job.fio", "--payload", "stmap"],
    ["run", "client", "job.fio", "--payload", "bytes"],
    ["run", "client", "job.fio", "--timeline"],
    ["run", "client", "job.fio", "--replay", "clsoed"],
    ["run", "client", "job.fio", "--replay", "open:3"],
    ["run", "client", "job.fio", "--replay", "closed"],
    ["run", "client", "job.fio", "--replay", "closed:0"],
    ["run", "client", "job.fio", "--replay", "closed:many"],
    ["run", "client", "job.fio", "--replay", "scaled"],
    ["run", "client", "job.fio", "--replay", "scaled:-1"],
    ["run", "client", "job.fio", "--replay", "scaled:inf"],
    ["run", "client", "job.fio", "--precondition", "stead"],
    ["run", "client", "job.fio", "-o", "file"],
    ["run", "client", "job.fio", "-o", "file/below"],
    ["check", "cleint"],
    ["check", "client", "--set", "x"],
    ["check"],
    ["systems", "all"],
    ["capture"],
    ["capture", "blok"],
    ["capture", "block"],
    ["capture", "block", "-o", "t.iolog", "--", "no-such-command"],
    ["capture", "block", "-o", "t.iolog", "--", "./folder"],
    ["capture", "block", "-o", "t.iolog", "--", "./file"],
    ["capture", "block", "-o", "no/t.iolog", "--", "true"],
    ["capture", "block", "--onto", "t.iolog", "--", "true"],
]


@pytest.mark.parametrize("arguments", MISTAKES, ids=" ".join)
def test_message(
    arguments: list[str],
    snapshot: SnapshotAssertion,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    core: FakeCore,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("folder").mkdir()
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    found = capsys.readouterr()
    assert exit_.value.code == 2
    assert core.asked == []
    if arguments == ["capture"]:  # shows its help
        return
    assert found.out == ""
    assert found.err.count("\n") == 1
    assert found.err == snapshot


def test_capture_without_strace(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command = tmp_path / "command"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit_:
        main(["capture", "block", "--", "command"])
    assert exit_.value.code == 2
    expected = "error: capture needs strace, which is not on the PATH: install the package strace\n"
    assert capsys.readouterr().err == expected


def test_an_old_strace(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    strace = tmp_path / "strace"
    strace.write_text("#!/bin/sh\necho 'strace -- version 4.26'\n")
    strace.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit_:
        main(["capture", "block", "--", "true"])
    assert exit_.value.code == 2
    expected = f"error: capture needs strace 5.3 or newer; {strace} is 4.26\n"
    assert capsys.readouterr().err == expected


def test_interrupted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, core: FakeCore) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(core, "run", stop)
    with pytest.raises(SystemExit) as exit_:
        main(["run", "client", "job.fio"])
    assert exit_.value.code == 130
    assert capsys.readouterr().err == ""
