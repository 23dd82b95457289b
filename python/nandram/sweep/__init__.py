"""Sweeps over configurations of a system and a workload, each run once.

declared.py  the file: what is varied, what is run        space.py    which configurations that gives
work.py      one run, here or on a worker                 store.py    the folder of results; what is made is kept
local.py     processes of this machine, each a worker.py  cluster.py  Dask: elsewhere
result.py    frames, Pareto fronts, sensitivity           run.py      all of it
"""

from nandram.sweep.result import Sweep, read_sweep
from nandram.sweep.run import run_sweep

__all__ = ["Sweep", "read_sweep", "run_sweep"]
