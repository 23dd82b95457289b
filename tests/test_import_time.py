"""`import nandram` and `nandram --help` import no large packages. `make bench` measures their duration."""

import pickle
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

HEAVY = {"polars", "pyarrow", "altair", "vl_convert", "numpy", "pandas", "rich", "zstandard", "nandram._core"}


@pytest.mark.parametrize(
    "code",
    ["import nandram", "import sys; sys.argv = ['nandram', '--help']; import nandram.__main__ as m; m.main()"],
    ids=["import", "--help"],
)
def test_nothing_heavy_is_imported(code: str) -> None:
    modules = modules_after(code)
    assert ("nandram.cli" if "help" in code else "nandram") in modules
    assert not modules & HEAVY


def test_names_of_the_package_are_found_without_reading_metadata_of_packages() -> None:
    assert "importlib.metadata" not in modules_after("import nandram; nandram.run")


def test_a_command_imports_no_other_command() -> None:
    modules = modules_after("import sys; sys.argv = ['nandram', 'systems']; import nandram.__main__ as m; m.main()")
    commands = {name for name in modules if name.startswith("nandram.cli.") and "terminal" not in name}
    assert commands == {"nandram.cli.systems", "nandram.cli.run"}


def modules_after(code: str) -> set[str]:
    """Return the modules loaded after running `code`."""
    return set(at_exit("*sys.modules", code).split())


def at_exit(values: str, code: str) -> str:
    """Return the printed values of an expression after running `code`."""
    code = f"import sys, atexit; atexit.register(lambda: print({values}, file=sys.stderr)); {code}"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr


def test_a_command_is_not_searched_for_reference_cycles_at_its_end() -> None:
    code = "import gc; sys.argv = ['nandram', 'systems']; import nandram.__main__ as m; m.main()"
    living, frozen = map(int, at_exit("len(gc.get_objects()), gc.get_freeze_count()", code).split())
    assert frozen > 100 * living


def write_job(folder: Path) -> Path:
    job = folder / "job.fio"
    job.write_text("[job]\nrw=randread\nbs=4k\nnumber_ios=100\n")
    return job


def test_a_run_that_prints_its_result_makes_no_tables(tmp_path: Path) -> None:
    arguments = ["nandram", "run", "nvme-client-tlc", str(write_job(tmp_path)), "--cache", "none"]
    modules = modules_after(f"import sys; sys.argv = {arguments!r}; import nandram.__main__ as m; m.main()")
    assert "nandram._core" in modules
    assert not modules & {"polars", "pyarrow", "numpy", "altair"}


def test_a_run_that_writes_its_page_imports_no_library_but_polars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only the first page of a cache needs vl-convert: for the bundle of Vega.
    monkeypatch.setenv("NANDRAM_CACHE", str(tmp_path))
    (tmp_path / f"vega-{version('vl-convert-python')}.js").write_text("// the bundle")
    out = tmp_path / "out"
    arguments = ["nandram", "run", "nvme-client-tlc", str(write_job(tmp_path)), "--cache", "none", "-o", str(out)]
    modules = modules_after(f"import sys; sys.argv = {arguments!r}; import nandram.__main__ as m; m.main()")
    page = (out / "report.html").read_text()
    assert "<figure" in page
    assert "// the bundle" in page
    assert "polars" in modules
    assert not modules & {"altair", "vl_convert", "pyarrow"}


def test_tables_are_made_once_and_pickled_as_such(tmp_path: Path) -> None:
    import nandram

    result = nandram.run("nvme-client-tlc", write_job(tmp_path), cache=None)
    assert result.latency() is result.latency()
    assert result.latency()["count"].sum() == 100
    again = pickle.loads(pickle.dumps(result))
    assert set(again.tables) == {"samples", "drive", "latency", "latency_over_time", "dies"}
    assert all(again.tables[name].equals(result.tables[name]) for name in result.tables)
