"""Reads the shape of the Rust sources: structs, attributes, and imports between the modules of a crate."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
Module = tuple[str, ...]

STRUCT = re.compile(
    r"^(?P<indent> *)(?:pub(?:\([^)]*\))? )?struct (?P<name>\w+)[^;{(]*\{\n(?P<body>.*?)^(?P=indent)\}", re.M | re.S
)
FIELD = re.compile(r"^ +(?:pub(?:\([^)]*\))? )?(?:r#)?\w+: (?P<type>.*?),?$", re.M)
PATH = re.compile(r"\b(?P<base>crate|(?:super::)*super)(?P<rest>(?:::\w+)*)(?P<brace>::\{)?")
USE_OF_CHILD = re.compile(r"^\s*use (?P<name>\w+)::", re.M)
EXPORT = re.compile(r"^\s*pub(?:\([^)]*\))? use (?P<path>[\w:]+?)(?:::\{(?P<items>[^}]*)\})?;", re.M)


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


def modules(source: Path) -> dict[Module, Path]:
    """Return the file of each module of a crate, without the crate's root."""
    found = {}
    for path in source.rglob("*.rs"):
        parts = path.relative_to(source).with_suffix("").parts
        found[parts[:-1] if parts[-1] == "mod" else parts] = path
    return {module: path for module, path in found.items() if module not in {(), ("lib",), ("main",)}}


def grouped(text: str, start: int) -> list[str]:
    """Return the items of a `{…}` of a path whose opening brace ends at `start`."""
    items, item, depth = [], "", 1
    for letter in text[start:]:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if depth == 0:
            break
        if letter == "," and depth == 1:
            items.append(item)
            item = ""
        else:
            item += letter
    return [*items, item]


def absolute(module: Module, path: list[str]) -> Module:
    """Return the path from the crate's root of a path in a `pub use` of a module."""
    match path:
        case ["crate", *rest]:
            return tuple(rest)
        case ["super", *rest]:
            return absolute(module[:-1], rest)
        case ["self", *rest]:
            return (*module, *rest)
    return (*module, *path)


def code(path: Path) -> str:
    """Return the text of a file without comments and unit tests."""
    return re.sub(r"//.*", "", path.read_text()).split("#[cfg(test)]\nmod tests")[0]


def without_exports(module: Module, text: str) -> str:
    """Return the text of a module without each `pub use` of names from the files below it."""

    def kept(export: re.Match[str]) -> str:
        below = absolute(module, export["path"].split("::"))[: len(module)] == module
        return "" if below else export[0]

    return EXPORT.sub(kept, text)


def exports(texts: dict[Module, str]) -> dict[Module, Module]:
    """Return what each re-exported name stands for, both as paths from the crate's root."""
    found: dict[Module, Module] = {}
    for module, text in texts.items():
        for export in EXPORT.finditer(text):
            path = absolute(module, export["path"].split("::"))
            items = export["items"] or export["path"].rpartition("::")[2]
            start = path if export["items"] else path[:-1]
            for name, alias in re.findall(r"((?:\w+::)*\w+)(?: as (\w+))?", items):
                parts = name.split("::")
                found[*module, alias or parts[-1]] = (*start, *parts)
    return found


def imports(source: Path) -> dict[Module, set[Module]]:
    """Return for each module of a crate the modules that it names, tests left out.

    A name that a module re-exports leads to the module that declares it, and a module that only re-exports names from
    the files below it does not depend on them. A folder's own module and the files below it are one thing: what a file
    takes from a module above it, if that module declares it, makes no circle.
    """
    files = modules(source)
    texts = {module: code(path) for module, path in files.items()}
    roots = [source / name for name in ("lib.rs", "main.rs") if (source / name).exists()]
    exported = exports({**texts, (): "\n".join(code(root) for root in roots)})

    def nearest(path: Module) -> Module:
        ends = [path[:length] for length in range(len(path), 0, -1)]
        for end in ends:
            if end in files:
                return end
            if exported.get(end, end) != end:
                return nearest((*exported[end], *path[len(end) :]))
        return ()

    graph = {}
    for module, original in texts.items():
        text = without_exports(module, original)
        named = {(*module, found["name"]) for found in USE_OF_CHILD.finditer(text)} & files.keys()
        for found in PATH.finditer(text):
            ups = found["base"].count("super")
            base = [] if ups == 0 else list(module[: len(module) - ups])
            base += [each for each in found["rest"].split("::") if each]
            items = grouped(text, found.end()) if found["brace"] else [""]
            named |= {nearest((*base, *re.findall(r"\w+", item)[:3])) for item in items}
        graph[module] = {other for other in named if module[: len(other)] != other}
    return graph
