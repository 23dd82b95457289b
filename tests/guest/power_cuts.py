"""Power cuts at random instants of a guest's run: ext4 and SQLite must have what SQLite acknowledged.

`python tests/guest/power_cuts.py COUNT [RUNS [FIRST]]` cuts COUNT times in each of RUNS runs, alternately on three
systems. The number of a run, from FIRST on, is its seed.
"""

import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from nandram.drive_server import export_store
from nandram.guest.arguments import copies
from nandram.guest.drive import Server
from nandram.guest.folder import find_kernel, find_programs
from nandram.guest.run import Guest, run_guest

FOLDER = Path(__file__).parents[2] / "build" / "guest"
SYSTEMS = {
    "nvme-client-tlc": {"flash.blocks": "28", "ftl.capacity": "4GiB"},
    "hmb-a": {"flash.blocks": "40", "ftl.capacity": "4GiB"},
    "hmb-b": {"flash.blocks": "60", "ftl.capacity": "4GiB"},
}
ACKNOWLEDGED = 300
"""Transactions of a run."""
_SCRIPT = f"""
set -e
mkfs.ext4 -q -F /dev/nvme0n1 64m
mkdir -p /mnt
mount -t ext4 /dev/nvme0n1 /mnt
from=$(cut -d ' ' -f 1 /proc/uptime)
n=0
(while :; do
    n=$((n + 1)); dd if=/dev/zero of=/mnt/noise$((n % 7)) bs=64k count=$((n % 13)) 2> /dev/null; usleep 20000
done) &
(
    # Without it SQLite does not sync the folder after it deletes its journal: the last transaction may be undone.
    echo "pragma synchronous=extra;"
    echo "create table t(n integer primary key, filler blob);"
    i=1
    while [ $i -le {ACKNOWLEDGED} ]; do
        echo "insert into t values($i, randomblob(700)); select 'acknowledged $i';"
        i=$((i + 1))
    done
) | sqlite3 /mnt/db > /dev/ttyS0
kill $!
echo "$from $(cut -d ' ' -f 1 /proc/uptime)"
"""


@dataclass(frozen=True)
class Cut:
    """The state found after a cut."""

    at_ns: int
    acknowledged: int
    found: int
    fault: str | None


def sqlite_files(tree: Path) -> list[str]:
    """Return the copies of the host's SQLite shell and its libraries; glibc is the guest's."""
    program = shutil.which("sqlite3")
    assert program is not None
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    found = [f"{program}:/usr/bin/sqlite3"]
    for name, path in re.findall(r"(\S+) => (\S+) \(", listed):
        own = tree / "usr/lib/x86_64-linux-gnu" / name
        found.append(f"{own if own.exists() and name != 'libsqlite3.so.0' else path}:/usr/lib/x86_64-linux-gnu/{name}")
    return found


def run(system: str, work: Path, plan: Path | None, name: str) -> tuple[float, float, float]:
    """Run the workload; return seconds of the guest at its begin and end, and those of the drive at the end."""
    programs = find_programs(FOLDER)
    script = work / "script.sh"
    script.write_text(_SCRIPT)
    files = copies([f"{script}:/script.sh", *sqlite_files(programs.tree)])
    changes = [f"{key}={value}" for key, value in SYSTEMS[system].items()]
    output = work / name
    guest = Guest(["sh", "/script.sh"], programs, find_kernel(FOLDER, "6.12"), files)
    ended = run_guest(guest, Server(system, changes, work / f"{name}.store", plan), output, 900.0)
    text = (output / "stdout.txt").read_text()
    assert ended.exit_status == 0, (output / "stderr.txt").read_text()
    begin, end = map(float, text.split())
    return begin, end, json.loads((output / "summary.json").read_text())["simulated_s"]


def examine(system: str, store: Path, work: Path, acknowledged: int, at_ns: int) -> Cut:
    """Mount the store that a cut left, and check file system and database."""
    image = work / "image"
    export_store(system, store, image, set=SYSTEMS[system])
    with image.open("r+b") as file:
        file.truncate(64 << 20)

    def fault(text: str) -> Cut:
        return Cut(at_ns, acknowledged, 0, text)

    def e2fs(*line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(line, capture_output=True, text=True, check=False)

    # Free counts and the flag of the orphan file are not in ext4's journal: a mount corrects them, and so does -p. It
    # stops at anything else.
    replayed = e2fs("/usr/sbin/e2fsck", "-f", "-p", str(image))
    checked = e2fs("/usr/sbin/e2fsck", "-f", "-n", str(image))
    if replayed.returncode > 1 or checked.returncode:
        # A cut before the end of mkfs leaves no file system, and nothing was acknowledged.
        return Cut(at_ns, 0, 0, None) if acknowledged == 0 else fault(f"e2fsck: {replayed.stdout}{checked.stdout}")
    for name in ("db", "db-journal"):
        (work / name).unlink(missing_ok=True)
        e2fs("/usr/sbin/debugfs", "-R", f"dump /{name} {work / name}", str(image))
        if (work / name).exists() and (work / name).stat().st_size == 0:
            (work / name).unlink()
    if not (work / "db").exists():
        return Cut(at_ns, 0, 0, None) if acknowledged == 0 else fault("no database")
    query = "pragma integrity_check; select count(*), coalesce(max(n), 0) from t;"
    answer = e2fs("sqlite3", str(work / "db"), query)
    lines = answer.stdout.split()
    if acknowledged == 0 and "no such table" in answer.stderr:
        return Cut(at_ns, 0, 0, None)
    if len(lines) != 2 or lines[0] != "ok":
        return fault(f"sqlite3: {answer.stdout}{answer.stderr}")
    count, last = map(int, lines[1].split("|"))
    lost = count != last or last < acknowledged
    return Cut(at_ns, acknowledged, last, f"{last} of {acknowledged} transactions" if lost else None)


def cut(system: str, count: int, seed: int, work: Path) -> list[Cut]:
    """Cut the power at `count` instants of one run, drawn from `seed`, and examine what each leaves."""
    begin, end, drive_end = run(system, work, None, "first")
    # The guest's clock began after the drive's, and the drive went on after the script: by `offset` together.
    offset = drive_end - end
    draw = random.Random(seed)
    instants = sorted(int((draw.uniform(begin, end + offset)) * 1e9) for _ in range(count))
    folder = work / "cuts"
    folder.mkdir()
    plan = work / "plan.json"
    witness = work / "second/console.txt"
    plan.write_text(json.dumps({"folder": str(folder), "instants": instants, "witness": str(witness)}))
    run(system, work, plan, "second")
    console = witness.read_bytes()
    assert f"acknowledged {ACKNOWLEDGED}".encode() in console
    cuts: list[Cut] = []
    for line in (folder / "cuts.jsonl").read_text().splitlines():
        found = json.loads(line)
        assert found["failure"] is None, found
        printed = re.findall(rb"acknowledged (\d+)\r?\n", console[: found["witnessed"]])
        acknowledged = int(printed[-1]) if printed else 0
        cuts.append(examine(system, Path(found["store"]), work, acknowledged, found["at_ns"]))
        Path(found["store"]).unlink()
    assert len(cuts) == count
    return cuts


def main() -> int:
    """Cut and report; return 1 if anything was lost."""
    count, runs = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    lost = total = 0
    for number in range(first, first + runs):
        system = list(SYSTEMS)[number % len(SYSTEMS)]
        with tempfile.TemporaryDirectory(prefix="nandram-cuts-") as work:
            cuts = cut(system, count, number, Path(work))
        faults = [each for each in cuts if each.fault]
        lost, total = lost + len(faults), total + len(cuts)
        between = sum(0 < each.acknowledged < ACKNOWLEDGED for each in cuts)
        print(f"{system}: {len(cuts)} cuts, {between} amid transactions, {len(faults)} faults", flush=True)
        for each in faults[:3]:
            print(f"  {each}")
    print(f"{total} cuts, {lost} faults")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
