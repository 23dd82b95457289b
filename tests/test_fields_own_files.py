"""Files as people have them, run from Python: what they mean and what the notes say."""

from pathlib import Path

import pytest

import nandram
from nandram.errors import UserError

TINY = str(Path(__file__).parent / "data" / "tiny.toml")


def play(folder: Path, text: str, system: str = TINY, name: str = "job.fio") -> nandram.Result:
    """Run the text of a workload."""
    path = folder / name
    path.write_text(text)
    return nandram.run(system, path, cache=None)


def test_percentile_list_is_that_of_the_summary(tmp_path: Path) -> None:
    result = play(tmp_path, "[a]\nrw=randread\nbs=4k\nnumber_ios=2000\npercentile_list=99.999:50:99.99\n")
    listed = result.summary["jobs"][0]["read"]["clat_ns"]["percentile"]
    assert list(listed) == ["50.000000", "99.990000", "99.999000"]
    assert "99.900000" in result.summary["jobs"][0]["read"]["lat_ns"]["percentile"]


def test_a_request_above_max_latency_ends_its_job(tmp_path: Path) -> None:
    job = "[a]\nrw=randread\nbs=4k\nnumber_ios=500\nmax_latency={}\n[b]\nrw=randread\nnumber_ios=500\n"
    result = play(tmp_path, job.format("1us"))
    first, second = result.summary["jobs"]
    assert (first["error"], second["error"]) == (110, 0)
    assert first["read"]["total_ios"] < 500
    assert second["read"]["total_ios"] > 200
    assert result.inside["failed_jobs"][0]["error"] == 110
    assert any("ETIMEDOUT" in note for note in result.notes)
    assert "failed_jobs" not in play(tmp_path, job.format("10s")).inside


def test_jobs_on_two_drives_have_one_each(tmp_path: Path) -> None:
    job = "[global]\nbs=128k\nrw=read\niodepth=32\nnumber_ios=3000\n[one]\nfilename=/dev/nvme0n1\n"
    alone = play(tmp_path, job, "nvme-client-tlc").summary["jobs"][0]["read"]["bw_bytes"]
    both = play(tmp_path, job + "[two]\nfilename=/dev/nvme1n1\n", "nvme-client-tlc")
    rates = [part["read"]["bw_bytes"] for part in both.summary["jobs"]]
    assert rates == pytest.approx([7.2e9, 7.2e9], rel=0.01)
    assert rates[0] == pytest.approx(alone, rel=0.01)
    assert any(note.endswith("two equal drives: nvme0n1, nvme1n1") for note in both.notes)
    assert [drive["drive"] for drive in both.inside["drives"]] == ["nvme0n1", "nvme1n1"]
    energies = ("nvme0n1: flash energy: ", "nvme1n1: flash energy: ")
    assert sum(note.startswith(energies) for note in both.notes) == 2
    mirrored = play(tmp_path, job.replace("nvme0n1", "nvme0n1:/dev/nvme1n1"), "nvme-client-tlc")
    assert mirrored.inside["requests"] == 3000


def test_reads_of_a_zoned_drive_find_full_zones(tmp_path: Path) -> None:
    job = "[r]\nrw=randread\nbs=4k\nnumber_ios=1000\n"
    result = play(tmp_path, job, "wd-zn540")
    assert result.inside["preparation"]["kind"] == "fill"
    prepared = (
        "prepared by default as fill: the workload reads what it has not written; zones that jobs write begin empty"
    )
    assert prepared in result.notes
    note = next(note for note in result.notes if note.startswith("empty drive: "))
    assert "beyond the capacity of a zone" in note
    assert "precondition" not in note
    within = play(tmp_path, job + "size=1077m\n", "wd-zn540")
    assert not any(note.startswith("empty drive: ") for note in within.notes)
    empty = nandram.run("wd-zn540", tmp_path / "job.fio", precondition="none")
    assert any(
        note.startswith("empty drive: no read found data") and "fill writes the zones" in note for note in empty.notes
    )
    with pytest.raises(UserError, match="prepared as steady, expected none or fill: zones have no steady state"):
        nandram.run("wd-zn540", tmp_path / "job.fio", precondition="steady")


def test_a_trace_with_few_writes_still_names_the_empty_drive(tmp_path: Path) -> None:
    rows = [f"{at},{'write' if at < 3 else 'read'},{8192 * at},4096" for at in range(300)]
    path = tmp_path / "trace.csv"
    path.write_text("\n".join(rows) + "\n")
    columns = "time=0:ms,op=1,offset=2,bytes=3"
    empty = nandram.run(TINY, path, cache=None, columns=columns, precondition="none")
    assert any(note.startswith("empty drive: 100.0 % of the reads") or "no read found" in note for note in empty.notes)
    filled = nandram.run(TINY, path, cache=None, columns=columns)
    assert not any(note.startswith("empty drive: ") for note in filled.notes)
    assert any("prepared by default as fill" in note for note in filled.notes)


def test_a_memory_trace_with_cycles_is_traffic(tmp_path: Path) -> None:
    def trace(gap: int) -> nandram.Result:
        lines = (f"{0x10000000 + 64 * n:#x} READ {gap * n}\n" for n in range(2000))
        return play(tmp_path, "".join(lines), "dram-only", "dram.trace")

    dense, sparse = trace(4), trace(4000)
    assert "kernel" not in dense.inside
    assert dense.bandwidth_bytes_s > 500 * sparse.bandwidth_bytes_s
    assert sparse.energy_j > 5 * dense.energy_j
    traffic = dense.inside["traffic"]
    rows = sum(traffic["dram"][name] for name in ("row_hits", "row_misses", "row_conflicts"))
    assert rows == traffic["dram"]["reads"] == sum(bank["reads"] for bank in traffic["banks"]) == 2000


def test_a_trace_of_scale_sim_is_traffic(tmp_path: Path) -> None:
    rows = "-2.0,0.0,1.0,2.0,64.0\n-1.0,-1.0,-1.0,-1.0,-1.0\n40.0,4096.0,4097.0,128.0,-1.0\n"
    for name, direction in (("IFMAP_DRAM_TRACE.csv", "read"), ("layer_dram_ofmap_write.csv", "write")):
        result = play(tmp_path, rows, "dram-only", name)
        # Two lines of memory per row, 42 cycles apart.
        assert result.summary["jobs"][0][direction]["total_ios"] == 4
        assert result.inside["traffic"]["dram"][f"{direction}s"] == 4
        assert any("arrive at the trace's cycles of the memory's clock" in note for note in result.notes)


def test_a_misplaced_write_to_a_zone_ends_like_in_linux(tmp_path: Path) -> None:
    job = "[a]\nrw=write\nbs=16k\noffset=64k\nnumber_ios=10\n"
    result = play(tmp_path, job, "wd-zn540")
    assert result.summary["jobs"][0]["error"] == 5
    expected = 'EIO (Input/output error): the drive refused it with "Zone Invalid Write"'
    assert any(note.startswith("error: job a: ended after ") and note.endswith(expected) for note in result.notes)
    counted = play(tmp_path, job + "continue_on_error=all\n", "wd-zn540")
    assert any(note.endswith(f"the first with {expected}") for note in counted.notes)


ZBD = "[z]\nrw=write\nbs=128k\nzonemode=zbd\nmax_open_zones=4\noffset=2z\nsize=2z\n"


def test_zonemode_zbd_runs_on_a_drive_with_zones(tmp_path: Path) -> None:
    result = play(tmp_path, ZBD, "wd-zn540")
    written = result.summary["jobs"][0]["write"]
    # Two zones of 1,077 MiB.
    assert (written["total_ios"], written["io_bytes"]) == (2 * 1077 * 8, 2 * 1077 << 20)
    assert result.summary["jobs"][0]["error"] == 0
    twice = play(tmp_path, ZBD + "loops=2\n", "wd-zn540")
    assert twice.summary["jobs"][0]["write"]["total_ios"] == 4 * 1077 * 8
    assert any(note.endswith('job "z": zones were reset 2 times to be written again') for note in twice.notes)


def test_random_jobs_of_zonemode_zbd_keep_to_the_rules_of_the_drive(tmp_path: Path) -> None:
    job = "[m]\nrw=randrw\nbs=256k\nzonemode=zbd\nnumjobs=3\niodepth=8\nsize=24z\nnumber_ios=2500\nmax_open_zones=3\n"
    for precondition in ("none", "fill"):
        path = tmp_path / "job.fio"
        path.write_text(job)
        result = nandram.run("wd-zn540", path, precondition=precondition)
        assert [part["error"] for part in result.summary["jobs"]] == [0, 0, 0]
        assert sum(part["read"]["total_ios"] + part["write"]["total_ios"] for part in result.summary["jobs"]) > 5000
        resets = [note for note in result.notes if "reset" in note]
        assert len(resets) == (precondition == "fill"), result.notes


def test_zonemode_zbd_without_zones_names_a_preset(tmp_path: Path) -> None:
    with pytest.raises(UserError) as raised:
        play(tmp_path, ZBD)
    expected = "expected a drive with zones, such as the preset wd-zn540, or zonesize=BYTES for zones that are emulated"
    assert "job.fio:4: zonemode: found zbd without zonesize on a drive without zones, " in str(raised.value)
    assert expected in str(raised.value)
    assert "\n" not in str(raised.value)
    emulated = play(tmp_path, ZBD + "zonesize=8m\n")
    assert emulated.inside["requests"] == 128
    assert any("as in fio, zones of 8388608 bytes are emulated" in note for note in emulated.notes)
    with pytest.raises(UserError, match='job "z": no zone holds data for it to access'):
        play(tmp_path, ZBD.replace("write", "read") + "zonesize=8m\n")
