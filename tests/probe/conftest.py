"""What tests of the probe share."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def hangups_are_heard() -> Iterator[None]:
    """Where tests run under nohup, their children would be told to ignore SIGHUP, as they should, and so go on."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)
