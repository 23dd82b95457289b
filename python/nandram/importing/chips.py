"""MQSim's flash chips: their times, and the geometry that flows share."""

from dataclasses import dataclass

from nandram.importing.draft import Draft, size, time

SECTOR = 512
PLANES_MAX = 1 << 18
_TYPES = {"SLC": ("LSB",), "MLC": ("LSB", "MSB"), "TLC": ("LSB", "CSB", "MSB")}
_SCHEMES = [f"{a}{b}{c}{d}" for a in "CWDP" for b in "CWDP" for c in "CWDP" for d in "CWDP" if len({a, b, c, d}) == 4]
_INT_MAX = (1 << 31) - 1


@dataclass(frozen=True)
class Geometry:
    """MQSim's numbers of a drive, by which it shares its addresses among flows."""

    channels: int
    chips: int
    dies: int
    planes: int
    blocks: int
    pages: int
    page_bytes: int
    sectors: float
    """Sectors of a plane that hold data."""

    @property
    def total_pages(self) -> int:
        """Pages of the drive."""
        return self.channels * self.chips * self.dies * self.planes * self.blocks * self.pages


def put_times(draft: Draft) -> None:
    """Set the times of chips and channels. Raises `UserError`."""
    flash, device = draft.flash, draft.device
    cell = flash.word("Flash_Technology", *_TYPES)
    draft.put("flash.cell", cell.lower(), f"MQSim: Flash_Technology {cell}")
    for key, name in (("read", "Page_Read_Latency"), ("program", "Page_Program_Latency")):
        # MQSim reads all three, whatever the cell is.
        values = {kind: flash.whole(f"{name}_{kind}", 1, _INT_MAX) for kind in ("LSB", "CSB", "MSB")}
        used = [values[kind] for kind in _TYPES[cell]]
        text = [time(value) for value in used]
        basis = f"MQSim: {name}_{' '.join(f'{kind} {values[kind]}' for kind in _TYPES[cell])} ns"
        draft.put(f"flash.{key}", text[0] if len(set(used)) == 1 else text, basis)
        if cell == "TLC" and len(set(used)) > 1:
            draft.note(
                f"{name}_LSB",
                values["LSB"],
                "page p of a block has type p modulo 3; MQSim groups the types otherwise",
            )
    erase = flash.whole("Block_Erase_Latency", 1, _INT_MAX)
    draft.put("flash.erase", time(erase), f"MQSim: Block_Erase_Latency {erase} ns")
    support = flash.word("CMD_Suspension_Support", "NONE", "PROGRAM", "PROGRAM_ERASE", "ERASE")
    times = {
        "PROGRAM": flash.whole("Suspend_Program_Time", 0, _INT_MAX),
        "ERASE": flash.whole("Suspend_Erase_Time", 0, _INT_MAX),
    }
    basis = f"MQSim: CMD_Suspension_Support {support}"
    draft.put("flash.suspend.program", "PROGRAM" in support, basis)
    draft.put("flash.suspend.erase", "ERASE" in support, basis)
    if support != "NONE":
        first = support.split("_")[0]
        draft.put(
            "flash.suspend.latency",
            time(times[first]),
            f"MQSim: Suspend_{first.capitalize()}_Time {times[first]} ns",
        )
    if support == "PROGRAM_ERASE" and times["ERASE"] != times["PROGRAM"]:
        draft.note("Suspend_Erase_Time", times["ERASE"], "one latency holds for all suspends, that of programs")
    rate, width = device.whole("Channel_Transfer_Rate", 1, 1_000_000), device.whole("Flash_Channel_Width", 1, 64)
    draft.put("flash.rate", f"{rate * width}MT/s", f"MQSim: Channel_Transfer_Rate {rate}, Flash_Channel_Width {width}")
    if width > 1:
        draft.note("Flash_Channel_Width", width, "channels are one byte wide, and as much faster")
    whole_ns = 1000 // rate
    if whole_ns == 0 or 1000 / whole_ns / rate > 1.01:
        shown = "none" if whole_ns == 0 else f"{whole_ns} ns"
        draft.note(
            "Channel_Transfer_Rate", rate, f"MQSim rounds the time of a transfer down to {shown}; nandram does not"
        )
    device.word("Flash_Comm_Protocol", "NVDDR2")
    device.word("Memory_Type", "FLASH")
    policy = device.word("Transaction_Scheduling_Policy", "OUT_OF_ORDER", "PRIORITY_OUT_OF_ORDER")
    draft.put("flash.scheduling", "reads-first", f"MQSim: Transaction_Scheduling_Policy {policy}")


def put_geometry(draft: Draft) -> Geometry:
    """Set the geometry; return it. Raises `UserError`."""
    device, flash = draft.device, draft.flash
    channels = device.whole("Flash_Channel_Count", 1, 256)
    chips = device.whole("Chip_No_Per_Channel", 1, 256)
    dies, planes = flash.whole("Die_No_Per_Chip", 1, 64), flash.whole("Plane_No_Per_Die", 1, 16)
    blocks = flash.whole("Block_No_Per_Plane", 4, 1 << 24)
    pages = flash.whole("Page_No_Per_Block", 1, 1 << 16)
    page = flash.whole("Page_Capacity", SECTOR, 1 << 20)
    draft.put("flash.channels", channels, f"MQSim: Flash_Channel_Count {channels}")
    draft.put("flash.chips", chips, f"MQSim: Chip_No_Per_Channel {chips}")
    counted = f"MQSim: Die_No_Per_Chip {dies}, Plane_No_Per_Die {planes}"
    scheme = device.word("Plane_Allocation_Scheme", *_SCHEMES)
    if dies * planes <= 16:
        why = "a chip takes commands only while all of it is idle, like one die; see the preset mqsim-ideal-map"
        draft.put("flash.dies", 1, f"{counted}: {why}", "assumed")
        draft.put("flash.planes", dies * planes, f"{counted}: {why}", "assumed")
        if dies > 1 and "DP" not in scheme and "PD" not in scheme:
            draft.note("Plane_Allocation_Scheme", scheme, "the planes of all dies of a chip come where it has P")
    else:
        draft.put("flash.dies", dies, counted)
        draft.put("flash.planes", planes, counted)
        draft.note(
            "Die_No_Per_Chip", dies, "dies take commands on their own; MQSim's only while the whole chip is idle"
        )
    draft.put("flash.blocks", blocks, f"MQSim: Block_No_Per_Plane {blocks}")
    draft.put("flash.pages", pages, f"MQSim: Page_No_Per_Block {pages}")
    draft.put("flash.page", size(page), f"MQSim: Page_Capacity {page}")
    draft.put("ftl.unit", size(page), f"MQSim: it maps pages, of {page} bytes")
    draft.put("ftl.stripe", scheme, f"MQSim: Plane_Allocation_Scheme {scheme}")
    ratio = device.decimal("Overprovisioning_Ratio", 0.001, 0.9)
    share = f"Overprovisioning_Ratio {ratio:g} of the raw capacity, {ratio:g} / {1 - ratio:g} of the user's"
    draft.put("ftl.over_provisioning", float(f"{ratio / (1 - ratio):.9g}"), f"MQSim: {share}")
    if channels * chips * dies * planes > PLANES_MAX:
        found = f"{channels} x {chips} x {dies} x {planes} planes"
        raise draft.device.element.error(f"found {found}, expected at most {PLANES_MAX}")
    data = blocks * pages * (page // SECTOR) * (1 - ratio)
    return Geometry(channels, chips, dies, planes, blocks, pages, page, data)
