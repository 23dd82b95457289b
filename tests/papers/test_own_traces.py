"""Page traces of the user's own in place of an experiment's: ``nandram reproduce xip --traces DIR``."""

import json
import shutil
from pathlib import Path

import pytest

import nandram
from nandram.cli import main
from nandram.errors import UserError
from nandram.traces import path_of
from paging.traces import loops, write

CLAIM = "xip.faults.fewer.lru"


def test_own_traces_replace_those_of_the_same_name(tmp_path: Path, runs: Path) -> None:
    bundled = nandram.reproduce("xip", quick=True, claims=CLAIM)
    for level in ("O", "O2", "O3", "Os"):
        write(tmp_path / f"djpeg-{level}.pages.zst", loops(3000 + 10 * len(level)))
    # A trace that the selected claims do not need does no harm.
    shutil.copy(path_of("xip-mibench/cjpeg-O"), tmp_path)
    own = nandram.reproduce("xip", quick=True, claims=CLAIM, traces=tmp_path)
    assert own[CLAIM].ours != bundled[CLAIM].ours
    # Draws for the bundled traces say nothing about other traces.
    assert own[CLAIM].robustness == ""
    for level in ("O", "O2", "O3", "Os"):
        shutil.copy(path_of(f"xip-mibench/djpeg-{level}"), tmp_path)
    assert nandram.reproduce("xip", quick=True, claims=CLAIM, traces=tmp_path)[CLAIM].ours == bundled[CLAIM].ours


def test_the_command_line_takes_a_folder(tmp_path: Path, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "djpeg-O.pages.zst", loops(3000))
    with pytest.raises(SystemExit) as exit_:
        main(["reproduce", "xip", "--quick", "--claims", CLAIM, "--json", "--traces", str(tmp_path)])
    assert exit_.value.code == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["id"] == CLAIM


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        ((), {}, r"traces: .*: found no page trace, expected files named NAME.pages.zst$"),
        (("djpeg-O9",), {}, r"found the trace `djpeg-O9`, expected the name of one .*the nearest is `djpeg-O.?`"),
        (("djpeg-O",), {"draws": 1}, r"traces: found `draws` or `variants` as well, expected only one of them"),
        (("djpeg-O",), {"variants": True}, r"traces: found `draws` or `variants` as well, expected only one of them"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, files: tuple[str, ...], options: dict[str, int], message: str) -> None:
    for name in files:
        write(tmp_path / f"{name}.pages.zst", loops(100))
    with pytest.raises(UserError, match=message):
        nandram.reproduce("xip", quick=True, claims=CLAIM, traces=tmp_path, **options)  # type: ignore[arg-type]


def test_a_folder_that_is_not_there_and_a_paper_without_traces(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"traces: .*none: cannot be read: No such file or directory"):
        nandram.reproduce("xip", traces=tmp_path / "none")
    write(tmp_path / "djpeg-O.pages.zst", loops(100))
    with pytest.raises(UserError, match=r"traces: found no experiment with page traces, expected one, such as xip"):
        nandram.reproduce("ddrssd", traces=tmp_path)
