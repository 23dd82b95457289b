"""No pinned figure is renamed or dropped without a row in the table of old and new keys."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent
TABLE: dict[str, str] = tomllib.loads((TESTS / "data" / "golden-keys.toml").read_text())
NO_LONGER_PINNED = {"events"}
"""Internal counts, which are no result."""


def keys(figures: Any, parents: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the path of each figure; the items of a list share one."""
    if isinstance(figures, dict):
        for key, value in figures.items():
            yield from keys(value, (*parents, key))
    elif isinstance(figures, list):
        for value in figures:
            yield from keys(value, parents)
    else:
        yield ".".join(parents)


def pinned() -> set[str]:
    files = list((TESTS / "__snapshots__" / "test_golden").glob("*.json"))
    assert len(files) >= 12
    return {key for file in files for key in keys(json.loads(file.read_text()))}


def test_every_old_key_is_pinned_under_its_new_name() -> None:
    found = pinned()
    assert {new for new in TABLE.values() if new} - found == set()
    assert {old for old, new in TABLE.items() if not new} == NO_LONGER_PINNED
