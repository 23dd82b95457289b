"""The shape of the sources: files per folder, import circles, names that hide modules."""

import ast
import importlib
import importlib.util
import pkgutil
import re
from pathlib import Path

import pytest

import nandram
from graphs import circles

FILES_MAX = 15
CIRCLE_MAX = 3
ROOT = Path(__file__).parents[1]
SOURCES = (".py", ".pyi", ".c", ".h", ".rs")
MODULES = ["nandram", *(found.name for found in pkgutil.walk_packages(nandram.__path__, "nandram."))]


def source_folders() -> dict[str, list[str]]:
    """Return the names of the source files of each folder of the package and of each crate.

    Folders of tests are left out: each of their files is a program of its own.
    """
    found: dict[str, list[str]] = {}
    for base in (*ROOT.glob("crates/*/*/src"), *ROOT.glob("crates/*/*/include"), ROOT / "python" / "nandram"):
        for path in base.rglob("*"):
            if path.suffix in SOURCES:
                found.setdefault(str(path.parent.relative_to(ROOT)), []).append(path.name)
    return found


FOLDERS = source_folders()


@pytest.mark.parametrize("folder", sorted(FOLDERS))
def test_folders_have_at_most_15_files(folder: str) -> None:
    assert len(FOLDERS[folder]) <= FILES_MAX, sorted(FOLDERS[folder])


def test_the_folders_of_every_crate_and_of_the_package_are_counted() -> None:
    crates = {str(path.parent.relative_to(ROOT)) for path in ROOT.glob("crates/*/*/Cargo.toml")}
    assert {"/".join(folder.split("/")[:3]) for folder in FOLDERS if folder.startswith("crates/")} == crates
    assert "python/nandram/cli" in FOLDERS


@pytest.mark.parametrize("name", [name for name in MODULES if name != "nandram.__main__"])
def test_no_name_hides_a_module(name: str) -> None:
    module = importlib.import_module(name)
    for each in pkgutil.iter_modules(getattr(module, "__path__", [])):
        child = f"{name}.{each.name}"
        if child != "nandram.__main__":
            assert getattr(module, each.name, importlib.import_module(child)) is importlib.import_module(child)


def imports(name: str) -> set[str]:
    """Return the modules of the package that a module imports, wherever in it."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    if not spec.origin.endswith(".py"):
        return set()
    tree = ast.parse(Path(spec.origin).read_text())
    # Imports for type checkers alone make no circle.
    typing = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    skipped = {each for node in typing for each in ast.walk(node)}
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node not in skipped and (node.module or "").split(".")[0] == "nandram":
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in MODULES else str(node.module))
    return found - {name}


def test_no_circle_of_imports_has_more_than_3_files() -> None:
    graph = {name: imports(name) & set(MODULES) for name in MODULES}
    assert sum(map(len, graph.values())) > 200
    assert [sorted(each) for each in circles(graph) if len(each) > CIRCLE_MAX] == []


VALGRIND_CASE = re.compile(r"^(?P<names>[\w*/ |-]+)\)\s*(?:set -- \"\$@\" (?P<filters>[^;]*))?;;", re.MULTILINE)


def valgrind_cases() -> list[tuple[list[tuple[str, str]], list[str]]]:
    """Return the executables, each after its profile, and filters of each case of the script that runs valgrind."""
    text = (ROOT / "tests/valgrind.sh").read_text()
    return [
        (re.findall(r"(\w+)/(\w+)-", found["names"]), (found["filters"] or "").split())
        for found in VALGRIND_CASE.finditer(text)
    ]


def test_valgrind_runs_tests_that_exist() -> None:
    crates = {path.parent.name: path.parent for path in ROOT.glob("crates/*/*/Cargo.toml")}
    makefile = (ROOT / "Makefile").read_text()
    cases = valgrind_cases()
    assert sum(len(names) for names, _ in cases) >= 10
    for names, filters in cases:
        sources: list[Path] = []
        for profile, name in names:
            # A crate's unit tests, or an integration test.
            found = list(ROOT.glob(f"crates/*/*/tests/{name}.rs")) or list(ROOT.glob(f"crates/*/*/tests/{name}/*.rs"))
            assert name in crates or found, name
            # Debug builds are of all crates, release builds of the named ones.
            unit_tests = "--workspace --lib --test " if profile == "debug" else f"--package {name} "
            assert f"--test {name} " in makefile or (name in crates and unit_tests in makefile), name
            sources += [*found, *(crates[name].rglob("src/**/*.rs") if name in crates else [])]
        text = "\n".join(path.read_text() for path in sources)
        for word in filters:
            *modules, function = word.split("::")
            for module in modules:
                assert re.search(rf"\bmod {module}\b", text), word
            assert re.search(rf"\bfn \w*{function}|\bmod {function}\b", text), word
