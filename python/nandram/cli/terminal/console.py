"""The console on which commands print tables."""

import sys

from rich.console import Console


def output(width: int) -> Console:
    """Return a console on standard output with at least this width; narrow terminals wrap the lines of wide tables."""
    console = Console(file=sys.stdout, highlight=False)
    console.width = max(console.width, width)
    return console
