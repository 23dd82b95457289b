"""Measure short commands, as a section of BENCH.md: medians of ten runs, in wall-clock and processor time, and their memory."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUN = ["-m", "nandram", "run", "nvme-client-tlc", "read.fio"]
COMMANDS = {
    "`nandram run` of one read": (RUN, "120 ms"),
    "the same, with `-o`": ([*RUN, "-o", "out"], "400 ms, 130 MiB"),
    "`nandram --help`": (["-m", "nandram", "--help"], "100 ms"),
    "`import nandram`": (["-c", "import nandram"], ""),
    "Python alone": (["-c", ""], ""),
}
JOB = "[one]\nrw=randread\nbs=4k\nnumber_ios=1\n"


def once(arguments: list[str], folder: Path) -> tuple[float, float, float]:
    """Return the wall-clock and processor time of a run in milliseconds, and its largest memory in MiB."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL, cwd=folder)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    return 1000 * wall, 1000 * (used.ru_utime + used.ru_stime), used.ru_maxrss / 1024


print("\n## To begin\n")
print("Written by `make bench` (`bench/start.py`): milliseconds and MiB, the median of ten, with bytecode that is there.\n")
print("| command | on the clock | processor time | memory | limit |")
print("| --- | ---: | ---: | ---: | --- |")
with tempfile.TemporaryDirectory() as temporary:
    folder = Path(temporary)
    (folder / "read.fio").write_text(JOB)
    for name, (arguments, limit) in COMMANDS.items():
        once(arguments, folder)
        found = [once(arguments, folder) for _ in range(10)]
        wall, spent, memory = (statistics.median(each) for each in zip(*found, strict=True))
        print(f"| {name} | {wall:.0f} | {spent:.0f} | {memory:.0f} | {limit} |")
        sys.stdout.flush()
load = os.getloadavg()[0]
if load > os.cpu_count():
    print(f"\n(Other work was under way: {load:.0f} processes wanted {os.cpu_count()} processors.)")
