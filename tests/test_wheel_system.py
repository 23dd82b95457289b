"""The wheel in a separate virtual environment, outside the repository and without Rust (`make test-system`)."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from conftest import TINY

pytestmark = pytest.mark.system

TOP = Path(__file__).parent.parent
WHEEL_MB_MAX = 7
JOB = "[job]\nrw=randread\nbs=4k\nnumber_ios=100\n"


@pytest.fixture(scope="module")
def wheel() -> Path:
    """Return the latest wheel built by `make wheel`."""
    made = sorted((TOP / "build" / "wheels").glob("nandram-*.whl"), key=lambda each: each.stat().st_mtime)
    assert made, "there is no wheel: make wheel"
    return made[-1]


@pytest.fixture(scope="module")
def place(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an environment ``v`` that contains the wheel and its dependencies."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "venv", folder / "v"], check=True)
    subprocess.run([folder / "v/bin/pip", "install", "--quiet", wheel], check=True)
    (folder / "job.fio").write_text(JOB)
    (folder / "tiny.toml").write_text(Path(TINY).read_text())
    return folder


def call(place: Path, *command: str) -> str:
    """Run a command of the environment, with no other on its path."""
    environment = {"PATH": str(place / "v/bin"), "HOME": str(place), "LANG": "C.UTF-8"}
    found = subprocess.run(
        [place / "v/bin" / command[0], *command[1:]],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_it_is_small_and_for_any_python_from_3_11(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name
    assert wheel.stat().st_size < WHEEL_MB_MAX * 1e6
    names = zipfile.ZipFile(wheel).namelist()
    assert "nandram/_core.abi3.so" in names
    assert "nandram/report/page.js" in names
    for folder, traces in (("xip", 56), ("xip-mibench", 16), ("xip-fitted", 4)):
        assert sum(name.startswith(f"nandram/traces/{folder}/") and name.endswith(".zst") for name in names) == traces


def test_a_run_a_report_and_a_paper(place: Path) -> None:
    assert re.fullmatch(r"nandram \d+\.\d+\.\d+\n", call(place, "nandram", "--version"))
    out = call(place, "nandram", "run", "tiny.toml", "job.fio", "--precondition", "fill", "-o", "out")
    assert "job.fio on tiny.toml, seed 1" in out
    assert {"summary.json", "manifest.json", "samples.parquet", "report.html"} <= {
        each.name for each in (place / "out").iterdir()
    }
    call(place, "nandram", "report", "out", "-o", "report.html")
    assert (place / "report.html").stat().st_size < 6e6
    # The claims, experiments and traces are bundled.
    cell = call(place, "nandram", "reproduce", "xip", "--quick", "--claims", "*.table5.djpeg.4.time_fixed")
    assert "1 claims (quick" in cell


def test_from_python(place: Path) -> None:
    script = (
        "import nandram\n"
        "result = nandram.run('tiny.toml', 'job.fio', precondition='fill')\n"
        "result.plot_latency_cdf().save('cdf.png')\n"
        "print(result.latency().head().height, nandram.__file__)\n"
        "with nandram.Memory('m.memory', capacity='4MiB', dram='1MiB') as memory:\n"
        "    at = memory.alloc(100)\n"
        "    memory.write(at, b'x' * 100)\n"
        "    memory.sync('written')\n"
    )
    height, file = call(place, "python", "-c", script).split()
    assert int(height) > 0
    assert Path(file).is_relative_to(place / "v")
    assert (place / "cdf.png").stat().st_size > 1000


def test_a_mistake_is_one_line(place: Path) -> None:
    found = subprocess.run(
        [place / "v/bin/nandram", "run", "nvme-cleint-tlc", "job.fio"], cwd=place, capture_output=True, text=True
    )
    assert (found.returncode, found.stderr.count("\n")) == (2, 1)
