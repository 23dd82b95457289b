"""The commands of a page, the output that it shows below each, and the files that they need.

A command is a line of a code block that begins with `$ `; lines that end with a backslash continue it. The lines
until the next command are its output, where a line `...` stands for any lines, and `...` within a line for any text.
A command without lines below it only has to succeed.

A file is a code block below a paragraph that ends with its name in backticks and a colon. Comments, which the rendered
page does not show, mark the block below them, or add to the page:

    <!-- slow -->               the block is run by `make docs-all`, not by every test
    <!-- system -->             the block needs a program of `make test-system`
    <!-- file NAME ... -->      a file that the page does not show
    <!-- run COMMAND -->        a command that the page does not show
    <!-- table NAME -->         `tests/pages/tables.py` makes the table below; also `slow table`
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

COMMENT = re.compile(r"<!-- (?P<words>(?:slow |system )?table [\w-]+|slow|system) -->$")
NAMED = re.compile(r"(?:^|\W)`([\w.-]+\.\w+)`:$")


@dataclass
class Command:
    """A command and what the page shows below it, as lines without the block's indentation."""

    line: int
    text: str
    shown: list[str] = field(default_factory=list)
    mark: str = ""
    "`slow`, `system`, or empty."
    indent: str = "    "
    end: int = 0
    "Number of the line after the last shown one."
    block: int = 0
    "Number of the line with which its block begins."


@dataclass
class File:
    """A file that the page shows, or hides in a comment."""

    line: int
    name: str
    content: str


@dataclass
class Table:
    """A table that a function of `tables.py` makes."""

    line: int
    name: str
    rows: list[str]
    mark: str


@dataclass
class Page:
    """The commands, files and tables of a page, in order."""

    steps: list[Command | File | Table]

    @property
    def commands(self) -> list[Command]:
        """Return the commands alone."""
        return [step for step in self.steps if isinstance(step, Command)]

    @property
    def tables(self) -> list[Table]:
        """Return the tables alone."""
        return [step for step in self.steps if isinstance(step, Table)]


def read_page(path: Path) -> Page:
    """Parse a page."""
    return parse(path.read_text().splitlines())


def parse(lines: list[str]) -> Page:
    """Parse the lines of a page."""
    steps: list[Command | File | Table] = []
    mark = ""
    before = ""
    "The last line of prose."
    at = 0
    while at < len(lines):
        line = lines[at]
        if match := re.match(r"<!-- file (\S+)$", line):
            end = lines.index("-->", at)
            steps.append(File(at + 1, match[1], "\n".join(lines[at + 1 : end]) + "\n"))
            at = end + 1
        elif match := re.match(r"<!-- run (.*) -->$", line):
            steps.append(Command(at + 1, match[1], end=at + 1))
            at += 1
        elif match := COMMENT.match(line):
            mark = match["words"]
            at += 1
        elif line.startswith("    ") or re.match(r"\s*```", line):
            start = at
            at, content, indent = block(lines, at)
            steps += block_steps(content, start, indent, before, mark)
            mark = before = ""
        elif line.startswith("|") and "table" in mark:
            start = at
            while at < len(lines) and lines[at].startswith("|"):
                at += 1
            words = mark.split()
            steps.append(Table(start + 1, words[-1], lines[start:at], words[0] if len(words) == 3 else ""))
            mark = ""
        else:
            if line.strip():
                before = line.rstrip()
                if mark:
                    raise ValueError(
                        f"line {at + 1}: found text after <!-- {mark} -->, expected the block that it marks"
                    )
            at += 1
    return Page(steps)


def block(lines: list[str], at: int) -> tuple[int, list[tuple[int, str]], str]:
    """Return the number of the line after a code block, its lines with their numbers, and its indentation."""
    content: list[tuple[int, str]] = []
    if lines[at].startswith("    "):
        while at < len(lines) and (lines[at].startswith("    ") or not lines[at].strip()):
            content.append((at + 1, lines[at][4:].rstrip()))
            at += 1
        while not content[-1][1]:
            content.pop()
        return content[-1][0], content, "    "
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    at += 1
    while not lines[at].strip().startswith("```"):
        content.append((at + 1, lines[at].removeprefix(indent).rstrip()))
        at += 1
    return at + 1, content, indent


def block_steps(
    content: list[tuple[int, str]], start: int, indent: str, before: str, mark: str
) -> list[Command | File | Table]:
    """Return the file that a block begins with, if the prose in front names one, and its commands."""
    first = next((i for i, (_, text) in enumerate(content) if text.startswith("$ ")), len(content))
    steps: list[Command | File | Table] = []
    if (named := NAMED.search(before)) and first > 0:
        text = "\n".join(text for _, text in content[:first]).rstrip()
        steps.append(File(start + 1, named[1], f"{text}\n"))
    at = first
    while at < len(content):
        number, text = content[at]
        text = text.removeprefix("$ ")
        at += 1
        while text.endswith("\\") and at < len(content):
            text = f"{text}\n{content[at][1]}"
            at += 1
        shown: list[str] = []
        while at < len(content) and not content[at][1].startswith("$ "):
            shown.append(content[at][1])
            at += 1
        while shown and not shown[-1]:
            shown.pop()
        end = number + text.count("\n") + len(shown) + 1
        steps.append(Command(number, text, shown, mark, indent, end, start + 1))
    return steps
