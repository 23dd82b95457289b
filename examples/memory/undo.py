"""Undo in an interactive session: ``python -i undo.py FILE``. ``keep()`` saves the changes, ``undo()`` reverts them."""

import sys

import numpy as np

from nandram import Memory

memory = Memory(sys.argv[1], capacity="16MiB", dram="4MiB")
picture = memory.array((256, 256), np.uint8, name="picture")
_kept = [memory.sync("empty")]


def keep(what: str) -> None:
    """Save the current picture under a name."""
    _kept.append(memory.sync(what))


def undo(steps: int = 1) -> str | None:
    """Revert the changes since the last save, and `steps - 1` saves before; return a description of the state."""
    del _kept[len(_kept) - min(steps, len(_kept)) + 1 :]
    memory.rollback(_kept[-1])
    return memory.tokens()[_kept[-1]]
