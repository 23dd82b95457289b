"""The files of a run: fio's names, reproducible bytes, and a valid timeline."""

import errno
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nandram
from conftest import DATA, TINY, TWO_JOBS

PERCENTS = "1 5 10 20 30 40 50 60 70 80 90 95 99 99.5 99.9 99.95 99.99".split()


SCRIPT = f"""
import nandram, sys
result = nandram.run({TINY!r}, {TWO_JOBS!r}, precondition="random", payload="stamp", timeline=True, cache=None)
sys.stdout.write(result.summary_json + result.manifest_json + result.timeline_json)
sys.stdout.write("".join(str(result.tables[name].rows()) for name in sorted(result.tables)))
"""


def test_the_same_seed_gives_the_same_bytes() -> None:
    """Compare other processes, numbers of threads, and hash seeds of Python."""
    texts = []
    for number, threads in enumerate(("1", "2", "7")):
        names = ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS")
        environment = os.environ | dict.fromkeys(names, threads) | {"PYTHONHASHSEED": str(number)}
        command = [sys.executable, "-c", SCRIPT]
        texts.append(subprocess.run(command, check=True, capture_output=True, env=environment).stdout)
    assert len(texts[0]) > 1_000_000
    assert texts[0] == texts[1] == texts[2]


def test_a_summary_is_the_same_in_debug_and_release() -> None:
    """This module is a release build; Rust's test of the same pin, `same_bytes.rs`, runs in a debug build."""
    result = nandram.run(TINY, str(DATA / "same-bytes.fio"), precondition="steady", cache=None)
    pinned = (DATA / "same-bytes.sha256").read_text(encoding="ascii").strip()
    # Without the system's hash, which follows every new key.
    text = result.summary_json.replace(result.summary["nandram"]["system_hash"], "")
    assert hashlib.sha256(text.encode()).hexdigest() == pinned


def test_another_seed_gives_other_numbers(played: nandram.Result) -> None:
    other = nandram.run(TINY, TWO_JOBS, precondition="steady", cache=None, timeline=True, seed=2)
    assert other.summary["jobs"] != played.summary["jobs"]


def test_jobs_have_the_names_of_fio(played: nandram.Result) -> None:
    for job, name in zip(played.summary["jobs"], ("reader", "writer"), strict=True):
        assert job["jobname"] == name
        assert {"groupid", "error", "elapsed", "job options", "read", "write", "trim", "sync"} <= job.keys()
        for direction in ("read", "write", "trim"):
            found = job[direction]
            names = "io_bytes io_kbytes bw_bytes bw iops runtime total_ios short_ios drop_ios slat_ns clat_ns lat_ns"
            names += " bw_min bw_max bw_agg bw_mean bw_dev bw_samples iops_min iops_max iops_mean iops_stddev"
            assert set(names.split()) | {"iops_samples"} == found.keys()
            for latency in ("slat_ns", "clat_ns", "lat_ns"):
                assert {"min", "max", "mean", "stddev", "N"} <= found[latency].keys()
        assert {"total_ios", "lat_ns"} == job["sync"].keys()
    assert played.summary["jobs"][1]["job options"] == {
        "stonewall": "1",
        "rw": "randwrite",
        "bs": "8k",
        "iodepth": "4",
        "number_ios": "2000",
        "fsync": "10",
    }


def test_depths_latency_classes_and_bins_are_those_of_fio(played: nandram.Result) -> None:
    """Check the names of fio's `json+`, that each set of shares adds up, and that bins hold each request once."""
    assert {"timestamp", "timestamp_ms", "time", "global options", "disk_util"} <= played.summary.keys()
    for job in played.summary["jobs"]:
        assert list(job["iodepth_level"]) == ["1", "2", "4", "8", "16", "32", ">=64"]
        assert sum(job["iodepth_level"].values()) == pytest.approx(100)
        for name in ("iodepth_submit", "iodepth_complete"):
            assert job[name]["4"] == 100
        edges = [str(edge) for edge in (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)]
        assert [list(job[f"latency_{unit}"]) for unit in ("ns", "us")] == [edges, edges]
        assert list(job["latency_ms"]) == [*edges, "2000", ">=2000"]
        assert sum(sum(job[f"latency_{unit}"].values()) for unit in ("ns", "us", "ms")) == pytest.approx(100)
        assert {"usr_cpu", "sys_cpu", "ctx", "majf", "minf", "latency_depth", "latency_target"} <= job.keys()
        for direction in ("read", "write", "trim"):
            found = job[direction]
            assert sum(found["clat_ns"].get("bins", {}).values()) == found["total_ios"]
            assert all(isinstance(found[name], int) for name in ("bw", "bw_min", "bw_max", "iops_min", "iops_max"))


def test_samples_of_bandwidth_span_half_a_second(tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text("[global]\nname=all\nrw=randread\n[job]\nrate_iops=1000\nruntime=3\ntime_based\nrandrepeat=0\n")
    result = nandram.run(TINY, job, precondition="fill", cache=None, warm_up="keep")
    read = result.summary["jobs"][0]["read"]
    assert 4 <= read["iops_samples"] == read["bw_samples"] <= 6
    assert read["iops_mean"] == pytest.approx(1000, rel=0.01)
    assert read["bw_mean"] == pytest.approx(4000, rel=0.01)
    assert result.summary["global options"] == {"name": "all", "rw": "randread"}
    assert "rw" not in result.summary["jobs"][0]["job options"]


def test_fio_s_numbers_fit_together(played: nandram.Result) -> None:
    read = played.summary["jobs"][0]["read"]
    assert read["total_ios"] == 3000
    assert read["io_bytes"] == 3000 * 4096
    assert read["bw_bytes"] == pytest.approx(read["iops"] * 4096, rel=1e-6)
    assert read["runtime"] == pytest.approx(1000 * 3000 / read["iops"], abs=1)
    assert [f"{float(percent):.6f}" for percent in PERCENTS] == list(read["clat_ns"]["percentile"])
    values = list(read["clat_ns"]["percentile"].values())
    assert values == sorted(values)
    assert values[-1] <= read["clat_ns"]["max"]
    mean = read["slat_ns"]["mean"] + read["clat_ns"]["mean"]
    assert read["lat_ns"]["mean"] == pytest.approx(mean, rel=1e-9)


def test_shares_of_a_group_add_up(tmp_path: Path) -> None:
    job = tmp_path / "shares.fio"
    job.write_text("[global]\nrw=randread\nbs=4k\nnumber_ios=500\n[one]\niodepth=1\n[two]\niodepth=3\n")
    jobs = nandram.run(TINY, job, precondition="fill", cache=None, warm_up="keep").summary["jobs"]
    shares = [each["read"]["bw_agg"] for each in jobs]
    assert sum(shares) == pytest.approx(100)
    assert shares[0] < shares[1]


def test_a_failed_read_is_told_as_fio_tells_it(tmp_path: Path) -> None:
    job = tmp_path / "failing.fio"
    job.write_text("[reads]\nrw=randread\nbs=4k\nnumber_ios=200\ncontinue_on_error=read\n")
    changes = {"flash.failures.read": 0.5}
    [found] = nandram.run(TINY, job, precondition="fill", cache=None, set=changes).summary["jobs"]
    assert 0 < found["total_err"] < 200
    assert found["error"] == found["first_error"] == errno.EIO


def test_the_first_error_ends_its_job(tmp_path: Path) -> None:
    job = tmp_path / "failing.fio"
    job.write_text("[global]\nbs=4k\nnumber_ios=200\n[reads]\nrw=randread\n[writes]\nrw=randwrite\n")
    changes = {"flash.failures.read": 0.5}
    result = nandram.run(TINY, job, precondition="fill", cache=None, set=changes)
    reads, writes = result.summary["jobs"]
    assert (reads["total_err"], reads["error"]) == (1, errno.EIO)
    assert (writes["total_err"], writes["error"], writes["write"]["total_ios"]) == (0, 0, 200)
    [failed] = result.inside["failed_jobs"]
    assert (failed["jobname"], failed["error"]) == ("reads", errno.EIO)
    assert result.notes[0].startswith("error: job reads: ended after ")
    assert result.notes[0].endswith(" with EIO (Input/output error)")
    again = nandram.run(TINY, job, precondition="fill", cache=None, set=changes, continue_on_error="read")
    assert "failed_jobs" not in again.inside
    assert again.summary["jobs"][0]["total_err"] > 1


def test_the_timeline_conforms_to_the_trace_event_format(played: nandram.Result) -> None:
    assert played.timeline_json is not None
    timeline = json.loads(played.timeline_json)
    assert timeline["displayTimeUnit"] in ("ms", "ns")
    processes: dict[int, str] = {}
    threads: dict[tuple[int, int], str] = {}
    spans: list[dict[str, Any]] = []
    counters: dict[str, list[dict[str, Any]]] = {}
    for event in timeline["traceEvents"]:
        assert isinstance(event["pid"], int)
        match event["ph"]:
            case "M" if event["name"] == "process_name":
                assert processes.setdefault(event["pid"], event["args"]["name"]) == event["args"]["name"]
            case "M" if event["name"] == "thread_name":
                key = event["pid"], event["tid"]
                assert threads.setdefault(key, event["args"]["name"]) == event["args"]["name"]
            case "X":
                spans.append(event)
            case "C":
                counters.setdefault(f"{processes[event['pid']]}: {event['name']}", []).append(event)
            case other:
                pytest.fail(f"an event of kind {other}")
    assert len(spans) > 10_000
    for event in spans:
        assert event["name"]
        assert event["pid"] in processes
        assert (event["pid"], event["tid"]) in threads
        for name in ("ts", "dur"):
            assert isinstance(event[name], int | float)
            assert event[name] >= 0
    # Each part is a track: cores, the link, the controller, channels and dies.
    names = {f"{processes[pid]}: {title}" for (pid, _), title in threads.items()}
    assert len(names) == len(threads)
    every = " ".join(sorted(names))
    for part in ("core 0", "channel 1", "die 3", "link: to host", "firmware 0"):
        assert part in every
    # Each queue is a counter.
    assert {"host: submission queue 0", "controller: commands", "flash dies: queue of die 3"} <= counters.keys()
    for steps in counters.values():
        times = [step["ts"] for step in steps]
        assert times == sorted(times)
        assert times[0] == 0
        assert all(set(step["args"]) == {"value"} and step["args"]["value"] >= 0 for step in steps)
    assert max(step["args"]["value"] for step in counters["controller: commands"]) > 1


def test_spans_of_one_track_follow_one_another(played: nandram.Result) -> None:
    """Spans are consecutive or nested, as viewers require."""
    assert played.timeline_json is not None
    tracks: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in json.loads(played.timeline_json)["traceEvents"]:
        if event["ph"] == "X":
            start = round(event["ts"] * 1e6)
            tracks.setdefault((event["pid"], event["tid"]), []).append((start, -(start + round(event["dur"] * 1e6))))
    for spans in tracks.values():
        open_ends: list[int] = []
        for start, minus_end in sorted(spans):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or -minus_end <= open_ends[-1]
            open_ends.append(-minus_end)
