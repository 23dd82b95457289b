"""Simulate heat in a plate, in NumPy's own memory and on a `Memory`, with identical bits: ``heat.py FILE``."""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nandram import Memory

SIDE = 768
STEPS = 20
ALPHA = 0.2


def run(plate: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Execute the explicit scheme, alternating between two arrays; return the final one."""
    plate[:] = 0.0
    plate[0, :] = 100.0
    plate[:, 0] = np.linspace(100.0, 0.0, SIDE)
    other[:] = plate
    for _ in range(STEPS):
        inner = plate[1:-1, 1:-1]
        around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        other[1:-1, 1:-1] = inner + ALPHA * (around - 4.0 * inner)
        plate, other = other, plate
    return plate


def main(path: str) -> None:
    """Compare both results."""
    expected = run(np.empty((SIDE, SIDE)), np.empty((SIDE, SIDE)))
    with Memory(path, capacity="32MiB", dram="4MiB") as memory:
        shape = (SIDE, SIDE)
        found = run(memory.array(shape, name="plate"), memory.array(shape, name="other"))
        same = found.tobytes() == expected.tobytes()
        print(f"{SIDE} x {SIDE}, {STEPS} steps, mean {found.mean():.6f}: {'the same bits' if same else 'other bits'}")
        del found  # a memory with arrays on it cannot be closed
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main(sys.argv[1])
