"""Fixtures shared by the tests of the probe."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def signals_are_heard() -> Iterator[None]:
    """Reset signals that children would otherwise inherit as ignored, under nohup or in a script."""
    hangup = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGHUP, hangup)
    signal.signal(signal.SIGINT, interrupt)
