"""Written reasons why no input can show a mutant."""

import tomllib
from collections.abc import Iterable
from pathlib import Path

from rust_mutants.sites import Mutant

FILE = Path(__file__).parent / "reasons.toml"

Key = tuple[str, str, str, str]


def read_reasons(text: str) -> dict[Key, str]:
    """Return the reason of each mutant that has one, by its key."""
    reasons: dict[Key, str] = {}
    for entry in tomllib.loads(text).get("reason", []):
        key = (entry["file"], entry["function"], entry["place"], entry["change"])
        if key in reasons or not entry["reason"].strip():
            raise ValueError(f"{FILE.name}: twice, or without a reason: {key}")
        reasons[key] = entry["reason"].strip()
    return reasons


def stale(reasons: dict[Key, str], mutants: Iterable[Mutant]) -> list[Key]:
    """Return the keys of reasons for which no mutant is left."""
    return sorted(reasons.keys() - {mutant.key for mutant in mutants})


def entry(mutant: Mutant) -> str:
    """Return the lines to add to the file, once the reason is known."""

    def quoted(text: str) -> str:
        return f"'{text}'" if "'" not in text else f"'''{text}'''"

    lines = [
        f"{name} = {quoted(text)}"
        for name, text in zip(("file", "function", "place", "change"), mutant.key, strict=True)
    ]
    return "\n".join(["[[reason]]", *lines, 'reason = ""', ""])
