"""Lines that accompany the table of a result."""

from typing import Any

from nandram.results import validity
from nandram.units import count, days, duration


def of(inside: dict[str, Any]) -> list[str]:
    """Return the lines on the ``nandram`` part of a summary that describe a run, and its notes."""
    lines = [f"{duration(inside['simulated_s'] * 1e9)} simulated"]
    prepared = inside["preparation"]
    if prepared["kind"] != "none":
        line = f"drive prepared: {prepared['kind']}"
        if prepared["write_amplification"] is not None:
            line += f", write amplification {prepared['write_amplification']:.3f}"
        if prepared["approximate"]:
            line += " (of greedy collection; the theory does not cover this policy)"
        lines.append(line)
    warm_up = inside["warm_up"]
    if warm_up["cut_s"] > 0:
        lines.append(f"warm-up: the first {duration(warm_up['cut_s'] * 1e9)} are excluded ({warm_up['rule']})")
    if "paging" in inside:
        lines += _paging(inside["paging"])
        lines.append(f"energy of flash, bus and SRAM: {inside['energy_j']['total']:.4g} J")
    elif "serving" in inside:
        from nandram.results import serving

        lines += serving.notes(inside["serving"])
    elif "cpu" in inside:
        lines += _programs(inside)
        drive = f", drive flash: {inside['drive']['energy_j']:.4g} J" if "drive" in inside else ""
        lines.append(f"main memory energy: {inside['energy_j']['memory']:.4g} J{drive}")
    elif "traffic" in inside:
        lines += _traffic(inside["traffic"])
        lines.append(f"main memory energy: {inside['energy_j']['memory']:.4g} J")
    else:
        withheld = validity.withheld(validity.notes_of({"nandram": inside}))
        shown = "write-amplification" not in withheld
        lines += [*_flash(inside["ftl"], shown=shown), *_failures(inside.get("whole_run", inside)["ftl"])]
        if "parity" in inside:
            lines.append(_parity(inside["parity"], shown=shown))
        if "placement" in inside and shown:
            lines.append(_placement(inside["placement"]))
        if "energy" not in withheld:
            lines.append(f"flash energy: {inside['energy_j']['total']:.4g} J")
        lines += [line for drive in inside.get("drives", ()) if (line := _drive(drive, withheld))]
    payload = inside.get("payload")
    if payload is not None:
        lines.append(f"payload: {count(payload['sectors_checked'], 'sector')} read back as written")
    left_out = inside.get("timeline_spans_left_out", 0)
    if left_out:
        lines.append(f"timeline: {count(left_out, 'span')} beyond the size limit were left out")
    return lines


def _paging(paging: dict[str, Any]) -> list[str]:
    requests = paging["buffer_reads"] + paging["sram_reads"]
    lines = [
        f"{paging['policy']}, {count(paging['frames'], 'frame')}, {count(paging['buffers'], 'buffer')}: "
        f"{count(paging['flash_to_buffer'], 'load')}, {count(paging['buffer_to_sram'], 'move')}, "
        f"{100 * paging['buffer_reads'] / requests:.1f} % read in place"
    ]
    if paging["overlap"]:
        lines.append(f"time without overlap: {duration(paging['in_turn_s'] * 1e9)}")
    if paging["uncorrectable"]:
        lines.append(f"flash: {count(paging['uncorrectable'], 'load')} uncorrectable")
    return lines


def _traffic(traffic: dict[str, Any]) -> list[str]:
    queue = traffic["queue"]
    rates = ", ".join(f"{name}s {traffic[f'{name}_bytes_s'] / 1e9:.4g} GB/s" for name in ("read", "write"))
    lines = [f"{rates}; queue: {queue['mean']:.4g} accesses on average, {queue['max']} at most of {queue['limit']}"]
    if "dram" in traffic:
        rows = traffic["dram"]
        bursts = max(rows["reads"] + rows["writes"], 1)
        kinds = ", ".join(
            f"{100 * rows[f'row_{name}'] / bursts:.1f} % {name}" for name in ("hits", "misses", "conflicts")
        )
        lines.append(f"rows: {kinds}")
    return lines


def _programs(inside: dict[str, Any]) -> list[str]:
    cpu = inside["cpu"]
    accesses = cpu["loads"] + cpu["stores"]
    hits = ", ".join(f"{name} {100 * cpu[f'{name}_hits'] / max(accesses, 1):.1f} %" for name in ("l1", "l2", "llc"))
    lines = [
        f"{count(cpu['threads'], 'thread')}, {accesses:,} loads and stores: {hits}, "
        f"{count(cpu['fills'], 'line')} read from memory, {count(cpu['write_backs'], 'line')} written back"
    ]
    cache = inside.get("cache")
    if cache is not None:
        asked = cache["hits"] + cache["merged"] + cache["misses"]
        lines.append(
            f"DRAM cache: {100 * (asked - cache['misses']) / max(asked, 1):.1f} % hits, "
            f"{count(cache['misses'], 'page')} requested from flash, {cache['prefetches']:,} prefetched, "
            f"{inside['nvmm']['programs_host']:,} written back"
        )
    withheld = validity.withheld(validity.notes_of({"nandram": inside}))
    half, all_ = (inside.get("lifetime_days", {}).get(part) for part in ("half", "all"))
    if half is not None and "lifetime" not in withheld:
        lines.append(f"at this write rate, half of the flash wears out in {days(half)}, all of it in {days(all_)}")
    linux = inside.get("linux")
    if linux is not None:
        lines.append(
            f"{count(linux['major_faults'], 'major fault')} (mean {duration(linux['access_ns']['mean'])}, "
            f"{duration(linux['hardware_ns']['mean'])} of it in the drive), {linux['minor_faults']:,} minor faults, "
            f"{count(linux['pages_read'], 'page')} read, {count(linux['pages_written'], 'page')} written"
        )
    return lines


def _flash(ftl: dict[str, Any], *, shown: bool) -> list[str]:
    """Return lines on the translation layer; `shown`: with the write amplification."""
    lines = [_amplification(ftl)] if shown and ftl["host_units"] else []
    looked_up = ftl["map_hits"] + ftl["map_misses"]
    if ftl["map_reads"] and looked_up:
        lines.append(f"map: {100 * ftl['map_hits'] / looked_up:.1f} % hits, {count(ftl['map_reads'], 'extra read')}")
    return lines


def _drive(drive: dict[str, Any], withheld: frozenset[str]) -> str:
    """Return a line on one of several drives; empty if its figures are withheld."""
    parts = _flash(drive["ftl"], shown="write-amplification" not in withheld)
    if "energy" not in withheld:
        parts.append(f"flash energy: {drive['energy_j']['total']:.4g} J")
    return f"{drive['drive']}: {'; '.join(parts)}" if parts else ""


def _amplification(ftl: dict[str, Any]) -> str:
    """Return a line on the write amplification of a drive to which the host wrote."""
    if ftl["write_amplification"] is None:
        return "write amplification: none yet, all written data is still in the write cache"
    by = [f"{ftl['write_amplification']:.3f} by units"]
    # Results of earlier versions have no byte counts.
    if ftl.get("write_amplification_by_bytes") is not None:
        by.append(f"{ftl['write_amplification_by_bytes']:.3f} by bytes")
    return f"write amplification: {', '.join(by)}, {count(ftl['erases'], 'erase')}"


def _parity(parity: dict[str, Any], *, shown: bool) -> str:
    """Return a line on parity across dies and the reads that it rebuilt; `shown`: with the write amplification."""
    parts = [f"{100 * parity['share_of_programs']:.1f} % of programs"]
    if shown and parity["write_amplification_without"] is not None:
        parts.append(f"write amplification {parity['write_amplification_without']:.3f} without it")
    if parity["rebuilt"] or parity["rebuild_failures"]:
        parts.append(f"{count(parity['rebuilt'], 'read')} rebuilt, {parity['rebuild_failures']} not recoverable")
    return f"parity: {', '.join(parts)}"


def _placement(placement: dict[str, Any]) -> str:
    """Return a line on the write amplification of each handle that was written to."""
    parts = []
    for handle in placement["handles"]:
        if handle["write_amplification"] is not None:
            mixed = f" ({count(handle['copies_mixed'], 'unit')} mixed)" if handle["copies_mixed"] else ""
            parts.append(f"{handle['handle']}: {handle['write_amplification']:.3f}{mixed}")
    return f"write amplification by handle: {', '.join(parts) or 'nothing written'}"


def _failures(whole_run: dict[str, Any]) -> list[str]:
    """Return a line on flash failures of the whole run."""
    if not whole_run["failures"] and not whole_run["lost_units"]:
        return []
    return [f"flash: {count(whole_run['failures'], 'failure')}, {count(whole_run['lost_units'], 'unit')} lost"]
