"""Compare checkpoints of an array in a memory with other ways to keep it, and write the page docs/memory-compared.md.

Usage: memory_compared.py [FOLDER], a folder on the file system to measure (a temporary one). Bytes are those of
system calls (`/proc/self/io`, `wchar`; the memory counts its own, which io_uring hides there), so they do not depend on
the file system. Processor time is that of the process. Peers that are not installed are skipped.
"""

import importlib.util
import sqlite3
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time_ns

import numpy as np

from nandram import Memory

ROOT = Path(__file__).parent.parent
PAGE = 4096
PAGES = 4096
STEPS = 12
SHARES = (0.01, 0.05, 0.3)
ROUND_TRIP = "the last one that was complete"

Commit = Callable[[np.ndarray], None]
"""Stores the given pages, with a new value in each, durably."""


def written_bytes() -> int:
    """Return the bytes that this process has written by system calls."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["wchar"])


class Way:
    """A way to keep pages: stores some pages, and returns how many bytes it wrote."""

    package: str | None = None
    guarantee = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.value = 0

    @contextmanager
    def open(self) -> Iterator[Commit]:
        """Open it with all pages written."""
        raise NotImplementedError

    def counted(self) -> int:
        """Return the bytes written so far."""
        return written_bytes()


class ArrayInMemory(Way):
    """`nandram`: stores through the array, then a sync."""

    guarantee = f"atomic: a crash leaves {ROUND_TRIP}; a checksum per page; tokens restore older ones"

    @contextmanager
    def open(self) -> Iterator[Commit]:
        """Open it with all pages written."""
        with Memory(self.folder / "memory", PAGES * PAGE + (1 << 20), "64MiB") as memory:
            arrays = [memory.array((PAGES, PAGE), np.uint8)]
            self.memory = memory

            def commit(dirty: np.ndarray) -> None:
                self.value += 1
                arrays[0][dirty] = self.value % 256
                memory.sync(keep=False)

            yield commit
            arrays.clear()  # a memory with arrays cannot be closed

    def counted(self) -> int:
        """Return the bytes written so far: io_uring's are not in the process's counter."""
        return int(self.memory.stats()["written_bytes"])


class Npy(Way):
    """`np.save` of the whole array, with fsync, and rename."""

    guarantee = f"atomic by the rename: a crash leaves {ROUND_TRIP}; no checksums"

    @contextmanager
    def open(self) -> Iterator[Commit]:
        """Open it with all pages written."""
        pages = np.zeros((PAGES, PAGE), np.uint8)

        def commit(dirty: np.ndarray) -> None:
            self.value += 1
            pages[dirty] = self.value % 256
            with (self.folder / "new.npy").open("wb") as file:
                np.save(file, pages)
                file.flush()
                _sync(file.fileno())
            (self.folder / "new.npy").rename(self.folder / "pages.npy")

        yield commit


class Sqlite(Way):
    """SQLite with a row per page, write-ahead log, and synchronous=FULL."""

    package = "sqlite3"
    guarantee = f"atomic: a crash leaves {ROUND_TRIP}; checksums in the log alone"

    @contextmanager
    def open(self) -> Iterator[Commit]:
        """Open it with all pages written."""
        base = sqlite3.connect(self.folder / "pages.sqlite", isolation_level=None)
        base.executescript(
            "pragma journal_mode=wal; pragma synchronous=full; create table pages(n integer primary key, b blob);"
        )

        def commit(dirty: np.ndarray) -> None:
            self.value += 1
            row = bytes([self.value % 256]) * PAGE
            base.execute("begin")
            base.executemany("insert or replace into pages values(?, ?)", ((int(page), row) for page in dirty))
            base.execute("commit")

        yield commit
        base.close()


class Lmdb(Way):
    """LMDB with a value per page."""

    package = "lmdb"
    guarantee = f"atomic: a crash leaves {ROUND_TRIP}; no checksums"

    @contextmanager
    def open(self) -> Iterator[Commit]:
        """Open it with all pages written."""
        import lmdb

        base = lmdb.open(str(self.folder / "pages.lmdb"), map_size=1 << 30)

        def commit(dirty: np.ndarray) -> None:
            self.value += 1
            row = bytes([self.value % 256]) * PAGE
            with base.begin(write=True) as transaction:
                for page in dirty:
                    transaction.put(int(page).to_bytes(4, "big"), row)

        yield commit
        base.close()


class Zarr(Way):
    """zarr 3 with a chunk, so a file, per 16 pages, without compression."""

    package = "zarr"
    guarantee = "none for several chunks: a crash leaves some new and some old; no checksums; not flushed to the drive"

    @contextmanager
    def open(self) -> Iterator[Commit]:
        """Open it with all pages written."""
        import zarr

        store = str(self.folder / "pages.zarr")
        pages = zarr.create_array(store, shape=(PAGES, PAGE), chunks=(16, PAGE), dtype="u1", compressors=None)

        def commit(dirty: np.ndarray) -> None:
            self.value += 1
            for first in np.unique(dirty // 16) * 16:
                chunk = pages[first : first + 16]
                chunk[dirty[(dirty >= first) & (dirty < first + 16)] - first] = self.value % 256
                pages[first : first + 16] = chunk

        yield commit


def _sync(descriptor: int) -> None:
    import os

    os.fsync(descriptor)


WAYS: dict[str, type[Way]] = {
    "`nandram` array": ArrayInMemory,
    "`np.save`": Npy,
    "SQLite": Sqlite,
    "LMDB": Lmdb,
    "zarr": Zarr,
}


def measured(kind: type[Way], share: float, root: Path) -> tuple[float, float]:
    """Return bytes written per dirty byte, and the median processor time of a commit in milliseconds."""
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory(dir=root) as folder:
        way = kind(Path(folder))
        with way.open() as commit:
            commit(np.arange(PAGES))
            before, times, dirty = way.counted(), [], 0
            for _ in range(STEPS):
                pages = np.sort(rng.choice(PAGES, int(PAGES * share), replace=False))
                began = process_time_ns()
                commit(pages)
                times.append((process_time_ns() - began) / 1e6)
                dirty += len(pages) * PAGE
            return (way.counted() - before) / dirty, statistics.median(times)


def by_occupancy(root: Path) -> Iterator[str]:
    """Yield table rows: bytes written per dirty byte by the share of the space that live data fill, 5 % dirty."""
    for fill in (0.3, 0.5, 0.6, 0.7, 0.8, 0.9):
        with tempfile.TemporaryDirectory(dir=root) as folder:
            capacity = 32 << 20
            with Memory(Path(folder) / "memory", capacity, "64MiB", space=int(capacity / fill * 1.05)) as memory:
                pages = memory.array((capacity // PAGE - 16, PAGE), np.uint8)
                pages[:] = 1
                memory.sync(keep=False)
                rng, dirty, warm = np.random.default_rng(1), 0, 80
                for step in range(warm + 60):
                    if step == warm:
                        before, dirty = memory.stats()["written_bytes"], 0
                    chosen = rng.choice(len(pages), len(pages) // 20, replace=False)
                    pages[chosen] = step % 256
                    memory.sync(keep=False)
                    dirty += len(chosen) * PAGE
                stats = memory.stats()
                live = stats["needed_bytes"] / stats["space_bytes"]
                yield f"| {100 * live:.0f} % | {(stats['written_bytes'] - before) / dirty:.2f} |"
                del pages


def main() -> None:
    """Measure, and write the page."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.gettempdir())
    rows, guarantees = [], []
    for name, kind in WAYS.items():
        guarantees.append(f"| {name} | {kind.guarantee} |")
        if kind.package and importlib.util.find_spec(kind.package) is None:
            print(f"skipped: {name} is not installed")
            rows.append(f"| {name} | " + " | ".join(["not installed"] * len(SHARES)) + " |")
            continue
        cells = [measured(kind, share, root) for share in SHARES]
        rows.append(f"| {name} | " + " | ".join(f"{ratio:.2f}; {ms:.1f} ms" for ratio, ms in cells) + " |")
        print(rows[-1], flush=True)
    head = "| | " + " | ".join(f"{100 * share:g} % dirty" for share in SHARES) + " |"
    text = f"""# A memory compared with LMDB, SQLite, zarr and np.save

An array of {PAGES * PAGE >> 20} MiB in {PAGES} pages of 4 KiB, of which each step changes some at random and makes them
durable; {STEPS} steps. A cell holds the bytes written per changed byte, and the median processor time of a step, with
all threads of the process. `make memory-compared` measures and writes this page. The times are of one machine under
other load: compare them in order of magnitude.

{head}
{"| --- " * (len(SHARES) + 1)}|
{chr(10).join(rows)}

Bytes are those of the system calls; LMDB writes its pages by `pwritev`, zarr whole chunks of 64 KiB.

| | after a crash |
| --- | --- |
{chr(10).join(guarantees)}

## Bytes by occupancy

Bytes written per changed byte, 5 % changed at random in each step, by the share of `space` that live data fill (the
present state, the last sync, and tokens). Collection copies more as the space fills.

| live data | bytes per changed byte |
| --- | --- |
{chr(10).join(by_occupancy(root))}
"""
    (ROOT / "docs" / "memory-compared.md").write_text(text)


if __name__ == "__main__":
    main()
