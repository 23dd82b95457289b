"""The measured drives in the repository, and the files that were fitted to them."""

import tomllib
from pathlib import Path
from typing import cast

import pytest

from nandram.fit import read_measurements
from nandram.fit.split import without
from nandram.system import load_system

DRIVES = Path(__file__).parents[2] / "drives"
ROWS = tomllib.loads((DRIVES / "validation.toml").read_text())["row"]
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


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_the_page_of_validation_has_each_row(row: dict[str, object]) -> None:
    page = (DRIVES.parent / "docs" / "validation.md").read_text()
    assert f"## {row['title']}" in page
