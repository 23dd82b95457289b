"""Compute statistics of an array three times as large as its DRAM, and sort it: ``past_dram.py FILE``."""

import sys

import numpy as np

from nandram import Memory

DRAM = 8 << 20
COUNT = 3 * DRAM // 8


def main(path: str) -> None:
    """Fill the array, scan it sequentially, sort it in parts, and check the results."""
    with Memory(path, capacity="64MiB", dram=f"{DRAM // 2**20}MiB") as memory:
        values = memory.array(COUNT, np.int64, name="values")
        # A permutation: each number once, in scrambled order.
        values[:] = (np.arange(COUNT, dtype=np.int64) * 1_000_003) % COUNT
        memory.sync()
        print(f"sum {values.sum()}, of {COUNT * (COUNT - 1) // 2}")
        halves = values.reshape(2, -1)
        halves.sort(axis=1)
        print(f"halves in order: {bool((np.diff(halves) > 0).all())}")
        values.sort()
        print(f"all in order: {np.array_equal(values, np.arange(COUNT))}")
        memory.sync()
        stats = memory.stats()
        print(f"in DRAM at most {stats['dram_bytes'] / DRAM:.2f} of what it was given: {stats['mapped_bytes'] <= DRAM}")
        del values, halves  # a memory with arrays on it cannot be closed


if __name__ == "__main__":
    main(sys.argv[1])
