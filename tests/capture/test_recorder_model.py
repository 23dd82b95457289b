"""Calls in any order, by several processes and threads: the trace must match the effects in a minimal kernel."""

import random
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from capture.kernel_model import BLOCK, FOLDER, OLD_LOG, Kernel
from nandram.capture.calls.recorder import parents, record
from nandram.capture.calls.state import Knowledge
from nandram.capture.files import Selection
from nandram.capture.records import Action, Record

PATHS = [f"{FOLDER}/{name}" for name in ("one", "a = 2) = 3", "ü, <x>", 'quo"te\\')]
FLAGS = [
    ["O_RDWR", "O_CREAT"],
    ["O_RDWR"],
    ["O_RDWR", "O_CREAT", "O_TRUNC", "O_CLOEXEC"],
    ["O_RDWR", "O_CREAT", "O_EXCL"],
    ["O_WRONLY", "O_CREAT", "O_APPEND"],
    ["O_RDWR", "O_CREAT", "O_DSYNC"],
    ["O_RDWR", "O_CREAT", "O_SYNC", "O_APPEND"],
]
SIZES = [0, 1, 100, 4095, 4096, 4097, 8192, 12000, 20480]


class Step(NamedTuple):
    kind: str
    who: int
    which: int
    one: int
    other: int


def steps(kinds: list[str]) -> st.SearchStrategy[list[Step]]:
    small = st.integers(0, 30)
    return st.lists(st.builds(Step, st.sampled_from(kinds), small, small, small, small), min_size=50, max_size=100)


KINDS = (
    ["nothing"]  # the minimal step for shrinking
    + ["open"] * 4
    + ["old"]
    + ["data"] * 8
    + ["begin", "end"] * 3
    + ["seek", "truncate", "punch", "stat", "duplicate", "close", "unlink", "rename", "link", "fork", "exit", "sync"]
)
NAMES = ["read", "write", "pread64", "pwrite64"]


def run(kernel: Kernel, step: Step) -> None:
    """Execute one step, with its numbers taken modulo the available choices."""
    if step.kind == "nothing":
        return
    if step.kind == "end":
        if kernel.pending:
            pid = list(kernel.pending)[step.who % len(kernel.pending)]
            kernel.end(pid, step.one % 5)
        return
    idle = kernel.idle()
    if not idle:
        return
    pid = idle[step.who % len(idle)]
    path, other_path = PATHS[step.which % len(PATHS)], PATHS[step.other % len(PATHS)]
    size, other_size = SIZES[step.one % len(SIZES)], SIZES[step.other % len(SIZES)]
    table = kernel.tables[pid]
    if step.kind == "open":
        kernel.open(pid, path, FLAGS[step.one % len(FLAGS)])
    elif step.kind == "old":
        kernel.open(pid, OLD_LOG, ["O_WRONLY", "O_APPEND"])
    elif step.kind == "unlink":
        kernel.unlink(pid, path)
    elif step.kind == "rename":
        kernel.rename(pid, path, other_path)
    elif step.kind == "link":
        kernel.link(pid, path, other_path)
    elif step.kind == "fork":
        if len(kernel.tables) < 4:
            kernel.fork(pid, shared=step.one % 2 == 0, early=step.other % 2 == 0)
    elif step.kind == "exit":
        kernel.exit(pid)
    elif table:
        fd = sorted(table)[step.which % len(table)]
        name = NAMES[step.other % 4]
        offset = size if name.startswith("p") else None
        if step.kind == "data":
            kernel.whole(pid, fd, name, offset, SIZES[step.who % len(SIZES)], step.one % 7)
        elif step.kind == "sync":
            kernel.whole(pid, fd, "fsync" if step.other % 2 else "fdatasync", None, 0, step.one % 5)
        elif step.kind == "begin":
            if step.one % 3 == 0:
                kernel.begin_close(pid, fd)
            else:
                kernel.begin(pid, fd, name, offset, other_size)
        elif step.kind == "close":
            kernel.close(pid, fd)
        elif step.kind == "duplicate":
            kernel.duplicate(pid, fd, 3 + step.other % 6)
        elif step.kind == "stat":
            kernel.stat(pid, fd)
        elif step.kind == "seek":
            kernel.seek(pid, fd, size - (100 if step.other % 2 else 0), step.other % 3)
        elif table[fd].path == OLD_LOG:
            pass
        elif step.kind == "truncate":
            kernel.truncate(pid, fd, size)
        else:
            assert step.kind == "punch"
            kernel.punch(pid, fd, size, other_size + 1)


def trace(kernel: Kernel) -> list[Record]:
    """Read the log, twice if it reveals the size of a file too late."""
    knowledge = Knowledge(parents(kernel.log))
    for _ in range(2):
        records: list[Record] = []
        notes, knowledge.initial_sizes = record(
            kernel.log, records.append, Selection([], [], FOLDER), FOLDER, knowledge, {}
        )
        assert notes.unknown_lines == 0
        if not knowledge.initial_sizes:
            break
    assert not knowledge.initial_sizes
    return records


@settings(max_examples=200)
@given(steps(KINDS))
def test_the_trace_is_what_happened(sequence: list[Step]) -> None:
    kernel = Kernel()
    for step in sequence:
        run(kernel, step)
    kernel.finish()
    records = trace(kernel)

    # Every read, write and sync, in time order, on the right file.
    times = [each.at_us for each in records]
    assert times == sorted(times)
    numbers: dict[int, int] = {}
    found = [
        (each.at_us, each.action.value, each.file.number, each.offset_bytes, each.length_bytes)
        for each in records
        if each.action is not Action.TRIM
    ]
    expected = sorted(kernel.expected, key=lambda wanted: wanted.at_us)
    assert len(found) == len(expected)
    for (at_us, action, number, offset, length), wanted in zip(found, expected, strict=True):
        assert (at_us, action, offset, length) == (wanted.at_us, wanted.action, wanted.offset, wanted.length)
        assert numbers.setdefault(number, wanted.inode) == wanted.inode
    assert len(set(numbers.values())) == len(numbers)

    # Trims remove no data, and all freed blocks are trimmed.
    held: dict[int, set[int]] = {}
    for each in records:
        first, last = each.offset_bytes, each.offset_bytes + each.length_bytes
        blocks = held.setdefault(each.file.number, set())
        if each.action is Action.WRITE:
            blocks.update(range(first // BLOCK, -(-last // BLOCK)))
        elif each.action is Action.TRIM:
            assert first % BLOCK == 0
            assert last % BLOCK == 0
            blocks.difference_update(range(first // BLOCK, last // BLOCK))
    for number, inode_number in numbers.items():
        inode = kernel.inodes[inode_number]
        blocks = held.get(number, set())
        assert inode.blocks() <= blocks or (not inode.names and inode.opened == 0)
        assert all(block * BLOCK < max(inode.size, 1) for block in blocks)
        if not inode.names and inode.opened == 0:
            assert not blocks


def test_the_model_runs_every_kind_of_call() -> None:
    """Ensure that the property above is not vacuous."""
    rng = random.Random(1)
    kernel = Kernel()
    for _ in range(1000):
        run(kernel, Step(rng.choice(KINDS), *(rng.randrange(31) for _ in range(4))))
    kernel.finish()
    log = "".join(kernel.log)
    for name in ("openat", "lseek", "ftruncate", "fallocate", "dup2", "unlink", "rename", "link", "clone", "fdatasync"):
        assert f" {name}(" in log, name
    for name in (*NAMES, "close", "clone"):
        assert f" {name}(" in log, name
        assert f"<... {name} resumed>" in log, name
    assert {each.action for each in trace(kernel)} == set(Action)
