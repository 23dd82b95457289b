"""Runs of a sweep in threads of this machine: the simulator does not hold the interpreter's lock."""

import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from nandram.sweeping.work import Row, Work, run

AHEAD = 2
"""Runs a thread that wait for it."""


def made(works: list[Work], measures: dict[str, str], jobs: int) -> Iterator[Row]:
    """Make the runs, `jobs` at a time; yield each row as its run ends. Raises `UserError`."""
    stop = threading.Event()
    left = iter(works)
    with ThreadPoolExecutor(jobs) as pool:
        running: set[Future[Row]] = set()
        try:
            while True:
                for work in left:
                    running.add(pool.submit(run, work, measures, lambda: not stop.is_set()))
                    if len(running) >= AHEAD * jobs:
                        break
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for each in done:
                    yield each.result()
        finally:
            # Also if whoever asks has enough: those under way stop where they next say how far they are.
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
