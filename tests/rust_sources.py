"""Reads the shape of the Rust sources: structs and attributes."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

STRUCT = re.compile(
    r"^(?P<indent> *)(?:pub(?:\([^)]*\))? )?struct (?P<name>\w+)[^;{(]*\{\n(?P<body>.*?)^(?P=indent)\}", re.M | re.S
)
FIELD = re.compile(r"^ +(?:pub(?:\([^)]*\))? )?(?:r#)?\w+: (?P<type>.*?),?$", re.M)


def sources() -> list[Path]:
    return sorted(ROOT.glob("crates/*/*/src/**/*.rs"))


def structs() -> Iterator[tuple[str, int, int]]:
    """Yield the place of each struct with named fields, its number of fields and its number of flags."""
    for path in sources():
        for found in STRUCT.finditer(path.read_text()):
            types = [field["type"] for field in FIELD.finditer(re.sub(r"//.*", "", found["body"]))]
            yield f"{path.relative_to(ROOT / 'crates')} {found['name']}", len(types), types.count("bool")


def attributes(pattern: str) -> int:
    """Count the lines of all Rust files that match."""
    files = ROOT.glob("crates/**/*.rs")
    return sum(bool(re.search(pattern, line)) for path in files for line in path.read_text().splitlines())
