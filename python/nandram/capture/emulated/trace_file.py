"""Writes the page and memory traces that `workload` reads: two lines of header, then numbers in LEB128."""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

from nandram.errors import UserError


class _Sink(Protocol):
    def write(self, data: bytes, /) -> int: ...


def leb128(value: int) -> bytes:
    """Return a number from 0 in seven bits a byte, lowest first; all bytes but the last have their upper bit set."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


@contextmanager
def trace_file(path: Path, kind: str, header: dict[str, Any], level: int) -> Iterator[_Sink]:
    """Yield what to write the records of a trace and its end to; it is there, whole, once the block has ended.

    `kind` is the first line, `header` the second. Compressed with zstd of level `level` if the name ends in ``.zst``,
    with gzip if in ``.gz``. If the block raises, what was at `path` stays. Raises `UserError` if it cannot be written.
    """
    unfinished = path.with_name(f"{path.name}.part")
    try:
        with ExitStack() as stack:
            raw = stack.enter_context(unfinished.open("wb"))
            sink: _Sink = raw
            if path.suffix == ".zst":
                import zstandard

                compressor = zstandard.ZstdCompressor(level=level)
                sink = stack.enter_context(compressor.stream_writer(raw, closefd=False))
            elif path.suffix == ".gz":
                import gzip

                # Neither a name nor a time in the header: the same records give the same bytes.
                sink = stack.enter_context(gzip.GzipFile("", "wb", 9, raw, mtime=0))
            sink.write(f"{kind}\n{json.dumps(header, separators=(',', ':'), ensure_ascii=False)}\n".encode())
            yield sink
        unfinished.replace(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        if os.path.lexists(unfinished):
            unfinished.unlink()
