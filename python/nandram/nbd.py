"""Serving a drive as a network block device, by nbdkit and its plug-in."""

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

from nandram.errors import UserError
from nandram.system import System

PROGRAM = "nbdkit"
_POLL_S = 0.05
_ACCEPTS = 1 << 16
"""``SO_ACCEPTCON`` in the flags of ``/proc/net/unix``."""
_GRACE_S = 2.0
"""Seconds that clients have to disconnect after an interrupt."""
_FAILURE = "nandram: error: "
"""The start of the plug-in's line if it could not write the store at its end."""
_CHANGE = "nandram: store "
"""The start of its line when the store can no longer be written, or can be written again."""
_AGAIN = "can be written again and has every change"
_CLIENT = re.compile(r"^nbdkit: nandram(\.\d+|\[\d+\])?: ")


def plugin_path() -> Path:
    """Return the plug-in's library for ``nbdkit PATH system=SYSTEM``. Raises `UserError`."""
    path = Path(__file__).parent / "lib" / "libnandram_nbd.so"
    if not path.exists():
        raise UserError(f"{path}: the plug-in of nbdkit was not built, expected `make nbd` on Linux")
    return path


def command_line(system: System, socket: Path, *, seed: int = 1, store: Path | None = None) -> list[str]:
    """Return the command line that serves the drive of `system` at a Unix-domain socket. Raises `UserError`."""
    program = shutil.which(PROGRAM)
    if program is None:
        raise UserError(f"--nbd: found no {PROGRAM}, expected its package to be installed")
    if not 0 <= seed < 2**64:
        raise UserError(f"seed: found {seed}, expected 0 to 2^64 - 1")
    parameters = [f"system={system.source}", *(f"set={change}" for change in system.changes), f"seed={seed}"]
    if store is not None:
        parameters.append(f"store={store}")
    return [program, "--foreground", "--unix", str(socket), str(plugin_path()), *parameters]


def serve_nbd(
    system: System,
    socket: str | os.PathLike[str],
    *,
    seed: int = 1,
    store: str | os.PathLike[str] | None = None,
    ready: Callable[[], object] = lambda: None,
) -> None:
    """Serve the drive of `system` at a Unix-domain socket, to any number of NBD clients, until an interrupt.

    Requests are performed as fast as the simulation runs: the drive has no clock here. `ready` is called once the
    socket accepts connections. `store`: file of the drive's flash, created if it does not exist; without it the data is
    gone with the server.

    Raises `UserError` for a mistake in any argument, and if nbdkit or its plug-in is missing or fails.
    """
    place = Path(socket)
    if place.exists():
        raise UserError(f"--nbd: {place}: found a file, expected a path for a new socket")
    line = command_line(system, place, seed=seed, store=None if store is None else Path(store))
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    log, interrupted = _Log(process.stderr), False
    try:
        while not _listens(place):
            try:
                process.wait(_POLL_S)
            except subprocess.TimeoutExpired:
                continue
            break
        else:
            log.serves = True
            ready()
        process.wait()
    except KeyboardInterrupt:
        # The terminal's interrupt has reached nbdkit too. It closes the store once its clients have gone.
        interrupted = True
        process.terminate()
        try:
            process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            print("nandram: a client stayed connected; what it has not flushed may be lost", file=sys.stderr)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        log.join()
        place.unlink(missing_ok=True)
    if log.failure is not None:
        raise UserError(log.failure)
    if process.returncode != 0 and not interrupted:
        raise UserError(f"{PROGRAM}: {log.last or f'ended with status {process.returncode}'}")


def _listens(place: Path) -> bool:
    """Return true once connections to the socket are accepted, which is some time after it exists."""
    for line in Path("/proc/net/unix").read_text(errors="replace").splitlines()[1:]:
        fields = line.split(maxsplit=7)
        if len(fields) == 8 and int(fields[3], 16) & _ACCEPTS and Path(fields[7]).absolute() == place.absolute():
            return True
    return False


class _Log:
    """Reads what nbdkit prints, so that it never waits for a reader, and prints it once it serves.

    A client that goes on after an error causes a line each time. Each is printed once, and none while the store cannot
    be written, which is the reason then.
    """

    def __init__(self, stream: IO[str]) -> None:
        self.serves = False
        self.last = ""
        """The last line, without nbdkit's name."""
        self.failure: str | None = None
        """Why the store could not be written at the end."""
        self._stream = stream
        self._printed: set[str] = set()
        self._behind = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait for the last line."""
        self._thread.join()

    def _read(self) -> None:
        for text in self._stream:
            line = text.rstrip("\n")
            if line.startswith(_FAILURE):
                self.failure = line.removeprefix(_FAILURE)
                continue
            of_client = _CLIENT.match(line) is not None
            line = _CLIENT.sub("nandram: ", line)
            self.last = line.removeprefix(f"{PROGRAM}: ").removeprefix("nandram: ").removeprefix("error: ")
            if line.startswith(_CHANGE):
                self._behind = not line.endswith(_AGAIN)
            elif line in self._printed or (of_client and self._behind):
                continue
            else:
                self._printed.add(line)
            if self.serves:
                print(line, file=sys.stderr, flush=True)
