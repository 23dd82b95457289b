"""The measured drives in the repository, and the files that were fitted to them."""

import csv
import hashlib
import re
import tomllib
from pathlib import Path
from typing import Any, cast

import pytest

from nandram.fit import read_measurements
from nandram.fit.split import without
from nandram.system import load_system

DRIVES = Path(__file__).parents[2] / "drives"
TABLES = tomllib.loads((DRIVES / "validation.toml").read_text())
ROWS = TABLES["row"]
POINTS = {
    "zn540-random-read.csv": 27,
    "nvme-a-write.csv": 120,
    "980pro-random-read-4k.csv": 54,
    "980pro-random-read-sizes.csv": 72,
}


@pytest.mark.parametrize("name", POINTS)
def test_each_table_has_the_points_that_its_readme_states(name: str) -> None:
    assert len(read_measurements([DRIVES / name]).points) == POINTS[name]
    assert f"| `{name}` | {POINTS[name]} |" in (DRIVES / "README.md").read_text()


@pytest.mark.parametrize("row", [row for row in ROWS if "start" in row], ids=lambda row: row["name"])
def test_fitted_files_name_the_hash_of_their_data(row: dict[str, object]) -> None:
    dropped = [str(each) for each in cast("list[object]", row.get("drop", []))]
    digest = without(read_measurements([DRIVES / str(row["data"])]), dropped).hash[:16]
    files = row["files"]
    assert isinstance(files, dict)
    for file in files.values():
        basis = tomllib.loads((DRIVES / file).read_text())["basis"]
        calibrated = [each["calibrated"] for each in basis.values() if "calibrated" in each]
        assert calibrated
        assert all(f"sha256 {digest}: " in each for each in calibrated)
        assert load_system(DRIVES / file).values["link"]["type"] == "pcie"


@pytest.mark.parametrize("row", [*ROWS, *TABLES["eight_drives"]], ids=lambda row: row["name"])
def test_the_page_of_validation_has_each_row(row: dict[str, object]) -> None:
    page = (DRIVES.parent / "docs" / "validation.md").read_text()
    assert f"## {row['title']}" in page


@pytest.mark.parametrize("row", TABLES["eight_drives"], ids=lambda row: row["name"])
def test_a_held_out_number_of_writers_is_within_its_bounds(row: dict[str, Any]) -> None:
    page = (DRIVES.parent / "docs" / "validation.md").read_text()
    part = page.partition(f"## {row['title']}\n")[2]
    names = ["writes", "reads", "p50", "p99"]
    for writers, bounds in row["bounds"].items():
        assert int(writers) in row["held_out"]
        (line,) = re.findall(rf"^\| {writers} \| held out \|.*$", part, re.MULTILINE)
        measured = re.findall(r"([\d,]+)(?: us)? →", line)
        table = list(csv.DictReader((DRIVES / row["data"]).open()))
        (reader,) = (each for each in table if each["side"] == "read" and each["writers"] == writers)
        assert measured[1] == f"{float(reader['iops']):,.0f}"
        errors = dict(zip(names, (int(each) / 100 for each in re.findall(r"\(([-+]\d+) %\)", line)), strict=True))
        for name, (low, high) in bounds.items():
            assert low <= errors[name] <= high, f"{writers} writers: {name} {errors[name]:+.0%}"


@pytest.mark.parametrize("row", TABLES["eight_drives"], ids=lambda row: row["name"])
def test_a_drive_fitted_to_writers_says_which_points_it_saw(row: dict[str, Any]) -> None:
    assert not set(row["fitted"]) & set(row["held_out"])
    basis = tomllib.loads((DRIVES / row["file"]).read_text())["basis"]
    calibrated = [each["calibrated"] for each in basis.values() if "calibrated" in each]
    digest = hashlib.sha256((DRIVES / row["data"]).read_bytes()).hexdigest()[:16]
    assert calibrated
    assert all(each.startswith(f"{row['data']} (sha256 {digest}), 1, 2 and 8 writers: ") for each in calibrated)
    assert load_system(DRIVES / row["file"]).values["link"]["type"] == "pcie"
