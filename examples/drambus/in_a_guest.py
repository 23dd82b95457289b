"""Throughput of storage on the memory bus in a guest, as a Markdown table.

    python examples/drambus/in_a_guest.py [FOLDER]

FOLDER has QEMU, programs, kernel and headers (`nandram guest fetch --headers`).
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

JOB = Path(__file__).parent / "throughput.fio"
SIZES, DEPTHS = ("4k", "64k", "512k"), (1, 4)


def measure(folder: list[str]) -> dict[str, float]:
    """Run the jobs in a guest; return MB/s by job."""
    with tempfile.TemporaryDirectory() as output:
        line = [sys.executable, "-m", "nandram", "guest", "drambus", *folder, "--copy", f"{JOB}:/job.fio", "-o", output]
        command = ["fio", "--output-format=json", "--output=/out/fio.json", "/job.fio"]
        subprocess.run([*line, "--", *command], check=True)
        jobs = json.loads((Path(output) / "out/fio.json").read_text())["jobs"]
    assert all(job["error"] == 0 for job in jobs), jobs
    return {job["jobname"]: job[job["jobname"].partition("-")[0]]["bw_bytes"] / 1e6 for job in jobs}


def table(found: dict[str, float]) -> str:
    """Return a row for each size of a request."""
    columns = [(rw, depth) for rw in ("read", "write") for depth in DEPTHS]
    lines = [f"| request | {' | '.join(f'{rw}, depth {depth}' for rw, depth in columns)} |", "| --- |" + " ---: |" * 4]
    for size in SIZES:
        cells = " | ".join(f"{found[f'{rw}-{size}-{depth}']:.1f}" for rw, depth in columns)
        lines.append(f"| {size[:-1]} KB | {cells} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(measure(["--folder", sys.argv[1]] if len(sys.argv) > 1 else [])))
