"""What a sweep costs beside its runs, and what a second thread gains: 2,000 configurations. Prints lines for BENCH.md."""

import resource
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import nandram
from nandram import _core

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


def main() -> None:
    """Sweep with one thread and with two."""
    samples, requests = (int(each) for each in (sys.argv[1:] or ["2000", "20000"]))
    whole, spent = _core.run, [0.0]
    lock = threading.Lock()

    def timed(*arguments: object) -> object:
        started = time.perf_counter()
        found = whole(*arguments)  # type: ignore[arg-type]
        with lock:
            spent[0] += time.perf_counter() - started
        return found

    walls = {}
    with TemporaryDirectory() as folder:
        file = Path(folder, "sweep.toml")
        file.write_text(FILE.format(drive=DRIVE, samples=samples, requests=requests))
        nandram.sweep(file, Path(folder, "warm"), jobs=1) if samples <= 50 else None
        _core.run = timed
        for jobs in (1, 2):
            spent[0] = 0.0
            before = resource.getrusage(resource.RUSAGE_SELF)
            started = time.perf_counter()
            nandram.sweep(file, Path(folder, str(jobs)), jobs=jobs)
            walls[jobs] = time.perf_counter() - started
            after = resource.getrusage(resource.RUSAGE_SELF)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            beside = 100 * (walls[jobs] * jobs / spent[0] - 1)
            print(
                f"| {samples:,} | {jobs} | {walls[jobs]:.1f} | {cpu:.1f} | {spent[0]:.1f} | {beside:.1f} % |",
                flush=True,
            )
    print(f"two threads: {walls[1] / walls[2]:.2f} x one")


main()
