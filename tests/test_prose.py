"""The counts of discouraged phrases never rise."""

import pytest

import prose

TURNS = prose.turns()


@pytest.fixture(scope="module")
def found() -> list[list[tuple[str, int, str]]]:
    return prose.places()


@pytest.mark.parametrize("at", range(len(TURNS)), ids=lambda at: TURNS[at]["instead"])
def test_no_more_than_there_were(at: int, found: list[list[tuple[str, int, str]]]) -> None:
    turn, places = TURNS[at], found[at]
    lines = "\n".join(f"{name}:{number}: {line}" for name, number, line in places[-20:])
    assert len(places) <= turn["limit"], f"write: {turn['instead']}; the last of {len(places)} places:\n{lines}"


def test_each_reader_finds_its_prose() -> None:
    document = prose.document_lines("one\n```\ntwo\n```\n    three\nfour")
    rust = prose.rust_lines("let a = 1; // one\n/// two\n//! three\nlet b = 2;")
    python = prose.python_lines('"""One."""\na = 1  # two\nb = "# three"\n')
    assert [line for _, line in document] == ["one", "four"]
    assert [line for _, line in rust] == ["one", "two", "three"]
    assert [line for _, line in python] == ["two", "One."]
