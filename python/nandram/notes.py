"""What a reader of a result should know besides the table."""

import errno
import math
import os
from typing import Any

from nandram.units import count, days, duration

_SERVED = ("host_reads", "read_hits", "host_units")
"""Counts of the translation layer: reads of flash and hits of a cache, units that the host wrote."""

_TELLING = 0.005
"""Part of a drive-write below which background work of the drive outweighs that of the run."""


def failures(jobs: list[dict[str, Any]]) -> list[str]:
    """Return a line for each job with failed requests, which its rates and latencies leave out."""
    lines = []
    for job in jobs:
        if job.get("total_err"):
            failed = f"{count(job['total_err'], 'request')} failed, not counted above"
            lines.append(f"{job['jobname']}: {failed}; the first with {_cause(job['first_error'])}")
    return lines


def ended_early(inside: dict[str, Any]) -> list[str]:
    """Return a line for each job that an error ended."""
    return [
        f"error: job {failed['jobname']}: ended after {duration(failed['time_s'] * 1e9)} with {_cause(failed['error'])}"
        for failed in inside.get("failed_jobs", [])
    ]


def _cause(number: int) -> str:
    return f"{errno.errorcode.get(number, number)} ({os.strerror(number)})"


def of(inside: dict[str, Any], *, reads: bool) -> list[str]:
    """Return a line for each, from the ``nandram`` part of a summary; `reads`: whether the host read anything."""
    lines = [f"{duration(inside['simulated_s'] * 1e9)} simulated"]
    prepared = inside["preparation"]
    if prepared["kind"] != "none":
        line = f"drive prepared: {prepared['kind']}"
        if prepared["write_amplification"] is not None:
            line += f", write amplification {prepared['write_amplification']:.3f}"
        if prepared["approximate"]:
            line += " (that of greedy collection: theory does not cover this policy)"
        lines.append(line)
    warm_up = inside["warm_up"]
    if warm_up["cut_s"] > 0:
        lines.append(f"warm-up: the first {duration(warm_up['cut_s'] * 1e9)} are cut off ({warm_up['rule']})")
    if warm_up.get("run_at_least_s"):
        lines.append(f"too short to be steady: nothing is cut off; run at least {_at_least(warm_up['run_at_least_s'])}")
    if warm_up.get("jobs_inside"):
        names = ", ".join(dict.fromkeys(warm_up["jobs_inside"]))
        lines.append(f"ended inside the warm-up, and counted whole: {names}")
    if "paging" in inside:
        lines += _paging(inside["paging"])
        lines.append(f"energy of flash, bus and SRAM: {inside['energy_j']['total']:.4g} J")
    elif "cpu" in inside:
        lines += _programs(inside)
        drive = f", of the drive's flash {inside['drive']['energy_j']:.4g} J" if "drive" in inside else ""
        lines.append(f"energy of main memory: {inside['energy_j']['memory']:.4g} J{drive}")
    else:
        if reads and prepared["kind"] == "none" and not any(inside["ftl"][key] for key in _SERVED):
            lines.append("the drive was empty: reads found nothing written, and touched no flash (precondition: fill)")
        whole_run = inside.get("whole_run", inside)["ftl"]
        # Results of earlier versions count no bytes.
        written = whole_run.get("host_bytes", math.inf) / inside["capacity_bytes"]
        if prepared["kind"] in ("steady", "rested") and written < _TELLING and whole_run["programmed_copy"]:
            lines.append(
                f"write amplification: not shown for {100 * written:.2g} % of a drive-write; most of the "
                f"{count(whole_run['programmed_copy'], 'copied unit')} is work that the preparation left"
            )
            lines += _failures(inside["ftl"], whole_run)
        else:
            lines += _flash(inside["ftl"], whole_run)
        if "parity" in inside:
            lines.append(_parity(inside["parity"]))
        lines.append(f"energy of the flash: {inside['energy_j']['total']:.4g} J")
    payload = inside.get("payload")
    if payload is not None:
        lines.append(f"payload: {count(payload['sectors_checked'], 'sector')} read back as written")
    left_out = inside.get("timeline_spans_left_out", 0)
    if left_out:
        lines.append(f"timeline: {count(left_out, 'span')} beyond its limit are left out")
    lines.extend(inside["notes"])
    return lines


def _paging(paging: dict[str, Any]) -> list[str]:
    requests = paging["buffer_reads"] + paging["sram_reads"]
    lines = [
        f"{paging['policy']}, {count(paging['frames'], 'frame')}, {count(paging['buffers'], 'buffer')}: "
        f"{count(paging['flash_to_buffer'], 'load')}, {count(paging['buffer_to_sram'], 'move')}, "
        f"{100 * paging['buffer_reads'] / requests:.1f} % read in place"
    ]
    if paging["overlap"]:
        lines.append(f"without overlap it would have taken {duration(paging['in_turn_s'] * 1e9)}")
    if paging["uncorrectable"]:
        lines.append(f"flash: {count(paging['uncorrectable'], 'load')} uncorrectable")
    return lines


def _programs(inside: dict[str, Any]) -> list[str]:
    cpu = inside["cpu"]
    accesses = cpu["loads"] + cpu["stores"]
    hits = ", ".join(f"{name} {100 * cpu[f'{name}_hits'] / max(accesses, 1):.1f} %" for name in ("l1", "l2", "llc"))
    lines = [
        f"{count(cpu['threads'], 'thread')}, {accesses:,} loads and stores: {hits}, "
        f"{count(cpu['fills'], 'line')} of memory, {count(cpu['write_backs'], 'line')} back"
    ]
    cache = inside.get("cache")
    if cache is not None:
        asked = cache["hits"] + cache["merged"] + cache["misses"]
        lines.append(
            f"cache of DRAM: {100 * (asked - cache['misses']) / max(asked, 1):.1f} % hits, "
            f"{count(cache['misses'], 'page')} of flash asked for, {cache['prefetches']:,} read ahead, "
            f"{inside['nvmm']['programs_host']:,} written back"
        )
    half, all_ = (inside.get("lifetime_days", {}).get(part) for part in ("half", "all"))
    if half is not None:
        lines.append(
            f"at this rate of writing half of the flash is worn out in {days(half)}, all of it in {days(all_)}"
        )
    linux = inside.get("linux")
    if linux is not None:
        lines.append(
            f"{count(linux['major_faults'], 'fault')} of the drive ({duration(linux['access_ns']['mean'])}, of that "
            f"the drive {duration(linux['hardware_ns']['mean'])}), {linux['minor_faults']:,} others, "
            f"{count(linux['pages_read'], 'page')} read, {count(linux['pages_written'], 'page')} written"
        )
    return lines


def _at_least(seconds: float) -> str:
    """Return a time rounded up to two digits."""
    step = 10.0 ** (math.floor(math.log10(seconds)) - 1)
    return duration(math.ceil(round(seconds / step, 6)) * step * 1e9)


def _flash(ftl: dict[str, Any], whole_run: dict[str, Any]) -> list[str]:
    """Lines on the translation layer: its counts beside the table, and the failures of the whole run."""
    lines = []
    if ftl["host_units"] and ftl["write_amplification"] is not None:
        by = [f"{ftl['write_amplification']:.3f} by units"]
        # Results of earlier versions count no bytes.
        if ftl.get("write_amplification_by_bytes") is not None:
            by.append(f"{ftl['write_amplification_by_bytes']:.3f} by bytes")
        lines.append(f"write amplification: {', '.join(by)}, {count(ftl['erases'], 'erase')}")
    elif ftl["host_units"]:
        lines.append("write amplification: none yet, all that was written is still in the write cache")
    looked_up = ftl["map_hits"] + ftl["map_misses"]
    if ftl["map_reads"] and looked_up:
        lines.append(f"map: {100 * ftl['map_hits'] / looked_up:.1f} % hits, {count(ftl['map_reads'], 'extra read')}")
    return lines + _failures(ftl, whole_run)


def _parity(parity: dict[str, Any]) -> str:
    """Line on parity across dies: its cost, and what it saved."""
    parts = [f"{100 * parity['share_of_programs']:.1f} % of programs"]
    if parity["write_amplification_without"] is not None:
        parts.append(f"write amplification {parity['write_amplification_without']:.3f} without it")
    if parity["rebuilt"] or parity["rebuild_failures"]:
        parts.append(f"{count(parity['rebuilt'], 'read')} rebuilt, {parity['rebuild_failures']} beyond rebuilding")
    return f"parity: {', '.join(parts)}"


def _failures(ftl: dict[str, Any], whole_run: dict[str, Any]) -> list[str]:
    lines = []
    if whole_run["failures"] or whole_run["lost_units"]:
        lines.append(f"flash: {count(whole_run['failures'], 'failure')}, {count(whole_run['lost_units'], 'unit')} lost")
    if ftl["read_only"]:
        lines.append("the drive ended read-only: too few good blocks were left")
    return lines
