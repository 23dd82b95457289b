"""The result of a run: numbers as attributes, tables as polars frames, plots."""

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandram import units
from nandram.errors import UserError

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

DIRECTIONS = ("read", "write", "trim", "sync")
"""As the native module numbers them."""


@dataclass(frozen=True)
class Traffic:
    """One direction of one job."""

    job: str
    group: int
    """Jobs of one group ran at the same time, groups one after another (fio's ``stonewall``)."""
    direction: str
    """``read``, ``write``, ``trim`` or ``sync``."""
    requests: int
    bytes: int
    iops: float
    bandwidth_bytes_s: float
    latency_mean_ns: float
    """From when the request was due to when it was complete."""
    latency_max_ns: float
    percentiles_ns: dict[float, float]
    """Of the same time, by percent."""


class Result:
    """What a run gave."""

    def __init__(
        self,
        summary_json: str,
        manifest_json: str,
        tables: "Mapping[str, pl.DataFrame]",
        timeline_json: str | None = None,
        output: Path | None = None,
    ) -> None:
        self.summary: dict[str, Any] = json.loads(summary_json)
        """The content of ``summary.json``; its ``jobs`` follow fio's JSON."""
        self.manifest: dict[str, Any] = json.loads(manifest_json)
        """The resolved system with the basis of each value, versions, seed, content hash."""
        self.summary_json = summary_json
        self.manifest_json = manifest_json
        self.timeline_json = timeline_json
        """For Perfetto; None unless asked for."""
        self.output = output
        """The folder it was written to."""
        self.tables = tables
        self.remarks: list[str] = []
        """What happened around the run; a saved result does not have it."""

    # -- numbers

    @cached_property
    def traffic(self) -> list[Traffic]:
        """Each direction of each job in which something was done."""
        return list(_traffic(self.summary["jobs"]))

    @cached_property
    def groups(self) -> list[Traffic]:
        """Totals of clones of a job and of jobs that ran together, each direction in which something was done."""
        return list(_traffic(self._groups))

    @property
    def _groups(self) -> list[dict[str, Any]]:
        """The totals of groups as jobs, named by how many they are of."""
        found: list[dict[str, Any]] = self.inside.get("groups", [])
        several = len({job["groupid"] for job in self.summary["jobs"]}) > 1
        every = {True: "group {}", False: "all"}[several]

        def name(group: dict[str, Any]) -> str:
            common = every.format(group["groupid"]) if group["jobname"] is None else group["jobname"]
            return f"{common} ({len(group['jobs'])} jobs)"

        return [{**each, "jobname": name(each)} for each in found]

    @property
    def iops(self) -> float:
        """Reads, writes and trims a second, over all jobs and the time that they ran."""
        return _ratio(sum(each.requests for each in self._data), self.runtime_s)

    @property
    def bandwidth_bytes_s(self) -> float:
        """Bytes read and written a second, over all jobs and the time that they ran."""
        return _ratio(sum(each.bytes for each in self._data if each.direction != "trim"), self.runtime_s)

    @property
    def runtime_s(self) -> float:
        """How long the jobs ran, without what was left out of the statistics: the longest of each group, added."""
        longest: dict[int, float] = {}
        for each in self._data:
            longest[each.group] = max(longest.get(each.group, 0.0), _ratio(each.requests, each.iops))
        return sum(longest.values())

    @property
    def latency_mean_ns(self) -> float:
        """Mean response time of reads, writes and trims."""
        return _ratio(
            sum(each.latency_mean_ns * each.requests for each in self._data), sum(each.requests for each in self._data)
        )

    def latency_percentile_ns(self, percent: float, direction: str | None = None) -> float:
        """Return the response time that `percent` of the requests (of one direction) kept; NaN if there were none.

        Raises `UserError`.
        """
        from nandram import frames

        return frames.percentile(self.latency(), percent, direction)

    @property
    def inside(self) -> dict[str, Any]:
        """What only a simulator knows: counts of the translation layer, energy, how busy each part was.

        They cover ``window``, as the jobs' statistics do; ``whole_run`` has those of the whole run.
        """
        inside: dict[str, Any] = self.summary["nandram"]
        return inside

    @property
    def write_amplification(self) -> float:
        """Units programmed per unit that the host wrote, warm-up left out; NaN if none was programmed."""
        ftl = self.inside.get("ftl")  # a OneNAND that is paged from has none
        found = None if ftl is None or ftl["host_units"] == 0 else ftl["write_amplification"]
        return math.nan if found is None else float(found)

    @property
    def write_amplification_by_bytes(self) -> float:
        """Bytes programmed per byte that the host wrote, warm-up left out; NaN if it wrote none."""
        ftl = self.inside.get("ftl")
        found = None if ftl is None else ftl.get("write_amplification_by_bytes")
        return math.nan if found is None else float(found)

    @property
    def energy_j(self) -> float:
        """Energy of the flash, warm-up left out; where code is paged from a OneNAND, its bus and the SRAM too."""
        return float(self.inside["energy_j"]["total"])

    @property
    def warm_up_s(self) -> float:
        """What was cut off the beginning of the statistics."""
        return float(self.inside["warm_up"]["cut_s"])

    @property
    def notes(self) -> list[str]:
        """What there is to know about these numbers, such as how much of the start was cut off as warm-up."""
        from nandram import notes

        reads = any(each.direction == "read" for each in self.traffic)
        return [
            *notes.ended_early(self.inside),
            *notes.failures(self.summary["jobs"]),
            *notes.of(self.inside, reads=reads),
            *self.remarks,
        ]

    @property
    def title(self) -> str:
        """What ran on what."""
        return f"{self.manifest['workload']} on {self.manifest['system']}"

    @property
    def _data(self) -> list[Traffic]:
        return [each for each in self.traffic if each.direction != "sync"]

    # -- tables

    def latency(self) -> "pl.DataFrame":
        """Histograms of the response times: ``job, name, direction, latency_ns, count``, a row a bucket."""
        return self.tables["latency"]

    def throughput(self) -> "pl.DataFrame":
        """What completed over time, a row per interval, job and direction, warm-up included.

        ``time_s, span_s, job, name, direction, requests, bytes``, ``iops``, ``bandwidth_bytes_s`` and
        ``latency_mean_ns``, ``latency_p50_ns``, ``latency_p99_ns``, ``latency_max_ns``, the response times.
        """
        return self.tables["samples"]

    def drive(self) -> "pl.DataFrame":
        """What the drive did over time, a row per interval, warm-up included; empty without a drive.

        Counts of the interval (``host_units``, ``programmed_...``, ``victims``, ``erases``, ``energy_j``,
        ``write_amplification``) and the state at its end (``free_blocks``, ``collecting``, ``dies_erasing``, ``queue``,
        ``die_queue``, ``write_cache_fill`` from 0 to 1).
        """
        return self.tables["drive"]

    def dies(self) -> "pl.DataFrame":
        """A row per die: what it did, and how much of the time that took, warm-up left out."""
        return self.tables["dies"]

    # -- plots

    def plot_latency_cdf(self) -> "alt.Chart":
        """Plot the fraction of requests that were answered within a time."""
        from nandram import plots

        return plots.latency_cdf(self)

    def plot_throughput(self) -> "alt.LayerChart | alt.FacetChart":
        """Plot what was read and written over time."""
        from nandram import plots

        return plots.throughput(self)

    def plot_dies(self) -> "alt.Chart":
        """Plot how busy each die was, and with what."""
        from nandram import plots

        return plots.dies(self)

    # -- files

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the result to a folder, made if need be: JSON, Parquet, a report. Raises `UserError`."""
        from nandram import output

        self.output = output.write(self, Path(folder))
        return self.output

    # -- to be looked at

    def __repr__(self) -> str:
        return (
            f"<Result {self.title}, seed {self.manifest['seed']}: {self.iops:,.0f} IOPS, "
            f"{units.rate(self.bandwidth_bytes_s)}, mean {units.duration(self.latency_mean_ns)}>"
        )

    def _repr_html_(self) -> str:
        import html

        head = "".join(f"<th>{html.escape(title)}</th>" for title in TITLES)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows()
        )
        return f"<p>{html.escape(repr(self))}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def rows(self) -> list[list[str]]:
        """Return the table that people read, its columns `TITLES`.

        One row per job and direction, then the totals of groups; with ``group_reporting`` those alone.
        """
        found = []
        for group in dict.fromkeys(job["groupid"] for job in self.summary["jobs"]):
            jobs = [job for job in self.summary["jobs"] if job["groupid"] == group]
            # As fio prints it: one row instead of one per job.
            together = len(jobs) > 1 and any("group_reporting" in job["job options"] for job in jobs)
            found += [] if together else list(_traffic(jobs))
            totals = [each for each in self._groups if each["groupid"] == group]
            found += _traffic(totals[-1:] if together else totals)
        return [_row(each) for each in found]


def _row(each: Traffic) -> list[str]:
    return [
        each.job,
        each.direction,
        f"{each.requests:,}",
        f"{each.iops:,.0f}" if each.iops else "",
        units.rate(each.bandwidth_bytes_s) if each.direction in ("read", "write") else "",
        units.duration(each.latency_mean_ns),
        *(
            units.duration(each.percentiles_ns[percent]) if percent in each.percentiles_ns else ""
            for percent in (50.0, 99.0, 99.9)
        ),
        units.duration(each.latency_max_ns),
    ]


TITLES = ["job", "", "requests", "IOPS", "bandwidth", "mean", "50 %", "99 %", "99.9 %", "max"]
"""The columns of `Result.rows`."""


def _ratio(above: float, below: float) -> float:
    return above / below if below else 0.0


def _traffic(jobs: list[dict[str, Any]]) -> Iterator[Traffic]:
    for job in jobs:
        for direction in DIRECTIONS:
            found = job[direction]
            if found["total_ios"] == 0:
                continue
            percentiles = found["lat_ns"].get("percentile", {})
            yield Traffic(
                job=job["jobname"],
                group=job["groupid"],
                direction=direction,
                requests=found["total_ios"],
                bytes=found.get("io_bytes", 0),
                iops=found.get("iops", 0.0),
                bandwidth_bytes_s=found.get("bw_bytes", 0.0),
                latency_mean_ns=found["lat_ns"]["mean"],
                latency_max_ns=found["lat_ns"]["max"],
                percentiles_ns={float(percent): value for percent, value in percentiles.items()},
            )


def read(folder: str | os.PathLike[str]) -> Result:
    """Read a result that was written to a folder. Raises `UserError`."""
    from nandram import output

    path = Path(folder)
    if not (path / "summary.json").is_file():
        raise UserError(f"{path}: holds no result: there is no summary.json in it")
    return output.read(path)
