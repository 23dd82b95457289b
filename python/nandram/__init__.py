"""Simulation of machines of flash and DRAM, each described in one file.

result = nandram.run("nvme-client-tlc", "job.fio")
result.iops, result.latency_mean_ns, result.latency(), result.plot_latency_cdf()
"""

from nandram.errors import StorageError, UserError
from nandram.memory.memory import Memory
from nandram.memory.reader import MemoryReader
from nandram.paging.run import Paging, PagingSweep, run_paging, run_paging_sweep
from nandram.papers import Reproduction, reproduce
from nandram.probe.run import Probe, ProbeInterrupted, run_probe
from nandram.report import write_report
from nandram.results.comparing import ComparisonInterrupted, compare, compare_changes
from nandram.results.comparison import Comparison
from nandram.results.result import Result, Traffic, read_result
from nandram.simulate import run
from nandram.simulation import Completions, Simulation, SimulationDevice
from nandram.sweep import Sweep, read_sweep, run_sweep
from nandram.system import System, load_system, systems

__all__ = [
    "Comparison",
    "ComparisonInterrupted",
    "Completions",
    "Memory",
    "MemoryReader",
    "Paging",
    "PagingSweep",
    "Probe",
    "ProbeInterrupted",
    "Reproduction",
    "Result",
    "Simulation",
    "SimulationDevice",
    "StorageError",
    "Sweep",
    "System",
    "Traffic",
    "UserError",
    "compare",
    "compare_changes",
    "load_system",
    "read_result",
    "read_sweep",
    "reproduce",
    "run",
    "run_paging",
    "run_paging_sweep",
    "run_probe",
    "run_sweep",
    "systems",
    "write_report",
]


def __getattr__(name: str) -> str:
    """Return ``__version__``; looking it up at every import would take too long."""
    if name == "__version__":
        from importlib.metadata import version

        return version("nandram")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
