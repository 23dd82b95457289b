"""Measuring a target for a fit: job files, refusals, resumed runs; with a stand-in for fio."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nandram.cli import main
from nandram.errors import UserError
from nandram.fit.measure import DEPTHS, SIZES, Engine, measure
from nandram.fit.measurements.files import read_measurements

FIO = """#!/usr/bin/env python3
import configparser, json, sys
output = [each for each in sys.argv if each.startswith("--output=")][0].partition("=")[2]
assert "--readonly" in sys.argv
job = configparser.ConfigParser(allow_no_value=True)
job.read(sys.argv[-1])
options = {key: value or "1" for key, value in job["point"].items()}
if options["bs"] == FAILS:
    sys.exit("fio: no such engine")
depth = int(options["iodepth"])
side = {"total_ios": 100000, "iops": 10000.0 * depth, "slat_ns": {"mean": 0.0}, "lat_ns": {"mean": 1e5},
        "clat_ns": {"mean": 1e5, "percentile": {"50.000000": 1e5, "99.000000": 2e5}}}
entry = {"jobname": "point", "groupid": 0, "error": 0, "job options": options, "read": side}
open(output, "w").write(json.dumps({"jobs": [entry]}))
open("runs", "a").write(sys.argv[-1] + "\\n")
"""


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file of 64 MiB, with a stand-in for fio in the path."""
    path = tmp_path / "drive.img"
    path.write_bytes(b"x" * (64 << 20))
    stand_in(tmp_path, "None")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return path


def stand_in(folder: Path, fails: str) -> None:
    (folder / "bin").mkdir(exist_ok=True)
    fio = folder / "bin" / "fio"
    fio.write_text(FIO.replace("FAILS", fails))
    fio.chmod(0o755)


def test_each_size_and_depth_is_measured_once(tmp_path: Path, target: Path) -> None:
    before = target.read_bytes()
    files = measure(str(target), tmp_path / "fio", engine=Engine.LIBAIO, seconds=2)
    assert len(files) == len(SIZES) * len(DEPTHS)
    points = read_measurements(files).points
    assert {point.conditions.engine for point in points} == {"libaio"}
    job = (tmp_path / "fio" / "randread-4096-16.fio").read_text()
    assert f"filename={target}\nrw=randread\nbs=4096\niodepth=16\nioengine=libaio\ndirect=1\n" in job
    (tmp_path / "fio" / "randread-8192-2.json").unlink()
    measure(str(target), tmp_path / "fio", engine=Engine.LIBAIO, seconds=2)
    assert len((tmp_path / "fio" / "runs").read_text().splitlines()) == len(files) + 1
    measure(str(target), tmp_path / "fio", engine=Engine.LIBAIO, seconds=3)
    assert len((tmp_path / "fio" / "runs").read_text().splitlines()) == 2 * len(files) + 1
    assert target.read_bytes() == before


def test_refusals(tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "fio"
    with pytest.raises(UserError, match=r"is a simulated drive, expected a file or a block device"):
        measure("nvme-client-tlc", folder)
    with pytest.raises(UserError):
        measure(str(tmp_path / "absent"), folder)
    stand_in(tmp_path, '"8192"')
    with pytest.raises(UserError, match=r"randread-8192-1.fio: fio failed with status 1: fio: no such engine"):
        measure(str(target), folder)
    assert not list(folder.glob("*.part"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"fio is not installed; the 27 job files are in .*give the output as DATA"):
        measure(str(target), folder)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "found no DATA"),
        (["data.csv", "--seconds", "1"], "expected --measure as well"),
        (["--measure", "x"], "needs a folder for fio's output"),
        (["data.csv", "--noise", "much"], "--noise: found `much`, expected a fraction"),
        (["data.csv", "--share", "2"], "--share: found `2`, expected a fraction"),
        (["data.csv", "-o", "/no/such/folder/x.toml"], "no such folder"),
        (["data.csv", "--try", "flash.channels"], "--try: found `flash.channels`, expected KEY=VALUE,VALUE"),
        (["data.csv", "--precondition", "full"], "found `full`, expected none, fill"),
    ],
)
def test_mistakes_of_options(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["fit", "--system", "nvme-client-tlc", *arguments])
    assert exit_.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_polling_that_is_given_contradicts_an_engine_that_waits(tmp_path: Path) -> None:
    from nandram.fit import run_fit

    rows = [f"randread,4096,{depth},libaio,{10_000 * depth},100000,100000,200000" for depth in (1, 2, 4, 8, 16, 32)]
    header = "rw,bs_bytes,iodepth,engine,iops,lat_mean_ns,lat_p50_ns,lat_p99_ns"
    (tmp_path / "data.csv").write_text("\n".join([header, *rows]) + "\n")
    start = Path(__file__).parents[2] / "drives" / "start" / "wd-zn540.toml"
    with pytest.raises(UserError, match=r"gives host.completion as polling, but the data were measured with libaio"):
        run_fit([tmp_path / "data.csv"], start)


@pytest.fixture(params=["file", "loop"])
def real(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return a file or a loop device of 64 MiB."""
    path = tmp_path / "drive.img"
    path.write_bytes(b"x" * (64 << 20))
    if request.param == "file":
        yield str(path)
        return
    if os.geteuid() != 0 or not Path("/dev/loop-control").exists():
        pytest.skip("this machine has no loop devices, or only root may make them")
    device = subprocess.run(
        ["losetup", "--direct-io=on", "--find", "--show", str(path)], check=True, capture_output=True, text=True
    ).stdout.strip()
    yield device
    subprocess.run(["losetup", "--detach", device], check=True)


@pytest.mark.system
def test_fio_measures_files_and_block_devices(real: str, tmp_path: Path) -> None:
    files = measure(real, tmp_path / "fio", engine=Engine.LIBAIO, seconds=1)
    assert len(read_measurements(files).points) == len(files)
    assert json.loads(files[0].read_text())["jobs"][0]["read"]["total_ios"] > 0
    assert (tmp_path / "drive.img").read_bytes() == b"x" * (64 << 20)
