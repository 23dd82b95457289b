"""Tables and notes of a served language model: the section ``nandram.serving`` of a summary."""

from typing import Any

from nandram.units import count, days, duration, rate, size

TITLES = ("", "requests", "mean", "50 %", "95 %", "99 %", "max")
"""Titles of the columns of `times`."""

_TIMES = (("ttft_ms", "TTFT"), ("tpot_ms", "TPOT"), ("latency_ms", "answer"), ("fetch_ms", "fetch from drives"))
_KEYS = ("mean", "p50", "p95", "p99", "max")
TIERS = (("gpu", "GPU memory"), ("host", "host memory"), ("drive", "drives"))
"""The tiers: key and title."""


def times(serving: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the times of requests, one row per kind, in the columns `TITLES`."""
    return [
        (title, f"{serving[key]['count']:,}", *(duration(serving[key][each] * 1e6) for each in _KEYS))
        for key, title in _TIMES
        if serving[key]["count"]
    ]


def notes(serving: dict[str, Any]) -> list[str]:
    """Return the lines on requests, tokens, tiers, wear and energy."""
    requests, hits, drive = serving["requests"], serving["hits"], serving["tiers"]["drive"]
    lines = [
        f"{count(requests['arrived'], 'request')}, {serving['requests_per_s']:.3g}/s: "
        f"{serving['tokens_per_s']:,.0f} tokens/s, GPUs busy {100 * serving['gpu_busy']:.1f} %"
    ]
    if requests["preempted"]:
        lines.append(f"{count(requests['preempted'], 'sequence')} preempted for lack of GPU blocks")
    found = ", ".join(f"{title} {100 * hits[key]:.1f} %" for key, title in TIERS)
    lines.append(f"prompt tokens found in {found}")
    if drive["count"]:
        dropped = serving["tiers"]["dropped_blocks"]
        lost = f", {count(dropped, 'block')} dropped" if dropped else ""
        read, written = size(drive["read_bytes"]), size(drive["written_bytes"])
        lines.append(f"{count(drive['count'], 'drive')}: {read} fetched, {written} written{lost}")
    if drive["host_bytes"]:
        lines.append(_wear(drive))
    energy = serving["energy"]["per_token_j"]
    if energy is not None:
        lines.append(f"energy per token: {energy:.3g} J of GPUs and flash")
    return lines


def _wear(drive: dict[str, Any]) -> str:
    years = drive["lifetime_years"]
    if years is None:
        life = "no lifetime: flash.endurance.mean is unlimited"
    else:
        life = f"worn out in {days(365 * years)} at {drive['endurance_cycles']:,.0f} cycles"
    amplification = f"write amplification {drive['write_amplification']:.2f}"
    return f"wear: {drive['dwpd']:.3g} drive writes per day, {amplification}, {life}"


def traffic(serving: dict[str, Any], span_s: float) -> list[tuple[str, ...]]:
    """Return one row per tier: title, capacity, hits in percent, rate of reads, rate of writes."""
    rows = []
    for key, title in TIERS:
        tier = serving["tiers"][key]
        rates = (rate(tier[name] / span_s) for name in ("read_bytes", "written_bytes"))
        rows.append((title, size(tier["capacity_bytes"]), f"{100 * serving['hits'][key]:.1f} %", *rates))
    return rows
