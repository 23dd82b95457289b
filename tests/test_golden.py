"""Golden results: any changed result of a preset fails here, and must be explained in CHANGELOG.md."""

import os
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

import nandram

JOB = """
[mixed]
rw=randrw
rwmixread=60
bssplit=4k/70:16k/20:64k/10
iodepth=16
number_ios=4000
size=96m
random_distribution=zipf:0.9
fsync=100
"""
SHRUNK = {
    "flash.channels": 2,
    "flash.blocks": 128,
    "flash.pages": 64,
    "ftl.gc.start": 4,
    "device.write_cache.size": "1MiB",
}
"""A steady drive that is laid out quickly and collects immediately."""
RUNS: list[tuple[str, str, dict[str, object]]] = [
    ("nvme-client-tlc", "none", {}),
    ("nvme-enterprise-tlc", "none", {}),
    ("sata-mlc", "none", {}),
    ("mqsim-ideal-map", "none", {}),
    ("mqsim-default", "none", {}),
    ("ufs2", "none", {}),
    ("ufs2-galaxy-s6", "none", {}),
    ("sata-ssd-southbridge", "none", {}),
    ("ddrssd", "none", {}),
    ("drambus", "none", {}),
    ("mqsim-ideal-map", "steady", SHRUNK),
    ("mqsim-default", "steady", SHRUNK | {"ftl.map_cache.size": "16KiB"}),
]


def figures(result: nandram.Result) -> dict[str, Any]:
    """Return the main figures, without rounding."""
    inside = result.inside
    return {
        "traffic": [
            {
                "direction": each.direction,
                "requests": each.requests,
                "bytes": each.bytes,
                "iops": each.iops,
                "latency_mean_ns": each.latency_mean_ns,
                "latency_max_ns": each.latency_max_ns,
                "percentiles_ns": {
                    str(percent): each.percentiles_ns[percent]
                    for percent in (50.0, 99.0, 99.9)
                    if percent in each.percentiles_ns
                },
            }
            for each in result.traffic
        ],
        "ftl": inside["ftl"],
        "energy_j": inside["energy_j"],
        "interrupts": inside["interrupts"],
        "preparation": inside["preparation"],
        "simulated_s": inside["simulated_s"],
    }


@pytest.mark.parametrize(
    ("system", "precondition", "changes"), RUNS, ids=[f"{system}-{how}" for system, how, _ in RUNS]
)
def test_golden(
    system: str, precondition: str, changes: dict[str, object], tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    job = tmp_path / "job.fio"
    job.write_text(JOB)
    result = nandram.run(system, job, precondition=precondition, set=changes, cache=None)
    if changes:
        assert result.inside["ftl"]["erases"] > 10
    assert figures(result) == snapshot(extension_class=JSONSnapshotExtension)


@pytest.mark.skipif(
    "NANDRAM_TRACES" not in os.environ, reason="NANDRAM_TRACES names no folder with CloudPhysics traces"
)
def test_two_forms_of_one_trace_give_one_result() -> None:
    """`cloudPhysicsIO.csv` and `cloudPhysicsIO.vscsi` are the same trace; their times differ in precision only."""
    folder = Path(os.environ["NANDRAM_TRACES"])
    results = [
        nandram.run("mqsim-ideal-map", folder / name, replay="closed:16", wrap=True, cache=None)
        for name in ("cloudPhysicsIO.csv", "cloudPhysicsIO.vscsi")
    ]
    one, other = (figures(result) for result in results)
    assert sum(each["requests"] for each in one["traffic"]) > 100_000
    assert one == other
