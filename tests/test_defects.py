"""Regressions: each mistake is reported in one line, immediately, and none is accepted silently."""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import nandram
from conftest import TINY
from nandram.cli import main

JOB = "[job]\nrw=randread\nbs=4k\nnumber_ios=100\nnorandommap\n"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.fio"
    path.write_text(JOB)
    return path


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the message line of a mistake."""
    begun = time.monotonic()
    with pytest.raises(SystemExit) as exit_:
        main(list(arguments))
    found = capsys.readouterr()
    assert (exit_.value.code, found.out, found.err.count("\n")) == (2, "", 1), found
    assert time.monotonic() - begun < 20
    return found.err


def test_a_run_that_programs_nothing_has_a_summary(tmp_path: Path) -> None:
    path = tmp_path / "one.fio"
    path.write_text("[job]\nrw=randwrite\nbs=4k\nnumber_ios=1\n")
    result = nandram.run("nvme-client-tlc", path)
    assert "write amplification: none yet, all written data is still in the write cache" in result.notes
    assert result.rows()[0][:3] == ["job", "write", "1"]


def test_a_run_that_is_too_short_to_be_steady_says_so(job: Path) -> None:
    assert "warm-up: not detected, the run is too short; run at least 21ms" in nandram.run(TINY, job).notes


def test_a_warm_up_longer_than_the_run_is_a_mistake(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "warm_up: found 5s, expected less than the run's " in told(capsys, "run", TINY, str(job), "--warm-up", "5s")


def test_a_damaged_result_is_one_line(
    result: nandram.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = result.save(tmp_path / "whole")
    for name in (
        "summary.json",
        "manifest.json",
        "samples.parquet",
        "drive.parquet",
        "latency.parquet",
        "latency_over_time.parquet",
        "dies.parquet",
    ):
        for damage in ("cut", "flipped", "removed"):
            folder = tmp_path / "damaged"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(whole, folder)
            path = folder / name
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            path.write_bytes(bytes(content) if damage == "flipped" else bytes(content[: len(content) // 2]))
            if damage == "removed":
                path.unlink()
            with pytest.raises(nandram.UserError) as mistake:
                nandram.read_result(folder)
            assert "\n" not in str(mistake.value)
            assert str(folder) in str(mistake.value)
    (whole / "samples.parquet").write_bytes(b"PAR1")
    assert "is damaged" in told(capsys, "compare", str(whole), str(whole))
    assert "is damaged" in told(capsys, "report", str(whole), "-o", str(tmp_path / "r.html"))
    (whole / "SHA256SUMS").write_text("?")
    assert "is damaged" in told(capsys, "compare", str(whole), str(whole))


def test_a_damaged_sweep_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "sweep"
    folder.mkdir()
    (folder / "sweep.toml").write_text("[space\n")
    (folder / "plan.parquet").write_bytes(b"PAR1")
    assert f"{folder}: is damaged: " in told(capsys, "report", str(folder), "-o", str(tmp_path / "r.html"))


def test_pipes_are_refused_and_not_waited_for(job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = str(tmp_path / "pipe.toml")
    os.mkfifo(pipe)
    assert f"{pipe}: found a pipe or a device, expected a file" in told(capsys, "run", TINY, pipe)
    assert f"{pipe}: cannot be read: found a pipe or a device" in told(capsys, "run", pipe, str(job))
    assert "/dev/zero: cannot be read: found a pipe or a device" in told(capsys, "show", "/dev/zero")


@pytest.mark.parametrize("command", [["paging", "--sram", "16KiB"], ["memory", "info"], ["memory", "check"]])
def test_pages_and_memories_in_a_pipe_are_refused(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = str(tmp_path / "trace.pages")
    os.mkfifo(pipe)
    assert "found a pipe or a " in told(capsys, *command, pipe)


def test_an_iolog_in_a_pipe_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe, job = tmp_path / "requests.iolog", tmp_path / "job.fio"
    os.mkfifo(pipe)
    job.write_text(f"[job]\nread_iolog={pipe}\n")
    assert f"{job}:2: read_iolog: {pipe}: found a pipe or a device" in told(capsys, "run", TINY, str(job))


def test_a_sweep_takes_every_seed(tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(
        f'system = "{TINY}"\nseed = {2**64 - 2}\nrepeat = 2\n'
        'job = "[j]\\nrw=read\\nnumber_ios=10\\niodepth={depth}\\n"\n'
        '[space]\nkind = "grid"\n[space.axes]\ndepth = [1]\n'
    )
    found = nandram.run_sweep(file, tmp_path / "out", jobs=1, cache=None)
    assert found.frame()["seed"].to_list() == [2**64 - 2, 2**64 - 1]


@pytest.mark.parametrize("command", ["sweep", "reproduce"])
def test_what_is_read_of_a_sweep_or_an_experiment_is_bounded(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    large = tmp_path / "large.toml"
    with large.open("wb") as file:
        file.truncate(1 << 40)
    assert f"{large}: cannot be read: found {1 << 40} bytes, expected at most 1048576" in told(
        capsys, command, str(large)
    )
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    assert f"{pipe}: cannot be read: found a pipe or a device" in told(capsys, command, str(pipe))


def test_a_scheduler_that_is_not_there_is_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    file = tmp_path / "sweep.toml"
    file.write_text(
        f'system = "{TINY}"\njob = "[j]\\nrw=read\\nnumber_ios=10\\niodepth={{depth}}\\n"\n'
        '[space]\nkind = "grid"\n[space.axes]\ndepth = [1, 2]\n'
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    begun = time.monotonic()
    line = told(capsys, "sweep", str(file), "-o", str(tmp_path / "out"), "--dask", f"tcp://127.0.0.1:{port}")
    assert f"dask: found `tcp://127.0.0.1:{port}`, expected slurm, pbs or a scheduler that answers: " in line
    assert time.monotonic() - begun < 15


def test_a_message_about_a_very_long_key_is_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job, sweep, long = tmp_path / "job.fio", tmp_path / "sweep.toml", "k" * 1_000_000
    job.write_text(f"[a]\n{long}=1\n")
    sweep.write_text(f'system = "{TINY}"\n{long} = 1\n')
    for command in (["run", TINY, str(job)], ["sweep", str(sweep)]):
        begun = time.process_time()
        line = told(capsys, *command)
        assert len(line) < 3_000
        assert "kkk … kkk" in line
        assert time.process_time() - begun < 5


def test_too_many_samples_are_told_as_that(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(
        f'system = "{TINY}"\njob = "[j]\\nrw=read\\nnumber_ios=10\\niodepth={{depth}}\\n"\n'
        '[space]\nkind = "random"\nsamples = 1000000000000\n[space.axes]\ndepth = [1, 2]\n'
    )
    assert "samples: found `1000000000000`, expected at most" in told(capsys, "sweep", str(file))


def test_axes_of_numbers_that_no_table_holds_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(
        f'system = "{TINY}"\njob = "[j]\\nrw=read\\nnumber_ios=10\\niodepth={{depth}}\\n"\n'
        '[space]\nkind = "grid"\n[space.axes]\ndepth = [1, 9223372036854775808]\n'
    )
    assert "depth: found `9223372036854775808`, expected whole numbers below 2^63" in told(capsys, "sweep", str(file))


def test_a_cache_that_cannot_be_written_is_told(job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    inside = tmp_path / "file" / "drives"
    with pytest.raises(nandram.UserError, match=r"^cache: .*cannot be written"):
        nandram.run(TINY, job, precondition="fill", cache=inside)
    # Without an explicit choice by the user, the run continues with a note.
    monkeypatch.setenv("NANDRAM_CACHE", str(inside))
    notes = nandram.run(TINY, job, precondition="fill").notes
    assert any(line.startswith("the prepared drive was not cached: ") for line in notes)


def test_comparing_names_job_preparation_and_warm_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, depth, how in (("a", 1, {"precondition": "none"}), ("b", 4, {"precondition": "fill", "warm_up": "1ms"})):
        path = tmp_path / f"{name}.fio"
        path.write_text(f"[reads]\nrw=randread\nbs=4k\niodepth={depth}\nnumber_ios=2000\n")
        nandram.run(TINY, path, output=tmp_path / name, **how)  # type: ignore[arg-type]
    found = {each.key: (each.a, each.b) for each in nandram.compare(tmp_path / "a", tmp_path / "b").runs}
    assert found["job reads: iodepth"] == ("1", "4")
    assert found["precondition"] == ("none", "fill")
    assert found["warm_up"] == ("detect", "1.00 ms")
    assert found["warm-up cut off"][1] == "1.00 ms"
    assert "seed" not in found
    with pytest.raises(SystemExit):
        main(["compare", str(tmp_path / "a"), str(tmp_path / "b")])
    out = capsys.readouterr().out
    assert "the configurations are the same" not in out
    assert "job reads: iodepth" in out


def test_check_shows_what_applies_first(tmp_path: Path) -> None:
    text = nandram.load_system("nvme-client-tlc").toml
    values, inactive = text.split("\n# Keys that do not apply\n")
    assert ": only where" not in values
    assert "only where link.type is" in inactive
    assert "over-provisioning 10.1 % of user" in values
    file = tmp_path / "mine.toml"
    file.write_text('extends = "nvme-client-tlc"\n[flash]\nread = "80us"\n')
    mine = nandram.load_system(file)
    assert mine.changed_toml.count(" = ") <= 4
    assert 'read = "80us"' in mine.changed_toml
    assert "inherited" in next(line for line in mine.toml.splitlines() if line.startswith("blocks = "))
    assert "inherited from nvme-client-tlc.toml" in mine.toml


def test_timelines_are_bounded_and_say_what_they_left_out(tmp_path: Path) -> None:
    path = tmp_path / "long.fio"
    path.write_text("[job]\nrw=randrw\nbs=16k\niodepth=8\ntime_based\nruntime=30\nnorandommap\n")
    result = nandram.run(TINY, path, precondition="fill", timeline=True, cache=None)
    assert result.timeline_json is not None
    assert len(result.timeline_json) < 80e6
    assert any("beyond the size limit were left out" in line for line in result.notes)


def test_a_smaller_copy_is_one_flag(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["run", "nvme-client-tlc", str(job), "--scale", "1/16"])
    assert (exit_.value.code or 0) == 0
    assert "read" in capsys.readouterr().out
    assert nandram.load_system("nvme-client-tlc", scale="1/16").values["flash"]["channels"] == 8
    assert "expected 1/N" in told(capsys, "run", "nvme-client-tlc", str(job), "--scale", "64")


def test_write_amplification_is_not_shown_for_a_sliver_of_a_drive_write(tmp_path: Path) -> None:
    path = tmp_path / "few.fio"
    path.write_text("[job]\nrw=randwrite\nbs=4k\niodepth=8\nnorandommap\nnumber_ios=20000\n")
    result = nandram.run("nvme-client-tlc", path, precondition="steady", cache=None)
    (line,) = (line for line in result.notes if line.startswith("write amplification"))
    assert line.startswith("write amplification: not shown for 0.008"), line


def test_control_characters_of_a_file_are_not_sent_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "job.fio"
    path.write_bytes(b"[a\x1b[2J\x1d\x85\n")
    found = told(capsys, "run", TINY, str(path))
    assert found.removesuffix("\n").isprintable()


def test_a_damaged_table_of_a_sweep_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(
        f'system = "{TINY}"\njob = "[j]\\nrw=read\\nnumber_ios=20\\nbs={{size}}"\n'
        '[space]\nkind = "grid"\naxes = { size = ["4k", "8k"] }\n'
    )
    nandram.run_sweep(path, tmp_path / "out", jobs=1, cache=None)
    for name in ("plan.parquet", "part-000000.parquet"):
        content = (tmp_path / "out" / name).read_bytes()
        for damaged in (content[:-20], b"", content[: len(content) // 2] + bytes(len(content) // 2)):
            (tmp_path / "out" / name).write_bytes(damaged)
            assert f"{name}: is damaged: " in told(capsys, "report", str(tmp_path / "out"), "-o", str(tmp_path / "r"))
            with pytest.raises(nandram.UserError, match="is damaged"):
                nandram.read_sweep(tmp_path / "out")
        (tmp_path / "out" / name).write_bytes(content)


def test_a_sweep_whose_file_does_not_fit_its_plan_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(
        f'system = "{TINY}"\njob = "[j]\\nrw=read\\nnumber_ios=20\\nbs={{size}}"\n'
        '[space]\nkind = "grid"\n[space.axes]\nsize = ["4k", "8k"]\n[measures]\nmore = "1 + 1"\n'
    )
    nandram.run_sweep(path, tmp_path / "out", jobs=1, cache=None)
    kept = tmp_path / "out" / "sweep.toml"
    text = kept.read_text()
    for old, new in (('size = ["4k"', 'more = "1"\nsize = ["4k"'), ("size = [", "width = ["), ("more =", "seed =")):
        kept.write_text(text.replace(old, new))
        assert told(capsys, "report", str(tmp_path / "out"), "-o", str(tmp_path / "r.html")) == (
            f"error: {tmp_path / 'out'}: is damaged: sweep.toml and plan.parquet do not go together\n"
        )


def test_the_most_clones_of_a_job_take_less_than_a_gigabyte(tmp_path: Path) -> None:
    path = tmp_path / "job.fio"
    path.write_text("[job]\nrw=randread\nbs=4k\nnumber_ios=10\nnumjobs=4096\n")
    command = [sys.executable, "-m", "nandram", "run", str(TINY), str(path), "--cache", "none"]
    # A separate process starts the command: until a child calls exec, its peak memory includes that of its parent, here
    # of all tests.
    script = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", script, *command], check=True, capture_output=True, text=True)
    assert int(done.stdout) < 1 << 20  # KiB


def test_seeds_are_checked_without_a_workload_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "compare", TINY, TINY, "--seeds", "0") == (
        "error: seeds: found 0, expected a whole number from 1\n"
    )


def test_a_figure_that_is_no_number_is_shown_as_it_is() -> None:
    from nandram.report.page import figure

    assert [figure(each) for each in (float("nan"), float("inf"), 2.0, 0.25)] == ["nan", "inf", "2", "0.25"]


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        (f"repeat = {10**22}", f"repeat: found `{10**22}`, expected at most 50000 for 2 configurations"),
        ("repeat = 1000000", "repeat: found `1000000`, expected at most 50000 for 2 configurations"),
        (f"seed = {2**64 - 1}\nrepeat = 2", f"seed: found `{2**64 - 1}`, expected seeds of at most {2**64 - 1}"),
    ],
)
def test_a_sweep_of_too_many_runs_or_seeds_is_refused_at_once(
    line: str, mistake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(
        f'system = "{TINY}"\n{line}\njob = "[j]\\nrw=read\\nsize={{size}}"\n'
        '[space]\nkind = "grid"\naxes = { size = ["4k", "8k"] }\n'
    )
    assert mistake in told(capsys, "sweep", str(path), "-o", str(tmp_path / "out"))
