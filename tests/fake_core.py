"""A stand-in for the native module: it keeps what it was asked and gives a small, plausible result."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nandram.errors import UserError
from nandram.options import RunOptions

PRESETS = [("client", "A client drive"), ("mqsim-default", "The drive of a public simulator")]


def _latency(total: int, mean: float) -> dict[str, Any]:
    return {"min": mean / 2, "max": mean * 4, "mean": mean, "stddev": mean / 3, "N": total}


def _traffic(total: int, size: int, runtime_s: float, mean: float) -> dict[str, Any]:
    percentile = {"50.000000": mean * 0.9, "99.000000": mean * 2, "99.900000": mean * 3}
    return {
        "io_bytes": total * size,
        "bw_bytes": total * size / runtime_s,
        "iops": total / runtime_s,
        "runtime": runtime_s * 1000,
        "total_ios": total,
        "slat_ns": _latency(total, 900.0),
        "clat_ns": _latency(total, mean) | ({"percentile": percentile} if total else {}),
        "lat_ns": _latency(total, mean + 900.0),
    }


SUMMARY = {
    "fio version": "fio-3.36",
    "jobs": [
        {
            "jobname": "reader",
            "groupid": 0,
            "job options": {"rw": "randread", "bs": "4k"},
            "read": _traffic(10_000, 4096, 0.1, 160_000.0),
            "write": _traffic(0, 0, 0.1, 0.0),
            "trim": _traffic(0, 0, 0.1, 0.0),
            "sync": {"total_ios": 0, "lat_ns": _latency(0, 0.0)},
        },
        {
            "jobname": "writer",
            "groupid": 1,
            "job options": {"rw": "randwrite", "bs": "8k", "fsync": "10"},
            "read": _traffic(0, 0, 0.1, 0.0),
            "write": _traffic(5_000, 8192, 0.1, 40_000.0),
            "trim": _traffic(0, 0, 0.1, 0.0),
            "sync": {"total_ios": 500, "lat_ns": _latency(500, 900_000.0)},
        },
    ],
    "nandram": {
        "system": "A client drive",
        "simulated_s": 0.2,
        "preparation": {"kind": "steady", "passes": 0.0, "write_amplification": 2.4, "approximate": False},
        "warm_up": {"cut_s": 0.01, "rule": "MSER-5"},
        "ftl": {
            "write_amplification": 2.5,
            "host_units": 10_000,
            "map_reads": 424,
            "map_hits": 9_576,
            "map_misses": 424,
            "erases": 24,
            "failures": 0,
            "lost_units": 0,
            "read_only": False,
        },
        "energy_j": {"read": 0.001, "total": 0.0032},
        "notes": ["the trace has no times of its own"],
    },
}

MANIFEST = {"version": "0.1.0", "system": "client", "changes": [], "workload": "job.fio", "seed": 1}

# Twenty windows of 10 ms: the first job reads in the first half, the second writes and syncs in the other.
READING, WRITING = np.arange(10) * 0.01, 0.1 + np.arange(10) * 0.01


@dataclass
class RunOutput:
    summary_json: str
    manifest_json: str = json.dumps(MANIFEST, indent=2) + "\n"
    timeline_json: str | None = None
    latency: dict[str, Any] = field(
        default_factory=lambda: {
            "job": np.array([0, 0, 0, 1, 1, 1], np.uint16),
            "direction": np.array([0, 0, 0, 1, 1, 3], np.uint8),
            "latency_ns": np.array([100_000, 200_000, 400_000, 30_000, 60_000, 900_000], np.uint64),
            "count": np.array([5_000, 4_900, 100, 2_500, 2_500, 500], np.uint64),
        }
    )
    throughput: dict[str, Any] = field(
        default_factory=lambda: {
            "time_s": np.concatenate([READING, np.repeat(WRITING, 2)]),
            "span_s": np.full(30, 0.01),
            "job": np.array([0] * 10 + [1] * 20, np.uint16),
            "direction": np.array([0] * 10 + [1, 3] * 10, np.uint8),
            "requests": np.array([1000] * 10 + [500, 50] * 10, np.uint64),
            "bytes": np.array([4_096_000] * 10 + [4_096_000, 0] * 10, np.uint64),
            "latency_mean_ns": np.array([160_900.0] * 10 + [40_900.0, 900_000.0] * 10),
        }
    )
    dies: dict[str, Any] = field(
        default_factory=lambda: {
            "die": np.arange(8, dtype=np.uint32),
            "channel": np.arange(8, dtype=np.uint32) % 4,
            "read_busy": np.linspace(0.3, 0.5, 8),
            "program_busy": np.linspace(0.1, 0.3, 8),
            "erase_busy": np.full(8, 0.05),
            "holding": np.full(8, 0.2),
            "reads": np.full(8, 1250, np.uint64),
            "programs": np.full(8, 625, np.uint64),
            "erases": np.full(8, 3, np.uint64),
        }
    )


class FakeCore:
    """Has the functions of `nandram._core`."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def check(self, system: str, sets: list[str]) -> str:
        if system not in dict(PRESETS):
            raise UserError(f"{system}: no such preset or file; the nearest preset is `client`")
        changes = "".join(f"# {change}\n" for change in sets)
        return f'title = "{dict(PRESETS)[system]}"\n{changes}[link]\nlanes = 4\n'

    def schema(self) -> str:
        return '{"type": "object"}'

    def systems(self) -> list[tuple[str, str]]:
        return PRESETS

    def read_preset(self, name: str) -> str:
        return self.check(name, [])

    def run(
        self,
        system: str,
        sets: list[str],
        workload: str,
        options: RunOptions,
        progress: Callable[[float, float, int], bool] | None,
    ) -> RunOutput:
        self.check(system, sets)
        self.asked.append((system, sets, workload, options))
        if progress is not None and not progress(0.5, 0.1, 7_500):
            raise KeyboardInterrupt
        timeline = '{"traceEvents": []}\n' if options["timeline"] else None
        return RunOutput(json.dumps(SUMMARY, indent=2) + "\n", timeline_json=timeline)
