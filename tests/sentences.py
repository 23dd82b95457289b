"""Draws sentences of the project's prose at random, for a reader who judges them.

The seed is the hash of the commit that is judged, so that a drawing can be repeated and cannot be chosen:

    python tests/sentences.py --since COMMIT [--count 100]

Drawn are sentences of Markdown documents, comments and docstrings, and of the messages of commits after COMMIT.
"""

import argparse
import random
import re
import subprocess
from pathlib import Path

from prose import READERS, ROOT, Lines, tracked

SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`*\[])")


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def paragraphs(lines: Lines) -> list[tuple[int, str]]:
    """Joins consecutive lines of prose into paragraphs; table rows and list items are paragraphs of their own."""
    joined: list[tuple[int, str]] = []
    last = -1
    for number, line in lines:
        text = line.strip()
        begins = re.match(r"[|*#-]|\d+\. ", text) is not None
        if not text or text.startswith(("# Errors", "# Panics", "# Safety", "|--", "| --")):
            last = -1
            continue
        if number == last + 1 and not begins and joined:
            start, before = joined[-1]
            joined[-1] = (start, f"{before} {text}")
        else:
            joined.append((number, text))
        last = number
    return joined


def sentences(since: str) -> list[tuple[str, str]]:
    """Every sentence of at least three words, with its place."""
    found: list[tuple[str, str]] = []
    for name in tracked(*READERS):
        text = (ROOT / name).read_text()
        for number, paragraph in paragraphs(READERS[Path(name).suffix](text)):
            found += [(f"{name}:{number}", part) for part in SENTENCE.split(paragraph)]
    for entry in git("log", "--format=%h%x00%B%x01", f"{since}..HEAD").split("\x01"):
        commit, _, message = entry.strip().partition("\x00")
        lines = enumerate(message.splitlines(), 1)
        found += [(commit, part) for _, text in paragraphs(lines) for part in SENTENCE.split(text)]
    return [(place, part) for place, part in found if len(re.findall(r"[A-Za-z]{2,}", part)) >= 3]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--since", required=True, help="commit messages after this commit are drawn from, too")
    parser.add_argument("--count", type=int, default=100, help="number of sentences")
    options = parser.parse_args()
    commit = git("rev-parse", "HEAD").strip()
    everything = sorted(set(sentences(options.since)))
    print(f"{options.count} of {len(everything)} sentences of commit {commit}")
    for number, (place, part) in enumerate(random.Random(commit).sample(everything, options.count), 1):
        print(f"{number:3}. {place}: {part}")


if __name__ == "__main__":
    main()
