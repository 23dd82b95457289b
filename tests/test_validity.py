"""Figures that a run cannot support are not shown in tables, comparisons, sweeps and reports."""

from pathlib import Path

import pytest

import nandram
from conftest import TINY
from nandram.report.page import Figure
from nandram.report.run import page, section
from nandram.results import validity

JOBS = {
    "reads": "[a]\nrw=randread\nbs=4k\niodepth=4\nnumber_ios=2000\nnorandommap\n",
    "writes": "[a]\nrw=randwrite\nbs=4k\niodepth=4\nnumber_ios=2000\nnorandommap\n",
}


@pytest.fixture
def job(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / f"{request.param}.fio"
    path.write_text(JOBS[request.param])
    return path


def kinds(result: nandram.Result) -> set[str]:
    return {note.kind for note in result.validity}


@pytest.mark.parametrize("job", ["reads"], indirect=True)
def test_a_comparison_of_empty_drives_has_no_figures_of_reads(job: Path) -> None:
    slower = nandram.load_system(TINY, {"flash.read": "500us"})
    empty = nandram.compare(TINY, slower, job, seeds=2, precondition="none")
    assert not {each.name for each in empty.differences} & {"iops", "read_us", "mean_us", "read_p99_us", "energy_j"}
    assert {(each.side, each.kind, each.runs) for each in empty.notes} >= {
        ("A", "empty-drive", 2),
        ("B", "empty-drive", 2),
    }
    by_default = {each.name: each for each in nandram.compare(TINY, slower, job, seeds=2).differences}
    assert by_default["iops"].change < -0.6
    assert by_default["iops"].certain


@pytest.mark.parametrize("job", ["reads"], indirect=True)
def test_a_sweep_has_no_value_where_a_note_makes_it_worthless(job: Path, tmp_path: Path) -> None:
    for how, shown in (('precondition = "none"', False), ("", True)):
        file = tmp_path / f"{shown}.toml"
        file.write_text(
            f'system = "{TINY}"\njob = """{JOBS["reads"]}"""\n{how}\n'
            '[space]\nkind = "grid"\naxes = { "flash.read" = ["50us", "500us"] }\n'
        )
        found = nandram.run_sweep(file, tmp_path / str(shown), jobs=1, cache=None)
        rates = found.frame()["iops"].to_list()
        assert (None not in rates) == shown
        assert ("empty-drive" in found.notes()) != shown
        assert found.frame()["simulated_s"].null_count() == 0
    assert max(rates) > 2 * min(rates)


@pytest.mark.parametrize("job", ["writes", "reads"], indirect=True)
@pytest.mark.parametrize("precondition", ["none", "fill", "random", "steady", "rested"])
def test_a_run_says_whether_its_drive_ended_as_it_began(job: Path, precondition: str) -> None:
    result = nandram.run(TINY, job, precondition=precondition, warm_up="keep", cache=None)
    headroom, unit = result.inside["headroom"], 4096
    begin, end = headroom["begin"], headroom["end"]
    moved = max(abs(end[name] - begin[name]) for name in ("free_bytes", "slc_bytes", "write_cache_bytes"))
    ftl = result.inside["ftl"]
    traffic = (ftl["host_units"] or ftl["read_hits"] + ftl["read_misses"]) * unit
    changed = moved > 0.02 * traffic or abs(end["cached_map"] - begin["cached_map"]) > 0.02 * traffic / unit
    assert ("not-steady" in kinds(result)) == (traffic > 0 and changed)
    assert any("(not steady)" in cell for row in result.rows() for cell in row) == ("not-steady" in kinds(result))
    if job.stem == "reads":
        assert "not-steady" not in kinds(result)
    elif precondition == "none":
        # Each write shrinks the free space.
        assert "not-steady" in kinds(result)


def test_the_tail_of_writes_needs_three_collections(tmp_path: Path) -> None:
    path = tmp_path / "writes.fio"
    path.write_text("[a]\nrw=randwrite\nbs=4k\niodepth=8\nnumber_ios=60000\nnorandommap\n")
    short = nandram.run("nvme-client-tlc", path, precondition="steady", cache=None)
    assert "few-cycles" in kinds(short)
    (row,) = short.rows()
    assert row[7:] == ["not shown"] * 3
    assert row[6] != "not shown"
    same = nandram.compare("nvme-client-tlc", "nvme-client-tlc", path, seeds=1, precondition="steady", until="job")
    figures = {each.name for each in same.differences}
    assert not figures & {"write_p99_us", "write_p999_us", "write_amplification"}
    assert "write_p50_us" in figures
    assert "few collections" in page(short)


def test_a_report_draws_no_reads_of_an_empty_drive(tmp_path: Path) -> None:
    path = tmp_path / "both.fio"
    path.write_text("[a]\nrw=randrw\nbs=4k\niodepth=4\nnumber_ios=2000\nnorandommap\n")
    for precondition, shown in (("none", {"write"}), ("fill", {"read", "write"})):
        result = nandram.run(TINY, path, precondition=precondition, warm_up="keep")
        parts = [part for part in section(result, "run").parts if isinstance(part, Figure)]
        figures = {part.title.split(":")[0]: part for part in parts}
        drawn = ("Response times", "Percentiles of the response times", "Throughput over time", "Requests over time")
        assert {title: set(figures[title].series) for title in drawn} == dict.fromkeys(drawn, shown)
        assert ("Energy by part" in figures) == ("read" in shown)


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("sum(jobs.read.bw_bytes) / 1e6", {"read"}),
        ('jobs["reads"].read.clat_ns.percentile["50.000000"]', {"read"}),
        ('jobs["writes"].write.clat_ns.percentile["99.900000"] / 1000', {"write-tail"}),
        ('jobs["writes"].write.clat_ns.percentile["50.000000"] / 1000', set()),
        ("max(jobs.write.lat_ns.max)", {"write-tail"}),
        ("nandram.ftl.write_amplification", {"write-amplification"}),
        ("nandram.ftl.map_reads", set()),
        ("nandram.energy_j.total", {"energy"}),
    ],
)
def test_a_measure_concerns_the_figures_that_it_reads(expression: str, found: set[str]) -> None:
    assert validity.concerns(expression) == found


def test_notes_travel_with_a_saved_result(tmp_path: Path) -> None:
    path = tmp_path / "reads.fio"
    path.write_text(JOBS["reads"])
    saved = nandram.run(TINY, path, precondition="none", output=tmp_path / "out")
    read = nandram.read_result(tmp_path / "out")
    assert read.validity == saved.validity
    assert read.rows() == saved.rows()
