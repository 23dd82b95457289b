"""The log of every request: its parts, its file, its chart, fio's own logs, and mistakes."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

import nandram
from nandram import UserError
from nandram.results.names import PARTS

JOB = ["--name=reads", "--rw=randread", "--bs=4k", "--iodepth=16", "--number_ios=3000"]
TINY = Path(__file__).parent / "data" / "tiny.toml"
MIXED = """[global]
bs=16k
number_ios=400
[both]
rw=randrw
iodepth=8
fsync=50
[trims]
rw=randtrim
"""


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> nandram.Result:
    folder = tmp_path_factory.mktemp("logged")
    (folder / "mixed.fio").write_text(MIXED)
    log = folder / "requests.parquet"
    return nandram.run(
        "nvme-client-tlc",
        folder / "mixed.fio",
        set={"scale": "1/16"},
        request_log=log,
        cache=None,
        output=folder / "out",
    )


def test_parts_add_up_to_the_latency_of_each_request(logged: nandram.Result) -> None:
    requests = logged.requests()
    sums = requests.select(pl.sum_horizontal([f"{part}_ps" for part in PARTS]).alias("sum"), "latency_ps")
    assert sums["sum"].to_list() == sums["latency_ps"].to_list()
    assert (requests["completed_ps"] - requests["due_ps"]).to_list() == requests["latency_ps"].to_list()
    assert requests["completed_ps"].is_sorted()
    assert set(requests["name"].unique()) == {"both", "trims"}
    assert set(requests["direction"].unique()) == {"read", "write", "trim", "sync"}
    assert requests.filter(pl.col("direction") == "read", pl.col("array_ps") > 0)["die"].null_count() == 0
    assert (
        requests.filter(pl.col("direction") == "write")["die"].null_count()
        == 400 - requests.filter(pl.col("name") == "both", pl.col("direction") == "read").height
    )


def test_the_file_names_its_units(logged: nandram.Result) -> None:
    assert logged.request_log is not None
    schema = pq.read_schema(logged.request_log)
    assert schema.field("array_ps").metadata == {b"unit": b"ps"}
    assert schema.field("offset").metadata == {b"unit": b"B"}
    assert not logged.request_log.with_name("requests.parquet.part").exists()


def test_a_log_changes_no_result(tmp_path: Path) -> None:
    given = {"set": {"scale": "1/16"}, "cache": None}
    plain = nandram.run("nvme-client-tlc", JOB, **given)  # type: ignore[arg-type]
    kept = nandram.run("nvme-client-tlc", JOB, request_log=tmp_path / "r.parquet", **given)  # type: ignore[arg-type]
    assert plain.summary_json == kept.summary_json
    assert plain.manifest_json == kept.manifest_json


def test_the_breakdown_has_the_means_of_the_result(logged: nandram.Result) -> None:
    found = logged.breakdown()
    for traffic in logged.groups or logged.traffic:
        each = found.filter(pl.col("direction") == traffic.direction)
        counted = each["requests"].sum()
        if traffic.direction in ("read", "write"):
            assert counted == sum(one.requests for one in logged.traffic if one.direction == traffic.direction)
    for row in found.to_dicts():
        assert sum(row[f"{part}_ns"] for part in PARTS) == pytest.approx(row["latency_ns"])
    reads = found.filter(pl.col("direction") == "read")
    assert reads["latency_ns"].is_sorted()
    assert reads["band"].to_list() == ["up to 50 %", "50 to 90 %", "90 to 99 %", "99 to 99.9 %"][: reads.height]


def test_the_folder_keeps_the_breakdown_and_the_report_draws_it(logged: nandram.Result, tmp_path: Path) -> None:
    folder = logged.save(tmp_path / "out")
    assert nandram.read_result(folder).breakdown().equals(logged.breakdown())
    assert "Where the time of reads goes" in (folder / "report.html").read_text()
    chart = logged.plot_breakdown().to_dict()
    assert chart["encoding"]["color"]["scale"]["domain"][0] in PARTS.values()
    # A later run without a log leaves none behind.
    nandram.run("nvme-client-tlc", JOB, set={"scale": "1/16"}, cache=None, output=folder)
    again = nandram.read_result(folder)
    with pytest.raises(UserError, match=r"^breakdown: found no log of every request, expected a run with request_log="):
        again.breakdown()
    with pytest.raises(UserError, match=r"^requests: found no log of every request"):
        again.requests()


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="found a folder, expected a file to write the requests to"):
        nandram.run("nvme-client-tlc", JOB, request_log=tmp_path)
    with pytest.raises(UserError, match="cannot be written: No such file or directory"):
        nandram.run("nvme-client-tlc", JOB, request_log=tmp_path / "no" / "r.parquet")
    trace = tmp_path / "lines.trace"
    trace.write_text("20 0x1000\n")
    with pytest.raises(UserError, match="found a log of every request, expected fio jobs or a block trace on a drive"):
        nandram.run("dram-only", trace, request_log=tmp_path / "r.parquet")
    with pytest.raises(UserError, match="unknown key"):
        nandram.run("nvme-client-tlc", ["--name=a", "--rwx=read"], request_log=tmp_path / "r.parquet")
    assert not list(tmp_path.glob("r.parquet*"))
    result = nandram.run("nvme-client-tlc", JOB, set={"scale": "1/16"}, request_log=tmp_path / "r.parquet", cache=None)
    (tmp_path / "r.parquet").write_text("no Parquet")
    with pytest.raises(UserError, match="found no Parquet file, expected the log of every request"):
        result.requests()


def lines(path: Path) -> list[list[str]]:
    """Return the fields of each line of a log."""
    return [line.split(", ") for line in path.read_text().splitlines()]


def test_logs_of_single_requests_have_fios_form(tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text(
        "[global]\nrw=randrw\nbs=4k\nnumber_ios=200\nnumjobs=2\nwrite_lat_log=x\nwrite_bw_log\nwrite_iops_log=\n"
        "log_offset=1\n[a]\niodepth=4\nfsync=10\n"
    )
    result = nandram.run(
        "nvme-client-tlc", job, set={"scale": "1/16"}, cache=None, request_log=tmp_path / "r.parquet", warm_up="keep"
    )
    names = ["a_bw", "a_iops", "x_clat", "x_lat", "x_slat"]
    assert sorted(path.name for path in tmp_path.glob("*.log")) == [f"{n}.{i}.log" for n in names for i in (1, 2)]
    requests = result.requests().filter(pl.col("direction") != "sync")
    for number in (1, 2):
        own = requests.filter(pl.col("job") == number - 1).to_dicts()
        expected = [
            [
                str(row["completed_ps"] // 10**9),
                str(row["latency_ps"] // 1000),
                {"read": "0", "write": "1"}[row["direction"]],
                "4096",
                str(row["offset"]),
                "0",
            ]
            for row in own
        ]
        assert lines(tmp_path / f"x_lat.{number}.log") == expected
        rates = [4096 * 1_000_000 // ((row["completed_ps"] - row["submitted_ps"]) // 1000) for row in own]
        assert [int(line[1]) for line in lines(tmp_path / f"a_bw.{number}.log")] == rates
        assert {line[1] for line in lines(tmp_path / f"a_iops.{number}.log")} == {"1"}


def test_averaged_logs_have_a_line_per_interval_and_direction(tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text(
        "[a]\nrw=randread\nbs=64k\nrate_iops=1000\nruntime=95ms\ntime_based\nwrite_bw_log=b\nwrite_iops_log=b\n"
        "write_lat_log=b\nlog_avg_msec=10\nlog_prio=1\nper_job_logs=0\n[m]\nrw=randread\nbs=64k\nrate_iops=1000\n"
        "runtime=95ms\ntime_based\nlog_max_value=1\nlog_avg_msec=10\nwrite_lat_log=m\n"
    )
    nandram.run("nvme-client-tlc", job, set={"scale": "1/16"}, cache=None)
    bandwidth, iops = lines(tmp_path / "b_bw.log"), lines(tmp_path / "b_iops.log")
    assert [line[0] for line in bandwidth] == [str(10 * (n + 1)) for n in range(9)]
    assert all(line[2:] == ["0", "0", "0x0000"] for line in bandwidth)
    assert all(abs(int(line[1]) - 64_000) <= 6_400 for line in bandwidth)
    assert all(abs(int(line[1]) - 1000) <= 100 for line in iops)
    means, most = lines(tmp_path / "b_lat.log"), lines(tmp_path / "m_lat.2.log")
    assert len(means) == len(most) == 10
    assert sum(int(line[1]) for line in most) > sum(int(line[1]) for line in means)


def test_a_log_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text("[a]\nrw=randread\nnumber_ios=10\nwrite_lat_log=no/x\n")
    with pytest.raises(UserError, match=r"no/x_slat\.1\.log: No such file or directory"):
        nandram.run("nvme-client-tlc", job, set={"scale": "1/16"}, cache=None)


PEAK = """
import resource, sys
import pyarrow.parquet
import nandram
from nandram.results import requests

def peak_kib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

arguments = dict(precondition="fill", cache=None)
job = ["--name=reads", "--rw=randread", "--bs=4k", "--iodepth=32", "--norandommap", "--number_ios=" + sys.argv[1]]
nandram.run(sys.argv[2], job, **arguments)
before = peak_kib()
nandram.run(sys.argv[2], job, request_log=sys.argv[3], **arguments)
print(peak_kib() - before)
assert "pandas" not in sys.modules
"""


def test_a_log_is_written_within_64_mib(tmp_path: Path) -> None:
    def mebibytes(count: int) -> float:
        command = [sys.executable, "-c", PEAK, str(count), str(TINY), str(tmp_path / "r.parquet")]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        return int(ended.stdout) / 1024

    small, large = mebibytes(30_000), mebibytes(240_000)
    assert large < 64
    # Rows are handed out in portions: eight times as many need no more memory.
    assert large < small + 16
