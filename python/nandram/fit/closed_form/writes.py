"""The start in closed form for writes: plateaus over size, and depth 1."""

import math

from nandram.fit.closed_form.curves import Curves, level, mean
from nandram.fit.closed_form.reads import LINK_NS, Start
from nandram.fit.measurements.points import size_text
from nandram.fit.parameters import Space, quantity
from nandram.units import duration, rate

FULL = 0.98
"""Fraction of the highest rate from which a plateau counts as reached."""


def add_writes(start: Start, curves: Curves, sequential: Curves, space: Space) -> None:
    """Add what the curves of writes show: the staging path, the firmware's time per write, and its constant wait.

    `sequential`: the curves of sequential writes; the plateaus of both orders differ by the cost of a jump.
    """
    _jump(start, curves, sequential, space)
    plateaus = {size: plateau.point for size in curves.sizes if (plateau := curves.plateau(size)) is not None}
    if not plateaus:
        return
    times = {size: 1e9 / point.iops for size, point in plateaus.items()}
    small, large = min(times), max(times)
    per_byte = times[large] / large
    fixed = 0.0
    if small < large and times[large] > times[small]:
        per_byte = (times[large] - times[small]) / (large - small)
        fixed = max(times[small] - per_byte * small, 0.0)
        _set(
            start,
            space,
            "device.firmware.write",
            fixed * int(str(space.value("device.firmware.cores"))),
            f"plateaus of {size_text(small)} and {size_text(large)} leave {duration(fixed)} per write beyond its data",
        )
    seen = f"from {size_text(small)} to {size_text(large)}, plateaus of writes grow by" if fixed else "writes end at"
    _set(start, space, "device.staging.write", 1e9 / per_byte, f"{seen} {rate(1e9 / per_byte)}")
    if _in_bursts(curves, large):
        fixed = _programs(start, curves, space, times)
        per_byte = 0.0
    first = min(curves.sizes)
    one = curves.first(first)
    if one is not None:
        host = sum(value for name, value in start.values.items() if name.endswith(f"@{curves.engine}"))
        wait = mean(one) - per_byte * first - fixed - host - LINK_NS
        _set(
            start,
            space,
            "device.firmware.wait.write",
            wait,
            f"{size_text(first)} at depth 1 take {duration(mean(one))}, of which data, host and link leave "
            f"{duration(max(wait, 0.0))}",
        )


def _in_bursts(curves: Curves, size_bytes: int) -> bool:
    """Return whether writes of a size end in bursts where their rate has just stopped growing.

    Behind one queue their times would be nearly equal; programs free space in the write cache many writes at a time.
    """
    row = curves.row(size_bytes)
    highest = max(point.iops for point in row)
    point = next(point for point in row if point.iops >= FULL * highest)
    middle, slow = point.percentile(50.0), point.percentile(99.0)
    if middle is None or slow is None:
        return False
    return (slow - middle) * 1e-9 * point.iops > point.conditions.outstanding


def _programs(start: Start, curves: Curves, space: Space, times: dict[int, float]) -> float:
    """Add what limits writes that end in bursts: programs, and not the staging path, which depth 1 shows.

    `times`: nanoseconds per write at the plateau, by size. Returns the firmware's time per write.
    """
    small, large = min(times), max(times)
    speed = 1e9 * large / times[large]
    keys = ("flash.channels", "flash.chips", "flash.dies", "flash.planes", "flash.page")
    together = math.prod(quantity(space.value(key)) for key in keys)
    types = [name for name in space.all if name.startswith("flash.program[")]
    before = [space.number(name) for name in types]
    needed = 1e9 * together / speed
    sentence = (
        f"writes of {size_text(large)} end at {rate(speed)} in bursts, as programs free space in the write cache: all "
        f"dies together program {together / 2**20:.3g} MiB at once, which takes {duration(needed)} on average"
    )
    for name, value in zip(types, before, strict=True):
        _set(start, space, name, value * needed * len(before) / sum(before), sentence)
    cores = int(str(space.value("device.firmware.cores")))
    firmware = max(times[small] * cores - start.values.get("device.firmware.jump", 0.0), 0.0)
    sentence = f"writes of {size_text(small)} end at {1e9 / times[small]:,.0f} per second"
    _set(start, space, "device.firmware.write", firmware, sentence)
    alone = {size: level(point, 0.5) or mean(point) for size in times if (point := curves.first(size)) is not None}
    if len(alone) >= 2 and max(alone) > (least := sorted(alone)[-2]):
        slope = (alone[max(alone)] - alone[least]) / (max(alone) - least)
        if slope > 0:
            seen = f"at depth 1 medians grow by {rate(1e9 / slope)} from {size_text(least)} to {size_text(max(alone))}"
            _set(start, space, "device.staging.write", 1e9 / slope, seen)
    return firmware


def _jump(start: Start, curves: Curves, sequential: Curves, space: Space) -> None:
    """Add the cost of a write that continues no stream: what it takes at the plateau beyond a sequential one."""
    if not curves.sizes:
        return
    size = curves.sizes[0]
    random, ordered = curves.plateau(size), sequential.plateau(size)
    if random is None or ordered is None or ordered.point.iops <= random.point.iops:
        return
    longer = (1e9 / random.point.iops - 1e9 / ordered.point.iops) * int(str(space.value("device.firmware.cores")))
    sentence = (
        f"random writes of {size_text(size)} end at {random.point.iops:,.0f} per second and sequential ones at "
        f"{ordered.point.iops:,.0f}: {duration(longer)} more of a core each"
    )
    _set(start, space, "device.firmware.jump", longer, sentence)


def _set(start: Start, space: Space, name: str, value: float, sentence: str) -> None:
    """Set a parameter if it is free."""
    parameter = space.free.get(name)
    if parameter is not None:
        start.values[name] = min(max(value, parameter.low), parameter.high)
        start.sentences[parameter.key] = sentence
