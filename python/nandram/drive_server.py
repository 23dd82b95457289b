"""Serving a drive to the guest of a virtual machine monitor."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
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


@dataclass(frozen=True)
class Cuts:
    """Instants of a run at which a power cut would happen. The run itself goes on."""

    folder: Path
    """Folder for the stores that the cuts would leave, ``NUMBER.store``, and for ``cuts.jsonl``."""
    instants: Sequence[int]
    """Nanoseconds of the drive's time."""
    witness: Path
    """A file whose length at each instant is recorded, such as the guest's console."""


def read_cuts(plan: Path) -> Cuts:
    """Read cuts from a JSON file with the keys ``folder``, ``instants`` and ``witness``. Raises `UserError`."""
    try:
        found = json.loads(plan.read_text())
        instants = [int(instant) for instant in found["instants"]]
        cuts = Cuts(Path(found["folder"]), instants, Path(found["witness"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"--cuts: {plan}: expected JSON with folder, instants and witness ({error})") from error
    if any(not 0 <= instant < 2**63 for instant in instants):
        raise UserError(f"--cuts: {plan}: found an instant outside 0 to 2^63 ns")
    if not cuts.folder.is_dir():
        raise UserError(f"--cuts: {cuts.folder}: no such folder")
    return cuts


def export_store(
    system: System | str | os.PathLike[str],
    store: str | os.PathLike[str],
    image: str | os.PathLike[str],
    *,
    seed: int = 1,
    set: Mapping[str, object] | None = None,  # noqa: A002
) -> None:
    """Mount the drive in `store`, like a start does, and write what its host would read to the sparse file `image`.

    Raises `UserError` if the store is in use, damaged or another system's.
    """
    from nandram import _core

    if not isinstance(system, System):
        system = load_system(system, set)
    elif set:
        system = system.with_(set)
    _core.export_store(system.source, list(system.changes), seed, os.fspath(store), os.fspath(image))


def serve(
    system: System | str | os.PathLike[str],
    socket: str | os.PathLike[str],
    *,
    channel: str | os.PathLike[str] | None = None,
    dilation: int = 1,
    seed: int = 1,
    store: str | os.PathLike[str] | None = None,
    cuts: "Cuts | None" = None,
    output: str | os.PathLike[str] | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002
    ready: Callable[[], object] = lambda: None,
) -> Served:
    """Serve an NVMe drive at a vfio-user socket to the first monitor that connects, until it disconnects.

    `channel`: path of the clock channel that QEMU's plug-in opens (`nandram.guest.plugin.plugin_path`), for exact
    virtual time; without it the drive follows the host's clock, `dilation` times slower. `output`: folder for
    ``summary.json``. `ready` is called once the socket exists. `store`: file of the drive's flash, created if it does
    not exist; without it the drive is empty, its data lives in memory and is gone with the server. `cuts`: instants at
    which a power cut would happen; the store that each would leave is written.

    Raises `UserError` for a mistake in any argument, if the store is in use, damaged or another system's, and if the
    guest accessed the drive without a clock.
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
        "store": None if store is None else os.fspath(store),
        "cuts": None
        if cuts is None
        else {"folder": str(cuts.folder), "instants": list(cuts.instants), "witness": str(cuts.witness)},
    }
    text, failure, interrupted = _core.serve(system.source, list(system.changes), request, ready)
    if output is not None:
        (Path(output) / "summary.json").write_text(text)
    if failure is not None:
        raise UserError(failure)
    return Served(json.loads(text), interrupted)
