"""Sweeps: many configurations of a system and a workload, made once each, and what comes of them.

declared.py  the file: what is varied, what is run        space.py    which configurations that gives
work.py      one run, here or on a worker                 store.py    the folder of results; what is made is kept
local.py     processes of this machine, each a worker.py  cluster.py  Dask: elsewhere
result.py    frames, Pareto fronts, sensitivity           sweep.py    all of it
"""

from nandram.sweeping.result import Sweep, read_sweep
from nandram.sweeping.sweep import sweep

__all__ = ["Sweep", "read_sweep", "sweep"]
