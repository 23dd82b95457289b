"""Measures of every run: expressions over its ``summary.json``. Experiment files may define more.

Rates, times and counters are those of the statistics, without the warm-up; of several jobs, those that ran side by
side. ``simulated_s`` and ``requests`` are of the whole run.
"""

import re

MEASURES = {
    "read_mb_s": "sum(jobs.read.bw_bytes) / 1e6",
    "write_mb_s": "sum(jobs.write.bw_bytes) / 1e6",
    "mb_s": "(sum(jobs.read.bw_bytes) + sum(jobs.write.bw_bytes)) / 1e6",
    "read_iops": "sum(jobs.read.iops)",
    "write_iops": "sum(jobs.write.iops)",
    "iops": "sum(jobs.read.iops) + sum(jobs.write.iops)",
    "read_us": "sum(jobs.read.lat_ns.mean * jobs.read.total_ios) / sum(jobs.read.total_ios) / 1000",
    "write_us": "sum(jobs.write.lat_ns.mean * jobs.write.total_ios) / sum(jobs.write.total_ios) / 1000",
    "mean_us": (
        "(sum(jobs.read.lat_ns.mean * jobs.read.total_ios) + sum(jobs.write.lat_ns.mean * jobs.write.total_ios))"
        " / (sum(jobs.read.total_ios) + sum(jobs.write.total_ios)) / 1000"
    ),
    "simulated_s": "nandram.simulated_s",
    "requests": "nandram.requests",
    "write_amplification": "nandram.ftl.write_amplification",
    "write_amplification_by_bytes": "nandram.ftl.write_amplification_by_bytes",
    "map_reads": "nandram.ftl.map_reads",
    "flash_mw": "nandram.energy_j.total / nandram.window.span_s * 1000",
}
"""Expressions by name; the suffix of a name is its unit. 1 MB/s is 10^6 bytes per second."""

PERCENTILES = {
    f"{direction}_p{percent:g}_us".replace("99.9", "999"): (direction, percent)
    for direction in ("read", "write")
    for percent in (50.0, 99.0, 99.9)
}
"""Directions and percents of the response times that every row of a sweep has, over all jobs, by name."""

SERVING = {
    "ttft_p50_ms": "nandram.serving.ttft_ms.p50",
    "ttft_p95_ms": "nandram.serving.ttft_ms.p95",
    "tpot_p50_ms": "nandram.serving.tpot_ms.p50",
    "tpot_p95_ms": "nandram.serving.tpot_ms.p95",
    "fetch_p95_ms": "nandram.serving.fetch_ms.p95",
    "tokens_per_s": "nandram.serving.tokens_per_s",
    "hits_gpu": "nandram.serving.hits.gpu",
    "hits_host": "nandram.serving.hits.host",
    "hits_drive": "nandram.serving.hits.drive",
    "dwpd": "nandram.serving.tiers.drive.dwpd",
    "lifetime_years": "nandram.serving.tiers.drive.lifetime_years",
    "token_j": "nandram.serving.energy.per_token_j",
}
"""Further measures of runs of a served language model."""

_KIND = re.compile(r"^kind\s*=", re.MULTILINE)


def is_served(job: str | None) -> bool:
    """Whether the text of a job is TOML that names its kind: a served language model."""
    return job is not None and _KIND.search(job) is not None


def names_for(job: str | None) -> dict[str, str]:
    """Return the expressions of the measures of a sweep with this job, or None for a trace."""
    return {**MEASURES, **(SERVING if is_served(job) else {})}
