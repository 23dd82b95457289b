"""`import nandram` and `nandram --help` import nothing heavy. How long they take is measured by `make bench`."""

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
