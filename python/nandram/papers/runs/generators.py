"""Traces made from a few numbers and a seed, for experiments whose own trace is not to be had."""

import random
from collections.abc import Callable
from typing import TypeVar

from nandram.language.tables import Table

T = TypeVar("T")


def mix(table: Table) -> str:
    """Writes and reads in given shares, of which a given share of the reads finds nothing in any cache.

    Keys, beside ``kind``: ``requests``; ``request_bytes``; ``span_bytes``, the part of the drive that is used;
    ``writes``, their part of the requests; ``read_misses``, their part of the reads; ``seed``. The shares are met
    exactly, in random order. A read that misses goes to a place that nothing touched before, in the lower half of the
    span; one that hits repeats the read before it; a write goes to a place of its own in the upper half.
    """
    table.only("kind", "requests", "request_bytes", "span_bytes", "writes", "read_misses", "seed")
    requests = table.whole("requests", 1)
    size = table.whole("request_bytes", 512)
    span = table.whole("span_bytes", 512)
    seed = table.whole("seed", 0)
    writes = round(requests * _part(table, "writes"))
    misses = round((requests - writes) * _part(table, "read_misses"))
    if size % 512:
        raise table.error("request_bytes", size, "a multiple of 512")
    places = span // size // 2
    if places < max(writes, misses):
        raise table.error("span_bytes", span, f"at least {2 * size * max(writes, misses)}: each place is used once")
    hits = requests - writes - misses
    if hits and not misses:
        raise table.error("read_misses", 0, "some reads that miss: the others repeat them")
    draw = random.Random(seed)
    kinds = _shuffled(draw, ["write"] * writes + ["miss"] * misses + ["hit"] * hits)
    if hits:
        # There must be a read before one can be repeated.
        first, miss = kinds.index("hit"), kinds.index("miss")
        if first < miss:
            kinds[first], kinds[miss] = kinds[miss], kinds[first]
    fresh = iter(_shuffled(draw, list(range(places)))[:misses])
    written = iter(_shuffled(draw, list(range(places, 2 * places)))[:writes])
    lines = ["fio version 3 iolog", "0 drive add", "0 drive open"]
    last = 0
    for kind in kinds:
        if kind == "write":
            lines.append(f"0 drive write {next(written) * size} {size}")
            continue
        if kind == "miss":
            last = next(fresh)
        lines.append(f"0 drive read {last * size} {size}")
    return "\n".join([*lines, "0 drive close", ""])


def sections(table: Table) -> str:
    """Reads of the beginning of each of ``sections`` equal parts of ``span_bytes``, ``passes`` times over.

    The test for a cache of the mapping table by Kim and Kim (PLOS ONE 15(3), 2020, Figure 9), one number of sections.
    """
    table.only("kind", "sections", "read_bytes", "span_bytes", "passes")
    count, passes = table.whole("sections", 1), table.whole("passes", 1)
    size, span = table.whole("read_bytes", 512), table.whole("span_bytes", 512)
    if size % 512:
        raise table.error("read_bytes", size, "a multiple of 512")
    if count * size > span:
        raise table.error("sections", count, f"as many of {size} bytes as fit into span_bytes ({span})")
    starts = [at * span // count // 512 * 512 for at in range(count)]
    reads = [f"0 drive read {start} {size}" for start in starts] * passes
    return "\n".join(["fio version 3 iolog", "0 drive add", "0 drive open", *reads, "0 drive close", ""])


GENERATORS: dict[str, Callable[[Table], str]] = {"mix": mix, "sections": sections}
"""By the ``kind`` of a run's ``generate``; each reads its keys, and returns a trace."""


def _part(table: Table, key: str) -> float:
    value = float(table.take(key, "a number from 0 to 1", int, float))
    if not 0 <= value <= 1:
        raise table.error(key, value, "a number from 0 to 1")
    return value


def _shuffled(draw: random.Random, items: list[T]) -> list[T]:
    """Fisher and Yates; of `random` only `random()` promises the same numbers in every version."""
    for last in range(len(items) - 1, 0, -1):
        other = int(draw.random() * (last + 1))
        items[last], items[other] = items[other], items[last]
    return items
