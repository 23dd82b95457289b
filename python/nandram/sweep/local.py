"""Runs of a sweep in processes of this machine.

Threads of one process would do, since the simulator does not hold the interpreter's lock; but they wait for each other
in the kernel, as each run takes the memory of its drive and gives it back: two were 1.4 times as fast as one, two
processes 1.9 times.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict
from pathlib import Path

from nandram.errors import UserError
from nandram.sweep.work import Row, Work

AHEAD = 2
"""Runs a process that wait for it."""


class Process:
    """A process that makes runs: `nandram.sweep.worker`. It ends when this one does, whatever ends it."""

    def __init__(self, measures: dict[str, str]) -> None:
        package = str(Path(__file__).parents[2])
        paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "nandram.sweep.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            text=True,
            encoding="utf-8",
        )
        self._say(measures)

    def run(self, work: Work) -> Row:
        """Have a run made. Raises `UserError` if it is refused, or ends the process."""
        self._say(asdict(work))
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        if not answer:
            place = ", ".join(f"{axis}={value}" for axis, value in work.place.items())
            raise UserError(f"{place}: the process that made this run ended with status {self._process.wait()}")
        row: Row = json.loads(answer)
        if "error" in row:
            raise UserError(row["error"])
        return row

    def end(self) -> None:
        """End it, and what it is at."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                # The process has ended: data that it did not read does not matter.
                with contextlib.suppress(OSError):
                    pipe.close()

    def _say(self, what: object) -> None:
        assert self._process.stdin is not None
        # If it is gone, there is no answer either.
        with contextlib.suppress(OSError):
            self._process.stdin.write(json.dumps(what) + "\n")
            self._process.stdin.flush()


def made(works: list[Work], measures: dict[str, str], jobs: int) -> Iterator[Row]:
    """Make the runs, `jobs` at a time; yield each row as its run ends. Raises `UserError`."""
    if not works:
        return
    left = iter(works)
    processes: list[Process] = []
    of_thread = threading.local()

    def begin() -> None:
        of_thread.process = Process(measures)
        processes.append(of_thread.process)

    with ThreadPoolExecutor(min(jobs, len(works)), initializer=begin) as pool:
        running: set[Future[Row]] = set()
        try:
            while True:
                for work in left:
                    running.add(pool.submit(lambda each: of_thread.process.run(each), work))
                    if len(running) >= AHEAD * jobs:
                        break
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for each in done:
                    yield each.result()
        finally:
            # Also if the caller stops iterating.
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.end()
