"""Each key of system files is used, and its default stands in its table alone.

A key is used if a preset, a test, a document or the package names it.

The package names those that its drawings show, and those that the robustness of a paper lists, varied or not.
"""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

import prose
import rust_sources

PINNED = prose.ROOT / "crates/machine/system/tests/snapshots/system_presets__keys.snap"
KEYS = re.findall(r"^((?:\w+\.)+\w+): ", PINNED.read_text(), re.M)
USES = re.compile(
    r"(?:(?:crates/\w+/\w+/tests|tests|systems|docs|examples|claims|experiments|drives|python)/(?!renamed\.md)|README)"
    r".*\.(?:toml|rs|py|md|ipynb|json)$"
)
SNAPSHOTS = re.compile(r"/(?:__snapshots__|snapshots)/")
DOTTED = re.compile(r"(?<![\w.])(?:[a-z]\w*\.)+\w+(?![\w.]*\w)")
TABLE = re.compile(r"\[([a-z][\w.]*)\]")
ASSIGNMENT = re.compile(r"(?<![\w.\-\"])([a-z][\w.]*) *= *(\{[^{}]*\})?")


SECTION = re.compile(r"^section! \{\n(?P<attributes>(?: {4}(?:///|#\[).*\n)*) {4}(?P<name>\w+) \{\n", re.M)
"""The declaration of a table of keys and its struct."""
DEFAULT = re.compile(
    r"^impl (?:std::default::|core::default::)?Default for (?P<name>\w+) \{\n(?P<body>.*?)^\}", re.M | re.S
)
TABLE_READ = re.compile(r"(?:keys::defaults::<|\bdefault_where\()")


def leaves(table: dict[str, Any], above: str = "") -> Iterator[str]:
    """Yield the dotted names of all values of a TOML table, and of the tables between."""
    for name, value in table.items():
        yield above + name
        if isinstance(value, dict):
            yield from leaves(value, f"{above}{name}.")


def excerpts(text: str) -> Iterator[str]:
    """Yield the names that pieces of TOML within another text assign to."""
    table = ""
    for line in text.replace("\\n", "\n").splitlines():
        if found := TABLE.search(line):
            table = f"{found[1]}."
        for name, within in ASSIGNMENT.findall(line):
            yield from (name, table + name)
            yield from (f"{table}{name}.{inner}" for inner, _ in ASSIGNMENT.findall(within))


def names(name: str, text: str) -> set[str]:
    """Return the names in a text that may be keys: dotted ones, and those that TOML assigns to."""
    found = set(DOTTED.findall(text))
    if name.endswith(".toml"):
        return found | set(leaves(tomllib.loads(text)))
    return found | set(excerpts(text))


@pytest.fixture(scope="module")
def used() -> set[str]:
    files = [name for name in prose.tracked("") if USES.match(name) and not SNAPSHOTS.search(name)]
    found: set[str] = set()
    for name in files:
        found |= names(name, (prose.ROOT / name).read_text())
    return found


def test_the_search_sees_every_way_to_name_a_key() -> None:
    assert names("a.toml", "[a]\nb = { c = 1 }\n[basis]\n'x.y' = 'z'") >= {"a.b.c", "x.y"}
    assert names("a.rs", r'"[a.b]\nc = 1", ("d.e.f", "2")') >= {"a.b.c", "d.e.f"}
    assert names("a.md", "with `a.b` and `c = { d = 1 }` of\n`[e]`:\nf = { g = 2 }") >= {"a.b", "e.f.g"}
    assert not names("a.md", "see a.b.c, or x.y") & {"a.b", "b.c", "a", "y"}


def test_every_key_is_named_besides_its_declaration(used: set[str]) -> None:
    assert len(KEYS) > 300
    assert [key for key in KEYS if key not in used] == []


def repeated_defaults(crate: str) -> Iterator[str]:
    """Yield the sections among a crate's sources that take a default from anything but their table."""
    sections = list(SECTION.finditer(crate))
    yield from (found["name"] for found in sections if re.search(r"derive\(.*\bDefault\b", found["attributes"]))
    names = {found["name"] for found in sections}
    for found in DEFAULT.finditer(crate):
        if found["name"] in names and not TABLE_READ.search(found["body"]):
            yield found["name"]


def test_the_search_sees_every_way_to_repeat_a_default() -> None:
    table = "section! {{\n    /// A port.\n    #[derive({})]\n    Port {{\n    }}\n}}\n"
    default = "impl Default for Port {{\n    fn default() -> Port {{\n        {}\n    }}\n}}\n"
    plain = table.format("Copy, Eq")
    assert list(repeated_defaults(table.format("Copy, Default, Eq"))) == ["Port"]
    assert list(repeated_defaults(plain + default.format("Port { width: 8 }"))) == ["Port"]
    assert list(repeated_defaults(plain + default.format("keys::defaults::<Port, _>(&[])"))) == []
    assert list(repeated_defaults(default.format("Port { width: 8 }"))) == []


def test_a_default_stands_in_its_table_alone() -> None:
    crates: dict[str, str] = {}
    for path in rust_sources.sources():
        crate = str(path.relative_to(prose.ROOT / "crates").parents[-4])
        crates[crate] = crates.get(crate, "") + path.read_text()
    declared = sum(text.count("\nsection! {\n") for text in crates.values())
    assert sum(len(SECTION.findall(text)) for text in crates.values()) == declared > 50
    assert {crate: found for crate, text in crates.items() if (found := list(repeated_defaults(text)))} == {}
