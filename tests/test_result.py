"""A result in Python."""

import json
import math
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pyarrow.parquet as pq
import pytest
from syrupy.assertion import SnapshotAssertion

import nandram
from conftest import DATA, TINY, TWO_JOBS
from nandram.results import plots
from report.pages import Page


def test_numbers(result: nandram.Result) -> None:
    assert [(each.job, each.group, each.direction, each.requests, each.bytes) for each in result.traffic] == [
        ("reader", 0, "read", 3_000, 3_000 * 4096),
        ("writer", 1, "write", 2_000, 2_000 * 8192),
        ("writer", 1, "sync", 199, 0),
    ]
    reader, writer, _ = result.traffic
    # The jobs run sequentially, so their times add up.
    assert result.runtime_s == pytest.approx(3_000 / reader.iops + 2_000 / writer.iops)
    assert result.iops == pytest.approx(5_000 / result.runtime_s)
    assert result.bandwidth_bytes_s == pytest.approx((3_000 * 4096 + 2_000 * 8192) / result.runtime_s)
    mean = (3_000 * reader.latency_mean_ns + 2_000 * writer.latency_mean_ns) / 5_000
    assert result.latency_mean_ns == pytest.approx(mean)
    assert result.write_amplification == result.summary["nandram"]["ftl"]["write_amplification"] > 1
    assert result.energy_j > 0
    assert result.warm_up_s == 0
    # Eight reads outstanding, and the response time from when each was due (Little's law).
    assert reader.iops * reader.latency_mean_ns * 1e-9 == pytest.approx(8, rel=0.01)


def test_percentiles_are_of_the_time_whose_mean_is_shown(result: nandram.Result) -> None:
    for each in result.traffic:
        assert each.percentiles_ns[1.0] <= each.latency_mean_ns <= each.percentiles_ns[99.99] <= each.latency_max_ns


def test_notes(result: nandram.Result, snapshot: SnapshotAssertion) -> None:
    assert result.notes == snapshot


def test_notes_of_what_is_seldom(result: nandram.Result) -> None:
    result.inside["preparation"] |= {"approximate": True, "write_amplification": 2.4}
    result.inside["warm_up"] |= {"cut_s": 0.01, "rule": "MSER-5"}
    result.inside["whole_run"]["ftl"] |= {"failures": 2, "lost_units": 1}
    result.inside["ftl"] |= {
        "read_only": True,
        "host_units": 0,
        "map_hits": 9_576,
        "map_misses": 424,
        "map_reads": 424,
    }
    result.inside["energy_j"]["total"] = 0.0032
    result.inside["simulated_s"] = 0.2
    result.summary["nandram"] |= {
        "payload": {"sectors_checked": 8000, "sectors_contended": 0},
        "timeline_spans_left_out": 5,
        "notes": [{"kind": "remark", "text": "a trace without times", "withholds": [], "qualifies": []}],
    }
    result.__dict__.pop("validity", None)
    assert result.notes == [
        "a trace without times",
        "200 ms simulated",
        "drive prepared: steady, write amplification 2.400 "
        "(of greedy collection; the theory does not cover this policy)",
        "warm-up: the first 10.0 ms are excluded (MSER-5)",
        "map: 95.8 % hits, 424 extra reads",
        "flash: 2 failures, 1 unit lost",
        "flash energy: 0.0032 J",
        "payload: 8,000 sectors read back as written",
        "timeline: 5 spans beyond the size limit were left out",
    ]
    assert math.isnan(result.write_amplification)


def test_percentiles_over_all_jobs(result: nandram.Result) -> None:
    rows = [("reader", "read", 100, 5_000), ("reader", "read", 200, 4_900), ("reader", "read", 400, 100)]
    rows += [("writer", "write", 30, 2_500), ("writer", "write", 60, 2_500), ("writer", "sync", 900, 500)]
    names = ["name", "direction", "latency_us", "count"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    result.tables = {**result.tables, "latency": table.with_columns(latency_ns=pl.col("latency_us") * 1000)}
    assert result.latency_percentile_ns(0) == 30_000
    assert result.latency_percentile_ns(50) == 100_000
    assert result.latency_percentile_ns(99) == 200_000
    assert result.latency_percentile_ns(100) == 400_000
    assert result.latency_percentile_ns(50, "write") == 30_000
    assert result.latency_percentile_ns(50, "sync") == 900_000
    assert math.isnan(result.latency_percentile_ns(50, "trim"))


def test_the_histogram_is_that_of_the_summary(result: nandram.Result) -> None:
    for each in result.traffic:
        rows = result.latency().filter(pl.col("name") == each.job, pl.col("direction") == each.direction)
        assert rows["count"].sum() == each.requests
        edges = rows["latency_ns"]
        assert edges.is_sorted()
        mean = (edges * rows["count"]).sum() / each.requests
        assert mean == pytest.approx(each.latency_mean_ns, rel=0.01)


def test_the_windows_add_up(result: nandram.Result) -> None:
    for each in result.traffic:
        rows = result.throughput().filter(pl.col("name") == each.job, pl.col("direction") == each.direction)
        assert rows["requests"].sum() == each.requests
        assert rows["bytes"].sum() == each.bytes
        assert rows["time_s"].is_sorted()


def test_dies_are_not_busier_than_the_time_there_is(result: nandram.Result) -> None:
    dies = result.dies()
    assert dies["die"].to_list() == [0, 1, 2, 3]
    assert sorted(dies["channel"].to_list()) == [0, 0, 1, 1]
    busy = dies.select(pl.sum_horizontal("read_busy", "program_busy", "erase_busy"))
    assert 0 < busy.min().item() <= busy.max().item() <= 1


def test_frames(result: nandram.Result) -> None:
    assert result.latency().columns == ["job", "name", "direction", "latency_ns", "count"]
    assert result.latency()["direction"].unique().sort().to_list() == ["read", "sync", "write"]
    assert result.throughput().columns[:6] == ["time_s", "span_s", "job", "name", "direction", "requests"]
    assert list(result.dies().to_pandas().columns) == result.dies().columns


def test_repr(result: nandram.Result, snapshot: SnapshotAssertion) -> None:
    # The path of the checkout is not part of the result.
    assert repr(result).replace(f"{DATA}/", "") == snapshot
    assert result._repr_html_().replace(f"{DATA}/", "") == snapshot


def test_written_and_read_again(result: nandram.Result, tmp_path: Path) -> None:
    result.save(tmp_path)
    again = nandram.read_result(tmp_path)
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
        for name in ("samples", "drive", "latency", "dies")
        for field in pq.read_schema(tmp_path / f"{name}.parquet")
    }
    assert units["time_s"] == b"s"
    assert units["bytes"] == b"B"
    assert units["latency_ns"] == b"ns"
    assert units["read_busy"] == b"fraction of the time"
    assert units["count"] is None


def test_parquet_tables_have_the_values_and_the_plainest_types_of_their_frames(
    result: nandram.Result, tmp_path: Path
) -> None:
    result.save(tmp_path)
    assert {path.stem for path in tmp_path.glob("*.parquet")} == {*result.tables}
    for name, frame in result.tables.items():
        written = pq.read_table(tmp_path / f"{name}.parquet")
        assert written.num_rows == frame.height > 0
        # Equal schemas and values; `equals` disregards metadata.
        assert written.equals(frame.to_arrow(compat_level=pl.CompatLevel.oldest())), name
        assert written.schema.metadata is None
        assert all(set(field.metadata or {}) <= {b"unit"} for field in written.schema), name
        assert pl.read_parquet(tmp_path / f"{name}.parquet").equals(frame)


def test_a_report_needs_no_network(result: nandram.Result, tmp_path: Path) -> None:
    text = (result.save(tmp_path) / "report.html").read_text()
    page = Page(text)
    assert page.asked == []
    assert len(page.figures) == 17
    assert "3,000" in text
    assert "flash energy" in text


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
    """Return the points of a chart."""
    ((_, points),) = json.loads(chart.to_json())["datasets"].items()
    assert isinstance(points, list)
    return points


def test_a_plot_of_a_wide_distribution_stays_small(result: nandram.Result) -> None:
    count = 50_000
    result.tables = {
        **result.tables,
        "latency": pl.DataFrame(
            {
                "job": [0] * count,
                "name": ["reader"] * count,
                "direction": ["read"] * count,
                "latency_ns": range(1, count + 1),
                "count": [1] * count,
            }
        ),
    }
    points = values(result.plot_latency_cdf())
    assert len(points) <= 2 * plots.POINTS_MAX
    assert points.pop(0)["fraction"] == 0
    last = {"job": 0, "name": "reader", "direction": "read", "latency_us": count / 1000, "fraction": 1.0}
    assert points[-1] == last
    assert all(abs(point["fraction"] - point["latency_us"] * 1000 / count) < 1e-9 for point in points)


def test_throughput_is_plotted_in_mb_a_second(result: nandram.Result) -> None:
    result.inside["warm_up"]["cut_s"] = 0.01
    chart = json.loads(result.plot_throughput().to_json())
    shade, lines = (chart["datasets"][layer["data"]["name"]] for layer in chart["layer"])
    assert shade == [{"from": 0.0, "to": 0.01}]
    assert {(point["name"], point["direction"]) for point in lines} == {("reader", "read"), ("writer", "write")}
    written = result.throughput().filter(pl.col("direction") == "write")
    rates = [point["rate"] for point in lines if point["direction"] == "write"]
    assert max(rates) == pytest.approx((written["bytes"] / written["span_s"] / 1e6).max())


def test_latency_points_end_at_one(result: nandram.Result) -> None:
    data = values(result.plot_latency_cdf())
    last = {(point["name"], point["direction"]): point["fraction"] for point in data}
    assert set(last.values()) == {1.0}


def test_a_folder_without_a_result(tmp_path: Path) -> None:
    with pytest.raises(nandram.UserError, match=r"holds no result: there is no summary\.json in it"):
        nandram.read_result(tmp_path)


def test_a_folder_with_half_a_result(result: nandram.Result, tmp_path: Path) -> None:
    result.save(tmp_path)
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(nandram.UserError, match=r"the result is incomplete: .*manifest\.json is missing"):
        nandram.read_result(tmp_path)


def test_progress_can_stop_a_run() -> None:
    with pytest.raises(KeyboardInterrupt):
        nandram.run(TINY, TWO_JOBS, progress=lambda _fraction, _seconds, _done: False)


def test_what_progress_raises_ends_the_run() -> None:
    def fail(_fraction: float, _seconds: float, _done: int) -> bool:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        nandram.run(TINY, TWO_JOBS, progress=fail)


def test_progress_is_told(tmp_path: Path) -> None:
    job = tmp_path / "long.fio"
    job.write_text("[long]\nrw=randread\niodepth=32\nnorandommap\nruntime=20s\ntime_based\n")
    told: list[tuple[float, float, int]] = []

    def progress(fraction: float, seconds: float, done: int) -> bool:
        told.append((fraction, seconds, done))
        return True

    nandram.run(TINY, job, progress=progress)
    assert told[0][0] < 0.1
    assert told == sorted(told)
    assert len(told) > 2
    assert all(0 <= fraction <= 1 for fraction, _, _ in told)


def test_each_clone_of_a_job_has_a_line_of_its_own(result: nandram.Result) -> None:
    result.tables = {
        **result.tables,
        "latency": pl.DataFrame(
            {
                "job": [0, 0, 1, 1],
                "name": ["reader"] * 4,
                "direction": ["read"] * 4,
                "latency_ns": [1000, 3000, 2000, 4000],
                "count": [1] * 4,
            }
        ),
    }
    chart = result.plot_latency_cdf()
    assert chart.to_dict()["encoding"]["detail"]["field"] == "job"
    for job in (0, 1):
        fractions = [point["fraction"] for point in values(chart) if point["job"] == job]
        assert fractions == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"seed": "1"}, "seed: found '1', expected a whole number from 0 to"),
        ({"seed": 1.5}, "seed: found 1.5, expected a whole number from 0 to"),
        ({"seed": True}, "seed: found True, expected a whole number from 0 to"),
        ({"payload": None}, "payload: found None, expected a text"),
        ({"replay": 3}, "replay: found 3, expected a text"),
        ({"warm_up": 0.05}, "warm_up: found 0.05, expected a text"),
        ({"precondition": True}, "precondition: found True, expected a text"),
        ({"set": ["flash.read=80us"]}, "set: found a list, expected a dict such as"),
    ],
)
def test_a_wrong_type_from_python_is_told(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(nandram.UserError) as mistake:
        nandram.run(TINY, TWO_JOBS, **arguments)
    assert str(mistake.value).startswith(told)


def test_a_percentile_beyond_all(result: nandram.Result) -> None:
    with pytest.raises(nandram.UserError, match="percent: found 101, expected a number from 0 to 100"):
        result.latency_percentile_ns(101)
