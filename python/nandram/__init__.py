"""nandram: describe a machine of flash and DRAM in one file, and simulate it.

result = nandram.run("nvme-client-tlc", "job.fio")
result.iops, result.latency_mean_ns, result.latency(), result.plot_latency_cdf()
"""

from nandram.errors import UserError
from nandram.papers import Reproduction, reproduce
from nandram.result import Result, Traffic, read
from nandram.simulate import run
from nandram.system import System, load, systems

__all__ = ["Reproduction", "Result", "System", "Traffic", "UserError", "load", "read", "reproduce", "run", "systems"]
