"""fio's job options, as its JSON output repeats them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from nandram.errors import UserError
from nandram.fit.measurements.points import Direction

_PATTERNS = {
    "read": (Direction.READ, False),
    "randread": (Direction.READ, True),
    "write": (Direction.WRITE, False),
    "randwrite": (Direction.WRITE, True),
}
_MIXED = ("rw", "readwrite", "randrw", "trim", "randtrim", "trimwrite", "randtrimwrite")
_PACED = ("rate", "rate_iops", "rate_min", "thinktime", "flow", "latency_target")
_SYNCHRONOUS = ("psync", "sync", "vsync", "pvsync", "pvsync2", "mmap")
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class UnfitError(UserError):
    """A job that is no point of a fit: it mixes directions or sizes, trims, or is paced by something else."""

    def __init__(self, message: str, pattern: str) -> None:
        super().__init__(message)
        self.pattern = pattern
        """The job's `rw`."""


@dataclass(frozen=True)
class Job:
    """The options of a job that shape a point."""

    direction: Direction
    random: bool
    size_bytes: int
    depth: int
    jobs: int
    engine: str
    capped: bool
    """Whether the engine has one request in flight, whatever `iodepth` says."""
    kernel_submits: bool
    """Whether a kernel thread submits (sqthread_poll), so that fio cannot measure submission."""


def read_job(source: str, options: Mapping[str, str]) -> Job:
    """Read a job's options, global ones included. Raises `UserError`."""
    rw = options.get("rw", options.get("readwrite"))
    if rw is None:
        raise UserError(f"{source}: its options lack `rw`: expected randread, read, randwrite or write")
    word = rw.split(":")[0]
    if word in _MIXED:
        message = f"{source}: found rw={rw}, expected randread, read, randwrite or write: mixes are not fitted"
        raise UnfitError(message, word)
    if word not in _PATTERNS:
        raise UserError(f"{source}: found rw={rw}, expected randread, read, randwrite or write")
    for key in _PACED:
        if options.get(key, "0") not in ("0", ""):
            message = f"{source}: found {key}={options[key]}, expected a job that is limited by the drive alone"
            raise UnfitError(message, word)
    for key in ("bsrange", "bssplit", "bs_unaligned"):
        if key in options:
            raise UnfitError(f"{source}: found {key}={options[key]}, expected one block size (bs)", word)
    engine = options.get("ioengine", "psync")
    _check_cache(source, options, engine)
    depth = _count(source, options, "iodepth")
    capped = engine in _SYNCHRONOUS and depth > 1
    direction, random = _PATTERNS[word]
    return Job(
        direction,
        random,
        _size(source, options.get("bs", options.get("blocksize", "4k"))),
        1 if capped else depth,
        _count(source, options, "numjobs"),
        engine,
        capped,
        _is_set(options, "sqthread_poll"),
    )


def _check_cache(source: str, options: Mapping[str, str], engine: str) -> None:
    bypasses = engine.startswith(("spdk", "libblkio", "xnvme", "io_uring_cmd")) or engine.endswith(
        ("spdk_bdev", "nvme")
    )
    if not bypasses and not _is_set(options, "direct") and options.get("buffered") != "0":
        raise UserError(f"{source}: lacks direct=1: it measured the page cache, expected requests to the drive")


def _is_set(options: Mapping[str, str], key: str) -> bool:
    return key in options and options[key] not in ("0", "false")


def _count(source: str, options: Mapping[str, str], key: str) -> int:
    text = options.get(key, "1")
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 1 << 20:
        raise UserError(f"{source}: found {key}={text}, expected a whole number from 1")
    return int(text)


def _size(source: str, text: str) -> int:
    if "," in text and len(set(text.split(","))) > 1:
        raise UserError(f"{source}: found bs={text}, expected one block size")
    match = re.fullmatch(r"(\d+)([bkmg]?)(i?b)?", text.split(",")[0].strip().lower())
    if match is None:
        raise UserError(f"{source}: found bs={text}, expected a size such as 4k")
    return int(match[1]) * _UNITS[match[2]]
