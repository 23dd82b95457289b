"""Readers of measurements: fio's JSON and CSV files, and the mistakes in them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nandram.errors import UserError
from nandram.fit import Conditions, Direction, read_measurements
from nandram.fit.split import without as without_points

DRIVES = Path(__file__).parents[2] / "drives"
HEADER = "rw,bs_bytes,iodepth,numjobs,engine,iops,slat_mean_ns,clat_mean_ns,clat_p50_ns,clat_p99_ns\n"
ROW = "randread,4096,{depth},1,spdk,{iops},100,80000,79000,99000\n"
GOOD = HEADER + ROW.format(depth=1, iops=12400) + ROW.format(depth=2, iops=24800)
Output = dict[str, Any]


def output(**changes: Any) -> Output:
    """Return fio's output for one job, with changes of its options."""
    options = {"rw": "randread", "bs": "4k", "iodepth": "4", "direct": "1", "ioengine": "io_uring", **changes}
    times = {"min": 1, "max": 200_000, "mean": 80_000.0}
    side = {
        "total_ios": 1_000_000,
        "iops": 50_000.0,
        "slat_ns": {"mean": 1_000.0},
        "clat_ns": {**times, "percentile": {"50.000000": 78_000, "99.000000": 120_000, "99.990000": 190_000}},
        "lat_ns": {**times, "mean": 81_000.0},
    }
    job = {
        "jobname": "a",
        "groupid": 0,
        "error": 0,
        "job options": options,
        "read": side,
        "write": {"total_ios": 0},
        "usr_cpu": 10.0,
        "sys_cpu": 20.0,
    }
    return {"fio version": "fio-3.36", "global options": {}, "jobs": [job]}


def changed(change: Callable[[Output], None]) -> str:
    """Return the text of an output after a change."""
    found = output()
    change(found)
    return json.dumps(found)


def options(**changes: str) -> str:
    """Return the text of an output whose job has other options."""
    return json.dumps(output(**changes))


def side(**changes: Any) -> str:
    """Return the text of an output whose reads differ."""
    return changed(lambda found: found["jobs"][0]["read"].update(changes))


def without(key: str) -> str:
    """Return the text of an output whose job lacks an option."""
    return changed(lambda found: found["jobs"][0]["job options"].pop(key))


def twice(name: str, group: int) -> str:
    """Return the text of an output with a second entry."""
    return changed(lambda found: found["jobs"].append({**found["jobs"][0], "jobname": name, "groupid": group}))


# File name, content, and the message's parts in order.
MISTAKES: list[tuple[str, str, str]] = [
    ("empty.json", "", "found an empty file, expected the output of fio"),
    ("text.json", "a: (groupid=0, jobs=1): err= 0\n read: IOPS=10\n", "found fio's text output"),
    ("terse.json", "3;fio-3.36;a;0;0;1\n", "found fio's text output"),
    ("notes.json", "no output here\n", "found no JSON"),
    ("cut.json", '{\n"jobs": [\n{"jobname": "a",\n', "cut.json:4: the JSON ends or breaks here"),
    ("twice.json", options() + "\n" + options(), "found more than one JSON object"),
    ("other.json", '{"results": []}', "found JSON without `jobs`"),
    ("client.json", '{"client_stats": []}', "`client_stats` of a client run"),
    ("none.json", '{"jobs": []}', "`jobs` is empty"),
    ("entry.json", '{"jobs": [{}]}', "without `jobname`"),
    ("failed.json", changed(lambda found: found["jobs"][0].update(error=5)), "job `a`: ended with error 5"),
    ("no-rw.json", without("rw"), "lack `rw`"),
    ("mixed.json", options(rw="randrw"), "found rw=randrw, expected randread, read, randwrite or write: mixes"),
    ("trim.json", options(rw="randtrim"), "found rw=randtrim"),
    ("rw.json", options(rw="random"), "found rw=random"),
    ("other-side.json", options(rw="randwrite"), "completed no write"),
    ("no-side.json", changed(lambda found: found["jobs"][0].pop("read")), "has no `read`"),
    ("bs.json", options(bs="four"), "found bs=four"),
    ("two-bs.json", options(bs="4k,8k"), "found bs=4k,8k, expected one block size"),
    ("range.json", options(bsrange="4k-8k"), "found bsrange=4k-8k"),
    ("odd.json", options(bs="1000"), "found a block size of 1000 bytes"),
    ("depth.json", options(iodepth="0"), "found iodepth=0"),
    ("sync.json", options(ioengine="psync"), "outstanding requests, but the job has 1"),
    ("rate.json", options(rate_iops="100"), "found rate_iops=100"),
    ("think.json", options(thinktime="10us"), "found thinktime=10us"),
    ("buffered.json", without("direct"), "lacks direct=1"),
    ("beside.json", twice("b", 0), "jobs `a`, `b` ran at the same time"),
    ("clones.json", twice("a", 0), "has 2 entries but numjobs=1"),
    ("zero.json", side(iops=0.0), "found 0 IOPS"),
    ("mean-type.json", side(lat_ns={"mean": [1]}), "jobs[0].read.lat_ns.mean: found [1], expected a number"),
    ("times-type.json", side(clat_ns=5), "jobs[0].read.clat_ns: found 5, expected an object"),
    ("percent.json", side(clat_ns={"percentile": {"x": 1}}), "percentile: found `x`, expected a percent"),
    ("no-iops.json", changed(lambda found: found["jobs"][0]["read"].pop("iops")), "has no `iops` of its reads"),
    ("option-type.json", options(rw=3), "jobs[0].job options.rw: found 3, expected a text"),  # type: ignore[arg-type]
    ("slat.json", side(slat_ns={"mean": 3e15}), "found a mean slat"),
    (
        "fio-2.json",
        changed(lambda found: found["jobs"][0]["read"].update(clat=found["jobs"][0]["read"].pop("clat_ns"))),
        "found `clat` in microseconds of fio 2",
    ),
    (
        "falling.json",
        side(clat_ns={"mean": 8e4, "percentile": {"50.000000": 9e4, "99.000000": 8e4}}),
        "percentile 99 (81,000 ns) is below percentile 50 (91,000 ns)",
    ),
    ("units.json", side(lat_ns={"mean": 80.0}, slat_ns={"mean": 0.0}), "outstanding requests, but the job has 4"),
    ("depth-of-another.json", options(iodepth="1"), "outstanding requests, but the job has 1"),
    ("one.json", options(), "found 1 point, expected at least 2"),
    ("bytes.json", "\udcff", "not UTF-8"),
    ("empty.csv", "", "found no header"),
    ("header.csv", HEADER, "found no rows"),
    (
        "column.csv",
        GOOD.replace("iodepth", "iodpeth"),
        "lacks column `iodepth`, expected rw, bs_bytes, iodepth, iops; the nearest is `iodpeth`",
    ),
    ("lacks.csv", GOOD.replace(",iops", ",ios"), "lacks column `iops`"),
    ("double.csv", GOOD.replace("engine", "numjobs"), "column `numjobs` appears twice"),
    ("unit.csv", GOOD.replace("clat_p50_ns", "clat_p50"), "column `clat_p50` has no unit"),
    ("two-units.csv", GOOD.replace("clat_p99_ns", "clat_p50_us"), "`clat_p50` has two units, ns and us"),
    ("kinds.csv", GOOD.replace("clat_p99_ns", "lat_p99_ns"), "percentiles of clat and of lat"),
    ("writers.csv", GOOD.replace("engine", "writers"), "found column `writers`"),
    ("short.csv", GOOD + "randread,4096\n", "short.csv:4: found 2 values, expected 10"),
    ("word.csv", GOOD.replace("12400", "fast"), "word.csv:2: iops: found `fast`"),
    ("negative.csv", GOOD.replace("12400", "-1"), "iops: found `-1`"),
    ("count.csv", GOOD.replace("randread,4096,1,", "randread,4096,1.5,"), "iodepth: found `1.5`"),
    ("pattern.csv", GOOD.replace("randread,4096,1,", "randraed,4096,1,"), "the nearest is `randread`"),
    ("microseconds.csv", GOOD.replace("_ns", "_us"), "outstanding requests, but the job has 1"),
    ("contradiction.csv", GOOD + ROW.format(depth=2, iops=12300), "but"),
]


@pytest.mark.parametrize(("name", "content", "expected"), MISTAKES, ids=[each[0] for each in MISTAKES])
def test_each_mistake_has_a_message_of_one_line(tmp_path: Path, name: str, content: str, expected: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(UserError) as error:
        read_measurements([path])
    message = str(error.value)
    assert expected in message
    assert message.startswith(str(path))
    assert "\n" not in message


def test_missing_files_and_empty_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file"):
        read_measurements([tmp_path / "absent.json"])
    with pytest.raises(UserError, match=r"without \.json and \.csv files"):
        read_measurements([tmp_path])


def test_a_point_has_global_and_job_options_and_response_times(tmp_path: Path) -> None:
    found = output(numjobs="2", group_reporting="1")
    found["global options"] = {"bs": "16k", "iodepth": "2"}
    del found["jobs"][0]["job options"]["bs"]
    text = "fio: this is not JSON\n{braces} neither\n".replace("{", "(") + json.dumps(found)
    (tmp_path / "a.json").write_text(text)
    (tmp_path / "b.csv").write_text(GOOD)
    measured = read_measurements([tmp_path])
    point = measured.points[0]
    assert point.conditions == Conditions(Direction.READ, True, 16384, 4, 2, "io_uring")
    assert point.percentile(50.0) == 79_000
    assert point.percentile(99.99) == 191_000
    assert point.mean_ns == 81_000
    assert point.cpu == pytest.approx(0.3)
    assert len(measured.points) == 3


def test_one_entry_of_several_clones_is_their_group(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(options(numjobs="2", iodepth="2"))
    (tmp_path / "b.csv").write_text(GOOD)
    conditions = read_measurements([tmp_path]).points[0].conditions
    assert (conditions.jobs, conditions.depth, conditions.outstanding) == (2, 2, 4)


def test_a_synchronous_engine_has_one_request_in_flight(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(output(ioengine="psync", iodepth="8", numjobs="4")))
    (tmp_path / "b.csv").write_text(GOOD)
    measured = read_measurements([tmp_path])
    assert measured.points[0].conditions == Conditions(Direction.READ, True, 4096, 1, 4, "psync")
    assert "iodepth=8 is read as 1: ioengine=psync has one request in flight" in measured.remarks[0]


def test_jobs_that_are_not_fitted_are_left_out_beside_others(tmp_path: Path) -> None:
    found = output()
    for group, rw in enumerate(("randtrim", "randrw"), 1):
        found["jobs"].append({**output(rw=rw)["jobs"][0], "jobname": rw, "groupid": group})
    (tmp_path / "a.json").write_text(json.dumps(found))
    (tmp_path / "b.csv").write_text(GOOD)
    measured = read_measurements([tmp_path])
    assert len(measured.points) == 3
    assert [remark.partition(": found ")[2].partition(",")[0] for remark in measured.remarks] == [
        "rw=randtrim",
        "rw=randrw",
    ]
    assert without_points(measured, ["rw=randtrim"]).points == measured.points
    with pytest.raises(UserError, match="rw=randwrite holds no point"):
        without_points(measured, ["rw=randwrite"])


def test_any_list_of_percentiles_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(side(clat_ns={"mean": 8e4, "percentile": {"95.000000": 9e4, "99.900000": 1e5}}))
    (tmp_path / "b.csv").write_text(GOOD)
    measured = read_measurements([tmp_path])
    assert measured.points[0].percentiles == ((95.0, 91_000.0), (99.9, 101_000.0))
    assert "percentile_list lacks 50 and 99" in measured.remarks[0]


def test_columns_that_are_not_read_are_named(tmp_path: Path) -> None:
    head, *rows = GOOD.splitlines()
    (tmp_path / "a.csv").write_text("\n".join([f"{head},host", *(f"{row},here" for row in rows)]) + "\n")
    measured = read_measurements([tmp_path / "a.csv"])
    (tmp_path / "b.csv").write_text(GOOD)
    assert measured.hash == read_measurements([tmp_path / "b.csv"]).hash
    assert measured.remarks == (f"{tmp_path / 'a.csv'}:1: column `host` is not read",)


def test_a_column_that_is_nearly_a_known_one_is_named_with_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(GOOD.replace("numjobs", "numjob"))
    assert read_measurements([tmp_path / "a.csv"]).remarks[0].endswith("is not read; the nearest is `numjobs`")


def test_a_point_may_lack_a_percentile(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(GOOD.replace("99000", "", 1))
    measured = read_measurements([tmp_path / "a.csv"])
    assert [point.percentile(99.0) for point in measured.points] == [None, 99_100]
    assert "1 of 2 points lack percentile 99, of which they have no error" in measured.remarks[0]


def test_rates_alone_are_points(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("rw,bs_bytes,iodepth,iops\nrandread,4096,1,12400\nrandread,4096,2,24800\n")
    measured = read_measurements([tmp_path / "a.csv"])
    assert [(point.mean_ns, point.percentiles) for point in measured.points] == [(None, ())] * 2
    assert "only rates are used" in measured.remarks[0]


@pytest.mark.parametrize("slat", ["99000", "3000000000"])
def test_slat_beyond_the_response_is_ignored(tmp_path: Path, slat: str) -> None:
    (tmp_path / "a.csv").write_text(GOOD.replace(",100,80000", f",{slat},80000").replace("spdk", "io_uring"))
    measured = read_measurements([tmp_path / "a.csv"])
    assert [point.mean_ns for point in measured.points] == [80_000, 80_000]
    assert "slat of io_uring is ignored" in measured.remarks[0]


def test_slat_within_the_response_counts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(GOOD.replace(",100,80000", ",9000,72000"))
    assert read_measurements([tmp_path / "a.csv"]).points[0].mean_ns == 81_000


def test_slat_under_sqthread_poll_is_ignored(tmp_path: Path) -> None:
    found = output(sqthread_poll="1")
    found["jobs"][0]["read"]["slat_ns"]["mean"] = 3e15
    found["jobs"][0]["read"]["lat_ns"]["mean"] = 3e15
    (tmp_path / "a.json").write_text(json.dumps(found))
    (tmp_path / "b.csv").write_text(GOOD)
    measured = read_measurements([tmp_path])
    assert measured.points[0].mean_ns == 80_000
    assert measured.points[0].percentile(50.0) == 78_000
    assert "slat is ignored" in measured.remarks[0]


def test_clones_without_group_reporting_are_one_point(tmp_path: Path) -> None:
    found = output(numjobs="2")
    found["jobs"].append(json.loads(json.dumps(found["jobs"][0])))
    found["jobs"][1]["read"]["clat_ns"]["percentile"]["99.000000"] = 140_000
    (tmp_path / "a.json").write_text(json.dumps(found))
    (tmp_path / "b.csv").write_text(GOOD)
    point = read_measurements([tmp_path]).points[0]
    assert point.iops == 100_000
    assert point.percentile(99.0) == 131_000


def test_percentiles_beyond_the_last_requests_are_left_out(tmp_path: Path) -> None:
    found = output()
    found["jobs"][0]["read"]["total_ios"] = 5_000
    (tmp_path / "a.json").write_text(json.dumps(found))
    (tmp_path / "b.csv").write_text(GOOD)
    assert [percent for percent, _ in read_measurements([tmp_path]).points[0].percentiles] == [50.0, 99.0]


def test_fio_output_and_the_table_of_the_same_runs_agree() -> None:
    for drive, table in (("zn540", "zn540-random-read.csv"), ("980pro", "980pro-random-read-4k.csv")):
        from_table = {point.conditions: point for point in read_measurements([DRIVES / table]).points}
        from_fio = read_measurements(sorted((DRIVES / "fio").glob(f"{drive}*.json"))).points
        assert len(from_fio) >= 2
        for point in from_fio:
            other = from_table[point.conditions]
            assert point.iops == pytest.approx(other.iops, rel=1e-5)
            assert point.mean_ns == pytest.approx(other.mean_ns, rel=1e-4)
            for percent in (50.0, 99.0):
                assert point.percentile(percent) == pytest.approx(other.percentile(percent), rel=1e-4)


def test_the_hash_depends_on_the_points_alone(tmp_path: Path) -> None:
    lines = GOOD.splitlines()
    (tmp_path / "a.csv").write_text(GOOD)
    (tmp_path / "b.csv").write_text("# a comment\n" + "\n".join([lines[0], lines[2], lines[1]]) + "\n")
    (tmp_path / "c.csv").write_text(GOOD.replace("12400", "12401"))
    # The processor's time changes a fit, too.
    (tmp_path / "d.csv").write_text("\n".join([f"{lines[0]},cpu_usr_pct", f"{lines[1]},20", f"{lines[2]},20"]) + "\n")
    hashes = [read_measurements([tmp_path / name]).hash for name in ("a.csv", "b.csv", "c.csv", "d.csv")]
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


def test_repeated_points_show_the_noise(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(GOOD + ROW.format(depth=2, iops=24800 * 1.05))
    measured = read_measurements([tmp_path / "a.csv"])
    assert measured.repeated_noise() == pytest.approx(0.05)
