"""Measure the paper's sweep and long traces with `nandram paging`, as a Markdown section: ``python bench/paging.py``.

Seconds depend on this machine and its load; processor time is the sum over all threads.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from nandram.traces import path_of  # noqa: E402
from paging.test_memory import peak_kib, repeated  # noqa: E402
from paging.traces import loops  # noqa: E402

PROGRAMS = ("djpeg", "cjpeg", "basicmath", "fft")
BLOCK = 100_000
LONG = (10_000_000, 300_000_000)


def processor_s() -> float:
    """Return the processor time of the finished children, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print the section."""
    traces = [str(path_of(f"xip/{program}-arm-O2")) for program in PROGRAMS]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "nandram", "paging", *traces, "--window", "2..1024", "-o", f"{folder}/sweep"]
        load = os.getloadavg()[0]
        start, before = time.monotonic(), processor_s()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        elapsed, used = time.monotonic() - start, processor_s() - before
        print("\n## The paper's sweep, and long page traces\n")
        print("Written by `make bench` (`bench/paging.py`). These are seconds, of the machine at hand.\n")
        print(
            "PM-XIP at windows of 2 to 1024, every threshold, 4 to 32 KiB of SRAM, on four programs for ARM at -O2, and both"
        )
        print(
            f"heat maps: {used:.0f} s of processor time, {elapsed:.0f} s on {os.cpu_count()} cores at a load of {load:.0f}.\n"
        )
        print("| requests through LRU, MIN, PM-XIP(8,4) and rent or buy | peak memory | processor time |")
        print("| ---: | ---: | ---: |")
        block = loops(BLOCK)
        for requests in LONG:
            trace = repeated(Path(folder) / f"{requests}.pages.zst", block, requests // BLOCK)
            before = processor_s()
            peak = peak_kib(trace)
            print(f"| {requests:,} | {peak / 1024:.1f} MiB | {processor_s() - before:.1f} s |", flush=True)


if __name__ == "__main__":
    main()
