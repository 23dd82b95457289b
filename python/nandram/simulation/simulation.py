"""One or several devices under one virtual clock."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from nandram.errors import UserError
from nandram.options import Precondition, check_seed, default_cache, one_of, text_of
from nandram.simulation.arguments import column, device_index, number, op_code, op_codes, time_ps, until_ps, whole
from nandram.simulation.completions import Completions
from nandram.system import System, load_system

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from nandram._core import DeviceRequest, Stepping

OUTSTANDING = 1 << 16
"""Default limit of outstanding requests of a device."""
NAMES = ("device", "op", "fua", "thread", "address", "bytes", "handle")
"""Numbers of a request, in the order of the native module."""
HISTORY = 1 << 30
"""Default limit of the history in bytes."""


@dataclass(frozen=True)
class SimulationDevice:
    """A device with options of its own."""

    system: System | str | os.PathLike[str]
    """A drive or main memory: a preset's name, a file's path, or a `System`."""
    name: str | None = None
    """Name in messages and results; by default the system's."""
    prepare: str | None = None
    """State of a drive; by default that of the simulation."""
    set: Mapping[str, object] | None = None
    """Changes of the system, added to those of the simulation."""
    scale: str | None = None
    """Scale of the system, such as ``"1/64"``; by default that of the simulation."""
    outstanding: int | None = None
    """Limit of outstanding requests; by default that of the simulation."""


Device = System | str | os.PathLike[str] | SimulationDevice


class Simulation:
    """Drives and main memory in virtual time, for a program outside: a simulator, a serving simulator, a control loop.

    The program submits requests at times of its choice, advances the clock, and is notified of completions:

        with nandram.Simulation("nvme-client-tlc", prepare="steady") as sim:
            sim.submit("0s", "read", range(0, 32 * 4096, 4096), 4096)
            while len(done := sim.advance_to_completion()):
                ...

    Times are picoseconds, or texts with a unit such as ``"25us"``. The clock starts at 0 and never goes back. The same
    calls give the same completions on any machine.
    """

    _core: "Stepping | None"

    def __init__(
        self,
        system: Device | Sequence[Device],
        *,
        prepare: str = "none",
        seed: int = 1,
        set: Mapping[str, object] | None = None,  # noqa: A002
        scale: str | None = None,
        outstanding: int = OUTSTANDING,
        history: int = HISTORY,
        cache: str | os.PathLike[str] | None = "default",
    ) -> None:
        """Build and prepare the devices: `system`, or each of several under one clock.

        `prepare` is the state of each drive: ``none``, ``fill``, ``random``, ``steady`` or ``rested``, as in `run`;
        main memory has no such state and ignores it. `set` and `scale` change each system, as in `load_system`; a
        `SimulationDevice` has options of its own. `seed` determines all random draws; device ``i`` has ``seed + i``, so
        that it equals a run with that seed. `outstanding` is the limit of outstanding requests of a drive, or of
        64-byte lines of main memory. `history` is the limit, in bytes, of what `save` writes, about ten bytes per
        request; 0 keeps none. `cache` is the folder for prepared drives, as in `run`.

        Raises `UserError` for a mistake in any argument.
        """
        from nandram import _core

        check_seed(seed)
        whole("history", history, 0)
        one_of("prepare", text_of("prepare", prepare), tuple(Precondition))
        devices = [system] if isinstance(system, (System, str, os.PathLike, SimulationDevice)) else list(system)
        requests = [_device(device, prepare, set, scale, outstanding, cache) for device in devices]
        self._core = _core.Stepping(requests, seed, history)

    @classmethod
    def restore(cls, path: str | os.PathLike[str], *, cache: str | os.PathLike[str] | None = "default") -> "Simulation":
        """Continue from a state that `save` wrote: all later calls have the results that they would have had there.

        The history of submissions is simulated again, which takes as long as the simulation itself took. Raises
        `UserError` if the file cannot be read, is damaged, or was written by another version.
        """
        from nandram import _core

        simulation = cls.__new__(cls)
        simulation._core = _core.Stepping.restore(os.fspath(path), _cache(cache))
        return simulation

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file, at any time, with requests outstanding. Raises `UserError`."""
        self._open.save(os.fspath(path))

    def close(self) -> None:
        """Free the devices; further calls raise `UserError`."""
        self._core = None

    def __enter__(self) -> "Simulation":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _open(self) -> "Stepping":
        if self._core is None:
            raise UserError("the simulation is closed")
        return self._core

    @property
    def now(self) -> int:
        """Present time in picoseconds: that of the last completion, or until which the simulation advanced."""
        return self._open.now

    @property
    def names(self) -> list[str]:
        """Names of the devices."""
        return self._open.names

    def bytes(self, device: int = 0) -> int:
        """Return the size of a device, addressable from 0 on. Raises `UserError`."""
        return self._open.bytes(device_index(device))

    def room(self, device: int = 0) -> int:
        """Return how much a device accepts now: requests of a drive, or 64-byte lines of main memory."""
        return self._open.room(device_index(device))

    def submit(
        self,
        at: "int | str | ArrayLike",
        op: "str | Sequence[str] | ArrayLike",
        address: "int | ArrayLike" = 0,
        bytes: "int | ArrayLike" = 0,  # noqa: A002
        *,
        handle: "int | ArrayLike" = 0,
        device: "int | ArrayLike" = 0,
        thread: "int | ArrayLike" = 0,
        fua: bool = False,
    ) -> int:
        """Submit a request at a time, now or later, and return its number; numbers count submissions from 0.

        `op` is ``read``, ``write``, ``flush``, ``trim`` (drives) or ``rollback`` (flash behind DRAM), or its index in
        `OPS`. `address` and `bytes` are multiples of 512 for drives and of 64 for main memory; a flush and a rollback
        have none. `handle` is a number that the completion repeats. `thread` is the submitting thread of a drive's
        host, which selects processor core and queue pair. `fua`: a drive acknowledges a write only once it is durable.

        An array or a list in any place but `fua` submits as many requests at once, without Python in between; the
        other arguments may be single values. All are submitted or none, and the number of the first is returned.

        Raises `UserError` if a request is invalid, its time has passed, or too many requests are outstanding.
        """
        core = self._open
        if isinstance(at, str):
            at = time_ps("at", at)
        if type(at) is int and type(address) is int and type(bytes) is int and isinstance(op, str):
            rest = (device, thread, handle)
            if all(type(value) is int for value in rest):
                values = zip(NAMES, (device, op_code(op), int(fua), thread, address, bytes, handle), strict=True)
                return core.submit(number("at", at), [number(*value) for value in values])
        return self._submit_all(core, at, op, fua, (device, thread, address, bytes, handle))

    def _submit_all(self, core: "Stepping", at: object, op: object, fua: bool, rest: tuple[object, ...]) -> int:
        names = ("device", "thread", "address", "bytes", "handle")
        device, thread, address, size, handle = (column(*pair) for pair in zip(names, rest, strict=True))
        times = column("at", at)
        ops = op_codes(op)
        columns = [times, device, ops, int(fua), thread, address, size, handle]
        lengths = {len(column) for column in columns if not isinstance(column, int)}
        if len(lengths) > 1:
            raise UserError(
                f"submit: found arrays of {' and '.join(map(str, sorted(lengths)))} values, expected one length"
            )
        return core.submit_all(lengths.pop() if lengths else 1, columns)

    def next_event(self) -> int | None:
        """Return the time of the next event in picoseconds: nothing completes earlier unless it is submitted.

        Most events complete nothing. None if nothing will happen.
        """
        return self._open.next_event()

    def advance(self, until: int | str | None = None) -> Completions:
        """Advance to `until` and return all completions up to then, in order of time and, at equal times, of device.

        Without `until`, advance until no request is outstanding. Raises `UserError` if `until` has passed.
        """
        return Completions(**self._open.advance(until_ps(until), False))

    def advance_to_completion(self, until: int | str | None = None) -> Completions:
        """Advance to the first completion, or to `until` if that is earlier, and return the completions of one event.

        Without `until`, the result is empty only if no request is outstanding. A program that submits its next request
        now continues exactly like the host of a run. Raises `UserError` if `until` has passed.
        """
        return Completions(**self._open.advance(until_ps(until), True))

    def energy_j(self, device: int = 0) -> float:
        """Return the energy of a device so far, in joules: of the flash of a drive, or of main memory."""
        return self._open.energy_j(device_index(device))

    def summary(self, device: int = 0) -> dict[str, Any]:
        """Return the summary of a device so far, with the sections of a run's ``summary.json``.

        Its one job has the device's name. Raises `UserError` if the device does not exist.
        """
        return cast("dict[str, Any]", json.loads(self._open.summary(device_index(device))))


def _device(
    device: Device,
    prepare: str,
    changes: Mapping[str, object] | None,
    scale: str | None,
    outstanding: int,
    cache: str | os.PathLike[str] | None,
) -> "DeviceRequest":
    """Return the options of a device for the native module. Raises `UserError`."""
    if not isinstance(device, SimulationDevice):
        device = SimulationDevice(device)
    system = device.system if isinstance(device.system, System) else load_system(device.system)
    system = system.with_({**(changes or {}), **(device.set or {})})
    scale = device.scale if device.scale is not None else scale
    if scale is not None:
        system = system.with_({"scale": scale})
    own = device.prepare
    if own is not None:
        one_of("prepare", text_of("prepare", own), tuple(Precondition))
    is_memory = system.values.get("memory", {}).get("type", "none") != "none"
    state = own if own is not None else "none" if is_memory else prepare
    limit = outstanding if device.outstanding is None else device.outstanding
    return {
        "name": system.source if device.name is None else text_of("name", device.name),
        "system": system.source,
        "sets": list(system.changes),
        "prepare": state,
        "cache": None if state == "none" else _cache(cache),
        "outstanding": whole("outstanding", limit, 1, (1 << 32) - 1),
    }


def _cache(cache: str | os.PathLike[str] | None) -> str | None:
    if cache is None:
        return None
    return default_cache() if cache == "default" else os.fspath(cache)
