"""Reader of fio's JSON output, as fio and its users leave it."""

import json
from pathlib import Path
from typing import Any

from nandram.errors import UserError
from nandram.fit.measurements import fio_options, shape
from nandram.fit.measurements.points import Conditions, Measurements, Point, checked

TAIL_MIN = 10
"""Requests that must lie beyond a percentile for it to be used."""


def read_fio_json(path: Path, text: str) -> Measurements:
    """Read one output file. Raises `UserError`."""
    output = _document(path, text)
    entries = output.get("jobs")
    if not isinstance(entries, list):
        if "client_stats" in output:
            raise UserError(f"{path}: found `client_stats` of a client run, expected the output of fio on one machine")
        raise UserError(f"{path}: found JSON without `jobs`, expected the output of fio --output-format=json")
    if not entries:
        raise UserError(f"{path}: `jobs` is empty: fio ran no job")
    shape.expect(path, "", output, shape.OUTPUT)
    for number, entry in enumerate(entries):
        shape.expect(path, f"jobs[{number}]", entry, shape.ENTRY)
    shared = output.get("global options", {})
    points: list[Point] = []
    remarks: list[str] = []
    unfit: list[fio_options.UnfitError] = []
    for name, found in _grouped(path, entries).items():
        source = f"{path}: job `{name[0]}`"
        options = {**shared, **found[0].get("job options", {})}
        try:
            point, said = _point(source, options, found)
        except fio_options.UnfitError as error:
            unfit.append(error)
            continue
        points.append(point)
        remarks += said
    _check_stonewall(path, entries)
    if unfit and not points:
        raise unfit[0]
    remarks += [f"left out: {error}" for error in unfit]
    return Measurements(tuple(points), tuple(remarks), left_out=frozenset(error.pattern for error in unfit))


def _document(path: Path, text: str) -> dict[str, Any]:
    """Return the one JSON object of a file, past the lines that fio and its engines print before it."""
    lines = text.splitlines(keepends=True)
    start = next((number for number, line in enumerate(lines) if line.lstrip().startswith("{")), None)
    if start is None:
        if any("groupid=" in line or ";fio-" in line for line in lines):
            raise UserError(f"{path}: found fio's text output, expected that of fio --output-format=json")
        what = "an empty file" if not text.strip() else "no JSON"
        raise UserError(f"{path}: found {what}, expected the output of fio --output-format=json")
    body = "".join(lines[start:])
    try:
        output, end = json.JSONDecoder().raw_decode(body.lstrip())
    except json.JSONDecodeError as error:
        raise UserError(
            f"{path}:{start + error.lineno}: the JSON ends or breaks here ({error.msg}): was fio interrupted?"
        ) from None
    if body.lstrip()[end:].lstrip().startswith("{"):
        raise UserError(
            f"{path}: found more than one JSON object, expected one: run fio without --status-interval, "
            "and write each run to a file of its own"
        )
    if not isinstance(output, dict):
        raise UserError(f"{path}: found JSON without `jobs`, expected the output of fio --output-format=json")
    return output


def _grouped(path: Path, entries: list[Any]) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """Return the entries by job: without group_reporting fio writes one per clone of a job."""
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for entry in entries:
        if not isinstance(entry, dict) or "jobname" not in entry:
            raise UserError(f"{path}: found an entry of `jobs` without `jobname`, expected fio's output")
        groups.setdefault((str(entry["jobname"]), int(entry.get("groupid", 0))), []).append(entry)
    return groups


def _check_stonewall(path: Path, entries: list[dict[str, Any]]) -> None:
    """Raise `UserError` if jobs ran at the same time: their rates depend on each other."""
    names: dict[int, set[str]] = {}
    for entry in entries:
        names.setdefault(int(entry.get("groupid", 0)), set()).add(str(entry["jobname"]))
    for group in names.values():
        if len(group) > 1:
            listed = ", ".join(f"`{name}`" for name in sorted(group))
            raise UserError(
                f"{path}: jobs {listed} ran at the same time: expected one job per run, or `stonewall` and `new_group`"
            )


def _point(source: str, options: dict[str, str], entries: list[dict[str, Any]]) -> tuple[Point, list[str]]:
    job = fio_options.read_job(source, options)
    for entry in entries:
        if entry.get("error", 0):
            raise UserError(f"{source}: ended with error {entry['error']}: expected a run without errors")
    # fio leaves a bare group_reporting out of its options: one entry of several clones is that of their group.
    if len(entries) not in (1, job.jobs):
        raise UserError(
            f"{source}: has {len(entries)} entries but numjobs={job.jobs}: expected one (group_reporting), "
            "or one per clone"
        )
    sides = []
    for entry in entries:
        side = entry.get(job.direction)
        if not isinstance(side, dict):
            raise UserError(f"{source}: has no `{job.direction}`, which rw={options['rw']} must report")
        if side.get("total_ios", 0) <= 0:
            raise UserError(f"{source}: completed no {job.direction}: expected requests")
        if "iops" not in side:
            raise UserError(f"{source}: has no `iops` of its {job.direction}s, expected fio's output")
        sides.append(side)
    remarks: list[str] = []
    if job.capped:
        remarks.append(
            f"{source}: iodepth={options['iodepth']} is read as 1: ioengine={job.engine} has one request in flight"
        )
    times = [_times(source, side, job, remarks) for side in sides]
    counts = [float(side["total_ios"]) for side in sides]
    mean = _weighted([each[0] for each in times], counts)
    shared = sorted(set.intersection(*(set(each[1]) for each in times)))
    percentiles = tuple((p, _weighted([each[1][p] for each in times], counts) or 0.0) for p in shared)
    if len(sides) > 1 and percentiles:
        remarks.append("percentiles of clones without group_reporting were averaged")
    if not percentiles:
        remarks.append(f"{source}: has no percentiles: only its rate is used")
    conditions = Conditions(job.direction, job.random, job.size_bytes, job.depth, job.jobs, job.engine)
    iops = sum(float(side["iops"]) for side in sides)
    cpus = [float(entry["usr_cpu"]) + float(entry.get("sys_cpu", 0.0)) for entry in entries if "usr_cpu" in entry]
    cpu = sum(cpus) / len(cpus) / 100 if cpus else None
    return checked(Point(conditions, iops, mean, percentiles, cpu, source)), remarks


def _times(
    source: str, side: dict[str, Any], job: fio_options.Job, remarks: list[str]
) -> tuple[float | None, dict[float, float]]:
    """Return the mean and the percentiles of the response time in nanoseconds."""
    if "clat" in side and "clat_ns" not in side:
        raise UserError(f"{source}: found `clat` in microseconds of fio 2, expected `clat_ns` of fio 3")
    whole = side.get("lat_ns", {})
    completion = side.get("clat_ns", {})
    if job.kernel_submits:
        remarks.append("slat is ignored: with sqthread_poll a kernel thread submits, and fio's slat is undefined")
        submission = 0.0
    else:
        submission = float(side.get("slat_ns", {}).get("mean", 0.0))
        if submission < 0 or submission > 1.001 * float(whole.get("mean", submission)):
            raise UserError(f"{source}: found a mean slat of {submission:,.0f} ns, above the mean response time")
    # fio measures percentiles of the whole response only if asked to; otherwise the mean submission time is added.
    measured, shift = (whole, 0.0) if whole.get("percentile") else (completion, submission)
    found = {_percent(source, p): float(time) + shift for p, time in measured.get("percentile", {}).items()}
    if found and not {50.0, 99.0} <= set(found):
        missing = " and ".join(f"{p:g}" for p in (50.0, 99.0) if p not in found)
        remarks.append(f"{source}: percentile_list lacks {missing}, of which no error is given")
    count = float(side["total_ios"])
    usable = {p: time for p, time in found.items() if p < 100 and count * (1 - p / 100) >= TAIL_MIN}
    mean = completion.get("mean") if job.kernel_submits else whole.get("mean")
    return (float(mean) if mean else None), dict(sorted(usable.items()))


def _percent(source: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UserError(f"{source}: percentile: found `{text}`, expected a percent such as 99.000000") from None


def _weighted(values: list[float | None] | list[float], counts: list[float]) -> float | None:
    """Return the mean of values over requests; None if one is missing."""
    total = 0.0
    for value, count in zip(values, counts, strict=True):
        if value is None:
            return None
        total += value * count
    return total / sum(counts)
