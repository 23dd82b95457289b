"""MQSim's traces, as fio iologs: `TIME DEVICE SECTOR SECTORS TYPE` per line, written at the flow's share of the drive.

As in MQSim's ``IO_Flow_Trace_Based.cpp`` (2022-10), addresses beyond the share wrap around, and a repetition begins at
the last arrival of the pass before.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from nandram.errors import UserError
from nandram.importing.chips import SECTOR
from nandram.importing.flows import Replay

HEAD = "fio version 3 iolog\n0 drive add\n0 drive open\n"
LINE_MAX = 4096
REQUESTS_MAX = 10_000_000
"""Maximum number of requests that are written: an iolog of half a gigabyte."""
_LINE = re.compile(
    rb"([0-9]{1,18})[ \t]+[0-9]{1,18}[ \t]+(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,18})[ \t]+([0-9]{1,9})[ \t]+([01])"
)


def write(replay: Replay, target: Path) -> list[str]:
    """Write the iolog of a flow; return notes about it. Raises `UserError`."""
    source = replay.source
    count = sum(1 for _ in _requests(source))
    total = count * replay.repeats if replay.repeats > 1 else count * replay.percent // 100
    if not 1 <= total <= REQUESTS_MAX:
        expected = f"1 to {REQUESTS_MAX:,}"
        raise replay.element.error(f"{source}: found {total:,} requests to execute, expected {expected}")
    wrapped = inexact = 0
    written, start, last = 0, 0, 0
    try:
        with target.open("w", encoding="ascii") as file:
            file.write(HEAD)
            while written < total:
                for at, sector, sectors, is_read in _requests(source):
                    if written == total:
                        break
                    last = start + at
                    if sector + sectors > replay.share.count:
                        wrapped += 1
                        sector %= max(replay.share.count - sectors, 1)
                    inexact += last % replay.ticks_per_us != 0
                    operation = "read" if is_read else "write"
                    offset = (replay.share.first + sector) * SECTOR
                    file.write(f"{int(last // replay.ticks_per_us)} drive {operation} {offset} {sectors * SECTOR}\n")
                    written += 1
                start = last
            file.write(f"{int(last // replay.ticks_per_us)} drive close\n")
    except OSError as error:
        raise UserError(f"{target}: cannot be written: {error.strerror}") from None
    notes = []
    if wrapped:
        notes.append(
            f"{source.name}: {wrapped} of {total} requests lie beyond the flow's share of the drive, and wrap around"
        )
    if inexact:
        notes.append(
            f"{source.name}: the times of {inexact} of {total} requests are rounded down to microseconds, iolog's unit"
        )
    return notes


def _requests(path: Path) -> Iterator[tuple[int, int, int, bool]]:
    """Yield time, first sector, sectors and whether it is a read, for each line. Raises `UserError`."""
    try:
        if not path.is_file():
            raise UserError(f"{path}: cannot be read: found no file")
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LINE_MAX):
                number += 1
                text = line.strip()
                if not text:
                    continue
                found = _LINE.fullmatch(text)
                if found is None or int(found[3]) == 0:
                    shown = text[:80].decode(errors="replace")
                    raise UserError(f"{path}:{number}: found `{shown}`, expected TIME DEVICE SECTOR SECTORS and 0 or 1")
                sector = int(found[2], 16 if found[2][:2].lower() == b"0x" else 10)
                yield int(found[1]), sector, int(found[3]), found[4] == b"1"
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
