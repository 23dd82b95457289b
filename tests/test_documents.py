"""The files, tests and functions named in documents exist."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "ARCHITECTURE.md", ROOT / "SPECIFICATION.md", *sorted((ROOT / "docs" / "internals").glob("*.md"))]
SUFFIXES = "rs|py|toml|c|h|sh|md"
PLACEHOLDER = re.compile(r"[A-Z]{4,}")


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


@pytest.fixture(scope="module")
def files() -> list[str]:
    return tracked()


@pytest.fixture(scope="module")
def words() -> set[str]:
    """Return every identifier in the sources."""
    sources = [ROOT / file for file in tracked() if file.endswith((".rs", ".py", ".c", ".h"))]
    return set(re.findall(r"\w+", " ".join(path.read_text() for path in sources)))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_exist(document: Path, files: list[str]) -> None:
    named = set(re.findall(rf"`([\w./-]+\.(?:{SUFFIXES}))(?:::\w+)*`", document.read_text()))
    missing = [
        name
        for name in sorted(named)
        if not PLACEHOLDER.search(name) and not any(file == name or file.endswith(f"/{name}") for file in files)
    ]
    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_functions_and_types_exist(document: Path, words: set[str]) -> None:
    quoted = re.findall(r"`([A-Za-z_][\w:]*)(?:\(\))?`", document.read_text())
    named = {part for name in quoted if "::" in name or name[0].isupper() or "_" in name for part in name.split("::")}
    missing = sorted(part for part in named if part and part not in words and not part.isdigit())
    assert missing == []


def test_tests_of_the_specification_exist(files: list[str]) -> None:
    missing = []
    for row in (ROOT / "SPECIFICATION.md").read_text().splitlines():
        source: Path | None = None
        for file, test in re.findall(r"`([\w./-]*\.(?:rs|py))?(?:::(\w+))?`", row):
            if file:
                source = next((ROOT / found for found in files if found.endswith(file)), None)
            if test and (source is None or not re.search(rf"\b(fn|def|mod) {test}\b", source.read_text())):
                missing.append(f"{source or file}::{test}")
    assert missing == []


def test_no_file_has_marks_of_a_conflict() -> None:
    command = ["git", "grep", "-lE", "^(<<<<<<<|>>>>>>>) "]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (1, "")


def test_the_architecture_fits_in_150_lines() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) <= 150
