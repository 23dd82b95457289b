"""The time limit of a run."""

import time

from nandram.guest.errors import TimeLimitError

POLL_S = 0.02


class Deadline:
    """A time limit in seconds of the host."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._end = time.monotonic() + limit_s

    def pause(self, doing: str) -> None:
        """Wait for a moment. Raises `TimeLimitError`, which names what was being done."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeLimitError(f"the time limit of {self._limit_s:.0f} s ended while {doing} (--time-limit)")
        time.sleep(min(POLL_S, left))
