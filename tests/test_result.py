"""A result in Python."""

import json
import math
import re
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pyarrow.parquet as pq
import pytest
from syrupy.assertion import SnapshotAssertion

import nandram
from fake_core import FakeCore
from nandram import plots


@pytest.fixture
def result(core: FakeCore) -> nandram.Result:
    return nandram.run("client", "job.fio")


def test_numbers(result: nandram.Result) -> None:
    # 10,000 reads in 0.1 s, then 5,000 writes in 0.1 s.
    assert result.runtime_s == pytest.approx(0.2)
    assert result.iops == pytest.approx(75_000)
    assert result.bandwidth_bytes_s == pytest.approx((10_000 * 4096 + 5_000 * 8192) / 0.2)
    assert result.latency_mean_ns == pytest.approx((10_000 * 160_900 + 5_000 * 40_900) / 15_000)
    assert result.write_amplification == 2.5
    assert result.energy_j == 0.0032
    assert result.warm_up_s == 0.01
    assert [(each.job, each.direction, each.requests) for each in result.traffic] == [
        ("reader", "read", 10_000),
        ("writer", "write", 5_000),
        ("writer", "sync", 500),
    ]
    assert result.traffic[0].percentiles_ns[99.0] == 320_000


def test_notes(result: nandram.Result) -> None:
    assert result.notes == [
        "200 ms simulated",
        "drive prepared: steady, write amplification 2.400",
        "warm-up: the first 10.0 ms are cut off (MSER-5)",
        "write amplification: 2.500, 24 erases",
        "map: 95.8 % hits, 424 extra reads",
        "energy of the flash: 0.0032 J",
        "the trace has no times of its own",
    ]


def test_notes_of_what_is_seldom(result: nandram.Result) -> None:
    result.inside["preparation"] |= {"approximate": True}
    result.inside["ftl"] |= {"failures": 2, "lost_units": 1, "read_only": True, "host_units": 0, "map_reads": 0}
    result.summary["nandram"] |= {
        "payload": {"sectors_checked": 8000, "sectors_contended": 0},
        "timeline_spans_left_out": 5,
    }
    assert result.notes == [
        "200 ms simulated",
        "drive prepared: steady, write amplification 2.400 "
        "(that of greedy collection: theory does not cover this policy)",
        "warm-up: the first 10.0 ms are cut off (MSER-5)",
        "flash: 2 failures, 1 unit lost",
        "the drive ended read-only: too few good blocks were left",
        "energy of the flash: 0.0032 J",
        "payload: 8,000 sectors read back as written",
        "timeline: 5 spans beyond its limit are left out",
        "the trace has no times of its own",
    ]
    assert math.isnan(result.write_amplification)


def test_percentiles_over_all_jobs(result: nandram.Result) -> None:
    # Writes: 2,500 up to 30 us, 2,500 up to 60 us; reads: 5,000 up to 100 us, 4,900 up to 200 us, 100 up to 400 us.
    assert result.latency_percentile_ns(0) == 30_000
    assert result.latency_percentile_ns(50) == 100_000
    assert result.latency_percentile_ns(99) == 200_000
    assert result.latency_percentile_ns(100) == 400_000
    assert result.latency_percentile_ns(50, "write") == 30_000
    assert result.latency_percentile_ns(50, "sync") == 900_000
    assert math.isnan(result.latency_percentile_ns(50, "trim"))


def test_frames(result: nandram.Result) -> None:
    assert result.latency().columns == ["job", "name", "direction", "latency_ns", "count"]
    assert result.latency()["direction"].unique().sort().to_list() == ["read", "sync", "write"]
    assert result.throughput().filter(pl.col("name") == "writer")["bytes"].sum() == 10 * 4_096_000
    assert result.dies().height == 8
    assert list(result.dies().to_pandas().columns) == result.dies().columns


def test_repr(result: nandram.Result, snapshot: SnapshotAssertion) -> None:
    assert repr(result) == snapshot
    assert result._repr_html_() == snapshot


def test_written_and_read_again(result: nandram.Result, tmp_path: Path) -> None:
    result.save(tmp_path)
    again = nandram.read(tmp_path)
    assert again.summary == result.summary
    assert again.manifest == result.manifest
    assert again.output == tmp_path
    for name, table in result.tables.items():
        assert again.tables[name].equals(table)
    assert again.iops == result.iops


def test_the_same_result_gives_the_same_files(result: nandram.Result, tmp_path: Path) -> None:
    one, other = result.save(tmp_path / "one"), result.save(tmp_path / "other")
    for path in one.iterdir():
        assert path.read_bytes() == (other / path.name).read_bytes(), path.name


def test_parquet_fields_have_units(result: nandram.Result, tmp_path: Path) -> None:
    result.save(tmp_path)
    units = {
        field.name: (field.metadata or {}).get(b"unit")
        for name in ("samples", "latency", "dies")
        for field in pq.read_schema(tmp_path / f"{name}.parquet")
    }
    assert units["time_s"] == b"s"
    assert units["bytes"] == b"B"
    assert units["latency_ns"] == b"ns"
    assert units["read_busy"] == b"fraction of the run"
    assert units["count"] is None


def test_a_report_needs_no_network(result: nandram.Result, tmp_path: Path) -> None:
    page = (result.save(tmp_path) / "report.html").read_text()
    assert page.count("<svg") == 3
    assert not re.search(r"(src|href)=\"?http", page)
    assert "<script" not in page
    assert "100,000" in page
    assert "warm-up" in page


@pytest.mark.parametrize("name", ["plot_latency_cdf", "plot_throughput", "plot_dies"])
def test_plots_are_saved(result: nandram.Result, tmp_path: Path, name: str) -> None:
    chart = getattr(result, name)()
    assert isinstance(chart, alt.Chart | alt.LayerChart)
    for end, begin in (("png", b"\x89PNG"), ("svg", b"<svg"), ("html", b"<!DOCTYPE html>")):
        path = tmp_path / f"{name}.{end}"
        plots.save(chart, path)
        content = path.read_bytes()
        assert content.startswith(begin)
        assert len(content) > 2000
    assert b"cdn.jsdelivr" not in (tmp_path / f"{name}.html").read_bytes()


def values(chart: alt.Chart) -> list[dict[str, Any]]:
    """The points of a chart."""
    ((_, points),) = json.loads(chart.to_json())["datasets"].items()
    assert isinstance(points, list)
    return points


def test_a_plot_of_a_wide_distribution_stays_small(result: nandram.Result) -> None:
    count = 50_000
    result.tables["latency"] = pl.DataFrame(
        {
            "job": [0] * count,
            "name": ["reader"] * count,
            "direction": ["read"] * count,
            "latency_ns": range(1, count + 1),
            "count": [1] * count,
        }
    )
    points = values(result.plot_latency_cdf())
    assert len(points) <= 2 * plots.POINTS_MAX
    assert points[-1] == {"name": "reader", "direction": "read", "latency_us": count / 1000, "fraction": 1.0}
    assert all(abs(point["fraction"] - point["latency_us"] * 1000 / count) < 1e-9 for point in points)


def test_throughput_is_plotted_in_mb_a_second(result: nandram.Result) -> None:
    chart = json.loads(result.plot_throughput().to_json())
    shade, lines = (chart["datasets"][layer["data"]["name"]] for layer in chart["layer"])
    assert shade == [{"from": 0.0, "to": 0.01}]
    assert {(point["name"], point["direction"], round(point["rate"], 6)) for point in lines} == {
        ("reader", "read", 409.6),
        ("writer", "write", 409.6),
    }


def test_latency_points_end_at_one(result: nandram.Result) -> None:
    data = values(result.plot_latency_cdf())
    last = {(point["name"], point["direction"]): point["fraction"] for point in data}
    assert set(last.values()) == {1.0}


def test_a_folder_without_a_result(tmp_path: Path) -> None:
    with pytest.raises(nandram.UserError, match=r"holds no result: there is no summary\.json in it"):
        nandram.read(tmp_path)


def test_a_folder_with_half_a_result(result: nandram.Result, tmp_path: Path) -> None:
    result.save(tmp_path)
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(nandram.UserError, match=r"the result is not whole: .*manifest\.json is missing"):
        nandram.read(tmp_path)


def test_progress_can_stop_a_run(core: FakeCore) -> None:
    with pytest.raises(KeyboardInterrupt):
        nandram.run("client", "job.fio", progress=lambda _fraction, _seconds, _done: False)
