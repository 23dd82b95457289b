"""One line on the terminal with the current phase and the elapsed time."""

import sys
import time
from typing import TextIO

_CLEAR = "\r\x1b[K"
_INTERVAL_S = 0.5


class PhaseLine:
    """Shows the phase on standard error; nothing if that is not a terminal.

    Output that passes through appears above the line. While its last line is incomplete, the phase is not shown.
    """

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._started = time.monotonic()
        self._drawn_s = -_INTERVAL_S
        self._text = ""
        self._complete = True

    def phase(self, name: str) -> None:
        """Show a phase, at most every half second unless it is another."""
        elapsed_s = time.monotonic() - self._started
        if not self._shown or not self._complete or (name == self._text and elapsed_s - self._drawn_s < _INTERVAL_S):
            return
        self._text, self._drawn_s = name, elapsed_s
        sys.stderr.write(f"{_CLEAR}{name} {elapsed_s:.0f} s")
        sys.stderr.flush()

    def stdout(self, data: bytes) -> None:
        """Write to standard output."""
        self._pass(sys.stdout, data)

    def stderr(self, data: bytes) -> None:
        """Write to standard error."""
        self._pass(sys.stderr, data)

    def clear(self) -> None:
        """Remove the line."""
        if self._shown and self._text:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
            self._text = ""

    def _pass(self, file: TextIO, data: bytes) -> None:
        self.clear()
        binary = getattr(file, "buffer", None)
        if binary is None:
            file.write(data.decode(errors="replace"))
        else:
            file.flush()
            # The bytes of a run are the same on every terminal.
            binary.write(data)
            binary.flush()
        self._complete = data.endswith(b"\n")
