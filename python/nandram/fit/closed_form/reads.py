"""The start in closed form: parameters read off the curves, each with the sentence that explains it.

A read passes the host, the firmware's constant wait, a channel for its command, the array of a die, the channel again
for its data, and a staging path that all requests share. Depth 1 shows the sum of these times, size and depth separate
the parts. `nandram.fit.search` refines the result.
"""

import itertools
import math
import statistics
from dataclasses import dataclass, field

from nandram.fit.closed_form.curves import Curves, level, mean, tail
from nandram.fit.closed_form.geometry import CHANNELS, geometries, with_pages
from nandram.fit.closed_form.queues import Station, servers_for
from nandram.fit.measurements.points import size_text
from nandram.fit.parameters import Space, polls, quantity
from nandram.units import duration, rate

COMMAND_NS = 275.0
"""Command and address cycles where the data show no further time per command."""
LINK_NS = 1_200.0
"""Typical time of doorbell, command fetch, data and completion on PCIe, per request of one unit."""
SINGLE = 1.05
"""Bandwidth of reads of one unit, relative to the path, from which they count as passing by."""
NEAR = (4, 64)
"""Fewest and most requests in flight whose waits show the dies: fewer hardly wait, more wait elsewhere too."""


@dataclass
class Start:
    """Parameters and choices that the curves show."""

    values: dict[str, float]
    """Parameters by name."""
    structures: list[dict[str, object]]
    """Choices that are enumerated, the most likely first: keys and values."""
    sentences: dict[str, str] = field(default_factory=dict)
    """The explanation of each key that the curves determine; of a host's costs, by parameter."""


def read_start(curves: Curves, others: list[Curves], space: Space) -> Start:
    """Return the start for reads; `others`: the same reads under other engines."""
    start = Start(space.start(), [{}])
    reader = _ReadStart(curves, space, start)
    reader.host(others)
    if curves.sizes:
        reader.run()
    return start


class _ReadStart:
    """The steps, in the order in which each rests on the ones before."""

    def __init__(self, curves: Curves, space: Space, start: Start) -> None:
        self._curves = curves
        self._space = space
        self._start = start
        self._unit = int(quantity(space.value("ftl.unit")))
        self._page = int(quantity(space.value("flash.page")))
        self._size = curves.sizes[0] if curves.sizes else self._unit
        self._host_ns = 0.0
        self._channels = int(str(space.value("flash.channels")))
        self._transfer_ns = 1e9 * self._unit / space.number("flash.rate")
        self._slope_ns: float | None = None
        self._staged_ns = 0.0
        self._command_ns = COMMAND_NS
        self._busy_ns: float | None = None
        self._dies_end = False
        """Whether the dies limit the highest rates of all sizes."""

    def run(self) -> None:
        """Fill in the start."""
        self._staging()
        self._sizes()
        self._channel()
        self._busy()
        self._array()
        self._commands_in_flight()
        self._dies()

    def _set(self, name: str, value: float, sentence: str) -> None:
        """Set a parameter if it is free."""
        parameter = self._space.free.get(name)
        if parameter is not None:
            self._start.values[name] = min(max(value, parameter.low), parameter.high)
            self._start.sentences[name if parameter.engine else parameter.key] = sentence

    def host(self, others: list[Curves]) -> None:
        """One job's plateau at a busy core is the core's time per request; polling at depth 1 shows the interrupt's."""
        engine = self._curves.engine
        limited = self._curves.cpu_plateau()
        values = self._start.values
        if limited is not None:
            per_request = 1e9 * limited.conditions.jobs / limited.iops
            sentence = (
                f"a busy core completes {limited.iops / limited.conditions.jobs:,.0f} requests per second: "
                f"{duration(per_request)} each"
            )
            # Measured splits of this time differ little between kernels; the data determine only the sum.
            for name, share in (("submit", 0.5), ("complete", 0.23), ("interrupt.handler", 0.27)):
                self._set(f"host.{name}@{engine}", share * per_request, sentence)
        self._host_ns = self._host_time(engine)
        one = self._curves.first(self._size)
        for other in others:
            polled = other.first(self._size)
            name = f"host.interrupt.delivery@{engine}"
            if polls(other.engine) and name in self._space.free and polled is not None and one is not None:
                longer = (level(one, 0.5) or mean(one)) - (level(polled, 0.5) or mean(polled))
                delivery = longer - (self._host_ns - values[name]) + self._host_time(other.engine)
                self._set(
                    name,
                    delivery,
                    f"at depth 1, {engine} takes {duration(longer)} longer than {other.engine}, which polls",
                )
                self._host_ns = self._host_time(engine)

    def _host_time(self, engine: str) -> float:
        """Return the host's part of a response at depth 1, in nanoseconds."""
        return sum(value for name, value in self._start.values.items() if name.endswith(f"@{engine}"))

    def _units(self, size_bytes: int) -> int:
        return max(1, size_bytes // self._unit)

    def _sizes(self) -> None:
        """Depth 1 over size: each further unit takes its transfer; the first split may cost more."""
        times = {size: mean(point) for size in self._curves.sizes if (point := self._curves.first(size)) is not None}
        within = [size for size in times if self._unit <= size <= max(self._page, 4 * self._unit)]
        if len(within) < 2:
            return
        low, high = within[-2], within[-1]
        slope = max((times[high] - times[low]) / (self._units(high) - self._units(low)), 0.0)
        self._slope_ns = slope
        first = within[0]
        if low != first and self._units(first) == 1:
            split = times[low] - times[first] - slope * (self._units(low) - 1)
            self._set(
                "device.firmware.wait.split",
                split,
                f"at depth 1, {size_text(low)} take {duration(max(split, 0))} longer than {size_text(first)} and "
                "their transfer",
            )

    def _staging(self) -> None:
        """A plateau of nearly equal times is one queue that all requests share: its bandwidth."""
        bands = []
        for size in self._curves.sizes:
            plateau = self._curves.plateau(size)
            if plateau is not None:
                bands.append((plateau.narrow, plateau.point.iops * max(size, self._unit), size))
        if not bands:
            return
        narrow, band, size = max(bands)
        by = "device.staging.single_units"
        larger = [each for each in bands if each[0] and each[2] > self._unit]
        single = max((each[1] for each in bands if each[2] <= self._unit), default=0.0)
        if larger and single > SINGLE * max(larger)[1] and str(self._space.value(by)).lower() == "true":
            self._start.structures = [{**each, by: False} for each in self._start.structures]
            self._start.sentences[by] = f"reads of one unit end at {rate(single)}, beyond the path of larger ones"
            narrow, band, size = max(larger)
        rows = {size: self._curves.row(size) for size in self._curves.sizes if size <= self._page}
        highest = {size: max(point.iops for point in row) * max(size, self._unit) for size, row in rows.items() if row}
        self._dies_end = not narrow and max(highest.values(), default=0.0) > GROWS * min(bands)[1]
        if self._dies_end:
            band = ABOVE * max(highest.values())
            seen = f"reads end at {rate(band / ABOVE)}, and with more the larger they are: the path is faster"
        else:
            seen = "with nearly equal times: one path that all share" if narrow else "and no size has more"
            seen = f"reads of {size_text(size)} end at {rate(band)}, {seen}"
        self._staged_ns = 1e9 * self._unit / band
        self._set("device.staging.read", band, seen)

    def _channel(self) -> None:
        """Plateaus over size: a unit's time at the plateau is its transfer, divided among the channels."""
        wide = {}
        for size in self._curves.sizes:
            plateau = self._curves.plateau(size)
            if plateau is not None and not plateau.narrow and size <= self._page and not self._dies_end:
                wide[size] = plateau.point
        slope = None if self._slope_ns is None else self._slope_ns - self._staged_ns
        if slope is not None and slope > 0:
            self._transfer_ns = slope
            sentence = f"at depth 1, each further {size_text(self._unit)} takes {duration(slope)}"
            if self._staged_ns:
                sentence += f", without {duration(self._staged_ns)} on the shared path"
            if len(wide) >= 2:
                low, high = sorted(wide)[:2]
                added = 1e9 / wide[high].iops - 1e9 / wide[low].iops
                shared = added / (self._units(high) - self._units(low))
                if not self._space.is_given("flash.channels") and shared > 0:
                    self._channels = min(CHANNELS, key=lambda count: abs(math.log(count * shared / slope)))
                    self._start.sentences["flash.channels"] = (
                        f"a further {size_text(self._unit)} takes {duration(slope)} at depth 1 and {duration(shared)} "
                        f"at the plateau: {slope / shared:.1f} transfers at once"
                    )
                self._transfer_ns = min(slope, self._channels * max(shared, 0.0)) or slope
            self._set("flash.rate", 1e9 * self._unit / self._transfer_ns, sentence)
            self._set("device.firmware.wait.unit", slope - self._transfer_ns, sentence)
        if wide and max(wide) > self._unit:
            size = max(wide)
            point = wide[size]
            flight = point.conditions.outstanding
            share = flight / (flight + self._channels - 1)
            command = self._channels * share * 1e9 / point.iops - self._units(size) * self._transfer_ns
            self._command_ns = max(command, COMMAND_NS)
            self._set(
                "flash.command.read",
                self._command_ns,
                f"{self._channels} channels end at {point.iops:,.0f} reads of {size_text(size)} per second: "
                f"{duration(max(command, 0))} each beyond the transfer",
            )

    def _busy(self) -> None:
        """The longest waits at depth 2 are those for a whole read on the same die: its time."""
        longest = {}
        for size in self._curves.sizes:
            one, two = self._curves.first(size), self._curves.at(size, 2) or self._curves.at(size, 4)
            if one is None or two is None or size > self._page:
                continue
            middle, end = level(one, 0.5), tail(two)
            if middle is not None and end is not None and end > middle:
                longest[size] = end - middle
        if not longest:
            return
        first = min(longest)
        self._busy_ns = longest[first]
        sizes = sorted(longest)
        if len(sizes) < 2 or self._slope_ns is None or self._space.is_given("flash.cache_read"):
            return
        grown = longest[sizes[-1]] - longest[first]
        transfer = self._slope_ns * (self._units(sizes[-1]) - self._units(first))
        holds = grown > 0.5 * transfer
        self._start.structures = [{**each, "flash.cache_read": not holds} for each in self._start.structures]
        self._start.sentences["flash.cache_read"] = (
            f"from {size_text(first)} to {size_text(sizes[-1])} the longest wait at depth 2 grows by "
            f"{duration(grown)}, and the transfer by {duration(transfer)}: "
            f"a die {'waits' if holds else 'does not wait'} for its transfer"
        )

    def _array(self) -> None:
        """Depth 1 quantiles are the page types; what is left of the response is the firmware's wait."""
        point = self._curves.first(self._size)
        if point is None:
            return
        names = sorted(name for name in self._space.all if name.startswith("flash.read["))
        levels = [level(point, (i + 0.5) / len(names)) or mean(point) for i in range(len(names))]
        middle = levels[len(levels) // 2]
        units = self._units(self._size)
        outside = self._command_ns + units * (self._transfer_ns + self._staged_ns) + self._host_ns + LINK_NS
        if self._busy_ns is not None:
            array = self._busy_ns - self._command_ns
            if self._holds():
                array -= units * self._transfer_ns
        else:
            array = self._space.number(names[len(names) // 2])
        array = min(max(array, 2_000.0), middle - outside)
        percents = ", ".join(f"{100 * (i + 0.5) / len(names):.0f}" for i in range(len(names)))
        times = ", ".join(duration(each) for each in levels)
        for name, each in zip(names, levels, strict=True):
            self._set(
                name,
                array + each - middle,
                f"at depth 1 the percentiles {percents} are {times}: as many page types"
                + (f"; the longest waits at depth 2 are {duration(self._busy_ns)}" if self._busy_ns else ""),
            )
        wait = middle - outside - array
        self._set(
            "device.firmware.wait.read",
            wait,
            f"the median at depth 1, {duration(middle)}, without array, transfer, host and link leaves "
            f"{duration(max(wait, 0))}",
        )

    def _holds(self) -> bool:
        """Return whether a die is busy during its transfer."""
        cached = self._start.structures[0].get("flash.cache_read", self._space.value("flash.cache_read"))
        return cached is False

    def _commands_in_flight(self) -> None:
        """Once the fastest reads wait as well, they wait outside: the controller holds only so many commands."""
        found = []
        for size in [] if self._dies_end else self._curves.sizes:
            plateau = self._curves.plateau(size)
            row = [point for point in self._curves.row(size) if level(point, 0.01) is not None]
            if plateau is None or len(row) < 2:
                continue
            for below, above in itertools.pairwise(row):
                fast, waiting = level(below, 0.01), level(above, 0.01)
                assert fast is not None
                assert waiting is not None
                if waiting > 2 * fast and above.iops > plateau.point.iops / FLATTEST:
                    inside = above.conditions.outstanding - (waiting - fast) * 1e-9 * above.iops
                    if inside > above.conditions.outstanding / 4 and not plateau.narrow:
                        found.append((inside, above))
                    break
        if found:
            inside, point = found[0]
            self._set(
                "device.max_commands",
                inside,
                f"with {point.conditions.outstanding} outstanding even the fastest reads wait, as if "
                f"{inside:.0f} commands were accepted at once",
            )

    def _dies(self) -> None:
        """Few requests in flight wait in proportion to the chance of meeting on a die; plateaus need enough dies."""
        curves, space = self._curves, self._space
        counts = [dies for size in curves.sizes if size <= self._page and (dies := self._meetings(size))]
        least = self._busy_at_plateau()
        if counts:
            dies = statistics.median(counts)
            assert self._busy_ns is not None
            sentence = (
                f"few requests in flight wait as if reads met on {dies:.0f} dies or planes, each busy for "
                f"{duration(self._busy_ns)}"
            )
            if least > dies:
                sentence += f"; but the plateau keeps {least:.0f} busy"
            self._start.sentences["flash.chips"] = sentence
            dies = max(dies, least)
        else:
            dies = float(self._channels * int(str(space.value("flash.chips"))) * int(str(space.value("flash.dies"))))
        self._start.structures = [
            {**each, **geometry}
            for each in self._start.structures
            for geometry in geometries(space, dies, self._channels, "flash.channels" in self._start.sentences)
        ]
        self._start.structures = with_pages(space, self._start.structures, max(curves.sizes))
        if any("flash.page" in each for each in self._start.structures):
            self._start.sentences["flash.page"] = (
                f"requests span several pages: {size_text(self._page)} and {size_text(2 * self._page)} are tried"
            )

    def _busy_at_plateau(self) -> float:
        """Return the number of dies that are busy on average at the highest rate of reads within a page."""
        rates = [point.iops for size in self._curves.sizes if size <= self._page for point in self._curves.row(size)]
        return max(rates, default=0.0) * (self._busy_ns or 0.0) * 1e-9

    def _meetings(self, size_bytes: int) -> float | None:
        """Return the number of dies by the waits of few requests of one size; None if they do not show it."""
        row = self._curves.row(size_bytes)
        near = [point for point in row if NEAR[0] <= point.conditions.outstanding <= NEAR[1]]
        if len(near) < 2 or self._busy_ns is None:
            return None
        # The lowest mean, as at depth 1 hosts and drives may sleep, which costs time of another kind.
        alone = min(mean(point) for point in row)
        further = (self._units(size_bytes) - self._units(self._size)) * self._transfer_ns
        busy = self._busy_ns + (further if self._holds() else 0.0)
        channel = Station(self._channels, self._command_ns + self._units(size_bytes) * self._transfer_ns)
        counts = [servers_for(alone, busy, [channel], point.conditions.outstanding, mean(point)) for point in near]
        finite = [count for count in counts if count != math.inf]
        return statistics.median(finite) if finite else None


GROWS = 1.3
"""Growth of the highest bandwidth over size, within a page, that no path explains: the dies limit it (assumed)."""
ABOVE = 4.0
"""Bandwidth of the path where dies limit every plateau, as a multiple of the highest one (assumed)."""
FLATTEST = 1.3
"""Ratio of the plateau to the rate at which commands begin to wait outside."""
