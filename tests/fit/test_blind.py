"""The blind test's drives, and its page."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from nandram.fit.parameters import quantity
from nandram.system import load_system

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def blind() -> ModuleType:
    spec = importlib.util.spec_from_file_location("blind", ROOT / "drives" / "blind.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_drawn_drive_is_a_system_and_is_drawn_again(blind: ModuleType, tmp_path: Path) -> None:
    start = tmp_path / "start.toml"
    start.write_text(blind.START)
    drawn = [blind.draw(number) for number in range(1, blind.DRIVES + 1)]
    assert drawn == [blind.draw(number) for number in range(1, blind.DRIVES + 1)]
    assert len({each["flash.rate"] for each in drawn}) == blind.DRIVES
    for each in drawn:
        values = load_system(start).with_(blind.changes(each)).values
        assert values["flash"]["channels"] == each["flash.channels"]
        assert quantity(values["flash"]["read"][2]) == pytest.approx(each["flash.read[2]"], abs=1)


def test_the_page_judges_true_values_by_bands(blind: ModuleType) -> None:
    result = {
        "errors": {"iops": [0.01, 0.02], "p50": [0.03], "p99": [0.2]},
        "dies": {"true": 24, "fitted": 32},
        "determined": {"flash.rate": [90.0, 100.0, 110.0, 112.0], "flash.read[0]": [90.0, 100.0, 110.0, 95.0]},
    }
    page = blind.page({7: result})
    assert "| 7 | 1.5 % | 3.0 % | 20.0 % | 24 | 32 | 2 | 1 | 2 |" in page
    assert "| 90 % of the true values inside their bands | 50 % of 2 |" in page
    assert "| `flash.rate` | 1 | 0 |" in page


def test_the_page_in_the_documents_has_a_row_per_drive() -> None:
    page = (ROOT / "docs" / "fit-blind.md").read_text()
    rows = re.findall(r"^\| (\d+) \|", page, re.MULTILINE)
    assert rows == [str(number) for number in range(1, len(rows) + 1)]
    assert f"{len(rows)} of 30 drives are done" in page
