"""Small page traces for tests."""

from collections.abc import Iterable
from pathlib import Path

from nandram.capture.emulated.trace_file import leb128, trace_file


def write(path: Path, pages: Iterable[int], page_bytes: int = 1024) -> Path:
    """Write a page trace in nandram's format."""
    header = {
        "page_bytes": page_bytes,
        "icache": {"bytes": 4096, "ways": 4, "line_bytes": 16},
        "program": "made",
        "architecture": "arm",
        "command": ["made"],
    }
    last, requests = 0, 0
    with trace_file(path, "nandram page trace 1", header, 3) as sink:
        for page in pages:
            change = page - last
            sink.write(leb128((change << 1 ^ change >> 63) + 1))
            last, requests = page, requests + 1
        sink.write(b"\0" + leb128(requests))
    return path


def loops(requests: int) -> list[int]:
    """Return loops over five to nine pages, each requested several times in a row, with occasional other pages."""
    pages: list[int] = []
    state = 1
    while len(pages) < requests:
        state = state * 1103515245 + 12345 & 0x7FFFFFFF
        size, first = 5 + state % 5, 64 + 16 * (state // 7 % 5)
        for step in range(40 * size):
            pages += [first + step % size] * (1 + 5 * step % 7)
    return pages[:requests]
