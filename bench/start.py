"""Measure start-up times, as a section of BENCH.md: the median of ten runs, in wall-clock and processor time."""

import os
import resource
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "`import nandram`": ["-c", "import nandram"],
    "`nandram --help`": ["-m", "nandram", "--help"],
    "Python alone": ["-c", ""],
}


def once(arguments: list[str]) -> tuple[float, float]:
    """Return the duration of a run in milliseconds: wall-clock and processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1000 * wall, 1000 * spent


print("\n## To begin\n")
print("Written by `make bench` (`bench/start.py`): milliseconds, the median of ten, with bytecode that is there.\n")
print("| command | on the clock | processor time |")
print("| --- | ---: | ---: |")
for name, arguments in COMMANDS.items():
    once(arguments)
    found = [once(arguments) for _ in range(10)]
    wall, spent = (statistics.median(each) for each in zip(*found, strict=True))
    print(f"| {name} | {wall:.0f} | {spent:.0f} |")
    sys.stdout.flush()
load = os.getloadavg()[0]
if load > os.cpu_count():
    print(f"\n(Other work was under way: {load:.0f} processes wanted {os.cpu_count()} processors.)")
