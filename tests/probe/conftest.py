"""What tests of the probe share."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def signals_are_heard() -> Iterator[None]:
    """Under nohup, or behind a script, children would be told to ignore these; as they should, they would go on."""
    hangup = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGHUP, hangup)
    signal.signal(signal.SIGINT, interrupt)
