"""Measure the speed of captured programs over plain QEMU: ``python bench/capture_speed.py BUILD_FOLDER pages|memory``.

`BUILD_FOLDER` is where ``examples/xip/build.sh`` built. Each program runs alternately in QEMU alone and captured; the
figure is the median of the plain runs' processor time over that of the captured runs', the capture's own and its
compression's included.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from nandram.capture import capture_memory, capture_pages

RUNS = 5
PROGRAMS = {
    "djpeg": ["huge.jpg", "/dev/null"],
    "cjpeg": ["huge.ppm", "/dev/null"],
    "basicmath": ["300"],
    "fft": ["8", "16384"],
}


def processor_s() -> float:
    """Return the processor time of this process and its finished children, in seconds."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main(build: Path, kind: str) -> None:
    """Print a table."""
    captures: dict[str, Callable[[list[str], Path], object]] = {"pages": capture_pages, "memory": capture_memory}
    os.chdir(build)
    terminal = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    lines = [f"| program | plain QEMU | over capture {kind} |", "| --- | ---: | ---: |"]
    with tempfile.TemporaryDirectory() as scratch:
        for architecture in ("arm", "x86_64"):
            for program, arguments in PROGRAMS.items():
                command = [f"{architecture}/O2/{program}", *arguments]
                plain, captured = [], []
                for _ in range(RUNS):
                    start = processor_s()
                    subprocess.run([f"qemu-{architecture}", *command], env={}, check=True)
                    between = processor_s()
                    captures[kind](command, Path(scratch) / "t.zst")
                    plain.append(between - start)
                    captured.append(processor_s() - between)
                alone = statistics.median(plain)
                lines.append(
                    f"| `{program}`, {architecture} | {alone:.2f} s | {alone / statistics.median(captured):.2f} |"
                )
    os.write(terminal, ("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in ("pages", "memory"):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), sys.argv[2])
