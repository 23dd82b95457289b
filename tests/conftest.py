"""What all tests share."""

import sys
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

import nandram
from fake_core import FakeCore

# The same examples on every machine: a failure in CI is the failure at home.
settings.register_profile("nandram", derandomize=True, deadline=None, database=None)
settings.load_profile("nandram")
set_hypothesis_home_dir(Path(__file__).parent.parent / ".pytest_cache" / "hypothesis")


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> FakeCore:
    """Put a stand-in where the native module would be, to see what it is asked."""
    fake = FakeCore()
    monkeypatch.setitem(sys.modules, "nandram._core", fake)
    monkeypatch.setattr(nandram, "_core", fake, raising=False)
    return fake
