"""The help texts."""

import pytest
from syrupy.assertion import SnapshotAssertion

from nandram.cli import main


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["run", "--help"],
        ["reproduce", "--help"],
        ["report", "--help"],
        ["sweep", "--help"],
        ["compare", "--help"],
        ["probe", "--help"],
        ["paging", "--help"],
        ["show", "--help"],
        ["check", "--help"],
        ["import", "--help"],
        ["schema", "--help"],
        ["systems", "--help"],
        ["fit", "--help"],
        ["cache", "--help"],
        ["cache", "prune", "--help"],
        ["capture", "--help"],
        ["capture", "block", "--help"],
        ["capture", "pages", "--help"],
        ["capture", "memory", "--help"],
        ["memory", "--help"],
        ["memory", "check", "--help"],
        ["memory", "rollback", "--help"],
        ["memory", "export", "--help"],
        ["memory", "backup", "--help"],
    ],
    ids=" ".join,
)
def test_help(
    arguments: list[str],
    snapshot: SnapshotAssertion,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 0
    assert capsys.readouterr().out == snapshot


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([])
    assert exit_.value.code == 2
    found = capsys.readouterr()
    assert "Usage: nandram" in found.out + found.err
