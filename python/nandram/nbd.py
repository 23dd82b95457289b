"""Serving a drive as a network block device, by nbdkit and its plug-in."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from nandram.errors import UserError
from nandram.system import System

PROGRAM = "nbdkit"
_POLL_S = 0.05


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
    socket exists. `store`: file of the drive's flash, created if it does not exist; without it the data is gone with
    the server.

    Raises `UserError` for a mistake in any argument, and if nbdkit or its plug-in is missing or fails.
    """
    place = Path(socket)
    if place.exists():
        raise UserError(f"--nbd: {place}: found a file, expected a path for a new socket")
    line = command_line(system, place, seed=seed, store=None if store is None else Path(store))
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
    try:
        while not place.exists():
            try:
                process.wait(_POLL_S)
            except subprocess.TimeoutExpired:
                continue
            break
        else:
            ready()
        _, errors = process.communicate()
    except KeyboardInterrupt:
        # The terminal's interrupt has reached nbdkit too, which closes the store.
        process.terminate()
        process.communicate()
        return
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        place.unlink(missing_ok=True)
    if process.returncode != 0:
        lines = [text.removeprefix(f"{PROGRAM}: ").removeprefix("error: ") for text in errors.splitlines()]
        raise UserError(f"{PROGRAM}: {lines[-1] if lines else f'ended with status {process.returncode}'}")
