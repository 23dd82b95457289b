"""Demand paging from flash with execution in place: policies on page traces, and sweeps of PM-XIP."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandram.errors import UserError
from nandram.system import System, load_system

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

POLICIES = ("lru", "min", "pm-xip(8,4)", "rent-or-buy")
"""Default policies."""
SRAM = ("4KiB", "8KiB", "16KiB", "32KiB")
"""Default SRAM sizes, those of the paper."""
BOUND_ROUNDS = 60
"""Default rounds of the lower-bound search, which reach a few percent of the limit."""
WINDOW_MAX = 4096

TracePath = str | os.PathLike[str]
Report = Callable[[int, int, float], None]
"""Called with the number of finished traces, the number of traces and the fraction done."""


@dataclass(frozen=True)
class Paging:
    """Results of policies on page traces."""

    table: "pl.DataFrame"
    """One row per trace, SRAM size and policy; see `frame`."""

    def frame(self) -> "pl.DataFrame":
        """Return the table.

        ``trace, requests, pages, sram_bytes, policy``; ``flash_to_buffer, buffer_to_sram, buffer_reads, sram_reads``:
        counts; ``time_s, energy_j``: their total time without overlap, and energy; ``time_bound_s, energy_bound_j``:
        lower bounds over all schedules (null if not computed); ``time_to_bound, energy_to_bound``: the ratios.
        """
        return self.table

    def plot(self) -> "alt.Chart | alt.FacetChart":
        """Plot each policy's time relative to the bound, or its time, by SRAM size; one panel per trace."""
        from nandram.paging import plots

        return plots.compared(self.table)

    def __repr__(self) -> str:
        return f"<Paging of {self.table['trace'].n_unique()} traces: {', '.join(self.table['policy'].unique())}>"

    def _repr_html_(self) -> str:
        html: str = self.table._repr_html_()
        return html


@dataclass(frozen=True)
class PagingSweep:
    """Results of PM-XIP over windows and thresholds."""

    table: "pl.DataFrame"
    """One row per trace, SRAM size, window and threshold; see `frame`."""

    def frame(self) -> "pl.DataFrame":
        """Return the table.

        ``trace, sram_bytes, window, threshold, percent`` (of the window); the four counts; ``time_s, energy_j``;
        ``time_to_lru, energy_to_lru``: relative to LRU with the same SRAM.
        """
        return self.table

    def best(self, by: str = "time") -> "pl.DataFrame":
        """Return the row with the least time (or ``energy``) per trace and SRAM size, preferring small windows."""
        column = {"time": "time_s", "energy": "energy_j"}.get(by)
        if column is None:
            raise UserError(f"by: found `{by}`, expected time or energy")
        ordered = self.table.with_row_index().sort(column, "index")
        return ordered.group_by("trace", "sram_bytes", maintain_order=True).first().sort("index").drop("index")

    def plot(self, quantity: str = "time") -> "alt.Chart | alt.FacetChart":
        """Plot time or ``energy`` relative to LRU over window and threshold, one panel per trace and SRAM size."""
        from nandram.paging import plots

        if quantity not in ("time", "energy"):
            raise UserError(f"quantity: found `{quantity}`, expected time or energy")
        return plots.heat_map(self.table, quantity)

    def __repr__(self) -> str:
        return f"<PagingSweep of {self.table['trace'].n_unique()} traces, {len(self.table)} points>"

    def _repr_html_(self) -> str:
        html: str = self.table._repr_html_()
        return html


def run_paging(
    *traces: TracePath,
    policies: Sequence[str] = POLICIES,
    sram: Sequence[str] = SRAM,
    system: System | str | os.PathLike[str] = "onenand-xip",
    set: Mapping[str, object] | None = None,  # noqa: A002
    reading: str | None = None,
    bound_rounds: int = BOUND_ROUNDS,
    requests: int | None = None,
    report: Report | None = None,
) -> Paging:
    """Run page traces with policies and SRAM sizes; the same input gives the same result.

    `policies`: ``lru``, ``fifo``, ``clock``, ``2q``, ``arc``, ``s3-fifo``, ``min`` (off line), ``pm-xip(WINDOW,
    THRESHOLD)``, ``rent-or-buy``. `sram`: sizes with units, multiples of the page size. `system`: defines buffers and
    costs (link type ``onenand``), with the changes `set`. `reading` of PM-XIP: ``before`` or ``with`` (the
    current request in the window), ``after`` or ``first`` (tested as to the discard), ``fault`` or ``hit`` (promotion),
    joined by ``+``; by default the system's. `bound_rounds`: rounds of the lower-bound search, 0 for no bound; traces
    of more than 4,194,304 requests have none. `requests`: use only the first requests of each trace. `report`: called
    with the progress.

    Raises `UserError` for a mistake in any argument.
    """
    import polars as pl

    from nandram import _core

    of = _system(system, set)
    _check_lists(traces, policies=policies, sram=sram)
    _check_requests(requests)
    if bound_rounds < 0 or bound_rounds > 100_000:
        raise UserError(f"bound_rounds: found {bound_rounds}, expected 0 to 100000")
    frames = []
    for number, (name, path) in enumerate(named(traces)):
        if report is not None:
            report(number, len(traces), number / len(traces))
        found = _core.paging(
            of.source, list(of.changes), path, list(policies), list(sram), reading, bound_rounds, requests, _go_on
        )
        served = pl.DataFrame(dict(found["served"]))
        bounds = pl.DataFrame(dict(found["bounds"])).rename({"time_s": "time_bound_s", "energy_j": "energy_bound_j"})
        words = pl.col("index").replace_strict(dict(enumerate(policies)), return_dtype=pl.String).alias("policy")
        facts = [pl.lit(name).alias("trace"), *(pl.lit(found[key]).alias(key) for key in ("requests", "pages"))]
        frame = served.with_columns(words, *facts).join(bounds, on="sram_bytes", how="left", maintain_order="left")
        frames.append(
            frame.select(
                *("trace", "requests", "pages", "sram_bytes", "policy"),
                *_COUNTS,
                *("time_s", "energy_j", "time_bound_s", "energy_bound_j"),
                (pl.col("time_s") / pl.col("time_bound_s")).alias("time_to_bound"),
                (pl.col("energy_j") / pl.col("energy_bound_j")).alias("energy_to_bound"),
            )
        )
    return Paging(pl.concat(frames))


def run_paging_sweep(
    *traces: TracePath,
    windows: str | Sequence[int] = "2..1024",
    thresholds: str = "0..100%",
    sram: Sequence[str] = SRAM,
    system: System | str | os.PathLike[str] = "onenand-xip",
    set: Mapping[str, object] | None = None,  # noqa: A002
    reading: str | None = None,
    requests: int | None = None,
    report: Report | None = None,
) -> PagingSweep:
    """Run page traces with PM-XIP at all thresholds of windows.

    `windows`: numbers, or a range of powers of two such as ``2..1024``. `thresholds`: range in percent of the window;
    every whole threshold in it is run. Other arguments as in `run_paging`. Raises `UserError`.
    """
    import polars as pl

    from nandram import _core

    of = _system(system, set)
    _check_lists(traces, sram=sram)
    _check_requests(requests)
    wanted = read_windows(windows)
    low, high = read_percents(thresholds)
    frames = []
    for number, (name, path) in enumerate(named(traces)):
        if report is not None:
            report(number, len(traces), number / len(traces))
        found = _core.paging_sweep(of.source, list(of.changes), path, list(sram), wanted, reading, requests, _go_on)
        swept = pl.DataFrame(dict(found["swept"]))
        lru = pl.DataFrame(dict(found["lru"])).select(
            "sram_bytes", pl.col("time_s").alias("time_lru"), pl.col("energy_j").alias("energy_lru")
        )
        percent = (100 * pl.col("threshold") / pl.col("window")).alias("percent")
        frame = swept.with_columns(pl.lit(name).alias("trace"), percent).join(
            lru, on="sram_bytes", how="left", maintain_order="left"
        )
        frames.append(
            frame.filter(pl.col("percent").is_between(low, high)).select(
                *("trace", "sram_bytes", "window", "threshold", "percent"),
                *_COUNTS,
                *("time_s", "energy_j"),
                (pl.col("time_s") / pl.col("time_lru")).alias("time_to_lru"),
                (pl.col("energy_j") / pl.col("energy_lru")).alias("energy_to_lru"),
            )
        )
    return PagingSweep(pl.concat(frames))


_COUNTS = ("flash_to_buffer", "buffer_to_sram", "buffer_reads", "sram_reads")


def _go_on(_fraction: float, _simulated_s: float, _done: int) -> bool:
    return True


def _system(system: System | str | os.PathLike[str], changes: Mapping[str, object] | None) -> System:
    if not isinstance(system, System):
        return load_system(system, changes)
    return system.with_(changes) if changes else system


def _check_requests(requests: int | None) -> None:
    if requests is not None and requests < 1:
        raise UserError(f"requests: found {requests}, expected at least 1")
    if requests is not None and requests >= 1 << 64:
        raise UserError(f"requests: found {requests}, expected less than 2^64")


def _check_lists(traces: Sequence[TracePath], **lists: Sequence[str]) -> None:
    if not traces:
        raise UserError("found no trace, expected one or more")
    for name, values in lists.items():
        if isinstance(values, str):
            raise UserError(f"{name}: found the text `{values}`, expected a list")
        if not values:
            raise UserError(f"{name}: found nothing, expected one or more")
        for value in values:
            if list(values).count(value) > 1:
                raise UserError(f"{name}: found `{value}` {list(values).count(value)} times, expected each once")


def named(traces: Sequence[TracePath]) -> list[tuple[str, str]]:
    """Return a name and the path of each trace; the name is that of the file up to its first dot, if unique.

    Names of bundled traces, such as ``xip/djpeg-arm-O2``, are accepted for paths.
    """
    from nandram.traces import resolve

    paths = [resolve(os.fspath(trace)) for trace in traces]
    short = [Path(path).name.split(".")[0] for path in paths]
    names = short if len({*short}) == len(short) else paths
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UserError(f"traces: found `{twice}` {names.count(twice)} times, expected each once")
    return list(zip(names, paths, strict=True))


def read_windows(windows: str | Sequence[int]) -> list[int]:
    """Return the windows of ``2..1024`` (powers of two), ``2,8,64``, or numbers. Raises `UserError`."""
    expected = f"windows from 1 to {WINDOW_MAX}, such as 2..1024 or 2,8,64"
    if isinstance(windows, str):
        first, dots, last = windows.partition("..")
        texts = [first, last] if dots else windows.split(",")
        if not all(text.strip().isascii() and text.strip().isdigit() for text in texts):
            raise UserError(f"window: found `{windows}`, expected {expected}")
        numbers = [int(text) for text in texts]
        if dots:
            low, high = numbers
            numbers = []
            while 0 < low <= high:
                numbers.append(low)
                low *= 2
    else:
        numbers = list(windows)
    if not numbers or not all(1 <= each <= WINDOW_MAX for each in numbers) or len({*numbers}) < len(numbers):
        raise UserError(f"window: found `{windows}`, expected {expected}")
    return sorted(numbers)


def read_percents(thresholds: str) -> tuple[float, float]:
    """Return the bounds of ``0..100%`` or ``50%`` in percent. Raises `UserError`."""
    text = thresholds.strip()
    low, dots, high = text.removesuffix("%").partition("..")
    try:
        ends = (float(low.removesuffix("%")), float(high if dots else low))
    except ValueError:
        ends = (1.0, 0.0)
    if not text.endswith("%") or not 0 <= ends[0] <= ends[1] <= 100:
        raise UserError(f"threshold: found `{thresholds}`, expected percent of the window, such as 0..100% or 50%")
    return ends


def sweep_summary(sweep: PagingSweep) -> list[dict[str, Any]]:
    """Return the best time and energy per trace and SRAM size, each with its window and threshold."""
    rows: list[dict[str, Any]] = []
    for time, energy in zip(
        sweep.best("time").iter_rows(named=True), sweep.best("energy").iter_rows(named=True), strict=True
    ):
        rows.append(
            {
                "trace": time["trace"],
                "sram_bytes": time["sram_bytes"],
                "time": {key: time[key] for key in ("window", "threshold", "time_s", "time_to_lru")},
                "energy": {key: energy[key] for key in ("window", "threshold", "energy_j", "energy_to_lru")},
            }
        )
    return rows
