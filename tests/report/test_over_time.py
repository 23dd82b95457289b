"""Charts over time and over queue depth; comparisons and probes in the same style."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import nandram
from conftest import TINY
from nandram.report import comparison, comparison_page, depth, heat, over_time, run_page
from nandram.report.charts.axis import Axis, unmagnified
from nandram.results.frames import percentile
from report.pages import Page


def domains(spec: Any) -> list[Any]:
    """Return every explicit domain of a chart's scales."""
    if isinstance(spec, dict):
        own = [spec["scale"]["domain"]] if isinstance(spec.get("scale"), dict) and "domain" in spec["scale"] else []
        return [*own, *(each for value in spec.values() for each in domains(value))]
    return [each for value in spec for each in domains(value)] if isinstance(spec, list) else []


def test_a_run_is_drawn_over_time(result: nandram.Result) -> None:
    figures = {each["title"]: each for each in Page(run_page(result)).figures}
    for title in (
        "Requests over time",
        "Response times over time",
        "Write amplification over time",
        "Free blocks over time",
        "Queues over time",
    ):
        assert title in figures
    for title in ("Utilization of the channels", "Utilization of the dies", "Utilization of host, link and controller"):
        assert [0, 1] in domains(figures[title]["spec"]), title


@pytest.mark.parametrize(("requests", "shown"), [(200, False), (100_000, True)])
def test_write_amplification_is_drawn_only_where_it_is_shown(tmp_path: Path, requests: int, shown: bool) -> None:
    path = tmp_path / "writes.fio"
    path.write_text(f"[job]\nrw=randwrite\nbs=4k\niodepth=8\nnorandommap\nnumber_ios={requests}\n")
    drive = nandram.load_system("nvme-client-tlc", {"ftl.group": "plane", "ftl.gc.batch": 1}, scale="1/16")
    result = nandram.run(drive, path, precondition="steady", warm_up="keep", cache=None)
    assert any("write-amplification" in note.withholds for note in result.validity) != shown
    titles = {each["title"] for each in Page(run_page(result)).figures}
    assert "Free blocks over time" in titles
    assert ("Write amplification over time" in titles) == shown


def test_series_of_the_drive_add_up(result: nandram.Result) -> None:
    drive, ftl = result.drive(), result.inside["whole_run"]["ftl"]
    assert drive["host_units"].sum() == ftl["host_units"]
    assert drive["erases"].sum() == ftl["erases"]
    assert drive["energy_j"].sum() == pytest.approx(result.inside["whole_run"]["energy_j"]["total"])
    samples = result.throughput()
    assert samples["requests"].sum() == result.inside["requests"]
    assert (samples["iops"] * samples["span_s"]).sum() == pytest.approx(result.inside["requests"])
    busy = samples.filter(samples["requests"] > 0)
    assert (busy["latency_p50_ns"] <= busy["latency_p99_ns"]).all()
    assert (busy["latency_p99_ns"] <= busy["latency_max_ns"] + 1).all()


def test_jobs_of_several_depths_are_drawn_over_depth(tmp_path: Path) -> None:
    path = tmp_path / "depths.fio"
    jobs = "".join(f"[qd{depth}]\nstonewall\niodepth={depth}\n" for depth in (1, 2, 8))
    path.write_text(f"[global]\nrw=randread\nbs=4k\nnumber_ios=300\n{jobs}")
    found = over_time.over_depth(nandram.run(TINY, path, precondition="fill"), "")
    assert [each.title for each in found] == [
        "Requests per second over queue depth",
        "99th percentile over queue depth",
    ]
    assert [row[:2] for row in found[0].rows] == [("read", 1), ("read", 2), ("read", 8)]
    path.write_text("[one]\nrw=randread\nbs=4k\nnumber_ios=300\niodepth=4\n")
    assert over_time.over_depth(nandram.run(TINY, path), "") == []
    assert found[0].rows[0][2] < found[0].rows[2][2]  # type: ignore[operator]


def test_jobs_of_different_kinds_are_different_lines(tmp_path: Path) -> None:
    path = tmp_path / "kinds.fio"
    jobs = [(rw, bs, depth) for rw, bs in (("randread", "4k"), ("randread", "16k")) for depth in (1, 4)]
    jobs.append(("randwrite", "4k", 2))
    text = "".join(f"[{rw}-{bs}-{depth}]\nstonewall\nrw={rw}\nbs={bs}\niodepth={depth}\n" for rw, bs, depth in jobs)
    path.write_text(f"[global]\nnumber_ios=300\n{text}")
    found = over_time.over_depth(nandram.run(TINY, path, precondition="fill"), "")
    lines = [("read, bs=16k", 1), ("read, bs=16k", 4), ("read, bs=4k", 1), ("read, bs=4k", 4)]
    assert [row[:2] for row in found[0].rows] == lines
    # Two jobs that differ in more than their depth make no line.
    path.write_text(
        "[a]\nrw=randread\nbs=4k\nnumber_ios=300\n[b]\nstonewall\nrw=randread\nbs=8k\nnumber_ios=300\niodepth=4\n"
    )
    assert over_time.over_depth(nandram.run(TINY, path), "") == []


DEPTHS = "[global]\nrw=randread\nbs=4k\nnumber_ios=300\n"


def test_throughput_against_response_time_joins_depths(tmp_path: Path) -> None:
    path = tmp_path / "depths.fio"
    path.write_text(f"{DEPTHS}[a]\niodepth=1\n[b]\nstonewall\niodepth=2\nnumjobs=2\n[c]\nstonewall\niodepth=16\n")
    result = nandram.run(TINY, path, precondition="fill", warm_up="keep")
    (found,) = depth.figures({"A": (result,)}, "")
    assert [row[:2] for row in found.rows] == [
        (f"read: {what}", outstanding) for what in ("median", "99 %") for outstanding in (1, 4, 16)
    ]
    read = result.latency().filter(pl.col("name") == "c")
    assert found.rows[2][3] == pytest.approx(percentile(read, 50.0, "read") / 1000)
    total = sum(job["read"]["iops"] for job in result.summary["jobs"] if job["jobname"] == "b")
    assert found.rows[1][2] == pytest.approx(total)
    assert "Throughput against response time" in {each["title"] for each in Page(run_page(result)).figures}


def test_runs_that_differ_in_their_depth_alone_are_a_line(tmp_path: Path) -> None:
    folders = []
    for outstanding in (1, 2, 4, 8, 16):
        path = tmp_path / f"{outstanding}.fio"
        path.write_text(f"{DEPTHS}[a]\niodepth={outstanding}\n")
        folders.append(nandram.run(TINY, path, precondition="fill").save(tmp_path / f"out-{outstanding}"))
    written = nandram.write_report(*folders, output=tmp_path / "r.html")
    figures = {each["title"]: each for each in Page(written.read_text()).figures}
    assert "Throughput against response time" in figures
    other = tmp_path / "other.fio"
    other.write_text(DEPTHS.replace("4k", "8k") + "[a]\niodepth=2\n")
    runs = {"A": (nandram.read_result(folders[0]),), "B": (nandram.run(TINY, other, precondition="fill"),)}
    assert depth.figures(runs, "") == []


def test_the_heat_map_holds_every_request(result: nandram.Result) -> None:
    maps = heat.figures(result, "")
    assert [each.title for each in maps] == ["Response times over time: reads", "Response times over time: writes"]
    samples = result.throughput()
    for found, direction in zip(maps, ("read", "write"), strict=True):
        counted = samples.filter(pl.col("direction") == direction)
        assert sum(row[4] for row in found.rows) == counted["requests"].sum()  # type: ignore[misc]
        longest = max(row[3] for row in found.rows)  # type: ignore[type-var]
        assert longest >= counted["latency_max_ns"].max() / 1000  # type: ignore[operator]
        assert all(row[2] < row[3] <= 1.26 * row[2] for row in found.rows if row[2] > 0.01)  # type: ignore[operator]
    counts = result.latency_over_time()
    by_interval = counts.group_by("time_s", "direction").agg(pl.col("count").sum())
    requests = samples.group_by("time_s", "direction").agg(pl.col("requests").sum())
    joined = by_interval.join(requests, on=["time_s", "direction"])
    assert joined.height == by_interval.height
    assert (joined["count"] == joined["requests"]).all()


def test_reads_of_an_empty_drive_have_no_heat_map(tmp_path: Path) -> None:
    path = tmp_path / "reads.fio"
    path.write_text(f"{DEPTHS}[a]\n")
    assert heat.figures(nandram.run(TINY, path, precondition="none"), "") == []


def test_small_differences_are_not_magnified() -> None:
    def zero(values: list[float]) -> bool:
        return unmagnified(Axis("y"), values).zero

    assert zero([100.0, 101.0])
    assert not zero([10.0, 101.0])
    assert not zero([-100.0, -101.0])
    assert unmagnified(Axis("y", "log"), [1.0, 1.01]).scale == "log"


@pytest.mark.parametrize(("lowest", "highest"), [(-5, 5), (-117, 178), (-0.5, 95), (-40, 12_000)])
def test_no_change_is_a_tick_of_a_comparison(lowest: float, highest: float) -> None:
    found = comparison.ticks(lowest, highest)
    assert 0 in found
    assert 3 <= len(found) <= comparison.TICKS
    assert lowest <= found[0] < found[-1] <= highest


def test_a_comparison_names_identical_figures(tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text("[reads]\nrw=randread\nbs=4k\nnumber_ios=300\n")
    comparison_page(nandram.compare(TINY, TINY, job, seeds=2), tmp_path / "c.html")
    text = (tmp_path / "c.html").read_text()
    assert "identical" in text
    changes, *curves = Page(text).figures
    assert [-5, 5] in domains(changes["spec"])
    assert curves, "both runs are drawn together"
