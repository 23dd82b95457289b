"""Systems in Python."""

import pytest

import nandram
from fake_core import FakeCore
from nandram.options import set_lines


def test_load(core: FakeCore) -> None:
    system = nandram.load("client", set={"link.lanes": 2})
    assert repr(system) == "<System client with link.lanes=2>"
    assert system.values["link"] == {"lanes": 4}
    changed = system.with_({"device.dram": "0B"})
    assert changed.changes == ("link.lanes=2", "device.dram=0B")
    assert repr(nandram.load("client")) == "<System client>"


def test_a_mistake_is_told_when_it_is_made(core: FakeCore) -> None:
    with pytest.raises(nandram.UserError, match="no such preset or file"):
        nandram.load("cleint")
    with pytest.raises(ValueError, match="no such preset or file"):
        nandram.run("cleint", "job.fio")


def test_run_takes_a_system_and_changes(core: FakeCore) -> None:
    system = nandram.load("client", set={"link.lanes": 2})
    nandram.run(system, "job.fio", set={"link.generation": 3}, seed=9)
    assert core.asked[0][:2] == ("client", ["link.lanes=2", "link.generation=3"])
    assert core.asked[0][3]["seed"] == 9


def test_systems(core: FakeCore) -> None:
    assert nandram.systems()["client"] == "A client drive"


def test_values_are_written_as_toml() -> None:
    changes: dict[str, object] = {
        "a": "64MiB",
        "b": True,
        "c": 3,
        "d": 0.5,
        "e": ["map", "data"],
        "f": {"size": "1KiB", "use": ["x"]},
    }
    assert set_lines(changes) == [
        "a=64MiB",
        "b=true",
        "c=3",
        "d=0.5",
        'e=["map", "data"]',
        'f={ size = "1KiB", use = ["x"] }',
    ]
    with pytest.raises(nandram.UserError, match="found a NoneType"):
        set_lines({"a": None})
