"""Imports between the files of a Rust crate, each file counted by itself."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

Module = tuple[str, ...]
"""Path of a module from the root of its crate; empty for the root."""

COMMENT = re.compile(r"//.*")
TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')
VISIBILITY = re.compile(r"\bpub\((?:in )?[\w:]+\)")
UNIT_TESTS = re.compile(r"#\[cfg\((?:all\()?test\b.*\]\n(?:pub )?mod \w+ \{")
USE = re.compile(r"(?P<public>\bpub )?\buse (?P<tree>[^;]+);")
INNER_PATH = re.compile(r"(?<![\w:])[A-Za-z_]\w*(?:::\w+)+")
DECLARED = re.compile(
    r"^(?:pub )?(?:const |unsafe |extern \"\" )*"
    r"(?:struct|enum|union|trait|fn|type|const|static|mod|macro_rules!) (?:r#)?(\w+)",
    re.MULTILINE,
)
FOLDER_MODULES = {"mod", "lib", "main"}


def code(path: Path) -> str:
    """Return the text of a file without comments, string literals, kinds of visibility and unit tests."""
    text = TEXT.sub('""', COMMENT.sub("", path.read_text()))
    return UNIT_TESTS.split(VISIBILITY.sub("pub", text).replace("r#", ""))[0]


def items(tree: str) -> Iterator[str]:
    """Yield the items between the outer braces of a `use`."""
    depth, item = 0, ""
    for letter in tree:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield item
            item = ""
        else:
            item += letter
    yield item


def names(tree: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each name that a `use` brings into scope, `*` for all, and the path that it stands for."""
    head, brace, rest = tree.partition("{")
    if not brace:
        path, _, alias = tree.strip().partition(" as ")
        parts = [part.strip() for part in path.split("::") if part.strip()]
        if parts:
            yield alias.strip() or parts[-1], parts
        return
    prefix = [part.strip() for part in head.split("::") if part.strip()]
    for item in items(rest[: rest.rindex("}")]):
        for name, parts in names(item):
            whole = [*prefix, *(parts[:-1] if parts[-1] == "self" else parts)]
            yield (whole[-1] if name == "self" else name), whole


@dataclass
class File:
    """A file: what it declares, the names that it brings into scope, and the paths in its code."""

    is_folder: bool
    declared: set[str]
    code: str
    names: dict[str, list[str]] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    wildcards: list[list[str]] = field(default_factory=list)


def parse(path: Path) -> File:
    text = code(path)
    found = File(path.stem in FOLDER_MODULES, set(DECLARED.findall(text)), USE.sub("", text))
    for use in USE.finditer(text):
        for name, parts in names(re.sub(r"\s+", " ", use["tree"])):
            if name == "*":
                found.wildcards.append(parts[:-1])
            else:
                found.names[name] = parts
                found.exported |= {name} if use["public"] else set()
    return found


class Crate:
    """The files of a crate by module; its `lib.rs` or `main.rs` is the root."""

    def __init__(self, source: Path) -> None:
        self.files: dict[Module, File] = {}
        for path in sorted(source.rglob("*.rs")):
            parts = path.relative_to(source).with_suffix("").parts
            self.files[parts[:-1] if parts[-1] in FOLDER_MODULES else parts] = parse(path)

    def declaring(self, module: Module, path: list[str], seen: frozenset[str] = frozenset()) -> Module | None:
        """Return the module that declares what `path` names in `module`, or `None` for a name from elsewhere."""
        match path:
            case ["crate", *rest]:
                return self.below((), rest, seen)
            case ["self", *rest]:
                return self.below(module, rest, seen)
            case ["super", *rest]:
                return self.declaring(module[:-1], rest if rest[:1] == ["super"] else ["self", *rest], seen)
        file = self.files[module]
        known = (*module, path[0]) in self.files or path[0] in file.names or path[0] in file.declared
        return self.below(module, path, seen) if known else None

    def below(self, module: Module, path: list[str], seen: frozenset[str]) -> Module | None:
        """Return the module that declares what `path` names, where its first name is one of `module`'s."""
        if module not in self.files:  # A module inside a file.
            return self.below(module[:-1], [], seen)
        if not path:
            return module
        first, *rest = path
        if (*module, first) in self.files:
            return self.below((*module, first), rest, seen)
        file, here = self.files[module], f"{'::'.join(module)}::{first}"
        if here in seen or first in file.declared:
            return module
        if first in file.names:
            return self.declaring(module, [*file.names[first], *rest], seen | {here})
        for wildcard in file.wildcards:
            target = self.declaring(module, wildcard, seen | {here})
            found = None if target is None else self.below(target, path, seen | {here})
            if found is not None and first in self.files[found].declared:
                return found
        return module

    def is_module(self, path: list[str], target: Module) -> bool:
        """Return whether a path names a folder's module itself, so that only the paths through it count."""
        file = self.files[target]
        own = {"crate", "self", "super", *target[-1:]}
        return file.is_folder and path[-1] in own and path[-1] not in file.declared

    def imports(self) -> dict[Module, set[Module]]:
        """Return for each file the files that declare what it names, its unit tests left out.

        A name that a module re-exports leads to the file that declares it. A file that only re-exports a name does not
        depend on it.
        """
        graph = {}
        for module, file in self.files.items():
            found = [self.declaring(module, path) for path in file.wildcards]
            found += [self.declaring(module, path.split("::")) for path in INNER_PATH.findall(file.code)]
            for name, path in file.names.items():
                target = self.declaring(module, path)
                used = name not in file.exported or re.search(rf"\b{name}\b", file.code)
                if used and target is not None and not self.is_module(path, target):
                    found.append(target)
            graph[module] = {target for target in found if target is not None} - {module}
        return graph
