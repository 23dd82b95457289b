"""The memory use of `nandram paging` does not grow with the trace."""

import os
import sys
from pathlib import Path

from nandram.capture.emulated.trace_file import leb128, trace_file
from paging.traces import loops

HEADER = {"page_bytes": 1024, "icache": None, "program": "made", "architecture": "arm", "command": ["made"]}


def repeated(path: Path, block: list[int], times: int) -> Path:
    """Write a trace that repeats the same requests."""
    changes = [page - before for page, before in zip(block, [block[-1], *block], strict=False)]
    records = b"".join(leb128((change << 1 ^ change >> 63) + 1) for change in changes)
    with trace_file(path, "nandram page trace 1", HEADER, 1) as sink:
        # The last page of each block, so that all blocks are equal.
        sink.write(leb128((block[-1] << 1) + 1))
        for _ in range(times):
            sink.write(records)
        sink.write(b"\0" + leb128(1 + times * len(block)))
    return path


def peak_kib(trace: Path) -> int:
    arguments = [sys.executable, "-m", "nandram", "paging", str(trace), "--sram", "4KiB", "--bound", "0"]
    with open(os.devnull, "w") as nowhere:
        pid = os.posix_spawn(
            sys.executable, arguments, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1)]
        )
        _, status, usage = os.wait4(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return usage.ru_maxrss


def test_memory_does_not_grow_with_the_trace(tmp_path: Path) -> None:
    block = loops(100_000)
    short = peak_kib(repeated(tmp_path / "short.pages.zst", block, 10))
    long = peak_kib(repeated(tmp_path / "long.pages.zst", block, 80))
    assert long - short < 24 * 1024, f"{short} KiB and {long} KiB"
