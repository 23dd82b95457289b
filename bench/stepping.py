"""Submits random reads of 4 KiB in batches of 1,000 until as many have completed as the last argument says.

`bench/stepping.sh` counts its instructions. Arguments: system, changes separated by newlines, preparation, requests.
"""

import sys

import nandram
import numpy as np

BATCH = 1000


def main() -> None:
    """Run one closed loop over batches."""
    system, changes, prepare, requests = sys.argv[1:]
    pairs = dict(line.split("=", 1) for line in changes.splitlines())
    with nandram.Simulation(system, prepare=prepare, set=pairs, cache=None) as sim:
        places = sim.bytes() // 4096
        rng = np.random.default_rng(1)
        completed = 0
        for _ in range(int(requests) // BATCH):
            sim.submit(sim.now, "read", rng.integers(0, places, BATCH, dtype=np.uint64) * np.uint64(4096), 4096)
            completed += len(sim.advance())
        assert completed == int(requests) // BATCH * BATCH


main()
