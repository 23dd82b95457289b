"""Measure sync and rollback of a memory on a file at several sizes, and replace that section of BENCH.md.

Usage: memory.py [FOLDER [GIB...]], with the folder for the files (build/bench) and the sizes (1 4 16). A size without enough
room is skipped with a message.
"""

import mmap
import os
import random
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from nandram import Memory

GIB = 1 << 30
PIECE = 8 << 20
SEGMENT = 4096
ROUNDS = 5
CHANGED = 10_000  # segments, for the rollback of equal size at every capacity
HEADING = "## Memory on a file\n"


def seconds(call: Callable[[], object]) -> float:
    """Return the wall-clock duration of a call."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def copy(path: Path, scratch: Path) -> None:
    """Copy a file with direct I/O, durably, over the same GiB repeatedly, since there is no room for a second file."""
    buffer = mmap.mmap(-1, PIECE)
    source = os.open(path, os.O_RDONLY | os.O_DIRECT)
    target = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
    try:
        at, end = 0, os.fstat(source).st_size
        while at < end:
            try:
                at = os.lseek(source, at, os.SEEK_DATA) // PIECE * PIECE
            except OSError:
                break
            got = os.preadv(source, [buffer], at)
            os.pwritev(target, [memoryview(buffer)[: got // SEGMENT * SEGMENT]], at % GIB)
            at += PIECE
        os.fsync(target)
    finally:
        os.close(source)
        os.close(target)
        scratch.unlink()


def change(memory: Memory, at: int, size: int, count: int, draw: random.Random) -> None:
    """Overwrite this many random segments."""
    for segment in draw.sample(range(size // SEGMENT), count):
        memory.write(at + segment * SEGMENT, draw.randbytes(SEGMENT))


def measure(folder: Path, gib: int) -> str:
    """Return the table row for a size."""
    size, path, draw = gib * GIB, folder / f"{gib}.memory", random.Random(1)
    try:
        with Memory(path, capacity=f"{gib}GiB", dram="512MiB", space=f"{size + size // 4 + (64 << 20)}B") as memory:
            at = memory.alloc(size)
            filler = draw.randbytes(PIECE)
            for piece in range(0, size, PIECE):
                memory.write(at + piece, filler)
            start = memory.sync("full")
            syncs, ratios, rollbacks, alike = [], [], [], []
            for _ in range(ROUNDS):
                change(memory, at, size, size // SEGMENT // 100, draw)
                before = memory.stats()
                syncs.append(seconds(memory.sync))
                written = memory.stats()["written_bytes"] - before["written_bytes"]
                ratios.append(written / (before["dirty_segments"] * SEGMENT))
                rollbacks.append(seconds(lambda: memory.rollback(start)))
                change(memory, at, size, CHANGED, draw)
                memory.sync()
                alike.append(seconds(lambda: memory.rollback(start)))
        copies = [seconds(lambda: copy(path, folder / "scratch")) for _ in range(3)]
        sync, rollback, same, whole = (statistics.median(each) for each in (syncs, rollbacks, alike, copies))
        return f"| {gib} GiB | {sync:.2f} | {max(ratios):.3f} | {whole:.1f} | {sync / whole:.3f} | {rollback:.2f} | {same:.2f} |"
    finally:
        path.unlink(missing_ok=True)


def main() -> None:
    """Measure, and insert the section into BENCH.md."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/bench")
    folder.mkdir(parents=True, exist_ok=True)
    section = [
        HEADING,
        f"Written by `make bench-memory` (`bench/memory.py`): seconds, medians of {ROUNDS} (copies: of 3), of a memory that is full. A sync",
        "after 1 % of all segments of 4 KiB, anywhere, were overwritten; bytes written over those that were dirty, the worst of the",
        "syncs; a copy of the file past the page cache, made durable; a rollback of as much, and one of 10,000 segments.",
        "",
        "| memory | sync | written / dirty | copy | sync / copy | rollback of 1 % | of 10,000 segments |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for gib in [int(word) for word in sys.argv[2:]] or [1, 4, 16]:
        free = shutil.disk_usage(folder).free
        if free < (gib + gib // 4 + 3) * GIB:
            section.append(f"| {gib} GiB | | | not measured: {free / GIB:.0f} GiB were free | | | |")
            continue
        section.append(measure(folder, gib))
        print(section[-1], flush=True)
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores:
        section += ["", f"(Other work was under way: {load:.0f} processes wanted {cores} processors.)"]
    bench = Path(__file__).parent.parent / "BENCH.md"
    text = bench.read_text()
    before, _, rest = text.partition(HEADING)
    _, mark, after = rest.partition("\n## ")
    bench.write_text(before.rstrip() + "\n\n" + "\n".join(section) + "\n" + mark + after)


main()
