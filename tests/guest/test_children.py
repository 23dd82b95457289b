"""The processes of a run share one processor, that QEMU and the drive hand over at little cost."""

import os
import sys
from pathlib import Path

import pytest

from nandram.guest.children import children, idlest_processor

needs_two = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
_PRINT = [sys.executable, "-c", "import os; print(sorted(os.sched_getaffinity(0)))"]


def processors(log: Path) -> str:
    with children() as processes:
        found = []
        for _ in range(2):
            assert processes.start(_PRINT, log).wait(60) == 0
            found.append(log.read_text())
    assert found[0] == found[1]
    return found[0]


@needs_two
def test_all_processes_of_a_run_are_on_one_processor(tmp_path: Path) -> None:
    allowed = os.sched_getaffinity(0)
    assert processors(tmp_path / "log") in {f"[{number}]\n" for number in allowed}
    assert os.sched_getaffinity(0) == allowed


@needs_two
def test_a_run_stays_on_the_processors_that_it_may_use(tmp_path: Path) -> None:
    allowed = os.sched_getaffinity(0)
    one = max(allowed)
    os.sched_setaffinity(0, {one})
    try:
        assert idlest_processor() == one
        assert processors(tmp_path / "log") == f"[{one}]\n"
    finally:
        os.sched_setaffinity(0, allowed)
