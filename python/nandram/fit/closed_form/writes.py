"""The start in closed form for writes: plateaus over size, and depth 1."""

from nandram.fit.closed_form.curves import Curves, mean
from nandram.fit.closed_form.reads import LINK_NS, Start
from nandram.fit.measurements.points import size_text
from nandram.fit.parameters import Space
from nandram.units import duration, rate


def add_writes(start: Start, curves: Curves, space: Space) -> None:
    """Add what the curves of writes show: the staging path, the firmware's time per write, and its constant wait."""
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


def _set(start: Start, space: Space, name: str, value: float, sentence: str) -> None:
    """Set a parameter if it is free."""
    parameter = space.free.get(name)
    if parameter is not None:
        start.values[name] = min(max(value, parameter.low), parameter.high)
        start.sentences[name] = sentence
