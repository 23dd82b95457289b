"""Every text of the project, and every name in it, is in American English."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

import prose

DATA: dict[str, Any] = tomllib.loads((prose.ROOT / "tests" / "data" / "spelling.toml").read_text())
SPELLINGS: list[dict[str, str]] = DATA["spelling"]
PATTERNS = [re.compile(spelling["pattern"]) for spelling in SPELLINGS]
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
URL = re.compile(r"https?://[^\s)>\"'\]]+")


def texts() -> Iterator[tuple[str, str]]:
    """Yield each tracked text file, after its name: name, text."""
    for name in prose.tracked(""):
        data = (prose.ROOT / name).read_bytes()
        if name not in DATA["skip"] and b"\0" not in data:
            try:
                yield name, f"{name}\n{data.decode()}"
            except UnicodeDecodeError:
                continue


def is_british(word: str) -> bool:
    return word not in DATA["right"] and any(pattern.search(word) for pattern in PATTERNS)


def words(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(URL.sub("", text))]


def test_no_word_is_british() -> None:
    british: dict[str, bool] = {}
    found = []
    for name, text in texts():
        for word in words(text):
            if word not in british:
                british[word] = is_british(word)
            if british[word]:
                found.append(f"{name}: {word}")
    assert found == []


@pytest.mark.parametrize("at", range(len(SPELLINGS)), ids=lambda at: SPELLINGS[at]["british"].split()[0])
def test_each_pattern_finds_its_words_alone(at: int) -> None:
    missed = [word for word in SPELLINGS[at]["british"].split() if not PATTERNS[at].search(word)]
    wrong = [word for word in SPELLINGS[at]["american"].split() if is_british(word)]
    assert (missed, wrong) == ([], [])


def test_identifiers_are_split_into_words() -> None:
    assert words("ftl.wear_levelling BusUtilisation MAX_COLOURS https://example.org/colour") == [
        *("ftl", "wear", "levelling"),
        *("bus", "utilisation"),
        *("max", "colours"),
    ]
