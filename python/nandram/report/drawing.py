"""Drawings of systems: the parts and the links between them with their rates, from the resolved system."""

import html
import json
import re
from collections.abc import Mapping
from typing import Any

from nandram import units

WIDTH, WIRE, TOP, LINE = 880, 150, 14, 17
"""Pixels: width of the picture, width of a link, margin above the parts, height of a line of text."""
NARROW, GAP = 340, 46
"""Pixels: width of the picture for narrow screens, height of a link in it."""


def draw(settings: Mapping[str, Mapping[str, Any]], *, narrow: bool = False) -> str:
    """Return an SVG picture of a system, from the ``settings`` of a manifest: ``value`` by key.

    `narrow`: stack the parts vertically.
    """
    value = {key: _plain(each["value"]) for key, each in settings.items()}
    parts, wires = _machine(value)
    pieces, height = _stacked(parts, wires) if narrow else _in_line(parts, wires)
    width = NARROW if narrow else WIDTH
    dies, below = _dies(value, height + 6, width) if parts[-1][0] == "flash" else ("", 0.0)
    return (
        f'<svg viewBox="0 0 {width} {height + 6 + below:.0f}" width="{width}" role="img" '
        'aria-label="the parts of the system and their links" '
        f'font-family="system-ui, DejaVu Sans, sans-serif" font-size="12">{"".join(pieces)}{dies}</svg>'
    )


_Parts = list[tuple[str, list[str]]]


def _machine(value: Mapping[str, Any]) -> tuple[_Parts, list[list[str]]]:
    """Return the parts of a machine and the links between neighbors."""
    memory = value.get("memory.type", "none")
    flash = ("flash", _flash(value))
    if value.get("link.type") != "none":
        processor = _cpu(value) if memory != "none" else []
        parts = [("host", (processor[:1] + processor[-2:] + _host(value))[:7]), ("device", _device(value)), flash]
        return parts, [_link(value), _channel(value)]
    buses = _named(value, {"memory.standard": "{}", "memory.channels": "{} channels"})
    parts = [("cpu", _cpu(value)), ("memory", _memory(value))]
    return (parts, [buses]) if memory == "dram" else ([*parts, flash], [buses, _channel(value)])


def _in_line(parts: _Parts, wires: list[list[str]]) -> tuple[list[str], float]:
    """Return the parts in a row, and their height."""
    width = (WIDTH - (len(parts) - 1) * WIRE) / len(parts)
    rows = max(len(lines) for _, lines in parts)
    height = TOP + (rows + 1) * LINE + 20
    pieces = []
    for index, (name, lines) in enumerate(parts):
        left = index * (width + WIRE)
        pieces.append(_box(left, TOP, width, height - TOP, _TITLES.get(name, name), lines))
        if index < len(wires):
            pieces.append(_wire(left + width, left + width + WIRE, TOP + 34, wires[index]))
    return pieces, height


def _stacked(parts: _Parts, wires: list[list[str]]) -> tuple[list[str], float]:
    """Return the parts in a column with two columns of text, and their height."""
    pieces, y = [], 0.0
    for index, (name, lines) in enumerate(parts):
        rows = -(-len(lines) // 2)
        height = rows * LINE + 30
        pieces.append(_box(0, y, NARROW, height, _TITLES.get(name, name), lines[:rows], NARROW / 2))
        pieces.append(_lines(NARROW / 2, y, lines[rows:], NARROW / 2))
        y += height
        if index < len(wires):
            middle = -(-len(wires[index]) // 2)
            words = (", ".join(wires[index][:middle]), ", ".join(wires[index][middle:]))
            pieces.append(
                f'<line x1="18" y1="{y:.1f}" x2="18" y2="{y + GAP:.1f}" stroke="currentColor" stroke-width="2"/>'
                f'<path d="M18,{y:.1f}l-4,7h8zM18,{y + GAP:.1f}l-4,-7h8z" fill="currentColor"/>'
                + "".join(
                    f'<text x="34" y="{y + 20 + row * LINE:.1f}" fill="currentColor">'
                    f"{html.escape(_fit(each, NARROW - 34))}</text>"
                    for row, each in enumerate(words)
                )
            )
            y += GAP
    return pieces, y


_TITLES = {"host": "Host", "device": "Controller", "flash": "Flash", "cpu": "Processor", "memory": "Main memory"}


def _plain(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _named(value: Mapping[str, Any], names: Mapping[str, str]) -> list[str]:
    """Return one line per key with a value other than none or 0."""
    lines = []
    for key, form in names.items():
        found = value.get(key)
        if found in (None, "0B", False, "none", 0, "0"):
            continue
        if isinstance(found, list):
            found = " / ".join(str(each) for each in found)
        if isinstance(found, str) and re.fullmatch(r"\d{7,}B", found):
            found = units.size(int(found[:-1]))  # rounded, as byte counts are hard to read
        lines.append(form.format(found))
    return lines


def _host(value: Mapping[str, Any]) -> list[str]:
    return _named(
        value,
        {
            "host.cores": "{} cores",
            "host.chipset": "chipset: {}",
            "host.sram.size": "SRAM {}",
            "host.memory.bandwidth": "memory {}",
            "host.dmi.bandwidth": "DMI {}",
            "host.paging.policy": "paging: {}",
            "host.queue_pairs": "queue pairs: {}",
            "host.queue_depth": "queue depth {}",
            "host.submit": "submits in {}",
            "host.complete": "completes in {}",
            "host.interrupt.delivery": "interrupt after {}",
            "host.mover.transfer": "moves data by {}",
            "device.hmb.size": "lends the drive {}",
        },
    )[:7]


def _cpu(value: Mapping[str, Any]) -> list[str]:
    return _named(
        value,
        {
            "cpu.clock": "clock {}",
            "cpu.width": "{} instructions per cycle",
            "cpu.window": "window of {}",
            "cpu.l1.size": "L1 {}",
            "cpu.l2.size": "L2 {}",
            "cpu.llc.size": "last-level cache {}",
            "memory.size": "memory {}",
        },
    )


def _memory(value: Mapping[str, Any]) -> list[str]:
    keys = {
        "memory.ranks": "{} ranks per channel",
        "memory.stack": "{} behind each rank's select" if value.get("memory.stack") != 1 else "",
        "memory.cache.size": "DRAM cache {}",
        "memory.cache.ways": "{} ways",
        "memory.prefetch.type": "prefetches {}",
        "nvmm.capacity": "capacity {}",
        "nvmm.policy": "collects {}",
        "memory.interleave": "interleaved by {}",
        "memory.latency": "latency {}",
    }
    return [line for line in _named(value, keys) if line][:7]


def _device(value: Mapping[str, Any]) -> list[str]:
    return _named(
        value,
        {
            "device.firmware.cores": "{} firmware cores",
            "device.dram": "DRAM {}",
            "device.read_cache.size": "read cache {}",
            "device.write_cache.size": "write cache {}",
            "ftl.map_cache.size": "map cache {}",
            "ftl.unit": "mapped by {}",
            "ftl.capacity": "capacity {}",
            "ftl.over_provisioning": "over-provisioning {}",
            "ftl.gc.policy": "collects {}",
            "device.onenand.buffers": "{} buffers",
            "device.buffering": "data buffers: {}",
        },
    )[:7]


def _flash(value: Mapping[str, Any]) -> list[str]:
    return _named(
        value,
        {
            "flash.cell": "cell: {}",
            "flash.page": "page {}",
            "flash.pages": "{} pages per block",
            "flash.blocks": "{} blocks per plane",
            "flash.read": "read {}",
            "flash.program": "program {}",
            "flash.erase": "erase {}",
        },
    )


def _link(value: Mapping[str, Any]) -> list[str]:
    """Return lines on the link between host and device, with its rate."""
    kind = str(value.get("link.type", "link"))
    names = {"pcie": "PCI Express", "sata": "SATA", "ufs": "UFS", "ddr": "DDR port", "onenand": "OneNAND bus"}
    lines = [names.get(kind, kind.replace("-", " "))]
    lines += [f"{each:.3g} GB/s" for each in [_bandwidth(kind, value)] if each]
    lines += _named(
        value,
        {
            "link.generation": "generation {}",
            "link.gear": "gear {}",
            "link.lanes": "{} lanes" if value.get("link.lanes") != 1 else "{} lane",
            "link.memory": "{}",
            "link.rate": "{}",
            "link.width": "{} wide",
            "link.latency": "{} each way",
            "link.data_buffer": "data buffer {}",
        },
    )
    return lines[:5]


def _bandwidth(kind: str, value: Mapping[str, Any]) -> float | None:
    """Return the bandwidth per direction after line coding in GB/s; None if the system file states it directly."""
    lanes = float(value.get("link.lanes", 1))
    if kind == "pcie":
        # PCI Express Base Specification: 8b/10b up to generation 2, 128b/130b after it.
        generation = int(value["link.generation"])
        return lanes * (0.25 * generation if generation < 3 else 128 / 130 * 2.0 ** (generation - 3))
    if kind == "sata":
        return 0.15 * 2.0 ** (int(value["link.generation"]) - 1)  # 8b/10b
    if kind == "ufs":
        # M-PHY: gear 1 of series A and B, 8b/10b.
        first = {"a": 1.248, "b": 1.4576}[value["link.series"]]
        return lanes * first * 2.0 ** (int(value["link.gear"]) - 1) / 10
    return None


def _channel(value: Mapping[str, Any]) -> list[str]:
    channels = value.get("flash.channels")
    rate = value.get("flash.rate")
    return [f"{channels} channels" if channels != 1 else "1 channel"] * (channels is not None) + (
        [f"{rate} each"] if rate else []
    )


def _lines(left: float, top: float, lines: list[str], width: float) -> str:
    return "".join(
        f'<text x="{left + 10:.1f}" y="{top + 38 + index * LINE:.1f}" fill="currentColor">'
        f"{html.escape(_fit(line, width))}</text>"
        for index, line in enumerate(lines)
    )


def _box(
    left: float, top: float, width: float, height: float, title: str, lines: list[str], room: float | None = None
) -> str:
    text = _lines(left, top, lines, room or width)
    return (
        f'<rect x="{left + 0.5:.1f}" y="{top + 0.5:.1f}" width="{width - 1:.1f}" height="{height:.1f}" rx="5" '
        f'fill="none" stroke="currentColor"/><text x="{left + 10:.1f}" y="{top + 19:.1f}" fill="currentColor" '
        f'font-weight="600">{html.escape(title)}</text>{text}'
    )


def _fit(line: str, width: float) -> str:
    most = int(width / 6.6)
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _wire(left: float, right: float, y: float, lines: list[str]) -> str:
    middle = (left + right) / 2
    text = "".join(
        f'<text x="{middle:.1f}" y="{y + (-7 if index == 0 else 1 + index * LINE):.1f}" text-anchor="middle" '
        f'fill="currentColor">{html.escape(_fit(line, right - left - 8))}</text>'
        for index, line in enumerate(lines)
    )
    head = f"M{left:.1f},{y:.1f}l7,-4v8zM{right:.1f},{y:.1f}l-7,-4v8z"
    return (
        f'<line x1="{left:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}" stroke="currentColor" stroke-width="2"/>'
        f'<path d="{head}" fill="currentColor"/>{text}'
    )


_LABEL, _STEP, _STEP_MAX, _BETWEEN = 92, 26, 60, 24
"""Pixels: label of a channel, default and maximum pitch of dies, space between columns."""


def _dies(value: Mapping[str, Any], top: float, width: float) -> tuple[str, float]:
    """Return the channels with their dies in columns, as many as fit, and the height of the drawing."""
    counts = [value.get(f"flash.{name}", 1) for name in ("channels", "chips", "dies", "planes")]
    if not all(isinstance(count, int) for count in counts):
        return "", 0.0
    channels, chips, dies, planes = counts
    shown, a_channel = min(channels, 16), min(chips * dies, int((width - _LABEL - 16) / _STEP), 16)
    cut = chips * dies > a_channel
    columns = min(shown, max(1, int((width + _BETWEEN) / (_LABEL + a_channel * _STEP + 16 * cut + _BETWEEN))))
    rows = -(-shown // columns)
    columns = -(-shown // rows)
    column = (width + _BETWEEN) / columns
    step = min(_STEP_MAX, (column - _BETWEEN - _LABEL - 16 * cut) / a_channel)
    pieces = [
        f'<text x="0" y="{top + 24:.1f}" fill="currentColor" font-weight="600">Channels and dies</text>'
        f'<text x="0" y="{top + 42:.1f}" fill="currentColor">{channels} x {chips * dies} dies, {planes} '
        f"{'plane' if planes == 1 else 'planes'} each</text>"
    ]
    for channel in range(shown):
        x, y = channel // rows * column, top + 52 + channel % rows * _STEP
        pieces.append(
            f'<text x="{x:.1f}" y="{y + 15:.1f}" fill="currentColor">channel {channel}</text>'
            f'<line x1="{x + 78:.1f}" y1="{y + 10:.1f}" x2="{x + _LABEL - 2 + a_channel * step:.1f}" y2="{y + 10:.1f}" '
            'stroke="currentColor" stroke-opacity=".6"/>'
        )
        pieces += [
            f'<rect x="{x + _LABEL + die * step:.1f}" y="{y:.1f}" width="{step - 6:.1f}" height="20" rx="2" '
            'fill="currentColor" fill-opacity=".18" stroke="currentColor">'
            f"<title>channel {channel}, die {die}</title></rect>"
            for die in range(a_channel)
        ]
        if cut:
            pieces.append(
                f'<text x="{x + _LABEL + 2 + a_channel * step:.1f}" y="{y + 15:.1f}" fill="currentColor">…</text>'
            )
    end = top + 52 + rows * _STEP
    if channels > shown:
        pieces.append(f'<text x="0" y="{end + 14:.1f}" fill="currentColor">… and {channels - shown} more</text>')
        end += 18
    return "".join(pieces), end - top + 4
