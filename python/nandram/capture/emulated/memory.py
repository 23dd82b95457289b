"""``nandram capture memory``: run a program and record the memory traffic of its loads and stores."""

import os
from dataclasses import dataclass
from pathlib import Path

from nandram.capture.emulated.cache_shapes import CacheShape, parse_cache, parse_size, size_text
from nandram.capture.emulated.emulator import Ended, find_target, run
from nandram.capture.emulated.environment import parse_environment
from nandram.capture.emulated.trace_file import leb128, trace_file
from nandram.errors import UserError

KIND = "nandram memory trace 1"
LEVELS = ("l1", "l2", "llc")


@dataclass(frozen=True)
class MemoryCapture:
    """Summary of a captured memory trace."""

    path: Path
    architecture: str
    line_bytes: int
    caches: dict[str, CacheShape]
    ended: Ended
    """End of the run; its records are the lines filled and written back."""


def capture_memory(
    command: list[str],
    output: str | os.PathLike[str],
    *,
    l1: str = "32KiB:8",
    l2: str = "256KiB:8",
    llc: str = "2MiB:16",
    line: str = "64B",
    records: int | None = None,
    environment: list[str] | None = None,
    sysroot: str | None = None,
    level: int = 3,
) -> MemoryCapture:
    """Run `command` under QEMU and write the lines that its data caches fill and write back to `output`.

    Each cache is ``SIZE:WAYS``, or ``none``; all have lines of `line`, write back, allocate on a write and replace the
    least recently used line; none includes another by rule. A physical address is the virtual one. Dirty lines that
    are in the caches at the end stay there. Not recorded: fetches of instructions, and loads and stores of the kernel.

    After `records` records the program is ended. The rest is as for `capture_pages`. Raises `UserError`.
    """
    line_bytes = parse_size("line", line, 8, 4096)
    texts = {"l1": l1, "l2": l2, "llc": llc}
    caches = {name: parse_cache(name, text, line_bytes) for name, text in texts.items() if text != "none"}
    if not caches:
        raise UserError("caches: found none, expected at least one of l1, l2 and llc")
    variables = parse_environment(environment or [])
    if records is not None and records < 1:
        raise UserError(f"records: found {records}, expected at least 1")
    target = find_target(command, sysroot)
    arguments = {"line": line_bytes}
    for number, shape in enumerate(caches.values(), 1):
        arguments[f"bytes{number}"] = shape.bytes
        arguments[f"ways{number}"] = shape.ways
    if records is not None:
        arguments["records"] = records
    header = {
        "line_bytes": line_bytes,
        "caches": [{"name": name, "bytes": shape.bytes, "ways": shape.ways} for name, shape in caches.items()],
        "program": os.path.basename(command[0]),
        "architecture": target.elf.architecture,
        "command": command,
    }
    path = Path(output)
    with trace_file(path, KIND, header, level) as sink:
        ended = run(target, "memory", arguments, command, variables, sink.write)
        sink.write(b"\0" + leb128(ended.records) + leb128(ended.instructions))
    return MemoryCapture(path, target.elf.architecture, line_bytes, caches, ended)


def describe(capture: MemoryCapture) -> str:
    """Return one line that summarizes the capture."""
    from nandram.units import count

    caches = ", ".join(f"{name} of {size_text(shape.bytes)}" for name, shape in capture.caches.items())
    return (
        f"{capture.path}: {count(capture.ended.records, 'line')} of {capture.line_bytes} bytes to and from memory in "
        f"{count(capture.ended.instructions, 'instruction')} of {capture.architecture}, past {caches}"
    )
