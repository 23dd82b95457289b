"""The commands that run and show systems."""

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from fake_core import FakeCore
from nandram.cli import main

DEFAULTS = {"seed": 1, "payload": "none", "timeline": False, "wrap": False, "cache": "/home/user/.cache/nandram"}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NANDRAM_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/home/user/.cache")


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(list(arguments))
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def test_run_prints_a_table(capsys: pytest.CaptureFixture[str], core: FakeCore, snapshot: SnapshotAssertion) -> None:
    assert call("run", "client", "job.fio") == 0
    found = capsys.readouterr()
    assert found.out == snapshot
    assert found.err == ""
    assert core.asked == [
        ("client", [], "job.fio", DEFAULTS),
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--seed", "7"], {"seed": 7}),
        (["--payload", "stamp"], {"payload": "stamp"}),
        (["--wrap"], {"wrap": True}),
        (["--precondition", "steady"], {"precondition": "steady"}),
        (["--replay", "open"], {"replay": "open"}),
        (["--warm-up", "50ms"], {"warm_up": "50ms"}),
        (["--cache", "here"], {"cache": "here"}),
        (["--replay", "closed:32"], {"replay": "closed", "replay_depth": 32}),
        (["--replay", "scaled:0.5"], {"replay": "scaled", "replay_factor": 0.5}),
    ],
    ids=str,
)
def test_options_reach_the_simulator(arguments: list[str], expected: dict[str, object], core: FakeCore) -> None:
    assert call("run", "client", "job.fio", *arguments) == 0
    ((_, _, _, options),) = core.asked
    assert options == DEFAULTS | expected


def test_the_environment_says_where_prepared_drives_are_kept(core: FakeCore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANDRAM_CACHE", "/drives")
    assert call("run", "client", "job.fio") == 0
    assert core.asked[0][3]["cache"] == "/drives"


def test_prepared_drives_need_not_be_kept(core: FakeCore) -> None:
    assert call("run", "client", "job.fio", "--cache", "none") == 0
    assert "cache" not in core.asked[0][3]


def test_changes_keep_their_order(core: FakeCore) -> None:
    assert call("run", "client", "t.iolog", "--set", "link.lanes=2", "--set", "device.dram=0B") == 0
    assert core.asked[0][:3] == ("client", ["link.lanes=2", "device.dram=0B"], "t.iolog")


def test_an_output_folder(tmp_path: Path, core: FakeCore, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "results"
    assert call("run", "client", "job.fio", "-o", str(folder), "--timeline") == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "dies.parquet",
        "latency.parquet",
        "manifest.json",
        "report.html",
        "samples.parquet",
        "summary.json",
        "timeline.json",
    ]
    assert json.loads((folder / "summary.json").read_text())["jobs"][0]["read"]["iops"] == 100_000
    assert str(folder / "report.html") in capsys.readouterr().out
    assert call("run", "client", "job.fio", "-o", str(folder)) == 0
    assert not (folder / "timeline.json").exists()


def test_check_prints_the_resolved_file(core: FakeCore, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("check", "client", "--set", "link.lanes=2") == 0
    assert capsys.readouterr().out == 'title = "A client drive"\n# link.lanes=2\n[link]\nlanes = 4\n'


def test_schema_is_json(core: FakeCore, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("schema") == 0
    assert json.loads(capsys.readouterr().out) == {"type": "object"}


def test_systems_are_listed(core: FakeCore, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("systems") == 0
    assert capsys.readouterr().out == (
        "client         A client drive\nmqsim-default  The drive of a public simulator\n"
    )
