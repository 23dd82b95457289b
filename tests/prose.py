"""Counts discouraged phrases in documents, comments and docstrings.

`python tests/prose.py` prints each count; `--list` prints the places; `--update` lowers the limits in
`data/prose.toml`.
"""

import argparse
import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Lines = Iterator[tuple[int, str]]

ROOT = Path(__file__).parent.parent
DATA = ROOT / "tests" / "data" / "prose.toml"


def tracked(*suffixes: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if name.endswith(suffixes) and (ROOT / name).is_file()]


def document_lines(text: str) -> Lines:
    """Yield the lines of a Markdown file outside of code."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield number, line


def rust_lines(text: str) -> Lines:
    """Yield the comments of a Rust file."""
    for number, line in enumerate(text.splitlines(), 1):
        found = re.search(r"(?:^|\s)//[/!]? ?(.*)$", line)
        if found:
            yield number, found[1]


def python_lines(text: str) -> Lines:
    """Yield the comments and docstrings of a Python file."""
    for number, line in enumerate(text.splitlines(), 1):
        found = re.search(r"(?:^|\s)# (.*)$", line)
        if found:
            yield number, found[1]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node, clean=False) or ""
            start = node.body[0].lineno if node.body else 1
            for offset, line in enumerate(docstring.splitlines()):
                yield start + offset, line.strip()


READERS = {".md": document_lines, ".rs": rust_lines, ".py": python_lines}


def prose() -> Iterator[tuple[str, int, str]]:
    """Yield every line of prose in the project, except CHANGELOG.md: file, line number, text."""
    for name in tracked(*READERS):
        if name != "CHANGELOG.md":
            for number, line in READERS[Path(name).suffix]((ROOT / name).read_text()):
                yield name, number, re.sub(r"`[^`]*`", "``", line)


def turns() -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = tomllib.loads(DATA.read_text())["turn"]
    return listed


def places() -> list[list[tuple[str, int, str]]]:
    """Return the occurrences of each phrase."""
    patterns = [re.compile(turn["pattern"]) for turn in turns()]
    found: list[list[tuple[str, int, str]]] = [[] for _ in patterns]
    for name, number, line in prose():
        for at, pattern in zip(found, patterns, strict=True):
            at.extend((name, number, line) for _ in pattern.finditer(line))
    return found


def update(counts: list[int]) -> None:
    """Write `counts` as limits, none of which may rise."""
    blocks = DATA.read_text().split("[[turn]]")
    for at, count in enumerate(counts, 1):
        present = re.search(r"^limit = (\d+)$", blocks[at], re.MULTILINE)
        if present and count > int(present[1]):
            sys.exit(f"{turns()[at - 1]['pattern']}: {count} are more than the limit of {present[1]}")
        body = re.sub(r"^limit = .*\n", "", blocks[at], flags=re.MULTILINE)
        blocks[at] = body.rstrip("\n") + f"\nlimit = {count}\n" + ("\n" if at < len(counts) else "")
    DATA.write_text("[[turn]]".join(blocks))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print the places")
    parser.add_argument("--update", action="store_true", help="lower the limits to the counts")
    options = parser.parse_args()
    found = places()
    for turn, at in zip(turns(), found, strict=True):
        print(f"{len(at):6}  {turn['pattern']}")
        if options.list:
            for name, number, line in at:
                print(f"        {name}:{number}: {line}")
    if options.update:
        update([len(at) for at in found])


if __name__ == "__main__":
    main()
