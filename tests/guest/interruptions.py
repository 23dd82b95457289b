"""Processes that interrupt all others thousands of times a second: threads then meet as they do on a busy machine."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SOURCE = Path(__file__).with_suffix(".c")


@contextmanager
def interruptions(folder: Path) -> Iterator[None]:
    """Run one of these processes on each processor; the program is compiled into the folder."""
    program = folder / "interruptions"
    subprocess.run(["cc", "-O2", "-o", str(program), str(_SOURCE)], check=True)
    started = [subprocess.Popen([program, str(number)]) for number in sorted(os.sched_getaffinity(0))]
    try:
        yield
        assert [process.poll() for process in started] == [None] * len(started)
    finally:
        for process in started:
            process.kill()
            process.wait()
