"""``nandram capture pages``: run a program and record the pages that its instruction cache misses request."""

import os
from dataclasses import dataclass
from pathlib import Path

from nandram.capture.emulated.cache_shapes import CacheShape, parse_cache, parse_size, size_text
from nandram.capture.emulated.emulator import Ended, find_target, run
from nandram.capture.emulated.environment import parse_environment
from nandram.capture.emulated.trace_file import leb128, trace_file
from nandram.errors import UserError

KIND = "nandram page trace 1"


@dataclass(frozen=True)
class PageCapture:
    """Summary of a captured page trace."""

    path: Path
    architecture: str
    page_bytes: int
    icache: CacheShape
    ended: Ended
    """End of the run; its records are the requests."""


def capture_pages(
    command: list[str],
    output: str | os.PathLike[str],
    *,
    page: str = "1KiB",
    icache: str = "4KiB:4",
    line: str = "16B",
    requests: int | None = None,
    environment: list[str] | None = None,
    sysroot: str | None = None,
    level: int = 3,
) -> PageCapture:
    """Run `command` under QEMU and write the page of each line that its instruction cache misses to `output`.

    The program runs from its first instruction, its dynamic linker's included, in QEMU's user mode: any Linux program
    of one thread, for any architecture that QEMU has. What it forks runs too, unrecorded. `environment` are its
    variables, ``NAME=VALUE``; it has no others, so that the same command gives the same trace, byte for byte, as far as
    the program itself repeats.

    `page`, `icache` (``SIZE:WAYS``) and `line` are powers of two; the cache replaces the least recently used line.
    After `requests` requests the program is ended. `sysroot`: where a foreign program's dynamic linker is. `level`:
    of zstd, if the name of `output` ends in ``.zst``. Raises `UserError`.
    """
    line_bytes = parse_size("line", line, 4, 4096)
    page_bytes = parse_size("page", page, line_bytes, 1 << 30)
    shape = parse_cache("icache", icache, line_bytes)
    variables = parse_environment(environment or [])
    if requests is not None and requests < 1:
        raise UserError(f"requests: found {requests}, expected at least 1")
    target = find_target(command, sysroot)
    arguments = {"page": page_bytes, "icache": shape.bytes, "ways": shape.ways, "line": line_bytes}
    if requests is not None:
        arguments["records"] = requests
    header = {
        "page_bytes": page_bytes,
        "icache": {"bytes": shape.bytes, "ways": shape.ways, "line_bytes": line_bytes},
        "program": os.path.basename(command[0]),
        "architecture": target.elf.architecture,
        "command": command,
    }
    path = Path(output)
    with trace_file(path, KIND, header, level) as sink:
        ended = run(target, "pages", arguments, command, variables, sink.write)
        sink.write(b"\0" + leb128(ended.records))
    return PageCapture(path, target.elf.architecture, page_bytes, shape, ended)


def describe(capture: PageCapture) -> str:
    """Return one line that summarizes the capture."""
    from nandram.units import count

    shape = capture.icache
    return (
        f"{capture.path}: {count(capture.ended.records, 'page request')} of {size_text(capture.page_bytes)} in "
        f"{count(capture.ended.instructions, 'instruction')} of {capture.architecture}, "
        f"past {size_text(shape.bytes)} of {shape.ways} ways and {shape.line_bytes}-byte lines"
    )
