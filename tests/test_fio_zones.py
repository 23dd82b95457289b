"""fio's `zonemode=zbd` next to the real fio, which emulates the zones in a file (`make test-system` installs fio)."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest

import nandram
from test_fio_system import SMALL, Request, close, requests

pytestmark = pytest.mark.system

MIB = 1 << 20
ZONE = MIB
FILE = 16 * MIB

EXACT = """
rw=write
rw=write zonecapacity=768k
rw=write zonecapacity=768k size=3m io_size=4m
rw=write zonecapacity=768k size=2z offset=2z
rw=write size=2m io_size=5m
rw=write size=2m loops=3
rw=write offset=500k size=3m
rw=write size=2560k
rw=write size=16m zoneskip=1m
rw=write size=16m zoneskip=2z max_open_zones=1
rw=write bs=256k size=4m zonecapacity=512k
rw=write size=2m verify=crc32c
rw=rw size=4m
rw=read size=4m read_beyond_wp=1
rw=randwrite size=1m zonecapacity=512k io_size=4m offset=1z
rw=trim bs=1m size=4m
""".split("\n")[1:-1]
"""Jobs whose requests do not depend on random numbers: where writes are random, there is one zone."""

DRAWN = """
rw=randwrite size=8m max_open_zones=2 io_size=64m
rw=randwrite size=8m max_open_zones=4 io_size=64m zonecapacity=768k
rw=randwrite size=8m io_size=64m
rw=randwrite size=8m max_open_zones=3 job_max_open_zones=2 io_size=64m
rw=randwrite size=8m max_open_zones=2 io_size=64m zone_reset_threshold=0.5 zone_reset_frequency=0.1
rw=randwrite size=8m max_open_zones=2 io_size=64m zone_reset_frequency=0.05
rw=randrw size=8m max_open_zones=2 io_size=64m
rw=randrw size=8m max_open_zones=3 io_size=64m rwmixread=80
rw=randwrite size=8m max_open_zones=2 io_size=64m bssplit=64k/50:128k/50 norandommap=1
""".split("\n")[1:-1]
"""Jobs with random draws."""


def both(keys: str, folder: Path) -> tuple[list[Request], list[Request]]:
    """Return the requests of fio and of nandram for a job on a file or a drive of 16 MiB."""
    given = {part.partition("=")[0]: part.partition("=")[2] for part in keys.split()}
    zones = {"zonemode": "zbd", "zonesize": "1m", "direct": "1", "ioengine": "psync"}
    given = {"bs": "64k", "size": "16m"} | zones | given
    file, found = folder / "drive", []
    for side in ("theirs", "ours"):
        with file.open("wb") as new:
            new.truncate(FILE)
        job, log = folder / "job.fio", folder / f"{side}.log"
        lines = [f"{key}={value}" for key, value in (given | {"filename": str(file), "write_iolog": str(log)}).items()]
        job.write_text("\n".join(["[job]", *lines, ""]))
        if side == "theirs":
            subprocess.run(["fio", "--output=/dev/null", job], check=True, capture_output=True, cwd=folder)
        else:
            nandram.run("nvme-client-tlc", job, set=SMALL, cache=None, warm_up="keep", precondition="none")
        found.append(requests(log) if log.exists() else [])
    return found[0], found[1]


def zones_of(side: list[Request], capacity: int) -> tuple[int, int, Counter[int]]:
    """Return how often a zone was begun again, the most zones that were partly written, and the writes to each zone.

    Asserts that each write is at the write pointer, or begins a zone again, and that each read is below the pointer."""
    written: dict[int, int] = {}
    resets, most = 0, 0
    writes: Counter[int] = Counter()
    for op, at, size in side:
        zone, place = at // ZONE, at % ZONE
        if op == "write":
            if place != written.get(zone, 0):
                assert place == 0, (op, at, size, written)
                resets += 1
                written[zone] = 0
            written[zone] = written.get(zone, 0) + size
            writes[zone] += 1
            assert written[zone] <= capacity
        elif op == "read":
            assert place + size <= written.get(zone, 0)
        most = max(most, sum(0 < bytes_ < capacity for bytes_ in written.values()))
    return resets, most, writes


@pytest.mark.parametrize("keys", EXACT)
def test_given_requests_to_zones_are_fio_s_one_by_one(keys: str, tmp_path: Path) -> None:
    theirs, ours = both(keys, tmp_path)
    # A flush precedes verification here.
    assert [request for request in ours if request[0] != "sync"] == theirs


@pytest.mark.parametrize("keys", DRAWN)
def test_drawn_requests_to_zones_are_distributed_as_fio_s(keys: str, tmp_path: Path) -> None:
    theirs, ours = both(keys, tmp_path)
    capacity = 768 << 10 if "zonecapacity" in keys else ZONE
    (resets, most, writes), (others, others_most, others_writes) = (zones_of(side, capacity) for side in (ours, theirs))
    for op in ("read", "write"):
        shares = [sum(request[0] == op for request in side) / len(side) for side in (ours, theirs)]
        assert close(shares[0], shares[1], len(ours), len(theirs)), (op, shares)
    assert abs(sum(size for *_, size in ours) - sum(size for *_, size in theirs)) <= 128 << 10
    assert most == others_most
    # A zone is reset once it is full, so that both counts follow from the bytes, but for a few zones at the end.
    assert resets == pytest.approx(others, rel=0.15, abs=4)
    if "max_open_zones" in keys:
        assert min(len(writes), len(others_writes)) >= 6
    else:
        assert writes == others_writes
