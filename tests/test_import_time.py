"""`import nandram` and `nandram --help` are quick: what is heavy is imported where it is used."""

import resource
import subprocess
import sys

import pytest

HEAVY = {"polars", "pyarrow", "altair", "vl_convert", "numpy", "pandas", "rich", "zstandard", "nandram._core"}


@pytest.mark.parametrize(
    "code",
    ["import nandram", "import sys; sys.argv = ['nandram', '--help']; import nandram.__main__"],
    ids=["import", "--help"],
)
def test_nothing_heavy_is_imported(code: str) -> None:
    code = f"import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); {code}"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = {name.strip() for name in found.stderr.split()}
    assert "nandram.simulate" in modules
    assert not modules & HEAVY


@pytest.mark.parametrize("arguments", [["-c", "import nandram"], ["-m", "nandram", "--help"]], ids=["import", "--help"])
def test_it_takes_less_than_150_ms(arguments: list[str]) -> None:
    """Of processor time: what else the machine does must not matter."""

    def spent_s() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    times: list[float] = []
    for _ in range(8):
        before = spent_s()
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
        times.append(spent_s() - before)
        if min(times) < 0.150:
            return
    pytest.fail(f"the quickest of {len(times)} took {min(times) * 1000:.0f} ms")
