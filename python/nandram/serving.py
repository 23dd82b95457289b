"""Serving a drive to the guest of a virtual machine monitor."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nandram.errors import UserError
from nandram.system import System, load_system


@dataclass(frozen=True)
class Served:
    """The results of a guest's work."""

    summary: dict[str, Any]
    """Counts, latencies of the device in nanoseconds, and the counters of translation layer and flash."""
    interrupted: bool
    """Ctrl-C ended it, not the monitor."""


def serve(
    system: System | str | os.PathLike[str],
    socket: str | os.PathLike[str],
    *,
    channel: str | os.PathLike[str] | None = None,
    dilation: int = 1,
    seed: int = 1,
    output: str | os.PathLike[str] | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002
    ready: Callable[[], object] = lambda: None,
) -> Served:
    """Serve an empty NVMe drive at a vfio-user socket to the first monitor that connects, until it disconnects.

    `channel`: path of the clock channel that QEMU's plug-in opens (`nandram.guest.plugin.plugin_path`), for exact
    virtual time; without it the drive follows the host's clock, `dilation` times slower. `output`: folder for
    ``summary.json``. `ready` is called once the socket exists. The data lives in memory and is gone with the server.

    Raises `UserError` for a mistake in any argument, and if the guest accessed the drive without a clock.
    """
    from nandram import _core

    if not isinstance(system, System):
        system = load_system(system, set)
    elif set:
        system = system.with_(set)
    if not 1 <= dilation <= 1_000_000:
        raise UserError(f"dilation: found {dilation}, expected 1 to 1000000")
    if dilation != 1 and channel is not None:
        raise UserError("dilation: found with a clock channel, expected the host's clock")
    if not 0 <= seed < 2**64:
        raise UserError(f"seed: found {seed}, expected 0 to 2^64 - 1")
    if output is not None:
        from nandram.folders import check

        check(Path(output))
    request: _core.ServeRequest = {
        "socket": os.fspath(socket),
        "channel": None if channel is None else os.fspath(channel),
        "dilation": dilation,
        "seed": seed,
    }
    text, failure, interrupted = _core.serve(system.source, list(system.changes), request, ready)
    if output is not None:
        (Path(output) / "summary.json").write_text(text)
    if failure is not None:
        raise UserError(failure)
    return Served(json.loads(text), interrupted)
