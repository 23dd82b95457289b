"""MQSim's device, as a system file that extends the preset `mqsim-ideal-map`.

Names, units and defaults follow MQSim's README and sources of 2022-10 (``src/exec/*_Parameter_Set.cpp``). The preset
holds what no parameter says: that host and firmware cost no time, and how chips take commands. A parameter that the
file lacks has MQSim's default. Each value carries its parameter as basis. Parameters without counterpart are listed
in the file and in `Device.notes`.
"""

import math
from dataclasses import dataclass

from nandram.importing.chips import SECTOR, Geometry, put_geometry, put_times
from nandram.importing.defaults import NO_COUNTERPART
from nandram.importing.draft import Draft, size, time
from nandram.importing.elements import Element

ROOT = "Execution_Parameter_Set"
MODES = ("TURNED_OFF", "READ_CACHE", "WRITE_CACHE", "WRITE_READ_CACHE")
"""Caching modes of flows; of flows that differ, the last holds."""
_INT_MAX = (1 << 31) - 1


@dataclass(frozen=True)
class Device:
    """A converted device."""

    text: str
    """The system file."""
    notes: list[str]
    """Parameters without counterpart, or with another meaning."""
    geometry: Geometry
    queue_depth: int
    is_preconditioned: bool


def convert(root: Element, modes: set[str]) -> Device:
    """Return the system file of a device.

    `modes` are the caching modes of the flows that will run on it; without any, writes are cached. Raises `UserError`.
    """
    draft = Draft(root)
    queue_depth = _interface(draft)
    put_times(draft)
    geometry = put_geometry(draft)
    _caches(draft, geometry, modes)
    _translation(draft, geometry)
    is_preconditioned = draft.device.flag("Enabled_Preconditioning")
    why = "unwritten pages read like written ones; --precondition auto, the default, fills a drive that is read"
    if is_preconditioned:
        why = "--precondition steady prepares the drive"
    draft.note("Enabled_Preconditioning", str(is_preconditioned).lower(), why)
    _rest(draft)
    return Device(draft.text(), draft.notes, geometry, queue_depth, is_preconditioned)


def _interface(draft: Draft) -> int:
    host, device = draft.host, draft.device
    is_sata = device.word("HostInterface_Type", "NVME", "SATA") == "SATA"
    depth = device.whole("IO_Queue_Depth", 1, 65535)
    fetch = device.whole("Queue_Fetch_Size", 1, 65535)
    bandwidth = host.decimal("PCIe_Lane_Bandwidth", 1e-6, 1000)
    lanes = host.whole("PCIe_Lane_Count", 1, 32)
    delay = host.whole("SATA_Processing_Delay", 0, _INT_MAX)
    if is_sata:
        draft.put("link.type", "sata", "MQSim: HostInterface_Type SATA")
        for key in ("host.queue_depth", "device.max_commands"):
            draft.put(key, min(depth, 32), f"MQSim: IO_Queue_Depth {depth}")
        if depth > 32:
            draft.note("IO_Queue_Depth", depth, "native command queuing has 32 commands")
        for key in ("host.submit", "host.complete"):
            draft.put(key, time(delay), f"MQSim: SATA_Processing_Delay {delay} ns")
        draft.note(
            "PCIe_Lane_Bandwidth",
            f"{bandwidth:g}",
            "MQSim moves SATA's data over PCIe; nandram over SATA at 6 Gb/s",
        )
        draft.note("Queue_Fetch_Size", fetch, "SATA fetches one command at a time")
        return depth
    draft.put("host.queue_depth", depth, f"MQSim: IO_Queue_Depth {depth}")
    if lanes in (1, 2, 4, 8, 12, 16, 32):
        draft.put("link.lanes", lanes, f"MQSim: PCIe_Lane_Count {lanes}")
    total = round(bandwidth * lanes * 1e9)
    basis = f"MQSim: {lanes} lanes of {bandwidth:g} GB/s; the 28 bytes around each 128 of data are omitted"
    draft.put("link.bandwidth", f"{total}B/s", basis)
    draft.put("device.fetch_burst", min(fetch, 1024), f"MQSim: Queue_Fetch_Size {fetch}")
    draft.put("device.max_commands", fetch, f"MQSim: Queue_Fetch_Size {fetch}")
    if fetch > 1024:
        draft.note(
            "Queue_Fetch_Size", fetch, "a controller fetches at most 1,024 commands at once (device.fetch_burst)"
        )
    if host.has("SATA_Processing_Delay"):
        draft.note("SATA_Processing_Delay", delay, "without effect where HostInterface_Type is NVME")
    return depth


def _caches(draft: Draft, geometry: Geometry, modes: set[str]) -> None:
    device = draft.device
    capacity = device.whole("Data_Cache_Capacity", 0, 1 << 40)
    mode = max(modes, key=MODES.index) if modes else "WRITE_CACHE"
    given = f"MQSim: Data_Cache_Capacity {capacity}" + (f", Device_Level_Data_Caching_Mode {mode}" if modes else "")
    writes, reads = "WRITE" in mode, "READ" in mode
    draft.put("device.write_cache.size", size(capacity if writes else 0), given)
    if reads:
        draft.put("device.read_cache.size", size(capacity), given)
    if len(modes) > 1:
        draft.note("Device_Level_Data_Caching_Mode", mode, "that of one flow holds for all")
    sharing = device.word("Data_Cache_Sharing_Mode", "SHARED", "EQUAL_PARTITIONING")
    draft.put("device.cache_sharing", "shared", f"MQSim: Data_Cache_Sharing_Mode {sharing}")
    mapping = device.word("CMT_Sharing_Mode", "SHARED", "EQUAL_PARTITIONING")
    for name, found in (("Data_Cache_Sharing_Mode", sharing), ("CMT_Sharing_Mode", mapping)):
        if found != "SHARED":
            draft.note(name, found, "all flows share it")
    mechanism = device.word("Caching_Mechanism", "SIMPLE", "ADVANCED")
    draft.note(
        "Caching_Mechanism",
        mechanism,
        "the write cache is nandram's (device.write_cache), whose order of eviction differs",
    )
    mebibytes = -(-2 * (capacity + 4 * geometry.total_pages) // (1 << 20))
    draft.put("device.dram", f"{mebibytes}MiB", "twice the data cache and a map of 4 bytes per page", "assumed")


def _translation(draft: Draft, geometry: Geometry) -> None:
    device = draft.device
    if device.word("Address_Mapping", "PAGE_LEVEL", "HYBRID") == "HYBRID":
        draft.note("Address_Mapping", "HYBRID", "nandram maps pages")
    cached = device.whole("CMT_Capacity", 1, 1 << 40)
    if device.flag("Ideal_Mapping_Table"):
        draft.put("ftl.map_cache.size", "all", "MQSim: Ideal_Mapping_Table")
        draft.note("CMT_Capacity", cached, "without effect where Ideal_Mapping_Table is true")
    else:
        draft.put("ftl.map_cache.size", size(cached), f"MQSim: CMT_Capacity {cached}")
        entries = "MQSim: its cached mapping table holds single entries, and a miss reads one sector of a map page"
        draft.put("ftl.map_cache.grain", "entry", entries)
        sectors = geometry.page_bytes // SECTOR
        entry = math.ceil((2 * math.log2(geometry.total_pages) + sectors) / 8)
        draft.put("ftl.map_cache.entry", f"{entry}B", "MQSim: two page numbers and a bit per sector of a page")
    _collection(draft, geometry)
    dynamic, static = device.flag("Dynamic_Wearleveling_Enabled"), device.flag("Static_Wearleveling_Enabled")
    limit = device.whole("Static_Wearleveling_Threshold", 1, _INT_MAX)
    draft.put("ftl.wear_leveling.dynamic", dynamic, f"MQSim: Dynamic_Wearleveling_Enabled {str(dynamic).lower()}")
    draft.put("ftl.wear_leveling.static", limit if static else "off", f"MQSim: Static_Wearleveling_Threshold {limit}")


def _collection(draft: Draft, geometry: Geometry) -> None:
    device = draft.device
    policy = device.word("GC_Block_Selection_Policy", "GREEDY", "RGA", "RANDOM", "RANDOM_P", "RANDOM_PP", "FIFO")
    name = {"GREEDY": "greedy", "FIFO": "fifo"}.get(policy, "d-choices")
    draft.put("ftl.gc.policy", name, f"MQSim: GC_Block_Selection_Policy {policy}")
    if policy == "RGA":
        choices = max(int(math.log2(geometry.blocks)), 1)
        draft.put("ftl.gc.choices", choices, f"MQSim: RGA draws log2({geometry.blocks}) blocks")
    elif name == "d-choices":
        draft.put("ftl.gc.choices", 1, f"MQSim: {policy} draws one block")
        if policy != "RANDOM_P":
            draft.note("GC_Block_Selection_Policy", policy, "as RANDOM_P: any block whose pages are all written")
    ratio = device.decimal("GC_Exec_Threshold", 0, 1)
    # MQSim collects below this number of free blocks, of which it never takes less than ten.
    start = max(int(ratio * geometry.blocks), 10) - 1
    draft.put(
        "ftl.gc.start", start, f"MQSim: below GC_Exec_Threshold {ratio:g} of {geometry.blocks} blocks, at least 10"
    )
    hard = device.decimal("GC_Hard_Threshold", 0, 1)
    if device.flag("Preemptible_GC_Enabled"):
        draft.note("Preemptible_GC_Enabled", "true", "collection yields to the host by its own rule (ftl.gc.slack)")
        draft.note("GC_Hard_Threshold", f"{hard:g}", "collection never takes precedence as a whole")
    elif device.has("GC_Hard_Threshold"):
        draft.note("GC_Hard_Threshold", f"{hard:g}", "without effect where Preemptible_GC_Enabled is false")
    if device.flag("Use_Copyback_for_GC"):
        draft.note("Use_Copyback_for_GC", "true", "copies pass through the controller")


def _rest(draft: Draft) -> None:
    """Name parameters without a key, missing ones and unknown ones."""
    if draft.host.flag("Enable_ResponseTime_Logging"):
        draft.note("Enable_ResponseTime_Logging", "true", "--request-log and -o write the response times")
    for parameters in (draft.host, draft.device, draft.flash):
        for name in parameters.unread():
            if name in NO_COUNTERPART:
                draft.note(name, parameters.shown(name), NO_COUNTERPART[name])
    for parameters in (draft.host, draft.device, draft.flash, draft.top):
        draft.notes += parameters.leftover()
