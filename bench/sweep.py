"""Measure the overhead of a sweep, and the gain of a second process, as a section of BENCH.md."""

import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import nandram
from nandram import _core
from nandram.options import run_options
from nandram.sweep import declared

FILE = """
system = "{drive}"
precondition = "fill"
job = '''
[reads]
rw=randread
bs=4k
iodepth={{depth}}
number_ios={requests}
norandommap
'''

[space]
kind = "latin-hypercube"
samples = {samples}

[space.axes]
depth = [1, 2, 4, 8, 16]
"flash.read" = {{ from = "40us", to = "80us" }}
"""
DRIVE = Path(__file__).parents[1] / "tests" / "data" / "tiny.toml"


def spent() -> float:
    """Return the processor time of this process and of its finished children, in seconds."""
    usages = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in usages)


def bare(file: Path, folder: Path) -> None:
    """Execute only the runs of a sweep."""
    options = run_options(1, "none", False, False, "fill", None, None, None)
    job = folder / "job.fio"
    for work in declared.read(file).works(None):
        job.write_text(work.job or "")
        _core.run(work.system, work.changes, str(job), options, None)


def main(samples: int, requests: int) -> None:
    """Print the section."""
    print("\n## A sweep\n")
    print(
        "Written by `make bench` (`bench/sweep.py`). Seconds; *runs alone* are the same calls of the simulator in a row."
    )
    print(f"{samples:,} configurations of a tiny drive, each of {requests:,} random reads.\n")
    print("| | processor time | on the clock |\n| --- | ---: | ---: |")
    found = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        for size, file in ((4, folder / "warm.toml"), (samples, folder / "sweep.toml")):
            file.write_text(FILE.format(drive=DRIVE, samples=size, requests=requests))
        # Import everything once.
        nandram.run_sweep(folder / "warm.toml", folder / "warm", jobs=1)
        makers = {
            "runs alone": lambda: bare(folder / "sweep.toml", folder),
            "a sweep, one process": lambda: nandram.run_sweep(folder / "sweep.toml", folder / "1", jobs=1),
            "a sweep, two processes": lambda: nandram.run_sweep(folder / "sweep.toml", folder / "2", jobs=2),
        }
        for name, make in makers.items():
            before, started = spent(), time.perf_counter()
            make()
            found[name] = (spent() - before, time.perf_counter() - started)
            print(f"| {name} | {found[name][0]:.2f} | {found[name][1]:.2f} |", flush=True)
    alone, one, two = found.values()
    beside, faster = 100 * (one[0] / alone[0] - 1), one[1] / two[1]
    print(f"\nBeside the runs: {beside:.1f} %. Two processes: {faster:.2f} times as fast as one.")


main(*(int(each) for each in sys.argv[1:] or ["2000", "60000"]))
