"""Compares the caches of the plugins with a plain second implementation."""

import ctypes
import random
from pathlib import Path

import pytest

from capture.cache_model import Cache, Hierarchy
from nandram.capture.emulated.compiler import SOURCES, compile_shared, find_compiler

LINE_BYTES = 64


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("harness") / "harness.so"
    flags = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", f"-I{SOURCES}"]
    compile_shared(find_compiler(), flags, Path(__file__).with_name("cache_harness.c"), path)
    return path


# Sets and ways of each level.
SHAPES = [
    [(1, 1)],
    [(4, 1)],
    [(1, 4)],
    [(4, 2)],
    [(64, 4)],
    [(2, 2), (4, 2)],
    [(4, 4), (2, 1)],
    [(1, 2), (2, 3), (4, 4)],
    [(4, 2), (8, 4), (32, 16)],
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_random_accesses(library: Path, shapes: list[tuple[int, int]]) -> None:
    harness = ctypes.CDLL(str(library))
    harness.harness_use.argtypes = [ctypes.c_uint64, ctypes.c_bool, ctypes.c_void_p]
    count = len(shapes)
    sizes = (ctypes.c_uint64 * count)(*(sets * ways * LINE_BYTES for sets, ways in shapes))
    harness.harness_init(count, sizes, (ctypes.c_uint * count)(*(ways for _, ways in shapes)), LINE_BYTES)
    events = (ctypes.c_uint64 * 64)()
    model = Hierarchy([Cache(sets, ways) for sets, ways in shapes])
    random_ = random.Random(str(shapes))
    lines = 3 * sum(sets * ways for sets, ways in shapes)
    high = 0x7FFF_FFFF_F000 // LINE_BYTES
    written = 0
    for number in range(20_000):
        # Alternately close together and anywhere; a program's stack is at high addresses.
        line = random_.randrange(lines) if random_.random() < 0.5 else number // 50 % lines
        line += high if random_.random() < 0.2 else 0
        store = random_.random() < 0.3
        reached = harness.harness_use(line, store, events)
        model.events.clear()
        model.use(line, store)
        assert [(event >> 1, bool(event & 1)) for event in events[:reached]] == model.events, number
        written += sum(dirty for _, dirty in model.events)
    assert written > 100


def test_the_model_on_paper() -> None:
    """Check a direct-mapped cache of two lines behind one of a single line."""
    caches = Hierarchy([Cache(1, 1), Cache(2, 1)])
    steps = [
        (0, True, [(0, False)]),  # L1: 0 dirty; L2: 0
        (1, False, [(1, False)]),  # L1: 1; L2: 0 dirty, 1
        (2, False, [(2, False), (0, True)]),  # L2: 2 replaces 0, which goes to memory
        (1, False, []),  # from L2
    ]
    for line, store, events in steps:
        caches.events.clear()
        caches.use(line, store)
        assert caches.events == events
