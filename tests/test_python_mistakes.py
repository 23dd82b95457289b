"""Mistakes of Python callers raise a `UserError` of one line, with what was found and what was expected."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import nandram
from conftest import TINY

any_: Any = cast("Any", nandram)
"""Values that no type checker accepts."""

MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: any_.reproduce(5), "papers: found 5, expected a paper's name or an experiment file"),
    (lambda: any_.reproduce(["ddrssd"]), "papers: found ['ddrssd'], expected a paper's name or an experiment file"),
    (lambda: any_.reproduce("ddrssd", jobs="2"), "jobs: found '2', expected a whole number from 1"),
    (lambda: any_.reproduce("ddrssd", jobs=0), "jobs: found 0, expected a whole number from 1"),
    (lambda: any_.reproduce("ddrssd", claims=5), "claims: found 5, expected a text"),
    (lambda: any_.compare(1, 2), "compare: found 1, expected a folder of results, a result, or a system"),
    (lambda: any_.compare(TINY, TINY, "job", seeds="5"), "seeds: found '5', expected a whole number from 1"),
    (lambda: any_.run_sweep("space.toml", "out", jobs=1.5), "jobs: found 1.5, expected a whole number from 1"),
    (
        lambda: any_.Memory("m", capacity=4096.5),
        'capacity: found 4096.5, expected a size with its unit, such as "1GiB", or a number of bytes',
    ),
    (
        lambda: any_.Memory("m", "4MiB", dram=1e6),
        'dram: found 1000000.0, expected a size with its unit, such as "1GiB", or a number of bytes',
    ),
    (lambda: any_.MemoryReader("m", 1), "dram is 1 bytes, expected at least 1048576"),
]


@pytest.mark.parametrize(("call", "told"), MISTAKES, ids=[told for _, told in MISTAKES])
def test_a_mistake_is_one_line(
    call: Callable[[], Any], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(nandram.UserError) as mistake:
        call()
    assert str(mistake.value) == told
    assert list(tmp_path.iterdir()) == []


def test_a_report_of_nothing_there_names_what_there_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        nandram.UserError, match=r"^found `ddrsd`, expected a folder of results, .*; the nearest is `ddrs"
    ):
        nandram.write_report("ddrsd")
    with pytest.raises(nandram.UserError, match=r"^found the paper `x`, expected .* or an experiment file \(.toml\)$"):
        nandram.reproduce("x")


@pytest.mark.parametrize("percent", ["99", None, -1, 101, float("nan")])
def test_a_percentile_is_a_number(result: nandram.Result, percent: Any) -> None:
    with pytest.raises(nandram.UserError, match=r"^percent: found .*, expected a number from 0 to 100$"):
        result.latency_percentile_ns(percent)


def test_a_direction_is_one_there_is(result: nandram.Result) -> None:
    with pytest.raises(nandram.UserError, match=r"^direction: found `raed`, .*; the nearest is `read`"):
        result.latency_percentile_ns(99, "raed")


def test_names_in_a_memory_are_texts(tmp_path: Path) -> None:
    with nandram.Memory(tmp_path / "m", "4MiB") as memory:
        there: Any = memory
        for call, arguments in ((there.find, (5,)), (there.sync, (5,)), (there.name, (5, 65536, 1))):
            with pytest.raises(nandram.UserError, match=r"^name: found 5, expected a text$"):
                call(*arguments)


def test_numbers_of_numpy_are_numbers() -> None:
    plain = nandram.load_system(
        TINY, {"flash.channels": 4, "ftl.over_provisioning": 0.3, "flash.suspend.program": False}
    )
    numpy = nandram.load_system(
        TINY,
        {
            "flash.channels": np.int64(4),
            "ftl.over_provisioning": np.float64(0.3),
            "flash.suspend.program": np.bool_(False),
        },
    )
    assert numpy.values == plain.values
    with pytest.raises(nandram.UserError, match="found a ndarray"):
        nandram.load_system(TINY, {"flash.channels": np.array([4])})


def test_reads_of_an_empty_drive_are_told(tmp_path: Path) -> None:
    job = tmp_path / "reads.fio"
    job.write_text("[reads]\nrw=randread\nbs=4k\nnumber_ios=50\n")
    told = "empty drive: no read found data, which takes no access to the flash (precondition: fill writes it first)"
    empty = nandram.run(TINY, job, precondition="none")
    assert told in empty.notes
    assert empty.rows()[0][3:] == ["not shown"] * 7
    assert "figures not shown (empty-drive" in repr(empty)
    by_default = nandram.run(TINY, job)
    assert told not in by_default.notes
    assert by_default.manifest["options"]["precondition"] == "auto"
    assert by_default.inside["preparation"]["kind"] == "fill"
    assert "prepared by default as fill: the workload reads what it has not written" in by_default.notes
    job.write_text("[writes]\nrw=randwrite\nbs=4k\nnumber_ios=50\n")
    assert nandram.run(TINY, job).inside["preparation"]["kind"] == "none"


def test_the_version_is_told() -> None:
    from importlib.metadata import version

    assert nandram.__version__ == version("nandram")
    with pytest.raises(AttributeError, match="module 'nandram' has no attribute 'nothing'"):
        any_.nothing  # noqa: B018
