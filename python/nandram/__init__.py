"""nandram: describe a machine of flash and DRAM in one file, and simulate it.

result = nandram.run("nvme-client-tlc", "job.fio")
result.iops, result.latency_mean_ns, result.latency(), result.plot_latency_cdf()
"""

from nandram.comparing import Comparison, compare
from nandram.errors import StorageError, UserError
from nandram.memory import Memory
from nandram.memory_reader import MemoryReader
from nandram.paging import Paging, PagingSweep, paging, paging_sweep
from nandram.papers import Reproduction, reproduce
from nandram.probing import Probe, ProbeInterrupted, probe
from nandram.report import write_report
from nandram.result import Result, Traffic, read
from nandram.simulate import run
from nandram.sweeping import Sweep, read_sweep, sweep
from nandram.system import System, load, systems

__all__ = [
    "Comparison",
    "Memory",
    "MemoryReader",
    "Paging",
    "PagingSweep",
    "Probe",
    "ProbeInterrupted",
    "Reproduction",
    "Result",
    "StorageError",
    "Sweep",
    "System",
    "Traffic",
    "UserError",
    "compare",
    "load",
    "paging",
    "paging_sweep",
    "probe",
    "read",
    "read_sweep",
    "reproduce",
    "run",
    "sweep",
    "systems",
    "write_report",
]


def __getattr__(name: str) -> str:
    """Return ``__version__``, which takes too long to find for every import."""
    if name == "__version__":
        from importlib.metadata import version

        return version("nandram")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
