"""The native module: what of the simulator Python calls.

A user's mistake is raised as `nandram.UserError` with the one line to show. A broken invariant of the simulator is a
Rust panic (`pyo3_runtime.PanicException`).
"""

from collections.abc import Callable
from typing import Any, TypedDict

from numpy.typing import NDArray
from typing_extensions import Buffer

from nandram.options import RunOptions

__version__: str

Columns = dict[str, NDArray[Any]]
"""Columns of one length, by name. The end of a name is its unit: ``_ns``, ``_s``, ``bytes``."""

class RunOutput:
    """What a run gave. The texts are complete and the same bytes for the same input, on any machine."""

    @property
    def summary_json(self) -> str:
        """``summary.json``.

        ``jobs`` follows fio's JSON output, version 3: ``jobname``, ``groupid``, ``job options``, and for ``read``,
        ``write``, ``trim``: ``io_bytes``, ``bw_bytes``, ``iops``, ``runtime`` (ms), ``total_ios``, ``slat_ns``,
        ``clat_ns`` with ``percentile``, ``lat_ns``; and ``sync`` with ``total_ios`` and ``lat_ns``. Beside them,
        ``nandram`` has what only a simulator knows.
        """

    @property
    def manifest_json(self) -> str:
        """``manifest.json``: the resolved system with the basis of each value, versions, seed, content hash.

        Python reads of it: ``system`` (as it was named), ``changes`` (``key=value``), ``workload``, ``seed``,
        ``version``.
        """

    @property
    def timeline_json(self) -> str | None:
        """``timeline.json`` in the Trace Event Format; None unless asked for."""

    @property
    def latency(self) -> Columns:
        """Histograms of the response times, from arrival to end, without the warm-up: a row a bucket that has any.

        ``job`` (index into ``jobs``), ``direction`` (0 read, 1 write, 2 trim, 3 sync), ``latency_ns`` (the upper edge
        of the bucket, rising), ``count``.
        """

    @property
    def throughput(self) -> Columns:
        """What ended when, the warm-up included: a row a window of time, job and direction, in the order of time.

        ``time_s`` (the start of the window), ``span_s``, ``job``, ``direction``, ``requests``, ``bytes``,
        ``latency_mean_ns``, ``latency_p50_ns``, ``latency_p99_ns``, ``latency_max_ns``.
        """

    @property
    def latency_over_time(self) -> Columns:
        """Response times of each window, over all jobs and the warm-up included: a row a quarter of an octave.

        ``direction``, ``latency_ns`` (the lower edge of the quarter), ``count``, ``time_s``, ``span_s``.
        """

    @property
    def drive(self) -> Columns:
        """What the drive did over time, a row a window: counts of the window, and the state at its end.

        ``time_s``, ``span_s``; counts: ``host_units``, ``programmed_host``, ``programmed_copy``, ``programmed_other``
        (translation, journal, padding), ``victims``, ``erases``, ``energy_j``; state: ``free_blocks``, ``collecting``
        (parallel units that collect), ``dies_erasing``, ``queue`` (commands between driver and translation layer),
        ``die_queue`` (flash operations), ``write_cache_used`` and ``write_cache_units``. Empty without a drive.
        """

    @property
    def requests(self) -> Columns:
        """Every request in the order in which they ended, if the option ``log`` is set.

        ``job``, ``direction``, ``bytes``, ``issued_ps``, ``completed_ps``. On main memory: the lines that a program
        waited for.
        """

    @property
    def dies(self) -> Columns:
        """A row a die: ``die``, ``channel``, what it did, and the fractions of the run that this took.

        Its array was at work for ``read_busy``, ``program_busy`` and ``erase_busy``, and its register held data that
        waited for the channel or left through it for ``holding``; counts: ``reads``, ``retries``, ``programs``,
        ``erases``, ``suspensions``.
        """

class DeviceRequest(TypedDict):
    """A device of a simulation."""

    name: str
    system: str
    sets: list[str]
    prepare: str
    cache: str | None
    outstanding: int

class Stepping:
    """A simulation that a program outside drives. Times are picoseconds."""

    def __init__(self, devices: list[DeviceRequest], seed: int, history: int) -> None: ...
    @staticmethod
    def time_ps(name: str, text: str) -> int:
        """Return the picoseconds of a time with its unit; `name` is the argument in messages."""

    @staticmethod
    def restore(path: str, cache: str | None) -> Stepping: ...
    def save(self, path: str) -> None: ...
    @property
    def now(self) -> int: ...
    @property
    def names(self) -> list[str]: ...
    def bytes(self, device: int) -> int: ...
    def room(self, device: int) -> int: ...
    def energy_j(self, device: int) -> float: ...
    def summary(self, device: int) -> str: ...
    def next_event(self) -> int | None: ...
    def submit(self, at: int, numbers: list[int]) -> int:
        """Submit one request: device, operation, FUA, thread, address, bytes, handle."""

    def submit_all(self, count: int, columns: list[Any]) -> int:
        """Submit requests from columns, each a number or an array of ``uint64``: time, then as in `submit`."""

    def advance(self, until: int | None, stops: bool) -> Columns:
        """Advance, to the first completion if `stops`, and return the completions.

        ``id``, ``handle``, ``submitted``, ``completed`` (uint64), ``device`` (uint16), ``status`` (uint8).
        """

def check(system: str, sets: list[str], changed: bool = False) -> str:
    """Return the resolved system file as TOML: every default, and the basis of every value.

    `changed`: without defaults and values of the files that it extends.

    `system`: a file's path or a preset's name. `sets`: changes, each ``key=value``, the value as in TOML.
    """

def settings(system: str, sets: list[str]) -> str:
    """Return every value of a system that applies as JSON: ``value``, ``set_by``, ``basis``; as a manifest has them."""

def check_workload(path: str) -> str:
    """Read a job file, a file of programs or a trace from end to end; return what it is. Raises `nandram.UserError`."""

def trace_formats() -> list[tuple[str, str, str, list[str]]]:
    """Return the formats of block traces: name, title, layout of one request, file extensions."""

def schema() -> str:
    """Return the JSON Schema of system files."""

def systems() -> list[tuple[str, str]]:
    """Return the presets: name and one line."""

def read_preset(name: str) -> str:
    """Return the file of a preset."""

def papers() -> list[tuple[str, str]]:
    """Return the claims of papers and the experiments that test them: path (``claims/NAME.toml``) and text."""

def paging(
    system: str,
    sets: list[str],
    trace: str,
    policies: list[str],
    sram: list[str],
    reading: str | None,
    bound_rounds: int,
    requests: int | None,
    progress: Callable[[float, float, int], bool] | None,
) -> dict[str, Any]:
    """Serve a page trace, or its first `requests`, with policies at SRAM sizes (``4KiB``).

    Return ``requests``, ``pages``, ``page_bytes``; ``served``, columns: ``index`` (of the policy), ``sram_bytes``,
    ``flash_to_buffer``, ``buffer_to_sram``, ``buffer_reads``, ``sram_reads``, ``time_s``, ``energy_j``; and ``bounds``,
    columns: ``sram_bytes``, ``time_s``, ``energy_j``, of no row where there are none.
    """

def paging_sweep(
    system: str,
    sets: list[str],
    trace: str,
    sram: list[str],
    windows: list[int],
    reading: str | None,
    requests: int | None,
    progress: Callable[[float, float, int], bool] | None,
) -> dict[str, Any]:
    """Serve a page trace, or its first `requests`, with PM-XIP at every threshold from 0 to each window.

    Return ``requests``, ``pages``, ``page_bytes``; ``swept``, columns: ``window``, ``threshold``, and those of
    `paging` without ``index``; and ``lru``, columns as ``served`` of `paging`, a row an SRAM size.
    """

def run(
    system: str,
    sets: list[str],
    workload: str,
    options: RunOptions,
    progress: Callable[[float, float, int], bool] | None,
    requests: Callable[[Columns, list[str]], None] | None = None,
) -> RunOutput:
    """Run a workload, a fio job file or a trace, on a system.

    `requests` gets every request to a drive, some ten thousand at a time, as columns, and the names of the jobs:
    ``job``, ``direction``, ``measured``, ``offset``, ``bytes``, ``status``, ``die`` (the largest number: none),
    ``due_ps``, ``issued_ps``, ``submitted_ps``, ``completed_ps``, and ``..._ps`` of each part of the latency. It is
    called from another thread; what it raises ends the run.

    `progress` is called ten times a second with the fraction done, the simulated time in seconds and the requests
    ended; all are 0 while the drive is prepared. If it returns False, or raises, the run is given up:
    KeyboardInterrupt, or what it raised. A preparation under way then ends by itself, in a thread of its own.
    """

class ServeRequest(TypedDict):
    """How a drive is served."""

    socket: str
    channel: str | None
    """The file of the clock channel; None for the host's clock."""
    dilation: int
    """Nanoseconds of the host's clock per nanosecond of the drive."""
    seed: int
    store: str | None
    """The file of the flash; None to keep it in memory."""
    cuts: Cuts | None

class Cuts(TypedDict):
    """Instants at which the drive's power would be cut, to learn what would be left."""

    folder: str
    """Folder for ``NUMBER.store``, and ``cuts.jsonl`` with a line per instant."""
    instants: list[int]
    """Nanoseconds of the drive's time."""
    witness: str
    """File whose length at each instant is recorded."""

def export_store(system: str, sets: list[str], seed: int, store: str, image: str) -> None:
    """Write what the host of the drive in `store` would read to the sparse file `image`. Linux only."""

def serve(
    system: str, sets: list[str], request: ServeRequest, ready: Callable[[], object]
) -> tuple[str, str | None, bool]:
    """Serve a drive at a vfio-user socket until the monitor that connects there disconnects. Linux only.

    Calls `ready` once the socket exists. Returns the summary as JSON, why the clock failed if it did, and whether an
    interrupt ended it.
    """

class ProbeOutput:
    """What a probe gave."""

    @property
    def report_json(self) -> str:
        """The report: ``version``, ``target``, ``options``, ``ended``, ``findings``, ``spent``, ``samples``."""

    @property
    def ended(self) -> str | None:
        """Why it ended before all was done."""

    def model(self) -> str:
        """Return a system file that behaves like what was probed. It is simulated several times to find it."""

    @property
    def interrupted(self) -> bool:
        """Whether that was the user's wish."""

    @property
    def not_restored(self) -> str | None:
        """What could not be put back as it was found, and how a user does it."""

def probe_tests() -> list[tuple[str, bool, str]]:
    """Return the tests: name, whether it writes, what it does."""

def probe_plan(target: str, sets: list[str], asked: dict[str, Any]) -> str:
    """Return what a probe would do to a target, as JSON. Nothing is opened for writing, and nothing is switched."""

def probe(
    target: str,
    sets: list[str],
    asked: dict[str, Any],
    progress: Callable[[int, int, str, bool | None], bool] | None,
) -> ProbeOutput:
    """Probe a target.

    `progress` is called ten times a second with the tests done, all tests, the one under way and whether the drive has
    host memory meanwhile. If it returns False, or a signal raises KeyboardInterrupt, the probe ends in good order and
    the output has what was found until then; only while a simulated drive is prepared, KeyboardInterrupt is raised.
    """

class MemoryArea(Buffer):
    """Bytes of a memory at addresses of the process: a buffer that can be written."""

    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class MemoryFile:
    """A memory on a file; see `nandram.Memory`. Calls raise `nandram.UserError` and `nandram.StorageError`."""

    @staticmethod
    def open(
        path: str, make: bool, capacity: str | None, dram: str | None, space: str | None, tokens: int | None
    ) -> MemoryFile: ...
    def alloc(self, size: int, temporary: bool) -> int: ...
    def delete(self, address: int, size: int) -> None: ...
    def set_permissions(self, address: int, size: int, allowed: tuple[bool, bool, bool]) -> None: ...
    def read(self, address: int, size: int) -> bytes: ...
    def read_into(self, address: int, into: Buffer) -> None: ...
    def write(self, address: int, data: Buffer) -> None: ...
    def sync(self, name: str | None) -> int: ...
    def flush(self) -> None: ...
    def rollback(self, token: int) -> None: ...
    def drop_token(self, token: int) -> None: ...
    def tokens(self) -> list[tuple[int, str | None]]: ...
    def token(self, name: str) -> int: ...
    def name(self, name: str, address: int, size: int) -> None: ...
    def find(self, name: str) -> tuple[int, int]: ...
    def names(self) -> list[tuple[int, int, str]]: ...
    def verify(self) -> tuple[list[str], int]: ...
    def compact(self) -> None: ...
    def grow(self, capacity: str | None, space: str | None) -> None: ...
    def stats(self) -> dict[str, int]: ...
    def area(self, address: int, size: int) -> MemoryArea: ...
    def serves_system_calls(self) -> bool | None: ...
    def address_of(self, pointer: int) -> int | None: ...
    def advise(self, address: int, size: int, how: str) -> None: ...
    def capacity(self) -> int: ...
    def close(self) -> None: ...

class MemoryReading:
    """A reader beside a memory's writer; see `nandram.MemoryReader`. Calls raise as those of `MemoryFile`."""

    @staticmethod
    def open(path: str, dram: str | None) -> MemoryReading: ...
    def read(self, address: int, size: int) -> bytes: ...
    def read_into(self, address: int, into: Buffer) -> None: ...
    def tokens(self) -> list[tuple[int, str | None]]: ...
    def token(self, name: str) -> int: ...
    def find(self, name: str) -> tuple[int, int]: ...
    def names(self) -> list[tuple[int, int, str]]: ...
    def go_to(self, token: int) -> None: ...
    def refresh(self) -> None: ...
    def verify(self) -> list[str]: ...
    def export(self, to: str, name: str | None) -> int: ...
    def capacity(self) -> int: ...
    def close(self) -> None: ...

def memory_backup(path: str, to: str) -> list[str]:
    """Make the new file `to` a copy of the memory in `path`, with its tokens; return what of it cannot be read."""

def memory_info(path: str) -> dict[str, int]:
    """Return what a file says of the memory in it, without opening it.

    ``capacity``, ``file_bytes``, ``page_bytes``, ``segment_bytes``, ``block_bytes``, ``tokens`` (as many may be live).
    """
