"""Traces made from a few numbers and a seed, for experiments whose own trace is not to be had."""

import random
from collections.abc import Callable
from typing import TypeVar

from nandram.language.tables import Table

T = TypeVar("T")


def mix(table: Table) -> str:
    """Writes and reads in given shares, of which a given share of the reads finds nothing in any cache.

    Keys, in addition to ``kind``: ``requests``; ``request_bytes``, the size of each request; ``span_bytes``, the part
    of the drive that is used; ``writes``, their share of the requests; ``read_misses``, their share of the reads;
    ``seed``. The shares are met exactly, in random order. A read that misses goes to a place that no request touched
    before, in the lower half of the span; one that hits repeats the read before it; a write goes to a place of its own
    in the upper half. Places are ``request_bytes`` apart.

    Optional keys make the requests smaller and uneven: ``read_sectors`` and ``write_sectors``, mean sizes, of which
    single sizes are spread geometrically, up to ``request_bytes``; ``locality``, the share of the requests that go to a
    share of the addresses, ``[0.74, 0.26]``.
    """
    table.only(
        *("kind", "requests", "request_bytes", "span_bytes", "writes", "read_misses", "seed"),
        *("read_sectors", "write_sectors", "locality"),
    )
    requests = table.whole("requests", 1)
    size = table.whole("request_bytes", 512)
    span = table.whole("span_bytes", 512)
    seed = table.whole("seed", 0)
    writes = round(requests * _part(table, "writes"))
    misses = round((requests - writes) * _part(table, "read_misses"))
    if size % 512:
        raise table.error("request_bytes", size, "a multiple of 512")
    hot = _locality(table)
    means = [_mean(table, key, size // 512) for key in ("read_sectors", "write_sectors")]
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
    fresh = iter(_places(draw, places, misses, hot))
    written = iter(places + each for each in _places(draw, places, writes, hot))
    read_sizes, write_sizes = (
        iter(_sizes(draw, count, mean, size)) for count, mean in zip((misses, writes), means, strict=True)
    )
    lines = ["fio version 3 iolog", "0 drive add", "0 drive open"]
    last = (0, size)
    for kind in kinds:
        if kind == "write":
            lines.append(f"0 drive write {next(written) * size} {next(write_sizes)}")
            continue
        if kind == "miss":
            last = (next(fresh), next(read_sizes))
        lines.append(f"0 drive read {last[0] * size} {last[1]}")
    return "\n".join([*lines, "0 drive close", ""])


def sections(table: Table) -> str:
    """Reads of the beginning of each of ``sections`` equal parts of ``span_bytes``, ``passes`` times over.

    The test for a cache of the mapping table by Kim and Kim (PLOS ONE 15(3), 2020, Figure 9), one number of sections.
    ``apart_bytes`` (optional): each pass reads so many bytes further than the one before, so that no pass finds data of
    another in a cache of data.
    """
    table.only("kind", "sections", "read_bytes", "span_bytes", "passes", "apart_bytes")
    count, passes = table.whole("sections", 1), table.whole("passes", 1)
    size, span = table.whole("read_bytes", 512), table.whole("span_bytes", 512)
    if size % 512:
        raise table.error("read_bytes", size, "a multiple of 512")
    if count * size > span:
        raise table.error("sections", count, f"as many of {size} bytes as fit into span_bytes ({span})")
    apart = table.whole("apart_bytes", 0) if "apart_bytes" in table.values else 0
    if apart % 512 or (passes - 1) * apart + size > span // count:
        raise table.error("apart_bytes", apart, f"a multiple of 512 whose {passes} passes fit into a section")
    starts = [at * span // count // 512 * 512 for at in range(count)]
    reads = [f"0 drive read {start + number * apart} {size}" for number in range(passes) for start in starts]
    return "\n".join(["fio version 3 iolog", "0 drive add", "0 drive open", *reads, "0 drive close", ""])


GENERATORS: dict[str, Callable[[Table], str]] = {"mix": mix, "sections": sections}
"""By the ``kind`` of a run's ``generate``; each reads its keys, and returns a trace."""


def _part(table: Table, key: str) -> float:
    value = float(table.take(key, "a number from 0 to 1", int, float))
    if not 0 <= value <= 1:
        raise table.error(key, value, "a number from 0 to 1")
    return value


def _mean(table: Table, key: str, most: int) -> float:
    """Return a mean size in sectors; 0 if all requests have one size."""
    value = float(table.take(key, "a number of sectors", int, float, default=0))
    if value and not 1 <= value <= most / 4:
        # The sizes are cut at `most`, which must not lower their mean.
        raise table.error(key, value, f"a number from 1 to {most / 4:g}, a quarter of request_bytes")
    return value


def _locality(table: Table) -> tuple[float, float] | None:
    found = table.take("locality", "[share of the requests, share of the addresses]", list, default=[])
    if not found:
        return None
    right = len(found) == 2 and all(isinstance(each, int | float) and 0 < each < 1 for each in found)
    if not right:
        raise table.error("locality", found, "[share of the requests, share of the addresses]")
    return float(found[0]), float(found[1])


def _places(draw: random.Random, places: int, count: int, hot: tuple[float, float] | None) -> list[int]:
    """Return different places in random order, a share of them among the first."""
    if hot is None:
        return _shuffled(draw, list(range(places)))[:count]
    border = round(places * hot[1])
    inside = min(round(count * hot[0]), border)
    outside = min(count - inside, places - border)
    inside = count - outside
    low = _shuffled(draw, list(range(border)))[:inside]
    high = _shuffled(draw, list(range(border, places)))[:outside]
    return _shuffled(draw, [*low, *high])


def _sizes(draw: random.Random, count: int, mean: float, most: int) -> list[int]:
    """Return sizes in bytes whose mean in sectors is as given: evenly spaced quantiles of a geometric distribution."""
    if not mean:
        return [most] * count
    sizes = []
    sectors, longer = 1, 1.0 - 1.0 / mean
    for index in range(count):
        # The part of all requests that are longer than `sectors` shrinks by the same factor each time.
        while longer > 1.0 - (index + 0.5) / count and sectors < most // 512:
            sectors, longer = sectors + 1, longer * (1.0 - 1.0 / mean)
        sizes.append(sectors * 512)
    return _shuffled(draw, sizes)


def _shuffled(draw: random.Random, items: list[T]) -> list[T]:
    """Fisher and Yates; of `random` only `random()` promises the same numbers in every version."""
    for last in range(len(items) - 1, 0, -1):
        other = int(draw.random() * (last + 1))
        items[last], items[other] = items[other], items[last]
    return items
