"""Simulations that a program outside drives: equality with runs, arrays, saved states, and mistakes."""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nandram
from nandram import Simulation, SimulationDevice, UserError, _core

SMALL = "1/16"
GUIDE = Path(__file__).parent.parent / "docs" / "stepping.md"


def logged(system: str, workload: Path, options: dict[str, object], sets: list[str]) -> dict[str, Any]:
    """Return every request of a run, in the order in which they ended."""
    given: Any = {"seed": 1, "payload": "none", "log": True, **options}
    return _core.run(system, sets, str(workload), given, None).requests


@pytest.mark.parametrize("depth", [1, 32])
def test_a_closed_loop_on_a_drive_has_the_completions_of_a_run(depth: int, tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text(f"[job]\nrw=read\nbs=16k\niodepth={depth}\nnumber_ios=3000\n")
    options: dict[str, object] = {"precondition": "fill", "warm_up": "keep"}
    expected = logged("nvme-client-tlc", job, options, [f"scale={SMALL}"])
    found = []
    with Simulation("nvme-client-tlc", prepare="fill", scale=SMALL, cache=None) as sim:
        places: Iterator[int] = iter(range(0, 3000 * 16384, 16384))
        sim.submit(0, "read", [next(places) for _ in range(depth)], 16384)
        while len(done := sim.advance_to_completion()):
            for completion in done:
                found.append((completion.submitted, completion.completed))
                if (place := next(places, None)) is not None:
                    sim.submit(completion.completed, "read", place, 16384)
        assert sim.energy_j() > 0
    assert len(found) == 3000
    assert found == list(zip(expected["issued_ps"].tolist(), expected["completed_ps"].tolist(), strict=True))


@pytest.mark.parametrize(
    ("prepare", "text"),
    [
        ("none", "the drive begins empty: reads of unwritten data do not reach its flash"),
        ("fill", "the drive begins filled: written once, in order"),
        ("steady", "the drive begins in the steady state of random writes, computed"),
    ],
)
def test_a_summary_says_where_a_drive_began(prepare: str, text: str) -> None:
    with Simulation("nvme-client-tlc", prepare=prepare, scale=SMALL, cache=None) as sim:
        sim.submit(0, "read", [page * 4096 for page in range(100)], 4096)
        sim.advance()
        notes = {note["kind"]: note for note in sim.summary()["nandram"]["notes"]}
    assert notes["prepared"]["text"] == text
    assert ("empty-drive" in notes) == (prepare == "none")


@pytest.mark.parametrize("system", ["dram-only", "dram-ddr5", "cxl-ssd", "hbf", "nvmm"])
def test_a_closed_loop_on_main_memory_has_the_completions_of_a_run(system: str, tmp_path: Path) -> None:
    rng = random.Random(3)
    # Whole blocks from 0 on, so that the trace's addresses are those of memory.
    lines = [block * 4096 for block in range(256)] + [rng.randrange(256 * 64) * 64 for _ in range(2000)]
    trace = tmp_path / "misses.trace"
    trace.write_text("".join(f"20 {line:#x}\n" for line in lines))
    # A program outside has no kernel, whose own memory would have lines too.
    kernel = ["kernel.structures=false"] if system == "nvmm" else []
    expected = logged(system, trace, {}, ["cpu.misses=1", "memory.frames=contiguous", *kernel])
    issued, completed = expected["issued_ps"].tolist(), expected["completed_ps"].tolist()
    assert len(issued) == len(lines)
    with Simulation(system) as sim:
        for line, at, until in zip(lines, issued, completed, strict=True):
            assert at >= sim.now
            sim.submit(at, "read", line, 64)
            done = sim.advance_to_completion()
            assert done.completed.tolist() == [until]


def test_arrays_complete_like_single_requests() -> None:
    at = np.arange(1000, dtype=np.uint64) * np.uint64(3_000_000)
    ops = np.where(np.arange(1000) % 4 == 0, 1, 0)
    places = (np.arange(1000) * 7919 % 10_000) * 4096
    with (
        Simulation("nvme-client-tlc", prepare="steady", scale=SMALL) as arrays,
        Simulation("nvme-client-tlc", prepare="steady", scale=SMALL) as single,
    ):
        assert arrays.submit(at, ops, places, 4096, handle=np.arange(1000), thread=2) == 0
        for n in range(1000):
            op = "write" if n % 4 == 0 else "read"
            assert single.submit(int(at[n]), op, int(places[n]), 4096, handle=n, thread=2) == n
        found, expected = arrays.advance("1s"), single.advance("1s")
        assert len(found) == 1000
        assert list(found) == list(expected)
        assert (found.latency == found.completed - found.submitted).all()
        assert arrays.summary() == single.summary()
        assert arrays.summary()["nandram"]["requests"] == 1000


def test_a_restored_simulation_continues_alike(tmp_path: Path) -> None:
    devices: list[str | SimulationDevice] = [
        "cxl-ssd",
        SimulationDevice("nvme-client-tlc", name="drive", prepare="fill", scale=SMALL),
    ]
    with Simulation(devices, seed=5) as sim:
        sim.submit("1us", ["read", "write"] * 50, np.arange(100) * 4096, 4096, device=np.arange(100) % 2)
        sim.advance("30us")
        assert sim.room(1) < 1 << 16
        sim.save(tmp_path / "state")
        with Simulation.restore(tmp_path / "state") as again:
            assert (again.now, again.names, again.next_event()) == (sim.now, ["cxl-ssd", "drive"], sim.next_event())
            assert list(again.advance()) == list(sim.advance())
            assert [again.summary(n) for n in (0, 1)] == [sim.summary(n) for n in (0, 1)]


def test_an_idle_simulation_stays_in_the_present() -> None:
    with Simulation("dram-only") as sim:
        assert len(sim.advance()) == len(sim.advance_to_completion()) == 0
        assert sim.now == 0
        sim.advance("1ms")
        assert sim.now == 10**9


MISTAKES: list[tuple[str, str]] = [
    (
        "sim.submit(5, 'raed', 0, 64)",
        "op: found `raed`, expected read, write, flush, trim or rollback; the nearest is `read`",
    ),
    ("sim.submit('5', 'read', 0, 64)", 'at: found "5" without a unit, expected a time such as "25us"'),
    ("sim.submit(0, 'read', 0, 64)", "at: found 0s, expected 1us (now) or later"),
    ("sim.submit(-1, 'read', 0, 64)", f"at: found -1, expected a whole number from 0 to {2**64 - 1}"),
    ("sim.submit('1us', 'read', 1, 64)", "address: found 1, expected a multiple of 64 for a read to dram-only"),
    ("sim.submit('1us', 'flush')", "op: found flush, expected read or write for dram-only"),
    ("sim.submit('1us', 'read', [0, 64], [64, 64, 64])", "submit: found arrays of 2 and 3 values, expected one length"),
    ("sim.submit('1us', 'read', [0, -64], 64)", "address: found -64, expected whole numbers from 0"),
    (
        "sim.submit('1us', 'read', [0.5], 64)",
        "address: found an array of float64, expected whole numbers from 0: one, a list or an array",
    ),
    ("sim.submit('1us', 9, [0, 64], 64)", "request 0: op: found 9, expected 0 to 4"),
    (
        "sim.submit('1us', 'read', [0, 65], 64)",
        "request 1: address: found 65, expected a multiple of 64 for a read to dram-only",
    ),
    ("sim.submit('1us', 'read', 0, 64, device=1)", "device: found 1, expected 0 to 0"),
    ("sim.advance('1ns')", "until: found 1ns, expected 1us (now) or later"),
    ("sim.advance(1.5)", f"until: found 1.5, expected a whole number from 0 to {2**64 - 1}"),
    ("sim.summary(1)", "device: found 1, expected 0 to 0"),
    ("sim.room(-1)", f"device: found -1, expected a whole number from 0 to {2**32 - 1}"),
    ("Simulation([])", "devices: found 0, expected 1 to 256"),
    ("Simulation('nvmm', seed=-1)", f"seed: found -1, expected a whole number from 0 to {2**64 - 1}"),
    ("Simulation('nvmm', outstanding=0)", f"outstanding: found 0, expected a whole number from 1 to {2**32 - 1}"),
    ("Simulation('nvmm', history=-1)", f"history: found -1, expected a whole number from 0 to {2**64 - 1}"),
    (
        "Simulation(SimulationDevice('nvmm', prepare='fill'))",
        "nvmm: prepare: found fill, expected none for main memory",
    ),
    ("Simulation.restore('/nowhere')", "/nowhere: No such file or directory (os error 2)"),
    ("closed.advance()", "the simulation is closed"),
]


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_each_mistake_has_its_message(call: str, message: str) -> None:
    closed = Simulation("dram-only")
    closed.close()
    with Simulation("dram-only") as sim:
        sim.advance("1us")
        names = {"sim": sim, "closed": closed, "Simulation": Simulation, "SimulationDevice": SimulationDevice}
        with pytest.raises(UserError) as refused:
            eval(call, names)
        assert str(refused.value) == message


def test_the_examples_of_the_guide_work(capsys: pytest.CaptureFixture[str]) -> None:
    examples = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(examples) == 3
    names: dict[str, object] = {"nandram": nandram}
    for example in examples:
        exec(example, names)
    output = capsys.readouterr().out
    assert "reads per second" in output
    assert "'nvme-enterprise-tlc'" in output
