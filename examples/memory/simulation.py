"""Simulate a chain of springs, with checkpoints to resume from after a kill: ``simulation.py FILE STEPS``.

Its final output is the same however often it was killed.
"""

import hashlib
import sys
from pathlib import Path

import numpy as np

from nandram import Memory

MASSES = 20_000
EVERY = 1_000
DT = 0.05


def main(path: str, steps: int) -> None:
    """Resume from the last checkpoint, or start."""
    make = not Path(path).exists()
    with Memory(path, "16MiB" if make else None, dram="4MiB") as memory:
        if "step" not in memory:
            place = memory.array(MASSES, name="place")
            memory.array(MASSES, name="speed")
            place[:] = np.sin(np.linspace(0, 20 * np.pi, MASSES))
            memory.array(1, np.int64, name="step")
            memory.drop(memory.sync())
        place, speed, step = (np.asarray(memory[name]) for name in ("place", "speed", "step"))
        print(f"from step {step[0]}", flush=True)
        while step[0] < steps:
            speed[1:-1] += DT * (place[:-2] - 2 * place[1:-1] + place[2:])
            place += DT * speed
            step[0] += 1
            if step[0] % EVERY == 0:
                memory.drop(memory.sync())
                print(f"checkpoint {step[0]}", flush=True)
        print(hashlib.sha256(place.tobytes() + speed.tobytes()).hexdigest())
        del place, speed, step  # a memory with arrays on it cannot be closed


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
