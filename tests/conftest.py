"""Fixtures shared by all tests."""

import signal
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

import nandram

DATA = Path(__file__).parent / "data"
TINY = str(DATA / "tiny.toml")
"""A drive of a few megabytes."""
TWO_JOBS = str(DATA / "two-jobs.fio")
"""3,000 reads of 4 KiB, then 2,000 writes of 8 KiB with a sync after every tenth."""

# The same examples on every machine, so that failures in CI can be reproduced locally.
settings.register_profile("nandram", derandomize=True, deadline=None, database=None)
settings.load_profile("nandram")
set_hypothesis_home_dir(Path(__file__).parent.parent / ".pytest_cache" / "hypothesis")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background jobs so, and children inherit it: no test of Ctrl-C could end.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def prepared_drives(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep prepared drives out of the user's cache."""
    folder = tmp_path_factory.getbasetemp() / "drives"
    monkeypatch.setenv("NANDRAM_CACHE", str(folder))
    return folder


@pytest.fixture(scope="session")
def played() -> nandram.Result:
    """Run two jobs on a tiny drive in steady state; tests must not modify the result."""
    return nandram.run(TINY, TWO_JOBS, precondition="steady", cache=None, timeline=True)


@pytest.fixture
def result(played: nandram.Result) -> nandram.Result:
    """Return a result that may be modified."""
    return nandram.Result(played.summary_json, played.manifest_json, dict(played.tables), played.timeline_json)
