"""Reader of measurements in a CSV file with named columns."""

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from nandram.errors import UserError
from nandram.fit.measurements.points import LITTLE_MAX, Conditions, Direction, Measurements, Point, checked
from nandram.options import nearest

PATTERNS = {
    "read": (Direction.READ, False),
    "randread": (Direction.READ, True),
    "write": (Direction.WRITE, False),
    "randwrite": (Direction.WRITE, True),
}
REQUIRED = ("rw", "bs_bytes", "iodepth", "iops")
OPTIONAL = ("numjobs", "engine", "cpu_usr_pct", "cpu_sys_pct")
UNUSED = ("side", "bw_bytes_s", "ios", "runtime_ms", "job")
"""Columns that carry no further information."""
UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_TIME = re.compile(r"(slat|clat|lat)_(mean|min|max|p\d+)(?:_(\w+))?")


def read_csv(path: Path, text: str) -> Measurements:
    """Read one file; lines that begin with ``#`` are comments. Raises `UserError`.

    Columns: ``rw`` (randread, read, randwrite, write), ``bs_bytes``, ``iodepth`` per job, ``iops`` over all jobs, and
    optionally ``numjobs``, ``engine``, ``cpu_usr_pct``, ``cpu_sys_pct``, ``slat_mean_UNIT``, ``clat_mean_UNIT`` or
    ``lat_mean_UNIT``, and percentiles such as ``clat_p50_UNIT`` or ``lat_p999_UNIT`` (the 99.9th). UNIT is ns, us, ms
    or s.

    Other columns are named in a remark and not read. A row may lack the percentiles 50 and 99.
    """
    lines = [line if not line.startswith("#") else "\n" for line in text.splitlines(keepends=True)]
    reader = csv.reader(io.StringIO("".join(lines)))
    header: list[str] | None = None
    points: list[Point] = []
    remarks: list[str] = []
    for row in reader:
        if not row or row == [""]:
            continue
        if header is None:
            header = [name.strip() for name in row]
            remarks += _check_header(path, header)
            continue
        source = f"{path}:{reader.line_num}"
        if len(row) != len(header):
            raise UserError(f"{source}: found {len(row)} values, expected {len(header)}, one per column")
        points.append(_point(source, dict(zip(header, (cell.strip() for cell in row), strict=True)), remarks))
    if header is None:
        raise UserError(f"{path}: found no header, expected columns {', '.join(REQUIRED)}")
    if not points:
        raise UserError(f"{path}: found no rows after the header, expected one per point")
    if not any(point.percentiles for point in points):
        remarks.append(f"{path}: has no percentiles: only rates are used")
    else:
        remarks += _lacking(path, points)
    return Measurements(tuple(points), tuple(dict.fromkeys(remarks)))


def _lacking(path: Path, points: Sequence[Point]) -> Iterator[str]:
    """Yield a remark for each of the compared percentiles that some points lack."""
    for percent in (50.0, 99.0):
        number = sum(point.percentile(percent) is None for point in points)
        if number:
            yield f"{path}: {number} of {len(points)} points lack percentile {percent:g}, of which they have no error"


def _check_header(path: Path, header: list[str]) -> list[str]:
    """Return remarks on columns that are not read. Raises `UserError` for columns that contradict each other."""
    remarks: list[str] = []
    units: dict[str, str] = {}
    for name in header:
        if header.count(name) > 1:
            raise UserError(f"{path}:1: column `{name}` appears twice")
        time = _TIME.fullmatch(name)
        if time is not None:
            if time[3] not in UNITS:
                raise UserError(f"{path}:1: column `{name}` has no unit, expected `{time[1]}_{time[2]}_ns`, _us or _ms")
            quantity = f"{time[1]}_{time[2]}"
            if quantity in units:
                raise UserError(f"{path}:1: `{quantity}` has two units, {units[quantity]} and {time[3]}: expected one")
            units[quantity] = time[3]
        elif name == "writers":
            raise UserError(f"{path}:1: found column `writers`, expected one job per run: mixes are not fitted")
        elif name not in (*REQUIRED, *OPTIONAL, *UNUSED):
            known = (*REQUIRED, *OPTIONAL, "slat_mean_ns", "clat_mean_ns", "clat_p50_ns", "clat_p99_ns", "lat_mean_ns")
            remarks.append(f"{path}:1: column `{name}` is not read{nearest(name, known)}")
    for name in REQUIRED:
        if name not in header:
            alike = nearest(name, tuple(each for each in header if each not in (*REQUIRED, *OPTIONAL, *UNUSED)))
            raise UserError(f"{path}:1: lacks column `{name}`, expected {', '.join(REQUIRED)}{alike}")
    if any(name.startswith("clat") for name in header) and any(re.match(r"lat_p\d", name) for name in header):
        raise UserError(f"{path}:1: found percentiles of clat and of lat, expected only one kind")
    return remarks


def _point(source: str, row: dict[str, str], remarks: list[str]) -> Point:
    if row["rw"] not in PATTERNS:
        raise UserError(
            f"{source}: found rw `{row['rw']}`, expected randread, read, randwrite or write"
            f"{nearest(row['rw'], tuple(PATTERNS))}"
        )
    direction, random = PATTERNS[row["rw"]]
    size, depth = _count(source, row, "bs_bytes"), _count(source, row, "iodepth")
    jobs = _count(source, row, "numjobs") if "numjobs" in row else 1
    conditions = Conditions(direction, random, size, depth, jobs, row.get("engine") or "unknown")
    times = _times(source, row)
    submission = times.get("slat_mean", 0.0)
    iops = _number(source, row, "iops")
    if submission and _is_undefined(conditions, iops, times):
        remarks.append(
            f"{source.rpartition(':')[0]}: slat of {conditions.engine} is ignored where it exceeds the response, as "
            "under sqthread_poll, where a kernel thread submits and fio's slat is undefined"
        )
        submission = 0.0
        times.pop("lat_mean", None)
    mean = times.get("lat_mean", times["clat_mean"] + submission if "clat_mean" in times else None)
    percentiles = sorted(
        (_percent(name), time + (submission if name.startswith("clat") else 0.0))
        for name, time in times.items()
        if re.fullmatch(r"c?lat_p\d+", name)
    )
    cpu = [_number(source, row, name) for name in ("cpu_usr_pct", "cpu_sys_pct") if row.get(name)]
    return checked(Point(conditions, iops, mean, tuple(percentiles), sum(cpu) / 100 if cpu else None, source))


def _is_undefined(conditions: Conditions, iops: float, times: dict[str, float]) -> bool:
    """Return whether a row's slat can be no part of its response: it exceeds it, or alone exceeds the depth."""
    submission, completion = times["slat_mean"], times.get("clat_mean", times.get("clat_p50", 0.0))
    most = LITTLE_MAX * conditions.outstanding / iops * 1e9 if iops else math.inf
    return submission > 1.001 * times.get("lat_mean", math.inf) or (completion <= most < completion + submission)


def _times(source: str, row: dict[str, str]) -> dict[str, float]:
    """Return the times of a row in nanoseconds, by name without unit; empty cells are left out."""
    found = {}
    for name in row:
        time = _TIME.fullmatch(name)
        if time is not None and row[name]:
            found[f"{time[1]}_{time[2]}"] = _number(source, row, name) * UNITS[time[3]]
    return found


def _percent(name: str) -> float:
    """Return the percentage of a column such as ``clat_p999``: digits beyond two are decimals."""
    digits = name.rpartition("_p")[2]
    return float(f"{digits[:2]}.{digits[2:]}") if len(digits) > 2 else float(digits)


def _number(source: str, row: dict[str, str], name: str) -> float:
    try:
        value = float(row[name])
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise UserError(f"{source}: {name}: found `{row[name]}`, expected a number from 0")
    return value


def _count(source: str, row: dict[str, str], name: str) -> int:
    text = row[name]
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise UserError(f"{source}: {name}: found `{text}`, expected a whole number from 1")
    return int(text)
