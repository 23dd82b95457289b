"""Result of a run: numbers as attributes, tables as polars frames, plots."""

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
from nandram.results import validity
from nandram.results.names import DIRECTIONS, TITLES, system_name

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from nandram.results.stored.inputs import Inputs


@dataclass(frozen=True)
class Traffic:
    """Statistics of one direction of one job."""

    job: str
    group: int
    """Group number; jobs of a group run concurrently, groups in sequence (fio's ``stonewall``)."""
    direction: str
    """``read``, ``write``, ``trim`` or ``sync``."""
    requests: int
    bytes: int
    iops: float
    bandwidth_bytes_s: float
    latency_mean_ns: float
    """Mean time from the due time of a request to its completion."""
    latency_max_ns: float
    percentiles_ns: dict[float, float]
    """Percentiles of the same time, by percent."""


class Result:
    """Result of a run."""

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
        """Timeline for Perfetto; None unless requested."""
        self.output = output
        """The folder to which the result was written."""
        self.request_log: Path | None = None
        """The Parquet file with every request; None unless the run wrote one."""
        self.tables = tables
        self.inputs: Inputs | None = None
        """What the run was made from; None for a result that was read."""
        self.remarks: list[str] = []
        """Remarks on the circumstances of the run, which are not saved."""

    # -- numbers

    @cached_property
    def traffic(self) -> list[Traffic]:
        """Statistics of each active direction of each job."""
        return list(_traffic(self.summary["jobs"]))

    @cached_property
    def groups(self) -> list[Traffic]:
        """Totals of clones of a job and of concurrent jobs, for each active direction."""
        return list(_traffic(self._groups))

    @property
    def _groups(self) -> list[dict[str, Any]]:
        """The totals of groups in the form of jobs, with the number of jobs in the name."""
        found: list[dict[str, Any]] = self.inside.get("groups", [])
        several = len({job["groupid"] for job in self.summary["jobs"]}) > 1
        every = {True: "group {}", False: "all"}[several]

        def name(group: dict[str, Any]) -> str:
            common = every.format(group["groupid"]) if group["jobname"] is None else group["jobname"]
            return f"{common} ({len(group['jobs'])} jobs)"

        return [{**each, "jobname": name(each)} for each in found]

    @property
    def iops(self) -> float:
        """Reads, writes and trims per second, over all jobs and their run time."""
        return _ratio(sum(each.requests for each in self._data), self.runtime_s)

    @property
    def bandwidth_bytes_s(self) -> float:
        """Bytes read and written per second, over all jobs and their run time."""
        return _ratio(sum(each.bytes for each in self._data if each.direction != "trim"), self.runtime_s)

    @property
    def runtime_s(self) -> float:
        """Run time of the jobs within the statistics: the sum over groups of the longest job."""
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
        """Return a percentile of the response times, optionally of one direction; NaN without requests.

        Raises `UserError`.
        """
        from nandram.results import frames

        return frames.percentile(self.latency(), percent, direction)

    @property
    def inside(self) -> dict[str, Any]:
        """Internal data of the simulator: counters of the translation layer, energy, utilization of each part.

        They cover ``window``, like the statistics of the jobs; ``whole_run`` covers the whole run.
        """
        inside: dict[str, Any] = self.summary["nandram"]
        return inside

    @property
    def serving(self) -> dict[str, Any] | None:
        """Results of a served language model: times, tokens, hits by tier, wear, energy; None for other runs."""
        return self.inside.get("serving")

    @property
    def write_amplification(self) -> float:
        """Units programmed per unit written by the host, without the warm-up; NaN if none was programmed."""
        # Demand paging from a OneNAND and a server without drives have no translation layer.
        ftl = self.inside.get("ftl")
        found = None if ftl is None or ftl["host_units"] == 0 else ftl["write_amplification"]
        return math.nan if found is None else float(found)

    @property
    def write_amplification_by_bytes(self) -> float:
        """Bytes programmed per byte written by the host, without the warm-up; NaN if it wrote none."""
        ftl = self.inside.get("ftl")
        found = None if ftl is None else ftl.get("write_amplification_by_bytes")
        return math.nan if found is None else float(found)

    @property
    def energy_j(self) -> float:
        """Energy of the flash without the warm-up; for demand paging from a OneNAND, also of its bus and the SRAM."""
        return float(self.inside["energy_j"]["total"])

    @property
    def warm_up_s(self) -> float:
        """Warm-up time excluded from the statistics."""
        return float(self.inside["warm_up"]["cut_s"])

    @cached_property
    def validity(self) -> tuple[validity.Note, ...]:
        """The validity of these numbers: notes with their kinds, and the figures that they withhold."""
        return validity.notes_of(self.summary)

    @property
    def notes(self) -> list[str]:
        """The texts of `validity`, then lines on the run such as the length of the excluded warm-up."""
        from nandram.results import notes

        return [*(note.text for note in self.validity), *notes.of(self.inside), *self.remarks]

    @property
    def title(self) -> str:
        """The workload and the system, with its scale if it is a smaller copy."""
        return f"{self.manifest['workload']} on {system_name(self.manifest)}"

    @property
    def _data(self) -> list[Traffic]:
        return [each for each in self.traffic if each.direction != "sync"]

    # -- tables

    def latency(self) -> "pl.DataFrame":
        """Return histograms of the response times: ``job, name, direction, latency_ns, count``, one row per bucket."""
        return self.tables["latency"]

    def throughput(self) -> "pl.DataFrame":
        """Return completed requests over time, one row per interval, job and direction, including the warm-up.

        ``time_s, span_s, job, name, direction, requests, bytes``, ``iops``, ``bandwidth_bytes_s`` and
        ``latency_mean_ns``, ``latency_p50_ns``, ``latency_p99_ns``, ``latency_max_ns``, the response times.
        """
        return self.tables["samples"]

    def drive(self) -> "pl.DataFrame":
        """Return the activity of the drive over time, one row per interval, including the warm-up.

        Counts of the interval (``host_units``, ``programmed_...``, ``victims``, ``erases``, ``energy_j``,
        ``write_amplification``) and the state at its end (``free_blocks``, ``collecting``, ``dies_erasing``, ``queue``,
        ``die_queue``, ``write_cache_fill`` from 0 to 1). Empty without a drive.
        """
        return self.tables["drive"]

    def latency_over_time(self) -> "pl.DataFrame":
        """Return the requests of all jobs by response time, one row per interval, direction and class of times.

        ``time_s``, ``span_s``, ``direction``, ``latency_ns`` (the smallest time of the class), ``count``. There are
        four classes per doubling, which begin at 1, 5/4, 6/4 and 7/4 of a power of two. Includes the warm-up.
        """
        return self.tables["latency_over_time"]

    def dies(self) -> "pl.DataFrame":
        """Return one row per die with its operations and busy fractions, without the warm-up."""
        return self.tables["dies"]

    def requests(self) -> "pl.DataFrame":
        """Return every request in the order in which they ended, with the parts of its latency.

        ``job, name, direction, measured`` (false in a job's ramp time)``, offset, bytes, status``, the times ``due_ps,
        issued_ps, submitted_ps, completed_ps``, ``latency_ps`` from due to completed, and its parts, which add up
        to it:
        ``queue_ps, host_wait_ps, host_ps, adapter_ps, messages_ps, firmware_wait_ps, firmware_ps, buffer_ps, map_ps,
        die_wait_ps, array_ps, channel_wait_ps, channel_ps, correction_ps, program_ps, link_wait_ps, link_ps``; ``die``:
        that of the flash read that ended last. Raises `UserError` if the run kept no log of every request.
        """
        if self.request_log is None:
            raise UserError("requests: found no log of every request, expected a run with request_log=FILE")
        from nandram.results import requests

        return requests.read(self.request_log)

    def breakdown(self) -> "pl.DataFrame":
        """Return where the time of the requests goes, by direction and by percentile of the latency.

        ``direction, band, requests, latency_ns``, then ``..._ns`` of each part: means over the requests of the band,
        without the warm-up. Raises `UserError` if the run kept no log of every request.
        """
        if "breakdown" not in self.tables:
            raise UserError("breakdown: found no log of every request, expected a run with request_log=FILE")
        return self.tables["breakdown"]

    # -- plots

    def plot_breakdown(self) -> "alt.Chart":
        """Plot the parts of the latency, stacked, by direction and percentile. Raises `UserError` like `breakdown`."""
        from nandram.results import plots

        return plots.breakdown(self)

    def plot_latency_cdf(self) -> "alt.Chart":
        """Plot the cumulative distribution of response times."""
        from nandram.results import plots

        return plots.latency_cdf(self)

    def plot_throughput(self) -> "alt.LayerChart | alt.FacetChart":
        """Plot the read and write throughput over time."""
        from nandram.results import plots

        return plots.throughput(self)

    def plot_dies(self) -> "alt.Chart":
        """Plot the busy fraction of each die by operation."""
        from nandram.results import plots

        return plots.dies(self)

    # -- files

    def rename(self, here: str, there: str) -> None:
        """Replace the name of a file or folder from which the run read copies, so that equal runs have equal bytes."""
        old, new = (json.dumps(name)[1:-1] for name in (here, there))
        self.summary_json = self.summary_json.replace(old, new)
        self.manifest_json = self.manifest_json.replace(old, new)
        self.summary, self.manifest = json.loads(self.summary_json), json.loads(self.manifest_json)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the result as JSON, Parquet and an HTML report to a folder. Raises `UserError`."""
        from nandram.results import output

        self.output = output.write(self, Path(folder))
        return self.output

    # -- display

    def __repr__(self) -> str:
        found = (
            f"{self.iops:,.0f} IOPS, {units.rate(self.bandwidth_bytes_s)}, mean {units.duration(self.latency_mean_ns)}"
        )
        if any(each.direction in validity.withheld(self.validity) for each in self.traffic):
            found = "figures not shown"
        kinds = validity.kinds(self.validity)
        limits = f" ({', '.join(kinds)})" if kinds else ""
        return f"<Result {self.title}, seed {self.manifest['seed']}: {found}{limits}>"

    def _repr_html_(self) -> str:
        import html

        head = "".join(f"<th>{html.escape(title)}</th>" for title in TITLES)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows()
        )
        return f"<p>{html.escape(repr(self))}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def rows(self) -> list[list[str]]:
        """Return the formatted table with the columns `TITLES`.

        One row per job and direction, then the totals of groups; with ``group_reporting`` only the totals.
        """
        found = []
        for group in dict.fromkeys(job["groupid"] for job in self.summary["jobs"]):
            jobs = [job for job in self.summary["jobs"] if job["groupid"] == group]
            # Like fio, one row instead of one per job.
            together = len(jobs) > 1 and any("group_reporting" in job["job options"] for job in jobs)
            found += [] if together else list(_traffic(jobs))
            totals = [each for each in self._groups if each["groupid"] == group]
            found += _traffic(totals[-1:] if together else totals)
        return [_row(each, self.validity) for each in found]


def _row(each: Traffic, notes: tuple[validity.Note, ...]) -> list[str]:
    withheld = validity.withheld(notes)
    if each.direction in withheld:
        return [each.job, each.direction, f"{each.requests:,}", *[validity.NOT_SHOWN] * (len(TITLES) - 3)]
    tail = each.direction == "write" and "write-tail" in withheld
    steady = " (not steady)" if validity.qualified(notes, "rates") else ""
    return [
        each.job,
        each.direction,
        f"{each.requests:,}",
        f"{each.iops:,.0f}{steady}" if each.iops else "",
        units.rate(each.bandwidth_bytes_s) if each.direction in ("read", "write") else "",
        units.duration(each.latency_mean_ns),
        *(
            validity.NOT_SHOWN
            if tail and validity.is_tail(each.direction, percent)
            else units.duration(each.percentiles_ns[percent])
            if percent in each.percentiles_ns
            else ""
            for percent in (50.0, 99.0, 99.9)
        ),
        validity.NOT_SHOWN if tail else units.duration(each.latency_max_ns),
    ]


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


def read_result(folder: str | os.PathLike[str]) -> Result:
    """Read a result from the folder to which it was written. Raises `UserError`."""
    from nandram.results import output

    path = Path(folder)
    if not (path / "summary.json").is_file():
        raise UserError(f"{path}: holds no result: there is no summary.json in it")
    return output.read(path)
