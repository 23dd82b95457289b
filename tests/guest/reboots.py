"""Power cuts after which the guest itself comes back: the server is killed at a random instant, again and again.

`python tests/guest/reboots.py COUNT [SEED [SYSTEM ...]]` kills the server COUNT times on each of three systems with an
NVMe drive, or on the systems named, of which `drambus` is one. Each new guest mounts the same store, runs SQLite's
integrity check and e2fsck, reports the transactions that it found, and goes on writing. None that SQLite had
acknowledged may be missing.
"""

import random
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from guest.power_cuts import FOLDER, SYSTEMS, sqlite_files
from nandram.guest.arguments import copies
from nandram.guest.children import Children
from nandram.guest.deadline import Deadline
from nandram.guest.drive import Server
from nandram.guest.driver_build import DEVICE, driver_module
from nandram.guest.folder import find_kernel, find_programs
from nandram.guest.initramfs import NVME_DRIVE
from nandram.guest.run import Guest, run_guest

LIMIT_S = 900.0
TRANSACTIONS_MAX = 10_000
"""Of a guest that is not killed; a kill comes long before."""
ALL_SYSTEMS = {**SYSTEMS, "drambus": {"flash.blocks": "24", "flash.pages": "64", "ftl.capacity": "128MiB"}}
_SCRIPT = f"""
last=0
mkdir -p /mnt
if [ "$1" = first ]; then
    mkfs.ext4 -q -F "$2" 64m
    mount -t ext4 "$2" /mnt
    # Without it SQLite does not sync the folder after it deletes its journal.
    sqlite3 /mnt/db "pragma synchronous=extra; create table t(n integer primary key, filler blob);"
else
    mount -t ext4 "$2" /mnt || echo "fault: mount" > /dev/ttyS0
    found=$(sqlite3 /mnt/db "pragma integrity_check; select count(*), coalesce(max(n), 0) from t;" | tr '\\n' ' ')
    umount /mnt
    e2fsck -f -n "$2" > /fsck 2>&1
    echo "found $? $found" > /dev/ttyS0
    last=${{found##*|}}
    mount -t ext4 "$2" /mnt
fi
[ "$1" = last ] && exit 0
n=0
(while :; do
    n=$((n + 1)); dd if=/dev/zero of=/mnt/noise$((n % 7)) bs=64k count=$((n % 13)) 2> /dev/null; usleep 20000
done) &
(
    echo "pragma synchronous=extra;"
    i=$((last + 1))
    while [ $i -le $((last + {TRANSACTIONS_MAX})) ]; do
        echo "insert into t values($i, randomblob(700)); select 'acknowledged $i';"
        i=$((i + 1))
    done
) | sqlite3 /mnt/db > /dev/ttyS0
"""


class PowerCutError(Exception):
    """The server was killed."""


class KilledServer(Server):
    """A server that is killed some milliseconds after some transaction was acknowledged."""

    def __init__(self, system: str, changes: list[str], store: Path, transactions: int, delay_s: float) -> None:
        super().__init__(system, changes, store)
        self._transactions = transactions
        self._delay_s = delay_s

    def start(self, children: Children, work: Path, output: Path, deadline: Deadline) -> list[str]:
        self._console = output / "console.txt"
        return super().start(children, work, output, deadline)

    def check(self) -> None:
        super().check()
        if len(acknowledged(self._console)) >= self._transactions:
            time.sleep(self._delay_s)
            self._process.kill()
            self._process.wait()
            raise PowerCutError


def acknowledged(console: Path) -> list[int]:
    """Return the transactions that SQLite has acknowledged."""
    text = console.read_bytes() if console.exists() else b""
    return [int(number) for number in re.findall(rb"acknowledged (\d+)\r?\n", text)]


@dataclass(frozen=True)
class Reboot:
    """The findings of a guest after a power cut."""

    acknowledged: int
    found: str
    is_whole: bool


def found_by(console: Path, last: int) -> Reboot:
    """Return what a guest printed before it went on; `last` is the last acknowledged transaction."""
    text = console.read_text(errors="replace")
    line = re.search(r"^found (\d+) (.*?)\s*$", text, re.MULTILINE)
    if line is None or "fault: " in text:
        return Reboot(last, text[-300:], is_whole=False)
    answer = re.fullmatch(r"ok (\d+)\|(\d+)", line[2])
    whole = line[1] == "0" and answer is not None and answer[1] == answer[2] and int(answer[2]) >= last
    return Reboot(last, line[0], whole)


def reboots(system: str, count: int, seed: int, work: Path) -> list[Reboot]:
    """Cut the power `count` times, and return what the guest found after each cut."""
    draw = random.Random(seed)
    programs, kernel = find_programs(FOLDER), find_kernel(FOLDER, "6.12")
    changes = [f"{key}={value}" for key, value in ALL_SYSTEMS[system].items()]
    is_bus = system == "drambus"
    modules = [driver_module(FOLDER, "6.12", kernel)] if is_bus else []
    device = DEVICE if is_bus else NVME_DRIVE
    script = work / "script.sh"
    script.write_text(_SCRIPT)
    files = copies([f"{script}:/script.sh", *sqlite_files(programs.tree)])
    found: list[Reboot] = []
    last = 0
    for number in range(count + 1):
        word = "first" if number == 0 else "last" if number == count else "next"
        output = work / f"{number}"
        guest = Guest(["sh", "/script.sh", word, device], programs, kernel, files, modules, drive=device)
        store = work / "store"
        if word == "last":
            run_guest(guest, Server(system, changes, store), output, LIMIT_S)
        else:
            server = KilledServer(system, changes, store, draw.randrange(3, 60), draw.uniform(0, 0.3))
            try:
                run_guest(guest, server, output, LIMIT_S)
            except PowerCutError:
                pass
            else:
                raise AssertionError("the guest ended before the power cut")
        console = output / "console.txt"
        if number > 0:
            found.append(found_by(console, last))
        last = max([last, *acknowledged(console)])
    return found


def main() -> int:
    """Cut and report; return 1 if anything was lost."""
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    lost = 0
    for system in sys.argv[3:] or SYSTEMS:
        with tempfile.TemporaryDirectory(prefix="nandram-reboots-") as work:
            found = reboots(system, count, seed, Path(work))
        faults = [each for each in found if not each.is_whole]
        lost += len(faults)
        transactions = found[-1].acknowledged if found else 0
        print(f"{system}: {len(found)} reboots, {transactions} transactions, {len(faults)} faults", flush=True)
        for each in faults[:3]:
            print(f"  {each}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
