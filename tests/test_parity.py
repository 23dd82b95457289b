"""User-visible parity across dies: a line in the notes of a run, and a section of the summary."""

from pathlib import Path

import nandram
from conftest import TINY

PARITY: dict[str, object] = {"ftl.parity.stripe": 3}


def write(tmp_path: Path, changes: dict[str, object]) -> nandram.Result:
    path = tmp_path / "writes.fio"
    path.write_text("[job]\nrw=randwrite\nbs=4k\niodepth=16\nnorandommap\nnumber_ios=60000\n")
    return nandram.run(TINY, path, precondition="steady", cache=None, set=changes)


def test_a_run_reports_the_share_of_parity(tmp_path: Path) -> None:
    result = write(tmp_path, PARITY)
    parity = result.summary["nandram"]["parity"]
    assert abs(parity["share_of_programs"] - 1 / 4) < 0.005
    assert abs(result.write_amplification / parity["write_amplification_without"] - 4 / 3) < 0.02
    (line,) = (line for line in result.notes if line.startswith("parity: "))
    assert line.startswith(("parity: 25.", "parity: 24.9")), line


def test_a_drive_without_parity_has_no_such_section(tmp_path: Path) -> None:
    result = write(tmp_path, {})
    assert "parity" not in result.summary["nandram"]
    assert not any(line.startswith("parity") for line in result.notes)
    assert nandram.load_system(TINY, PARITY).values["ftl"]["parity"]["stripe"] == 3
