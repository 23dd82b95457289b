"""Simulation of machines of flash and DRAM, each described in one file.

result = nandram.run("nvme-client-tlc", "job.fio")
result.iops, result.latency_mean_ns, result.latency(), result.plot_latency_cdf()
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    from nandram.results.stored.rerun import Rerun, rerun
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
    "Rerun",
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
    "rerun",
    "run",
    "run_paging",
    "run_paging_sweep",
    "run_probe",
    "run_sweep",
    "systems",
    "write_report",
]

_MODULES = {
    "Comparison": "results.comparison",
    "ComparisonInterrupted": "results.comparing",
    "Completions": "simulation",
    "Memory": "memory.memory",
    "MemoryReader": "memory.reader",
    "Paging": "paging.run",
    "PagingSweep": "paging.run",
    "Probe": "probe.run",
    "ProbeInterrupted": "probe.run",
    "Reproduction": "papers",
    "Rerun": "results.stored.rerun",
    "Result": "results.result",
    "Simulation": "simulation",
    "SimulationDevice": "simulation",
    "StorageError": "errors",
    "Sweep": "sweep",
    "System": "system",
    "Traffic": "results.result",
    "UserError": "errors",
    "compare": "results.comparing",
    "compare_changes": "results.comparing",
    "load_system": "system",
    "read_result": "results.result",
    "read_sweep": "sweep",
    "reproduce": "papers",
    "rerun": "results.stored.rerun",
    "run": "simulate",
    "run_paging": "paging.run",
    "run_paging_sweep": "paging.run",
    "run_probe": "probe.run",
    "run_sweep": "sweep",
    "systems": "system",
    "write_report": "report",
}
"""The module of each name, imported at its first use: the command then handles Ctrl-C from its first line on."""


def __getattr__(name: str) -> object:
    """Return a name of ``__all__``, a module of the package, or ``__version__``."""
    from importlib import import_module
    from importlib.util import find_spec

    if name == "__version__":
        from importlib.metadata import version

        return version("nandram")
    if name in _MODULES:
        found: object = getattr(import_module(f"nandram.{_MODULES[name]}"), name)
    elif not name.startswith("_") and find_spec(f"nandram.{name}") is not None:
        found = import_module(f"nandram.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*globals(), *(name for name in __all__ if name not in globals())]
