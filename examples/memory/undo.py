"""Undo in an interactive session: ``python -i undo.py FILE``. ``keep()`` keeps what was done, ``undo()`` undoes it."""

import sys

import numpy as np

from nandram import Memory

memory = Memory(sys.argv[1], capacity="16MiB", dram="4MiB")
picture = memory.array((256, 256), np.uint8, name="picture")
_kept = [memory.sync("empty")]


def keep(what: str) -> None:
    """Keep the picture as it is, under a name."""
    _kept.append(memory.sync(what))


def undo(steps: int = 1) -> str | None:
    """Take back what was done since the last time, and before that `steps - 1` times more; say what is there now."""
    del _kept[len(_kept) - min(steps, len(_kept)) + 1 :]
    memory.rollback(_kept[-1])
    return memory.tokens()[_kept[-1]]
