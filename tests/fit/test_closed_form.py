"""The start in closed form, on measured drives and on queues with known answers."""

from dataclasses import replace
from pathlib import Path

import pytest

from nandram.fit import read_measurements
from nandram.fit.closed_form.queues import Station, response_ns, servers_for
from nandram.fit.measurements.points import Conditions, Direction, Point
from nandram.fit.model import kept_capacity
from nandram.fit.parameters import Space
from nandram.fit.run import closed_form, run_fit
from nandram.system import load_system

DRIVES = Path(__file__).parents[2] / "drives"
ZN540 = DRIVES / "start" / "wd-zn540.toml"
SIZES = DRIVES / "start" / "samsung-980-pro-1tb-sizes.toml"
WRITER = DRIVES / "start" / "nvme-a.toml"
SAMSUNG = DRIVES / "start" / "samsung-980-pro-1tb.toml"


def test_a_lone_request_never_waits() -> None:
    assert response_ns(70_000, [Station(32, 60_000), Station(8, 10_000)], 1) == pytest.approx(70_000)


def test_a_saturated_loop_is_as_fast_as_its_slowest_station() -> None:
    # 200 requests over a single server of 10 us: each waits for all others.
    assert response_ns(10_000, [Station(1, 10_000)], 200) == pytest.approx(200 * 10_000, rel=0.02)


def test_the_number_of_servers_is_found_again() -> None:
    channel = Station(8, 9_000)
    for dies in (16, 32, 64):
        mean = response_ns(70_000, [channel, Station(dies, 60_000)], 16)
        assert servers_for(70_000, 60_000, [channel], 16, mean) == pytest.approx(dies, rel=0.01)
    assert servers_for(70_000, 60_000, [channel], 16, 60_000) == float("inf")


def test_the_curves_of_the_zn540_show_its_parameters() -> None:
    points = read_measurements([DRIVES / "zn540-random-read.csv"]).points
    start = closed_form(Space(load_system(ZN540), reads=True, writes=False, engines=["spdk"]), points)
    # 16 KiB end at 160,434 reads a second; page types at depth 1 are 2.0 and 11.3 us apart.
    assert start.values["device.staging.read"] == pytest.approx(160_434 * 16_384, rel=1e-3)
    types = [start.values[f"flash.read[{i}]"] for i in range(3)]
    assert types[1] - types[0] == pytest.approx(2_048, abs=2)
    assert types[2] - types[1] == pytest.approx(11_264, abs=2)
    assert 150 < start.values["device.max_commands"] < 200
    assert {each["flash.cache_read"] for each in start.structures} == {False}
    dies = {int(str(each["flash.channels"])) * int(str(each["flash.chips"])) for each in start.structures}
    assert {24, 32} <= dies
    assert all(sentence[0].islower() or sentence[0].isdigit() for sentence in start.sentences.values())


def test_reads_of_one_unit_with_more_bandwidth_than_the_path_pass_it_by() -> None:
    by = "device.staging.single_units"
    points = read_measurements([DRIVES / "zn540-random-read.csv"]).points

    def start(passes: str, faster: float) -> tuple[set[object], bool]:
        system = load_system(ZN540).with_({by: passes})
        chosen = [
            replace(each, iops=faster * each.iops) if each.conditions.size_bytes == 4096 else each for each in points
        ]
        found = closed_form(Space(system, reads=True, writes=False, engines=["spdk"]), chosen)
        return {each.get(by) for each in found.structures}, by in found.sentences

    assert start("true", 1.7) == ({False}, True)
    assert start("false", 1.7) == ({None}, False), "the file says so"
    assert start("true", 1.0) == ({None}, False), "the data do not show it"


def test_a_core_that_is_busy_at_depth_1_polls_and_limits_nothing() -> None:
    def start(cpu: float | None, busy_at_1: float | None) -> dict[str, float]:
        points = [
            replace(
                each,
                conditions=replace(each.conditions, engine="io_uring"),
                cpu=busy_at_1 if each.conditions.outstanding == 1 else cpu,
            )
            for each in read_measurements([DRIVES / "zn540-random-read.csv"]).points
        ]
        space = Space(load_system(SAMSUNG), reads=True, writes=False, engines=["io_uring"])
        return closed_form(space, points).values

    # A busy core at high depths alone is the limit.
    assert start(1.0, 1.0) == start(None, None) != start(1.0, 0.4)


def test_plateaus_of_writes_in_bursts_show_programs_and_depth_1_the_staging_path() -> None:
    points = read_measurements([DRIVES / "nvme-a-write.csv"]).points
    start = closed_form(Space(load_system(WRITER), reads=False, writes=True, engines=["spdk"]), points)
    # 128 KiB end at 9,496 writes a second; 64 dies of two planes program 2 MiB at once.
    types = [start.values[f"flash.program[{i}]"] for i in range(3)]
    assert sum(types) / 3 == pytest.approx(1e9 * 2**21 / (9_496 * 2**17), rel=1e-3)
    assert types[2] / types[0] == pytest.approx(2.3 / 1.1)
    # With the mean slat, medians at depth 1 are 42.9 us for 64 KiB and 75.5 us for 128 KiB.
    assert start.values["device.staging.write"] == pytest.approx(2.0e9, rel=0.02)
    # Random writes of 4 KiB end at 267,269 and sequential ones at 305,427 per second.
    assert start.values["device.firmware.jump"] == pytest.approx(1e9 / 267_269 - 1e9 / 305_427, rel=0.01)
    assert start.values["device.firmware.write"] == pytest.approx(1e9 / 305_427, rel=0.01)
    assert 2_000 < start.values["device.firmware.wait.write"] < 6_000


def test_plateaus_of_equal_times_show_the_staging_path_and_the_firmware() -> None:
    def point(size: int, depth: int) -> Point:
        per_write = max(10_000 / depth, 500 + size / 2)
        mean = per_write * depth
        times = ((50.0, mean), (99.0, 1.05 * mean))
        conditions = Conditions(Direction.WRITE, True, size, depth, 1, "spdk")
        return Point(conditions, 1e9 / per_write, mean, times, None, "a queue")

    points = [point(size, depth) for size in (4096, 16384, 65536) for depth in (1, 2, 4, 8, 16, 32)]
    start = closed_form(Space(load_system(WRITER), reads=False, writes=True, engines=["spdk"]), points)
    assert start.values["device.staging.write"] == pytest.approx(2e9)
    assert start.values["device.firmware.write"] == pytest.approx(500)
    assert "flash.program" not in start.sentences


def test_a_plateau_of_busy_dies_is_not_taken_for_a_path() -> None:
    def point(size: int, depth: int) -> Point:
        transfer = 6_000 * size / 4_096
        mean = response_ns(84_000 + transfer, [Station(4, 80_000 + transfer)], depth)
        times = ((50.0, 0.9 * mean), (99.0, 2.5 * mean))
        conditions = Conditions(Direction.READ, True, size, depth, 1, "spdk")
        return Point(conditions, 1e9 * depth / mean, mean, times, None, "four dies")

    points = [point(size, depth) for size in (4096, 8192, 16384) for depth in (1, 2, 4, 8, 16, 32, 64, 128, 256)]
    start = closed_form(Space(load_system(ZN540), reads=True, writes=False, engines=["spdk"]), points)
    # 4 KiB end at 47,000 and 16 KiB at 38,000 reads per second: 190 and 630 MB/s.
    assert start.values["device.staging.read"] > 2e9
    assert "the path is faster" in start.sentences["device.staging.read"]
    assert "device.max_commands" not in start.sentences
    assert start.values["flash.command.read"] < 1_000


def test_a_plateau_needs_as_many_dies_as_it_keeps_busy() -> None:
    measured = read_measurements([DRIVES / "980pro-random-read-sizes.csv"])
    points = [point for point in measured.points if point.conditions.size_bytes >= 8192]
    start = closed_form(Space(load_system(SIZES), reads=True, writes=False, engines=["io_uring"]), points)
    # Few requests in flight wait as if on 11 dies, but 256,649 reads of 8 KiB a second each keep one busy for 72 us.
    assert "but the plateau keeps 19 busy" in start.sentences["flash.chips"]
    dies = {int(str(each["flash.channels"])) * int(str(each["flash.chips"])) for each in start.structures}
    assert dies == {16, 24, 32}


def test_requests_of_several_pages_try_larger_pages() -> None:
    measured = read_measurements([DRIVES / "980pro-random-read-sizes.csv"])
    space = Space(load_system(SIZES), reads=True, writes=False, engines=["io_uring"])
    large = closed_form(space, [point for point in measured.points if point.conditions.size_bytes >= 8192])
    assert {each.get("flash.page", "8KiB") for each in large.structures} == {"8KiB", "16KiB"}
    assert large.sentences["flash.page"] == "requests span several pages: 8 KiB and 16 KiB are tried"
    small = closed_form(space, [point for point in measured.points if point.conditions.size_bytes <= 8192])
    assert all("flash.page" not in each for each in small.structures)


def test_other_pages_keep_the_raw_capacity() -> None:
    space = Space(load_system(SIZES), reads=True, writes=False, engines=["io_uring"])
    assert kept_capacity(space, {"flash.page": "16KiB"}) == {"flash.blocks": 1824}
    assert kept_capacity(space, {"flash.page": "16KiB", "flash.chips": 2}) == {}
    assert kept_capacity(space, {"flash.chips": 3}) == {"flash.blocks": 4864}


def test_given_values_are_not_touched() -> None:
    points = read_measurements([DRIVES / "980pro-random-read-4k.csv"]).points
    space = Space(load_system(SAMSUNG), reads=True, writes=False, engines=["io_uring", "spdk"])
    start = closed_form(space, points)
    assert space.given == ["flash.rate"]
    assert "flash.rate" not in start.values
    # A busy core takes 2.61 us per request, however it is divided.
    host = [start.values[f"host.{name}@io_uring"] for name in ("submit", "complete", "interrupt.handler")]
    assert sum(host) == pytest.approx(1e9 / 383_287, rel=1e-3)
    changes = space.changes(start.values, "spdk")
    assert changes["host.completion"] == "polling"
    assert space.changes(start.values)["host.completion"] == "interrupt"


@pytest.mark.parametrize(
    ("data", "system", "precondition", "hold_out"),
    [
        ("zn540-random-read.csv", ZN540, "fill", None),
        ("980pro-random-read-4k.csv", SAMSUNG, "steady", ["jobs=2", "depth=16"]),
    ],
    ids=["zn540", "980pro"],
)
def test_the_start_alone_predicts_held_out_points_within_8_percent(
    data: str, system: Path, precondition: str, hold_out: list[str] | None
) -> None:
    fit = run_fit([DRIVES / data], system, precondition=precondition, hold_out=hold_out, start_only=True)
    assert len(fit.split.held_out) >= 8
    assert fit.median_error(fit.split.held_out) <= 0.08
