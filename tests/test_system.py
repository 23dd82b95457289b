"""Systems in Python."""

from pathlib import Path

import pytest

import nandram
from conftest import TINY, TWO_JOBS
from nandram.options import set_lines


def test_load() -> None:
    system = nandram.load_system("nvme-client-tlc", set={"link.lanes": 2})
    assert repr(system) == "<System nvme-client-tlc with link.lanes=2>"
    assert system.values["link"]["lanes"] == 2
    changed = system.with_({"device.write_cache.size": "4MiB"})
    assert changed.changes == ("link.lanes=2", "device.write_cache.size=4MiB")
    assert changed.values["device"]["write_cache"]["size"] == "4MiB"
    assert repr(nandram.load_system("nvme-client-tlc")) == "<System nvme-client-tlc>"


def test_a_mistake_is_told_when_it_is_made() -> None:
    with pytest.raises(nandram.UserError, match="neither a file nor a preset"):
        nandram.load_system("nvme-cleint-tlc")
    with pytest.raises(ValueError, match="neither a file nor a preset"):
        nandram.run("nvme-cleint-tlc", TWO_JOBS)


def test_run_takes_a_system_and_changes() -> None:
    system = nandram.load_system(TINY, set={"link.lanes": 2})
    result = nandram.run(system, TWO_JOBS, set={"link.generation": 3}, seed=9)
    assert result.manifest["changes"] == ["link.generation=3", "link.lanes=2"]
    assert result.manifest["seed"] == 9
    assert result.manifest["settings"]["link.generation"]["value"] == "3"
    assert result.manifest["settings"]["link.generation"]["set_by"] == "--set link.generation=3"


def test_systems() -> None:
    presets = {path.stem for path in (Path(__file__).parents[1] / "systems").glob("*.toml")}
    assert {"nvme-client-tlc", "drambus", "ddrssd", "hmb-a", "onenand-xip", "nvmm"} <= presets
    assert sorted(nandram.systems()) == sorted(presets)
    assert all(nandram.systems().values())


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
