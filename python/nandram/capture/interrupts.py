"""Ctrl-C while a command is captured."""

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def interrupts_are_the_commands() -> Iterator[None]:
    """Let Ctrl-C end the command, not the capture: what was recorded until then is kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # Not SIG_IGN, which the command would inherit.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
