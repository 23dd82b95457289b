"""Mutants of Rust sources: their list, and the draw."""

import json
import os
import random
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")


@dataclass(frozen=True)
class Mutant:
    """A place in a file, and what replaces it."""

    file: str
    line: int
    function: str
    kind: str
    start: int
    end: int
    place: str
    """The line of source, without its indentation."""
    change: str
    """The line as changed, or what happens to the condition of an early exit."""
    pieces: tuple[str | tuple[int, int], ...] | None
    """The replacement: text, and ranges of the source. None for a guard after the place, which makes it false."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What identifies the mutant when lines have moved."""
        return (self.file, self.function, self.place, self.change)


def _parse(line: str) -> Mutant:
    fields = json.loads(line)
    pieces = fields.pop("pieces")
    if pieces is not None:
        pieces = tuple(piece if isinstance(piece, str) else (piece[0], piece[1]) for piece in pieces)
    return Mutant(**fields, pieces=pieces)


def build_lister() -> Path:
    """Build the program that finds the places, and return it."""
    manifest = Path(__file__).parent / "lister" / "Cargo.toml"
    target = TARGET / "rust_sites"
    subprocess.run(
        ["cargo", "build", "--quiet", "--locked", "--manifest-path", manifest, "--target-dir", target], check=True
    )
    return target / "debug" / "rust_sites"


def list_mutants(lister: Path, root: Path, files: Sequence[str]) -> list[Mutant]:
    """Return all mutants of files below a root, in order."""
    done = subprocess.run([lister, root, *files], check=True, capture_output=True, text=True)
    return [_parse(line) for line in done.stdout.splitlines()]


def sources(root: Path, folder: str) -> list[str]:
    """Return the Rust files of a folder that a release contains, relative to the root."""
    found = sorted((root / folder).rglob("*.rs"))
    return [path.relative_to(root).as_posix() for path in found if path.name not in ("tests.rs", "injected.rs")]


def draw(mutants: Sequence[Mutant], count: int, seed: int, folder: str) -> list[Mutant]:
    """Draw mutants of a folder without repetition; the same for the same seed, in the order of the sources.

    The draw of each mutant depends on it alone, so that a change of one place replaces few of the others.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    keyed = []
    for at, mutant in enumerate(mutants):
        key = (mutant.file.removeprefix(folder), *mutant.key[1:])
        keyed.append((random.Random(repr((seed, key, seen[key]))).random(), at))
        seen[key] += 1
    return [mutants[at] for at in sorted(at for _, at in sorted(keyed)[:count])]
