"""The pages that a target of the Makefile writes as a whole."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
BEYOND = {
    "until-coverage": "a third of an hour",
    "fit-blind": "hours",
    "validate-refit": "hours, and the page of validate",
    "memory-compared": "times of this machine",
}
"""Targets that `make docs-all` leaves out, and why."""


@dataclass
class Written:
    """A target, the page that it writes, and the command that prints this page."""

    target: str
    page: str
    command: str


def written() -> list[Written]:
    """Return the pages whose command prints them."""
    rule = re.compile(r"^([a-z][\w-]*):[^\n]*\n\t([^\n]*?) > (docs/[\w-]+\.md)(?:\.new)?\n", re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text().replace("$(BIN)/", "")
    found = [Written(target, page, command) for target, command, page in rule.findall(makefile)]
    return [each for each in found if each.target not in BEYOND]
