"""The fit of a drive to a reader alongside writers on eight drives."""

import importlib
import math
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

DRIVES = Path(__file__).parents[2] / "drives"


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DRIVES))
    return importlib.import_module("fit_eight_drives")


def test_the_stored_file_is_what_the_fit_writes_for_its_values(search: ModuleType) -> None:
    (row,) = tomllib.loads((DRIVES / "validation.toml").read_text())["eight_drives"]
    stored = (DRIVES / row["file"]).read_text()
    table = tomllib.loads(stored)
    values = {}
    for key in search.RANGES:
        section, *parts = key.split(".")
        value = table[section]
        for part in parts:
            value = value[part]
        values[key] = str(value).lower() if isinstance(value, bool) else str(value)
    assert search.fitted_text(values) == stored
    for key, each in search.RANGES.items():
        (number,) = re.findall(r"^[\d.]+", values[key])
        assert values[key] == each.text(float(number))


def test_the_start_has_no_value_that_is_searched(search: ModuleType) -> None:
    basis = tomllib.loads(search.START.read_text())["basis"]
    assert not set(basis) & {*search.RANGES}


def test_the_fit_sees_no_number_of_writers_that_is_held_out(search: ModuleType) -> None:
    measured = search.read_measured(search.DATA)
    seen = {writers: measured[writers] for writers in search.FITTED}
    assert search.distance(seen, seen) == 0.0
    (row,) = tomllib.loads((DRIVES / "validation.toml").read_text())["eight_drives"]
    assert list(search.FITTED) == row["fitted"]
    assert not set(search.FITTED) & set(row["held_out"])


def test_the_distance_is_the_weighted_mean_square_of_logarithms(search: ModuleType) -> None:
    measured = search.read_measured(search.DATA)
    found = {writers: measured[writers] for writers in search.FITTED}
    found[2] = replace(found[2], p99=found[2].p99 * math.e, writes=found[2].writes / math.e)
    total = len(search.FITTED) * sum(search.WEIGHTS.values())
    expected = (search.WEIGHTS["p99"] + search.WEIGHTS["writes"]) / total
    assert search.distance(found, measured) == pytest.approx(expected)
