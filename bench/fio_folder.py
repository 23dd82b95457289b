"""Runs every job file of a folder with the installed fio and with nandram, and compares acceptance and request counts.

    python bench/fio_folder.py FOLDER [SYSTEM]

Prints a Markdown table with a row for each kind of outcome, then a line for each file that is refused or differs. For
the counts both run the same copy of the file: with fio's engine ``null``, on one file of 64 MiB, at most 200 requests
per job, and without keys that wait or name files.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import nandram
from nandram.errors import UserError

SYSTEM = "nvme-client-tlc"
SMALL = {"flash.blocks": 40, "ftl.capacity": "15628201984B"}
"""A copy of that drive that is prepared quickly, with the blocks that its collection and SLC cache need."""
VARIABLES = {"FIO_RW": "randwrite", "FIO_IODEPTH": "4", "FIO_BS": "8k", "FIO_DIR": "/data", "GPU_DEV_IDS": "0"}
VARIABLES |= {"POOL": "pool", "CONT": "container", "unixsocket": "/tmp/socket"}
"""Variables that fio's own examples take from the environment."""
DROPPED = {
    *("filename", "directory", "size", "filesize", "io_size", "io_limit", "offset", "offset_increment", "nrfiles"),
    *("ioengine", "runtime", "time_based", "ramp_time", "startdelay", "start_delay", "thinktime", "rate", "rate_iops"),
    *("rate_min", "rate_process", "number_ios", "loops", "fill_device", "zonesize", "zonerange", "zoneskip"),
    *("exec_prerun", "exec_postrun", "write_iolog", "write_lat_log", "write_bw_log", "write_iops_log"),
    *("latency_target", "latency_window", "latency_percentile", "latency_run", "steadystate", "fsync_on_close"),
    *("verify", "verify_fatal", "verify_dump", "do_verify", "flow", "flow_sleep"),
}
"""Keys that wait, end a job by its time, or act on files: a run without a device or a clock cannot compare them."""
SECONDS = 30
"""Time after which a run of fio counts as failed."""

Counts = list[tuple[str, int, int, int]]


def fio_accepts(path: Path) -> str | None:
    """Return why fio's parser refuses the file, or None."""
    found = subprocess.run(["fio", "--parse-only", str(path)], capture_output=True, text=True, check=False)
    return None if found.returncode == 0 else (found.stderr or found.stdout).strip().splitlines()[-1]


def compared(path: Path) -> str:
    """Return the copy of a job file that both run."""
    lines = ["[global]", "ioengine=null", "size=64m", "number_ios=200"]
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        key = re.split(r"[=\s;#]", line.strip(), maxsplit=1)[0]
        if key not in DROPPED:
            lines.append(line)
        if line.strip().startswith("[") and not line.strip().startswith("[global]"):
            lines += ["ioengine=null", "size=64m", "number_ios=200"]
    return "\n".join(lines) + "\n"


def of_jobs(jobs: list[dict[str, dict[str, int]]]) -> Counts:
    """Return names of jobs with their reads, writes and trims."""
    names = ("read", "write", "trim")
    return [(str(job["jobname"]), *(job[name]["total_ios"] for name in names)) for job in jobs]  # type: ignore[misc]


def fio_counts(path: Path, folder: Path) -> Counts | str:
    """Return the counts of fio, or why there are none."""
    try:
        found = subprocess.run(
            ["fio", "--output-format=json", str(path)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        return of_jobs(json.loads(found.stdout[found.stdout.index("{") :])["jobs"])
    except (subprocess.TimeoutExpired, ValueError, KeyError) as error:
        return type(error).__name__


def outcome(path: Path, system: str, changes: dict[str, object] | None, folder: Path) -> tuple[str, str]:
    """Return the kind of outcome of a file, and a detail."""
    refused = fio_accepts(path)
    try:
        short = folder / f"short-{path.name}"
        short.write_text(
            "[global]\nnumber_ios=100\n" + path.read_text(encoding="utf-8", errors="replace"), encoding="utf-8"
        )
        nandram.run(system, short, set=changes, cache=None, warm_up="keep", precondition="none")
    except UserError as error:
        reason = re.sub(r"^\S*\.fio(:\d+)?: ", "", str(error))
        if refused is not None:
            return "refused by both", reason
        return kind_of(reason), reason
    if refused is not None:
        return "refused by fio alone", refused
    copy = folder / path.name
    copy.write_text(compared(path), encoding="utf-8")
    expected = fio_counts(copy, folder)
    if isinstance(expected, str):
        return "runs; fio gives no counts to compare", expected
    try:
        found = of_jobs(
            nandram.run(system, copy, set=changes, cache=None, warm_up="keep", precondition="none").summary["jobs"]
        )
    except UserError as error:
        return "runs; its shortened copy does not", str(error)
    if [job[1:] for job in found] == [job[1:] for job in expected]:
        return "runs, with fio's counts", ""
    totals = [sum(sum(job[1:]) for job in jobs) for jobs in (expected, found)]
    if totals[0] == totals[1]:
        return "runs, with fio's total; reads and writes are drawn", ""
    return "runs, with other counts", f"fio {expected}, nandram {found}"


def kind_of(reason: str) -> str:
    """Return the kind of a refusal: some keys and engines do no block I/O."""
    if reason.startswith("zonemode:"):
        return "refused: zonemode=zbd"
    elsewhere = reason.startswith(("ioengine:", "sg_write_mode:")) or "not supported: " in reason
    return "refused: acts on the host, or on no block storage" if elsewhere else "refused by nandram alone"


def main() -> None:
    """Compare the files of the folder that the command line names."""
    if not 2 <= len(sys.argv) <= 3 or not Path(sys.argv[1]).is_dir():
        sys.exit("fio_folder.py: expected a folder of job files and, optionally, a system")
    system = sys.argv[2] if len(sys.argv) == 3 else SYSTEM
    changes: dict[str, object] | None = dict(SMALL) if system == SYSTEM else None
    for name, value in VARIABLES.items():
        os.environ.setdefault(name, value)
    files = sorted(Path(sys.argv[1]).rglob("*.fio"))
    kinds: dict[str, list[tuple[Path, str]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            kind, detail = outcome(path, system, changes, Path(folder))
            kinds[kind].append((path, detail))
    print("| outcome | files |\n| --- | ---: |")
    for kind, found in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"| {kind} | {len(found)} |")
    print(f"| all | {len(files)} |\n")
    for kind, found in kinds.items():
        for path, detail in found:
            if detail:
                print(f"{path.name}: {kind}: {detail}")


if __name__ == "__main__":
    main()
