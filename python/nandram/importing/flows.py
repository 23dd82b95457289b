"""MQSim's scenarios of I/O flows, as fio jobs.

As in MQSim, each flow has a share of the logical sectors: those of the planes that it may use, divided among the flows
that use the same. A synthetic flow draws within the part of its share that `Working_Set_Percentage` says. Flows that
replay a trace become jobs with an iolog (`nandram.importing.traces`). Names, units and meanings follow MQSim's README
and ``IO_Flow_Synthetic.cpp`` of 2022-10.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist

from nandram.importing.chips import SECTOR, Geometry
from nandram.importing.device import MODES
from nandram.importing.draft import MARK, printable, time
from nandram.importing.elements import Element, Parameters

ROOT = "MQSim_IO_Scenarios"
SYNTHETIC = "IO_Flow_Parameter_Set_Synthetic"
TRACE = "IO_Flow_Parameter_Set_Trace_Based"
FLOWS_MAX = 64
SCENARIOS_MAX = 256
SIZES = 50
"""Number of equally likely sizes that stand for a normal distribution; fio's percentages are whole numbers."""
DEFAULTS = {
    "Device_Level_Data_Caching_Mode": "WRITE_CACHE",
    "Percentage_of_Hot_Region": "0",
    "Variance_Request_Size": "0",
    "Stop_Time": "0",
    "Total_Requests_To_Generate": "0",
}
"""MQSim leaves missing parameters of flows undefined; these may be missing where they have no effect."""
_INT_MAX = (1 << 31) - 1
_PRIORITIES = ("URGENT", "HIGH", "MEDIUM", "LOW")


@dataclass(frozen=True)
class Share:
    """The logical sectors of a flow."""

    first: int
    count: int


@dataclass(frozen=True)
class Replay:
    """A trace to convert for a flow."""

    element: Element
    source: Path
    target: str
    """Name of the iolog."""
    share: Share
    percent: int
    repeats: int
    ticks_per_us: float
    """Time units of the trace per microsecond."""


@dataclass
class Scenario:
    """A converted scenario."""

    name: str
    """Name of the job file."""
    text: str = ""
    notes: list[str] = field(default_factory=list)
    replays: list[Replay] = field(default_factory=list)


def caching_modes(root: Element) -> set[str]:
    """Return the caching modes of all flows of a workload file. Raises `UserError`."""
    return {
        Parameters(flow, DEFAULTS).word("Device_Level_Data_Caching_Mode", *MODES)
        for scenario in _scenarios(root)
        for flow in _flows(scenario)
    }


def convert(root: Element, geometry: Geometry, queue_depth: int) -> list[Scenario]:
    """Return the job files of a workload file. Raises `UserError`."""
    stem = Path(root.file).stem
    scenarios = _scenarios(root)
    found = []
    for number, element in enumerate(scenarios, 1):
        # Like the results of MQSim.
        name = stem if len(scenarios) == 1 else f"{stem}_scenario_{number}"
        found.append(_scenario(element, f"{name}.fio", geometry, queue_depth))
    return found


def _scenarios(root: Element) -> list[Element]:
    found = [child for child in root.children if child.name == "IO_Scenario"]
    if not 1 <= len(found) <= SCENARIOS_MAX:
        raise root.error(f"found {len(found)} of IO_Scenario, expected 1 to {SCENARIOS_MAX}")
    return found


def _flows(scenario: Element) -> list[Element]:
    for child in scenario.children:
        if child.name not in (SYNTHETIC, TRACE):
            raise child.error(f"found this element, expected {SYNTHETIC} or {TRACE}")
    if not 1 <= len(scenario.children) <= FLOWS_MAX:
        raise scenario.error(f"found {len(scenario.children)} flows, expected 1 to {FLOWS_MAX}")
    return scenario.children


def _scenario(element: Element, name: str, geometry: Geometry, queue_depth: int) -> Scenario:
    scenario = Scenario(name)
    flows = [Parameters(flow, DEFAULTS) for flow in _flows(element)]
    shares = _shares(flows, geometry)
    jobs = []
    for number, (flow, share) in enumerate(zip(flows, shares, strict=True)):
        job = _Job(flow, f"flow-{number}", share, scenario)
        is_synthetic = flow.element.name == SYNTHETIC
        jobs += ["", f"[{job.name}]", *(job.synthetic(queue_depth) if is_synthetic else job.replay(Path(element.file)))]
        job.rest()
    priorities = {flow.word("Priority_Class", *_PRIORITIES) for flow in flows if flow.has("Priority_Class")}
    if len(priorities) > 1:
        scenario.notes.append(f"Priority_Class {', '.join(sorted(priorities))}: all flows have the same priority")
    head = [f"{MARK}{printable(Path(element.file).name)}, MQSim's workload in line {element.line}."]
    if scenario.notes:
        head += [
            "# Without a counterpart, or with another meaning:",
            *(f"# {printable(note)}" for note in scenario.notes),
        ]
    head += ["[global]", "ioengine=libaio", "direct=1", "norandommap"]
    scenario.text = "\n".join([*head, *jobs]) + "\n"
    return scenario


def _shares(flows: list[Parameters], geometry: Geometry) -> list[Share]:
    """Share the sectors among flows, like MQSim's ``Logical_Address_Partitioning_Unit``."""
    import numpy as np

    counts = (geometry.channels, geometry.chips, geometry.dies, geometry.planes)
    names = ("Channel_IDs", "Chip_IDs", "Die_IDs", "Plane_IDs")
    used = [np.ix_(*(flow.numbers(name, n) for name, n in zip(names, counts, strict=True))) for flow in flows]
    users = np.zeros(counts)
    for planes in used:
        users[planes] += 1
    shares, first = [], 0
    for planes in used:
        sectors = int(np.floor(geometry.sectors / users[planes]).sum())
        shares.append(Share(first, sectors))
        first += sectors
    return shares


class _Job:
    """The lines of a job."""

    def __init__(self, flow: Parameters, name: str, share: Share, scenario: Scenario) -> None:
        self.flow = flow
        self.name = name
        self.share = share
        self.scenario = scenario
        flow.child("Device_Level_Data_Caching_Mode")  # part of the device

    def note(self, name: str, value: object, why: str) -> None:
        """Name a parameter without counterpart, or with another meaning."""
        self.scenario.notes.append(f"{self.name}: {name} {value}: {why}")

    def synthetic(self, queue_depth: int) -> list[str]:
        """Return the lines of a synthetic flow."""
        flow = self.flow
        reads = flow.whole("Read_Percentage", 0, 100)
        average = flow.whole("Average_Request_Size", 1, 1 << 20)
        sizes = self._sizes(average)
        unit = self._alignment()
        lines = self._pattern(reads, average, unit)
        lines += [sizes, *self._region(unit, average)]
        lines += self._intensity(reads, average, queue_depth)
        return lines + self._end(average)

    def replay(self, file: Path) -> list[str]:
        """Return the lines of a flow that replays a trace."""
        flow = self.flow
        path = Path(flow.text("File_Path").replace("\\", "/"))
        percent = flow.whole("Percentage_To_Be_Executed", 1, _INT_MAX)
        repeats = flow.whole("Relay_Count", 1, _INT_MAX)
        unit = flow.word("Time_Unit", "PICOSECOND", "NANOSECOND", "MICROSECOND")
        if unit != "NANOSECOND":
            self.note("Time_Unit", unit, "as documented; MQSim's code takes any unit as nanoseconds")
        if percent > 100 or (percent < 100 and repeats > 1):
            self.note("Percentage_To_Be_Executed", percent, "100, as in MQSim where it is greater or the trace repeats")
            percent = 100
        stem = "".join(each if each.isalnum() or each in "-_." else "_" for each in Path(self.scenario.name).stem)
        target = f"{stem}.{self.name}.iolog"
        ticks = {"PICOSECOND": 1e6, "NANOSECOND": 1e3, "MICROSECOND": 1.0}[unit]
        source = path if path.is_absolute() else file.parent / path
        self.scenario.replays.append(Replay(flow.element, source, target, self.share, percent, repeats, ticks))
        return [f"read_iolog={target}"]

    def _sizes(self, average: int) -> str:
        flow = self.flow
        kind = flow.word("Request_Size_Distribution", "FIXED", "NORMAL")
        deviation = flow.whole("Variance_Request_Size", 0, 1 << 20)
        if kind == "FIXED" or deviation == 0:
            return f"bs={average * SECTOR}"
        # MQSim's code takes the variance as the standard deviation, and rounds sectors up.
        normal = NormalDist(average, deviation)
        drawn = [max(math.ceil(normal.inv_cdf((each + 0.5) / SIZES)), 1) for each in range(SIZES)]
        self.note(
            "Request_Size_Distribution",
            "NORMAL",
            f"{SIZES} equally likely sizes; MQSim takes the variance as deviation",
        )
        shares = {size: 100 * drawn.count(size) // SIZES for size in dict.fromkeys(drawn)}
        return "bssplit=" + ":".join(f"{size * SECTOR}/{share}" for size, share in shares.items())

    def _alignment(self) -> int:
        """Return the alignment in sectors."""
        aligned = self.flow.flag("Generated_Aligned_Addresses")
        unit = self.flow.whole("Address_Alignment_Unit", 1, 1 << 20)
        return unit if aligned else 1

    def _pattern(self, reads: int, average: int, unit: int) -> list[str]:
        flow = self.flow
        direction = {0: "write", 100: "read"}.get(reads, "rw")
        mix = [f"rwmixread={reads}"] if direction == "rw" else []
        kind = flow.word("Address_Distribution", "STREAMING", "RANDOM_UNIFORM", "RANDOM_HOTCOLD")
        hot = flow.whole("Percentage_of_Hot_Region", 0, 100)
        if kind == "STREAMING":
            self.note(
                "Address_Distribution", kind, "begins at the start of the flow's region; MQSim at a random address"
            )
            gap = -average % unit * SECTOR
            return [f"rw={direction}:{gap}" if gap else f"rw={direction}", *mix]
        lines = [f"rw=rand{direction}", *mix, f"blockalign={unit * SECTOR}"]
        if kind == "RANDOM_HOTCOLD" and 0 < hot < 100:
            # (100 - H) % of the requests go to H % of the space, as MQSim's code draws them.
            lines.append(f"random_distribution=zoned:{100 - hot}/{hot}:{hot}/{100 - hot}")
        return lines

    def _region(self, unit: int, average: int) -> list[str]:
        """Return the region, which MQSim takes from the first sector of the flow's share."""
        percent = self.flow.whole("Working_Set_Percentage", 1, 100)
        first = -(-self.share.first // unit) * unit
        end = self.share.first + int((self.share.count - 1) * (percent / 100.0)) + 1
        sectors = (end - first) // unit * unit
        if sectors < average:
            raise self.flow.element.error(f"found {max(sectors, 0)} sectors for the flow, expected at least {average}")
        return [f"offset={first * SECTOR}", f"size={sectors * SECTOR}"]

    def _intensity(self, reads: int, average: int, queue_depth: int) -> list[str]:
        flow = self.flow
        kind = flow.word("Synthetic_Generator_Type", "QUEUE_DEPTH", "BANDWIDTH")
        if flow.has("Average_No_of_Reqs_in_Queue") or kind == "QUEUE_DEPTH":
            depth = flow.whole("Average_No_of_Reqs_in_Queue", 1, 1 << 20)
        old = "Bandwidth" if flow.has("Bandwidth") or not flow.has("Intensity") else "Intensity"
        bandwidth = flow.whole(old, 0, (1 << 32) - 1) if flow.has(old) or kind == "BANDWIDTH" else 0
        if kind == "QUEUE_DEPTH":
            return [f"iodepth={depth}"]
        if old == "Intensity":
            self.note("Intensity", bandwidth, "taken as Bandwidth, the name that MQSim reads")
        # MQSim divides whole numbers.
        rate = bandwidth // SECTOR // average
        if rate < 1:
            raise flow.error(old, f"at least {average * SECTOR}, one request per second")
        parts = (rate * reads // 100, rate - rate * reads // 100)
        rates = {0: f",{rate}", 100: f"{rate}"}.get(reads, f"{max(parts[0], 1)},{max(parts[1], 1)}")
        return [f"iodepth={queue_depth}", f"rate_iops={rates}", "rate_process=poisson"]

    def _end(self, average: int) -> list[str]:
        stop = self.flow.whole("Stop_Time", 0, (1 << 62) - 1)
        total = self.flow.whole("Total_Requests_To_Generate", 0, (1 << 32) - 1)
        if stop:
            return ["time_based", f"runtime={time(-(-stop // 1000) * 1000)}"]
        if not total:
            raise self.flow.element.error("found Stop_Time 0 and Total_Requests_To_Generate 0, expected one of them")
        # The number of requests ends the job, not the size of its region.
        return [f"number_ios={total}", f"io_size={min(16 * total * average * SECTOR, 1 << 60)}"]

    def rest(self) -> None:
        """Name parameters without counterpart."""
        flow = self.flow
        if flow.has("Seed"):
            self.note("Seed", flow.whole("Seed", 0, _INT_MAX), "seeds MQSim's own draws; --seed is that of nandram's")
        if flow.has("Initial_Occupancy_Percentage"):
            share = flow.whole("Initial_Occupancy_Percentage", 0, 100)
            self.note("Initial_Occupancy_Percentage", share, "--precondition writes the whole drive, or nothing")
        if flow.has("Priority_Class"):
            flow.word("Priority_Class", *_PRIORITIES)
        if "Intensity" in flow.unread():
            self.note("Intensity", flow.shown("Intensity"), "MQSim does not read it; Bandwidth is its name there")
        self.scenario.notes += [f"{self.name}: {note}" for note in flow.leftover()]
