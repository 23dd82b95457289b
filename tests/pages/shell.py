"""Runs the commands of a page in a folder of their own, and compares their output with what the page shows."""

import difflib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pages.blocks import Command, File, Page, Table
from pages.tables import TABLES

ROOT = Path(__file__).parents[2]


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a page's commands: this interpreter's programs, a wide terminal, no colors."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    keep = {name: value for name, value in os.environ.items() if not name.startswith(("NANDRAM_", "PYTEST_"))}
    cache = os.environ.get("NANDRAM_CACHE", str(folder / "drives"))
    return keep | {"PATH": programs, "NANDRAM_CACHE": cache, "COLUMNS": "160", "NO_COLOR": "1", "TERM": "dumb"}


def run(text: str, folder: Path) -> tuple[int, list[str]]:
    """Run a command; return its exit status and the lines that it printed."""
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail\n{text}"],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, [line.rstrip() for line in done.stdout.splitlines()]


def matches(shown: list[str], printed: list[str]) -> bool:
    """Return whether output is what a page shows."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else ".*?".join(re.escape(part) for part in line.split("...")) + r"\n"
        for line in shown
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def difference(command: Command, status: int, printed: list[str]) -> str:
    """Return the first fault of a command's output, or nothing."""
    fails = any(line.startswith("error: ") for line in command.shown)
    if (status != 0) != fails:
        return f"line {command.line}: $ {command.text}\nexit status {status}:\n" + "\n".join(printed[-20:])
    if command.shown and not matches(command.shown, printed):
        lines = difflib.unified_diff(command.shown, printed, "the page", "the command", lineterm="")
        return f"line {command.line}: $ {command.text}\n" + "\n".join(lines)
    return ""


def start(page: Page, folder: Path) -> None:
    """Put the files that a page shows into the folder of its commands."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    for step in reversed(page.steps):
        if isinstance(step, File):
            (folder / step.name).write_text(step.content)


@dataclass
class Difference:
    """A block whose page shows something else: what differs, and the lines that should be there."""

    step: Command | Table
    text: str
    printed: list[str]


def run_page(page: Page, folder: Path, marks: tuple[str, ...]) -> list[Difference]:
    """Run a page's commands and tables of some marks, in order; return those that differ from what the page shows."""
    start(page, folder)
    wrong = []
    for step in page.steps:
        if isinstance(step, File):
            (folder / step.name).write_text(step.content)
        elif step.mark not in marks:
            continue
        elif isinstance(step, Command):
            status, printed = run(step.text, folder)
            if found := difference(step, status, printed):
                wrong.append(Difference(step, found, printed))
        elif (rows := TABLES[step.name]()) != step.rows:
            lines = difflib.unified_diff(step.rows, rows, "the page", "the command", lineterm="")
            wrong.append(Difference(step, f"line {step.line}: table {step.name}\n" + "\n".join(lines), rows))
    return wrong


def mend(path: Path, wrong: list[Difference]) -> None:
    """Put what commands printed into a page, where it shows whole output."""
    lines = path.read_text().splitlines()
    for found in reversed(wrong):
        step = found.step
        if isinstance(step, Table):
            lines[step.line - 1 : step.line - 1 + len(step.rows)] = found.printed
        elif step.shown and not any("..." in line for line in step.shown):
            shown = [f"{step.indent}{line}".rstrip() for line in found.printed]
            lines[step.end - 1 - len(step.shown) : step.end - 1] = shown
    path.write_text("\n".join(lines) + "\n")
