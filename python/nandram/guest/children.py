"""Child processes that never outlive a run."""

import ctypes
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

_PR_SET_PDEATHSIG = 1
_GRACE_S = 5.0
_SAMPLE_S = 0.1
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Children:
    """The processes of a run, all on one processor.

    QEMU and the drive work alternately, and one processor hands over from one process to the other in a few
    microseconds. A second processor would have to be woken each time, which takes longer than the work.
    """

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self._processor: int | None = None

    def start(self, line: list[str], log: Path, environment: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a process whose output goes to `log`; the terminal's Ctrl-C does not reach it."""
        libc = ctypes.CDLL(None)
        if self._processor is None:
            self._processor = idlest_processor()
        processor = self._processor
        # An interrupt between the start of a process and its entry in the list would leave it to the system.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)

        def die_with_parent() -> None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            os.sched_setaffinity(0, {processor})

        try:
            with log.open("wb") as file:
                process = subprocess.Popen(
                    line,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                    env=environment,
                    start_new_session=True,
                    preexec_fn=die_with_parent,
                )
            self._processes.append(process)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return process

    def end(self) -> None:
        """End all processes, the last first."""
        for process in reversed(self._processes):
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(_GRACE_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def idlest_processor() -> int:
    """Return the allowed processor that was idle longest in the last tenth of a second."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) == 1:
        return allowed[0]
    before = _idle_ticks()
    time.sleep(_SAMPLE_S)
    after = _idle_ticks()
    # Of equally idle ones not always the first, so that runs that start together spread.
    first = os.getpid() % len(allowed)
    return max(allowed[first:] + allowed[:first], key=lambda number: after.get(number, 0) - before.get(number, 0))


def _idle_ticks() -> dict[int, int]:
    """Return the ticks that each processor has been idle, or has waited for a disk."""
    found = re.findall(r"^cpu(\d+) \d+ \d+ \d+ (\d+) (\d+)", Path("/proc/stat").read_text(), re.MULTILINE)
    return {int(number): int(idle) + int(waiting) for number, idle, waiting in found}


@contextmanager
def children() -> Iterator[Children]:
    """Yield the processes of a run, which end with the block; SIGTERM and SIGHUP end it like Ctrl-C."""
    found = Children()
    with _terminations_interrupt():
        try:
            yield found
        finally:
            found.end()


@contextmanager
def _terminations_interrupt() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def last_line(log: Path) -> str:
    """Return the last line that a process printed."""
    lines = log.read_text(errors="replace").strip().splitlines() if log.is_file() else []
    return lines[-1].strip() if lines else "it printed no message"
