"""MQSim's XML as system files and jobs: values, parameters without counterpart, and mistakes."""

from pathlib import Path
from typing import Any

import pytest

import nandram
from nandram.cli import main
from nandram.errors import UserError
from nandram.importing.mqsim import Imported, import_files
from nandram.system import load_system

# MQSim's own ssdconfig.xml (2022-10).
HOST = {"PCIe_Lane_Bandwidth": "1.00000", "PCIe_Lane_Count": "4", "Enable_ResponseTime_Logging": "false"}
DEVICE = {
    "Seed": "321",
    "Enabled_Preconditioning": "false",
    "Memory_Type": "FLASH",
    "HostInterface_Type": "NVME",
    "IO_Queue_Depth": "65535",
    "Queue_Fetch_Size": "512",
    "Caching_Mechanism": "ADVANCED",
    "Data_Cache_Sharing_Mode": "SHARED",
    "Data_Cache_Capacity": "268435456",
    "Data_Cache_DRAM_tRCD": "13",
    "Address_Mapping": "PAGE_LEVEL",
    "Ideal_Mapping_Table": "false",
    "CMT_Capacity": "2097152",
    "CMT_Sharing_Mode": "SHARED",
    "Plane_Allocation_Scheme": "CWDP",
    "Transaction_Scheduling_Policy": "PRIORITY_OUT_OF_ORDER",
    "Overprovisioning_Ratio": "0.07",
    "GC_Exec_Threshold": "0.05000",
    "GC_Block_Selection_Policy": "RGA",
    "Use_Copyback_for_GC": "false",
    "Preemptible_GC_Enabled": "false",
    "GC_Hard_Threshold": "0.005000",
    "Dynamic_Wearleveling_Enabled": "true",
    "Static_Wearleveling_Enabled": "true",
    "Static_Wearleveling_Threshold": "100",
    "Preferred_suspend_erase_time_for_read": "700000",
    "Flash_Channel_Count": "8",
    "Flash_Channel_Width": "1",
    "Channel_Transfer_Rate": "333",
    "Chip_No_Per_Channel": "4",
    "Flash_Comm_Protocol": "NVDDR2",
}
FLASH = {
    "Flash_Technology": "MLC",
    "CMD_Suspension_Support": "ERASE",
    "Page_Read_Latency_LSB": "75000",
    "Page_Read_Latency_CSB": "75000",
    "Page_Read_Latency_MSB": "75000",
    "Page_Program_Latency_LSB": "750000",
    "Page_Program_Latency_CSB": "750000",
    "Page_Program_Latency_MSB": "750000",
    "Block_Erase_Latency": "3800000",
    "Block_PE_Cycles_Limit": "10000",
    "Suspend_Erase_Time": "700000",
    "Suspend_Program_Time": "100000",
    "Die_No_Per_Chip": "2",
    "Plane_No_Per_Die": "2",
    "Block_No_Per_Plane": "2048",
    "Page_No_Per_Block": "256",
    "Page_Capacity": "8192",
    "Page_Metadat_Capacity": "448",
}
SMALL = {"Block_No_Per_Plane": "256", "Data_Cache_Capacity": "4194304", "Chip_No_Per_Channel": "1"}
"""A drive of 17 GB."""
FLOW = {
    "Priority_Class": "HIGH",
    "Device_Level_Data_Caching_Mode": "WRITE_CACHE",
    "Channel_IDs": "0,1,2,3,4,5,6,7",
    "Chip_IDs": "0",
    "Die_IDs": "0,1",
    "Plane_IDs": "0,1",
    "Initial_Occupancy_Percentage": "75",
}
SYNTHETIC = {
    **FLOW,
    "Working_Set_Percentage": "50",
    "Synthetic_Generator_Type": "QUEUE_DEPTH",
    "Read_Percentage": "100",
    "Address_Distribution": "RANDOM_UNIFORM",
    "Percentage_of_Hot_Region": "0",
    "Generated_Aligned_Addresses": "true",
    "Address_Alignment_Unit": "16",
    "Request_Size_Distribution": "FIXED",
    "Average_Request_Size": "8",
    "Variance_Request_Size": "0",
    "Seed": "798",
    "Average_No_of_Reqs_in_Queue": "16",
    "Intensity": "32768",
    "Stop_Time": "0",
    "Total_Requests_To_Generate": "500",
}
REPLAY = {
    **FLOW,
    "File_Path": "some.trace",
    "Percentage_To_Be_Executed": "100",
    "Relay_Count": "1",
    "Time_Unit": "NANOSECOND",
}
TRACE = "1000000 4 64 16 0\n2000500 3 128 8 1\n3000000 3 99999999999 8 1\n4000000 0 0x10 8 1\n"


def tags(values: dict[str, str]) -> str:
    return "".join(f"<{name}>{value}</{name}>\n" for name, value in values.items())


def device_text(**changes: str) -> str:
    sets = [
        {**each, **{name: value for name, value in changes.items() if name in each}} for each in (HOST, DEVICE, FLASH)
    ]
    assert all(any(name in each for each in sets) for name in changes)
    host, device, flash = map(tags, sets)
    flash = f"<Flash_Parameter_Set>{flash}</Flash_Parameter_Set>"
    sets_text = (
        f"<Host_Parameter_Set>{host}</Host_Parameter_Set>\n<Device_Parameter_Set>{device}{flash}</Device_Parameter_Set>"
    )
    return f'<?xml version="1.0" encoding="us-ascii"?>\n<Execution_Parameter_Set>{sets_text}</Execution_Parameter_Set>'


def workload_text(*scenarios: list[dict[str, str]]) -> str:
    text = ""
    for flows in scenarios:
        text += "<IO_Scenario>\n"
        for flow in flows:
            kind = "Trace_Based" if "File_Path" in flow else "Synthetic"
            text += f"<IO_Flow_Parameter_Set_{kind}>\n{tags(flow)}</IO_Flow_Parameter_Set_{kind}>\n"
        text += "</IO_Scenario>\n"
    return f"<MQSim_IO_Scenarios>\n{text}</MQSim_IO_Scenarios>\n"


def imported(folder: Path, device: str, workload: str | None = None) -> Imported:
    """Import the texts of a device and a workload."""
    files = [folder / "ssdconfig.xml"]
    files[0].write_text(device)
    if workload is not None:
        files.append(folder / "workload.xml")
        files[1].write_text(workload)
    return import_files(files, folder / "out")


def flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return all values by their keys, without title and bases."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{key}.") if key != "basis" else {}
        elif prefix:
            found[prefix + key] = value
    return found


def values(folder: Path, **changes: str) -> dict[str, Any]:
    return flat(load_system(imported(folder, device_text(**changes)).files[0]).values)


def job(folder: Path, **changes: str) -> list[str]:
    """Return the lines of the job of a flow."""
    text = workload_text([{**SYNTHETIC, **changes}])
    return imported(folder, device_text(**SMALL), text).files[1].read_text().split("[flow-0]\n")[1].splitlines()


def test_the_default_drive_of_mqsim_is_the_preset(tmp_path: Path) -> None:
    found = imported(tmp_path, device_text())
    assert flat(load_system(found.files[0]).values) == flat(load_system("mqsim-default").values)
    ideal = values(tmp_path, Ideal_Mapping_Table="true")
    assert ideal == flat(load_system("mqsim-ideal-map").values)
    for name, why in (
        ("Seed 321", "seeds MQSim's own draws"),
        ("Data_Cache_DRAM_tRCD 13", "costs no time"),
        ("Block_PE_Cycles_Limit 10000", "MQSim only counts with it"),
    ):
        assert any(
            f"ssdconfig.xml: {name}: {why}" in note.replace(f"{tmp_path}/", "") or why in note for note in found.notes
        )
        assert f"# {name}: " in found.files[0].read_text()


@pytest.mark.parametrize(
    ("changes", "key", "expected"),
    [
        ({"Flash_Channel_Count": "4"}, "flash.channels", 4),
        ({"Chip_No_Per_Channel": "2"}, "flash.chips", 2),
        ({"Die_No_Per_Chip": "1"}, "flash.planes", 2),
        ({"Die_No_Per_Chip": "8", "Plane_No_Per_Die": "4"}, "flash.dies", 8),
        ({"Block_No_Per_Plane": "1024"}, "ftl.gc.start", 50),
        ({"Block_No_Per_Plane": "1024"}, "ftl.gc.choices", 10),
        ({"Block_No_Per_Plane": "128", "Overprovisioning_Ratio": "0.2"}, "ftl.gc.start", 9),
        ({"Page_No_Per_Block": "512"}, "flash.pages", 512),
        ({"Page_Capacity": "4096"}, "ftl.unit", "4KiB"),
        ({"Page_Capacity": "4096"}, "ftl.map_cache.entry", "8B"),
        ({"Overprovisioning_Ratio": "0.2"}, "ftl.over_provisioning", 0.25),
        ({"Flash_Technology": "slc", "Page_Read_Latency_LSB": "25000"}, "flash.read", "25us"),
        ({"Page_Read_Latency_LSB": "40500"}, "flash.read", ["40.5us", "75us"]),
        ({"Flash_Technology": "TLC", "Page_Program_Latency_CSB": "1"}, "flash.program", ["750us", "1ns", "750us"]),
        ({"Block_Erase_Latency": "3800001"}, "flash.erase", "3800.001us"),
        ({"CMD_Suspension_Support": "NONE"}, "flash.suspend.erase", False),
        ({"CMD_Suspension_Support": "PROGRAM_ERASE"}, "flash.suspend.latency", "100us"),
        ({"Channel_Transfer_Rate": "200", "Flash_Channel_Width": "2"}, "flash.rate", "400MT/s"),
        ({"PCIe_Lane_Count": "2", "PCIe_Lane_Bandwidth": "0.985"}, "link.bandwidth", "1.97GB/s"),
        ({"Queue_Fetch_Size": "16"}, "device.fetch_burst", 16),
        ({"Queue_Fetch_Size": "4096"}, "device.fetch_burst", 1024),
        ({"IO_Queue_Depth": "64"}, "host.queue_depth", 64),
        ({"Data_Cache_Capacity": "67108864"}, "device.write_cache.size", "64MiB"),
        ({"CMT_Capacity": "1048576"}, "ftl.map_cache.size", "1MiB"),
        ({"Plane_Allocation_Scheme": "PWCD"}, "ftl.stripe", "PWCD"),
        ({"GC_Block_Selection_Policy": "GREEDY"}, "ftl.gc.policy", "greedy"),
        ({"GC_Block_Selection_Policy": "FIFO"}, "ftl.gc.policy", "fifo"),
        ({"GC_Block_Selection_Policy": "RANDOM_PP"}, "ftl.gc.choices", 1),
        ({"GC_Exec_Threshold": "0.1", "Overprovisioning_Ratio": "0.2"}, "ftl.gc.start", 203),
        ({"Dynamic_Wearleveling_Enabled": "false"}, "ftl.wear_leveling.dynamic", False),
        ({"Static_Wearleveling_Enabled": "FALSE"}, "ftl.wear_leveling.static", "off"),
        ({"HostInterface_Type": "SATA"}, "link.type", "sata"),
        ({"HostInterface_Type": "SATA"}, "host.queue_depth", 32),
    ],
)
def test_a_parameter_is_the_value_of_its_key(
    tmp_path: Path, changes: dict[str, str], key: str, expected: object
) -> None:
    assert values(tmp_path, **changes)[key] == expected


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"Enabled_Preconditioning": "true"}, "Enabled_Preconditioning true: --precondition steady prepares the drive"),
        ({"Preemptible_GC_Enabled": "true"}, "Preemptible_GC_Enabled true: collection yields to the host by its own"),
        ({"Use_Copyback_for_GC": "true"}, "Use_Copyback_for_GC true: copies pass through the controller"),
        ({"CMT_Sharing_Mode": "EQUAL_PARTITIONING"}, "CMT_Sharing_Mode EQUAL_PARTITIONING: all flows share it"),
        ({"Address_Mapping": "HYBRID"}, "Address_Mapping HYBRID: nandram maps pages"),
        (
            {"Channel_Transfer_Rate": "400"},
            "Channel_Transfer_Rate 400: MQSim rounds the time of a transfer down to 2 ns",
        ),
        ({"Queue_Fetch_Size": "4096"}, "Queue_Fetch_Size 4096: a controller fetches at most 1,024 commands at once"),
        ({"Plane_Allocation_Scheme": "DCWP"}, "Plane_Allocation_Scheme DCWP: the planes of all dies of a chip come"),
        ({"Enable_ResponseTime_Logging": "true"}, "Enable_ResponseTime_Logging true: --request-log and -o write"),
        ({"HostInterface_Type": "SATA"}, "IO_Queue_Depth 65535: native command queuing has 32 commands"),
        ({"GC_Block_Selection_Policy": "RANDOM"}, "GC_Block_Selection_Policy RANDOM: as RANDOM_P: any block"),
    ],
)
def test_what_has_no_counterpart_is_named(tmp_path: Path, changes: dict[str, str], note: str) -> None:
    found = imported(tmp_path, device_text(**changes))
    assert any(note in each for each in found.notes), found.notes
    assert f"\n# {note}" in found.files[0].read_text()


def test_missing_parameters_have_the_defaults_of_mqsim(tmp_path: Path) -> None:
    sets = tags(
        {"Flash_Channel_Count": "4", "Chip_No_Per_Channel": "2", "Overprovisioning_Ratio": "0.1", "Flavor": "x"}
    )
    text = f"<Execution_Parameter_Set><Device_Parameter_Set>{sets}</Device_Parameter_Set></Execution_Parameter_Set>"
    found = imported(tmp_path, text)
    drive = flat(load_system(found.files[0]).values)
    assert (drive["flash.channels"], drive["flash.chips"], drive["flash.rate"]) == (4, 2, "300MT/s")
    assert drive["ftl.over_provisioning"] == pytest.approx(1 / 9)
    assert any("Flavor: unknown to MQSim, and ignored" in note for note in found.notes)
    assert any("what Host_Parameter_Set lacks: PCIe_Lane_Bandwidth 0.4, " in note for note in found.notes)
    assert any("Channel_Transfer_Rate 300" in note and "Data_Cache_Capacity 536870912" in note for note in found.notes)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "rw=randread"),
        ({}, "blockalign=8192"),
        ({}, "bs=4096"),
        ({}, "iodepth=16"),
        ({}, "number_ios=500"),
        ({"Read_Percentage": "0"}, "rw=randwrite"),
        ({"Read_Percentage": "30"}, "rwmixread=30"),
        ({"Generated_Aligned_Addresses": "false"}, "blockalign=512"),
        ({"Address_Distribution": "STREAMING"}, "rw=read:4096"),
        ({"Address_Distribution": "STREAMING", "Address_Alignment_Unit": "8"}, "rw=read"),
        (
            {"Address_Distribution": "RANDOM_HOTCOLD", "Percentage_of_Hot_Region": "10"},
            "random_distribution=zoned:90/10:10/90",
        ),
        ({"Request_Size_Distribution": "NORMAL", "Variance_Request_Size": "0"}, "bs=4096"),
        ({"Stop_Time": "1500000"}, "runtime=1500us"),
        ({"Stop_Time": "1500000"}, "time_based"),
        ({"Synthetic_Generator_Type": "BANDWIDTH", "Bandwidth": "41943040"}, "rate_iops=10240"),
        ({"Synthetic_Generator_Type": "BANDWIDTH", "Bandwidth": "41943040"}, "rate_process=poisson"),
        (
            {"Synthetic_Generator_Type": "BANDWIDTH", "Bandwidth": "40960000", "Read_Percentage": "25"},
            "rate_iops=2500,7500",
        ),
    ],
)
def test_a_flow_is_a_job(tmp_path: Path, changes: dict[str, str], line: str) -> None:
    assert line in job(tmp_path, **changes)


def test_normal_sizes_keep_their_mean(tmp_path: Path) -> None:
    lines = job(tmp_path, Request_Size_Distribution="NORMAL", Average_Request_Size="64", Variance_Request_Size="10")
    [split] = [line.removeprefix("bssplit=") for line in lines if line.startswith("bssplit=")]
    parts = [tuple(map(int, part.split("/"))) for part in split.split(":")]
    assert sum(share for _, share in parts) == 100
    # MQSim rounds up, which adds half a sector.
    assert sum(size * share for size, share in parts) / 100 / 512 == pytest.approx(64.5, abs=0.2)


def test_flows_share_the_sectors_like_in_mqsim(tmp_path: Path) -> None:
    first, second = {**SYNTHETIC, "Working_Set_Percentage": "100"}, {**SYNTHETIC, "Working_Set_Percentage": "10"}
    found = imported(tmp_path, device_text(**SMALL), workload_text([first, second], [second]))
    assert [path.name for path in found.files] == [
        "ssdconfig.toml",
        "workload_scenario_1.fio",
        "workload_scenario_2.fio",
    ]
    regions = [
        [int(line.split("=")[1]) for line in path.read_text().splitlines() if line.startswith(("offset=", "size="))]
        for path in found.files[1:]
    ]
    # 256 blocks of 256 pages of 16 sectors, without 7 %: 975,175 sectors in each of 32 planes, 487,587 for each flow.
    half = 32 * 487_587 * 512
    assert regions[0] == [0, half, half, pytest.approx(half / 10, abs=8192)]
    assert regions[1] == [0, pytest.approx(32 * 975_175 * 51.2, abs=8192)]
    apart = imported(
        tmp_path,
        device_text(**SMALL),
        workload_text([{**first, "Channel_IDs": "0,1"}, {**first, "Channel_IDs": "2,3,4,5,6,7"}]),
    )
    # The first multiple of the alignment in the second share.
    assert f"offset={-(-8 * 975_175 // 16) * 8192}" in apart.files[1].read_text()


def test_an_imported_drive_runs_imported_flows(tmp_path: Path) -> None:
    found = imported(tmp_path, device_text(**SMALL), workload_text([SYNTHETIC, {**SYNTHETIC, "Read_Percentage": "0"}]))
    [command] = found.commands
    assert command == f"nandram run {found.files[0]} {found.files[1]}"
    result = nandram.run(found.files[0], found.files[1], cache=None)
    reads, writes = result.summary["jobs"]
    assert (reads["read"]["total_ios"], writes["write"]["total_ios"]) == (500, 500)


def test_a_trace_is_replayed_in_the_share_of_its_flow(tmp_path: Path) -> None:
    (tmp_path / "some.trace").write_text(TRACE)
    found = imported(tmp_path, device_text(**SMALL), workload_text([SYNTHETIC, REPLAY]))
    half = 32 * 487_587
    wrapped = 99_999_999_999 % (half - 8)
    [log] = [path for path in found.files if path.suffix == ".iolog"]
    assert log.read_text().splitlines()[3:] == [
        f"1000 drive write {(half + 64) * 512} 8192",
        f"2000 drive read {(half + 128) * 512} 4096",
        f"3000 drive read {(half + wrapped) * 512} 4096",
        f"4000 drive read {(half + 16) * 512} 4096",
        "4000 drive close",
    ]
    assert any(
        "1 of 4 requests lie beyond the flow's share of the drive, and wrap around" in note for note in found.notes
    )
    assert any("the times of 1 of 4 requests are rounded down to microseconds" in note for note in found.notes)
    result = nandram.run(found.files[0], found.files[1], cache=None)
    assert [part["read"]["total_ios"] for part in result.summary["jobs"]] == [500, 3]


@pytest.mark.parametrize(
    ("changes", "count", "last_us"),
    [
        ({"Percentage_To_Be_Executed": "50"}, 2, 2000),
        ({"Relay_Count": "3"}, 12, 12000),
        ({"Percentage_To_Be_Executed": "400"}, 4, 4000),
        ({"Time_Unit": "PICOSECOND"}, 4, 4),
        ({"Time_Unit": "microsecond"}, 4, 4_000_000),
    ],
)
def test_parts_and_repetitions_of_a_trace(tmp_path: Path, changes: dict[str, str], count: int, last_us: int) -> None:
    (tmp_path / "some.trace").write_text(TRACE)
    found = imported(tmp_path, device_text(**SMALL), workload_text([{**REPLAY, **changes}]))
    lines = found.files[2].read_text().splitlines()
    assert len(lines) == count + 4
    assert lines[-1] == f"{last_us} drive close"


def test_a_scenario_without_its_trace_is_left_out(tmp_path: Path) -> None:
    found = imported(tmp_path, device_text(**SMALL), workload_text([SYNTHETIC], [REPLAY]))
    assert [path.name for path in found.files] == ["ssdconfig.toml", "workload_scenario_1.fio"]
    assert any(
        f"workload_scenario_2.fio is not written: {tmp_path}/some.trace is missing" in note for note in found.notes
    )


def test_caching_modes_of_the_flows_are_those_of_the_drive(tmp_path: Path) -> None:
    def caches(*modes: str) -> tuple[str, str]:
        flows = [{**SYNTHETIC, "Device_Level_Data_Caching_Mode": mode} for mode in modes]
        drive = flat(load_system(imported(tmp_path, device_text(**SMALL), workload_text(flows)).files[0]).values)
        return drive["device.read_cache.size"], drive["device.write_cache.size"]

    assert caches("WRITE_CACHE") == ("0B", "4MiB")
    assert caches("TURNED_OFF") == ("0B", "0B")
    assert caches("READ_CACHE") == ("4MiB", "0B")
    assert caches("WRITE_READ_CACHE", "TURNED_OFF") == ("4MiB", "4MiB")


ENTITIES = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>\n<x>&b;</x>'
SAMPLE = device_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "ssdconfig.xml:1: not XML: no element found"),
        ("[flash]\n", "ssdconfig.xml:1: not XML: syntax error"),
        ("<a>\n</b>", "ssdconfig.xml:2: not XML: mismatched tag"),
        (
            "<a/>",
            "ssdconfig.xml:1: found the element a, expected MQSim's Execution_Parameter_Set or MQSim_IO_Scenarios",
        ),
        (ENTITIES, "ssdconfig.xml:1: found a document type declaration, expected none: nandram reads no entities"),
        ("<Execution_Parameter_Set>&lol;</Execution_Parameter_Set>", "ssdconfig.xml:1: not XML: undefined entity"),
        (
            '<?xml version="1.0" encoding="klingon"?><a/>',
            "ssdconfig.xml:1: not XML: found an unknown encoding, expected",
        ),
        ("<a>" * 9 + "</a>" * 9, "ssdconfig.xml:1: a: found an element in 8 others, expected at most 7"),
        (
            "<a>" + " " * (1 << 20) + "</a>",
            "ssdconfig.xml: cannot be read: found 1048583 bytes, expected at most 1048576",
        ),
        (
            SAMPLE.replace(">2048<", ">2e3<"),
            "Block_No_Per_Plane: found `2e3`, expected a whole number from 4 to 16777216",
        ),
        (
            SAMPLE.replace(">2048<", ">999999999999999999999<"),
            "Block_No_Per_Plane: found `999999999999999999999`, expected",
        ),
        (SAMPLE.replace(">0.07<", ">1.5<"), "Overprovisioning_Ratio: found `1.5`, expected a number from 0.001 to 0.9"),
        (SAMPLE.replace(">0.07<", ">nan<"), "Overprovisioning_Ratio: found `nan`, expected a number from 0.001 to 0.9"),
        (
            SAMPLE.replace(">MLC<", ">QLC<"),
            "Flash_Technology: found `QLC`, expected SLC, MLC or TLC; the nearest is `TLC`",
        ),
        (SAMPLE.replace(">FLASH<", ">PCM<"), "Memory_Type: found `PCM`, expected FLASH"),
        (SAMPLE.replace(">CWDP<", ">CWDD<"), "Plane_Allocation_Scheme: found `CWDD`, expected CWDP, "),
        (SAMPLE.replace(">true<", ">yes<", 1), "Dynamic_Wearleveling_Enabled: found `yes`, expected TRUE or FALSE"),
        (SAMPLE.replace("<Seed>", "<Seed>1</Seed><Seed>"), "Seed: found a second one (the first is in line "),
        (SAMPLE.replace(">8192<", "><b/><"), "Page_Capacity: found the element b, expected a value"),
        (SAMPLE.replace(">8192<", ">8191<"), "the converted drive is refused: ftl.unit is"),
        (
            SAMPLE.replace(">4</Chip", ">256</Chip").replace(">8</Flash", ">256</Flash").replace(">2</Die", ">64</Die"),
            "Device_Parameter_Set: found 256 x 256 x 64 x 2 planes, expected at most 262144",
        ),
    ],
)
def test_mistakes_in_a_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ssdconfig.xml").write_text(text)
    with pytest.raises(SystemExit) as ended:
        main(["import", "ssdconfig.xml"])
    shown = capsys.readouterr()
    assert (ended.value.code, shown.out) == (2, "")
    assert shown.err.startswith("error: ssdconfig.xml:")
    assert message in shown.err
    assert shown.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["ssdconfig.xml"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Read_Percentage": "101"}, "Read_Percentage: found `101`, expected a whole number from 0 to 100"),
        ({"Channel_IDs": "0,9"}, "Channel_IDs: found `0,9`, expected whole numbers from 0 to 7, separated by commas"),
        ({"Channel_IDs": ""}, "Channel_IDs: found ``, expected whole numbers"),
        ({"Address_Distribution": "RANDOM"}, "expected STREAMING, RANDOM_UNIFORM or RANDOM_HOTCOLD; the nearest is"),
        (
            {"Total_Requests_To_Generate": "0"},
            "found Stop_Time 0 and Total_Requests_To_Generate 0, expected one of them",
        ),
        ({"Synthetic_Generator_Type": "BANDWIDTH", "Bandwidth": "1"}, "Bandwidth: found `1`, expected at least 4096"),
        ({"Synthetic_Generator_Type": "BANDWIDTH", "Intensity": "9"}, "Intensity: found `9`, expected at least 4096"),
        ({"Average_Request_Size": "1048576", "Working_Set_Percentage": "1"}, "sectors for the flow, expected at least"),
    ],
)
def test_mistakes_in_a_flow(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    with pytest.raises(UserError) as raised:
        job(tmp_path, **changes)
    assert message in str(raised.value)
    assert str(raised.value).startswith(f"{tmp_path}/workload.xml:")


def test_mistakes_in_files_and_traces(tmp_path: Path) -> None:
    (tmp_path / "w.xml").write_text(workload_text([SYNTHETIC]))
    with pytest.raises(UserError, match=r"found a workload alone, expected the device's file \(ssdconfig.xml\)"):
        import_files([tmp_path / "w.xml"], tmp_path)
    with pytest.raises(UserError, match="found a second MQSim_IO_Scenarios"):
        import_files([tmp_path / "w.xml"] * 2, tmp_path)
    for text, found in (
        (workload_text(), "found 0 of IO_Scenario, expected 1 to 256"),
        (workload_text([]), "IO_Scenario: found 0 flows, expected 1 to 64"),
    ):
        with pytest.raises(UserError, match=found):
            imported(tmp_path, SAMPLE, text)
    replay = workload_text([REPLAY])
    for text, found in (("1 2 3\n", "some.trace:1: found `1 2 3`, expected"), ("", "found 0 requests to execute")):
        (tmp_path / "some.trace").write_text(text)
        with pytest.raises(UserError, match=found):
            imported(tmp_path, SAMPLE, replay)
    (tmp_path / "some.trace").write_text(TRACE)
    endless = workload_text([{**REPLAY, "Relay_Count": "2147483647"}])
    with pytest.raises(UserError, match="found 8,589,934,588 requests to execute, expected 1 to 10,000,000"):
        imported(tmp_path, SAMPLE, endless)


def test_only_imported_files_are_written_again(tmp_path: Path) -> None:
    found = imported(tmp_path, SAMPLE)
    assert imported(tmp_path, SAMPLE) == found
    found.files[0].write_text("# mine\n")
    with pytest.raises(UserError, match="found a file that was not imported, expected none: choose another folder"):
        imported(tmp_path, SAMPLE)
    assert found.files[0].read_text() == "# mine\n"
    assert [path.name for path in found.files[0].parent.iterdir()] == ["ssdconfig.toml"]
