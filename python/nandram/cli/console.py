"""Where commands print tables."""

import sys

from rich.console import Console


def output(width: int) -> Console:
    """Return the standard output, at least so wide: a narrow terminal wraps a table, a file does not mind."""
    console = Console(file=sys.stdout, highlight=False)
    console.width = max(console.width, width)
    return console
