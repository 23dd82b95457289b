"""Demand paging from flash that can be executed in: policies on page traces, and PM-XIP's windows and thresholds."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandram.errors import UserError
from nandram.system import System, load

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

POLICIES = ("lru", "min", "pm-xip(8,4)", "rent-or-buy")
"""What is compared unless the user says."""
SRAM = ("4KiB", "8KiB", "16KiB", "32KiB")
"""The paper's sizes."""
BOUND_ROUNDS = 60
"""Of the lower bound: within a few percent of as many as one likes."""
WINDOW_MAX = 4096

TracePath = str | os.PathLike[str]
Report = Callable[[int, int, float], None]
"""Called as traces are done: how many, of how many, and the fraction."""


@dataclass(frozen=True)
class Paging:
    """Policies on page traces."""

    table: "pl.DataFrame"
    """A row a trace, SRAM size and policy; see `frame`."""

    def frame(self) -> "pl.DataFrame":
        """Return the table.

        ``trace, requests, pages, sram_bytes, policy``; ``flash_to_buffer, buffer_to_sram, buffer_reads, sram_reads``:
        how often; ``time_s, energy_j``: of these together, nothing overlapping; ``time_bound_s, energy_bound_j``: what
        no schedule can beat (null where it was not looked for); ``time_to_bound, energy_to_bound``: the quotients.
        """
        return self.table

    def plot(self) -> "alt.Chart | alt.FacetChart":
        """Plot each policy's time over the bound, or where there is none its time, by SRAM size; a panel a trace."""
        from nandram import paging_plots

        return paging_plots.compared(self.table)

    def __repr__(self) -> str:
        return f"<Paging of {self.table['trace'].n_unique()} traces: {', '.join(self.table['policy'].unique())}>"

    def _repr_html_(self) -> str:
        html: str = self.table._repr_html_()
        return html


@dataclass(frozen=True)
class PagingSweep:
    """PM-XIP at many windows and thresholds."""

    table: "pl.DataFrame"
    """A row a trace, SRAM size, window and threshold; see `frame`."""

    def frame(self) -> "pl.DataFrame":
        """Return the table.

        ``trace, sram_bytes, window, threshold, percent`` (of the window); the four counts; ``time_s, energy_j``;
        ``time_to_lru, energy_to_lru``: relative to LRU with the same SRAM.
        """
        return self.table

    def best(self, by: str = "time") -> "pl.DataFrame":
        """Return the row of the least time (or ``energy``) of each trace and SRAM size, the smallest window first."""
        column = {"time": "time_s", "energy": "energy_j"}.get(by)
        if column is None:
            raise UserError(f"by: found `{by}`, expected time or energy")
        ordered = self.table.with_row_index().sort(column, "index")
        return ordered.group_by("trace", "sram_bytes", maintain_order=True).first().sort("index").drop("index")

    def plot(self, quantity: str = "time") -> "alt.Chart | alt.FacetChart":
        """Plot time or ``energy`` relative to LRU over window and threshold: a panel a trace and SRAM size."""
        from nandram import paging_plots

        if quantity not in ("time", "energy"):
            raise UserError(f"quantity: found `{quantity}`, expected time or energy")
        return paging_plots.heat_map(self.table, quantity)

    def __repr__(self) -> str:
        return f"<PagingSweep of {self.table['trace'].n_unique()} traces, {len(self.table)} points>"

    def _repr_html_(self) -> str:
        html: str = self.table._repr_html_()
        return html


def paging(
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
    """Serve page traces with policies at SRAM sizes; the same input gives the same result.

    `policies`: ``lru``, ``fifo``, ``clock``, ``2q``, ``arc``, ``s3-fifo``, ``min`` (off line), ``pm-xip(WINDOW,
    THRESHOLD)``, ``rent-or-buy``. `sram`: sizes with their units, multiples of the traces' pages. `system`: whose
    buffers and costs (link type ``onenand``), with the changes `set`. `reading` of PM-XIP: ``before`` or ``with`` (the
    current request in the window), ``after`` or ``first`` (tested as to the discard), ``fault`` or ``hit`` (promotion),
    joined by ``+``; the system's unless given. `bound_rounds`: of the lower bound, 0 for none; a trace of more than
    4,194,304 requests has none. `requests`: of each trace, the first so many; all unless given. `report`: called as
    traces are done.

    Raises `UserError` for a mistake in any of these.
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


def paging_sweep(
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
    """Serve page traces with PM-XIP at all thresholds of windows.

    `windows`: numbers, or ``2..1024``, each twice the one before. `thresholds`: percent of the window, from..to; every
    whole threshold in between is taken. The rest as of `paging`. Raises `UserError`.
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
        return load(system, changes)
    return system.with_(changes) if changes else system


def _check_requests(requests: int | None) -> None:
    if requests is not None and requests < 1:
        raise UserError(f"requests: found {requests}, expected at least 1")


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
    """Return a name for each trace, its file's up to the first dot where that tells them apart, and its path.

    What is no file but the name of a trace that came with nandram, such as ``xip/djpeg-arm-O2``, is that trace.
    """
    paths = [_path(os.fspath(trace)) for trace in traces]
    short = [Path(path).name.split(".")[0] for path in paths]
    names = short if len({*short}) == len(short) else paths
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UserError(f"traces: found `{twice}` {names.count(twice)} times, expected each once")
    return list(zip(names, paths, strict=True))


def _path(trace: str) -> str:
    from nandram.traces import bundled, path_of

    return os.fspath(path_of(trace)) if not os.path.exists(trace) and trace in bundled() else trace


def read_windows(windows: str | Sequence[int]) -> list[int]:
    """Return the windows of ``2..1024`` (each twice the one before), ``2,8,64``, or numbers. Raises `UserError`."""
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
    """Return the ends of ``0..100%`` or ``50%``, in percent. Raises `UserError`."""
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
    """Return the least time and the least energy of each trace and SRAM size, with the window and threshold of each."""
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
