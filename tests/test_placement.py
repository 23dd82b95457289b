"""User-visible data placement: a line in the notes of a run, and a section of the summary."""

from pathlib import Path

import pytest

import nandram
from conftest import TINY

PLACEMENT: dict[str, object] = {
    "ftl.placement.isolation": "initial",
    "ftl.placement.handles": 2,
    "ftl.over_provisioning": 0.4,
}
JOB = "[global]\nrw=write\nbs=64k\nsize=8m\n[a]\nfdp=1\nplids=1\n[b]\noffset=8m\n"


def write(tmp_path: Path, changes: dict[str, object]) -> nandram.Result:
    path = tmp_path / "writes.fio"
    path.write_text(JOB)
    return nandram.run(TINY, path, warm_up="keep", cache=None, set=changes)


def test_a_run_reports_the_write_amplification_of_each_handle(tmp_path: Path) -> None:
    result = write(tmp_path, PLACEMENT)
    handles = result.summary["nandram"]["placement"]["handles"]
    assert [handle["host_bytes"] for handle in handles] == [8 << 20, 8 << 20]
    (line,) = (line for line in result.notes if line.startswith("write amplification by handle: "))
    assert line.startswith("write amplification by handle: 0: 1.0"), line
    assert ", 1: 1.0" in line


def test_a_job_with_placement_needs_a_drive_with_handles(tmp_path: Path) -> None:
    with pytest.raises(nandram.UserError, match=r"writes\.fio:6: fdp: found on a drive without placement, expected"):
        write(tmp_path, {})
