"""Measure a guest's boot and reads, and reads of fio's engine, and replace that section of BENCH.md.

Usage: guest.py [ROUNDS] (5), with the guest's packages in build/guest and, for fio, the engine in build/fio.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from nandram.guest.drive import Server
from nandram.guest.folder import find_kernel, find_programs
from nandram.guest.run import Guest, Watch, run_guest

ROOT = Path(__file__).parent.parent
HEADING = "## A guest, and fio's engine\n"
SYSTEM = "nvme-client-tlc"
READS = 10_000
FEW = 1_000
ENGINE_READS = 1_000_000
FIO = "fio --name=r --filename=/dev/nvme0n1 --direct=1 --rw=randread --bs=4k --size=1g --ioengine=libaio"
BOOT_MAX_S, READ_MAX_MS = 12.0, 0.3


@dataclass(frozen=True)
class Taken:
    """Seconds of the clock, and of processors in all processes of a run."""

    clock_s: float
    processor_s: float


def processor_s() -> float:
    """Return the processor time of the child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def guest(command: str) -> tuple[Taken, Taken]:
    """Run a command in a guest; return what the boot took, and the whole run."""
    folder = ROOT / "build/guest"
    phases: dict[str, float] = {}
    watch = Watch(lambda phase: phases.setdefault(phase, time.perf_counter()))
    used = processor_s()
    with tempfile.TemporaryDirectory(prefix="nandram-bench-") as output:
        machine = Guest(["sh", "-c", command], find_programs(folder), find_kernel(folder, "6.12"))
        ended = run_guest(machine, Server(SYSTEM, []), Path(output), 1800, watch)
        end = time.perf_counter()
    assert ended.exit_status == 0
    running = next(at for phase, at in phases.items() if phase not in ("preparing the drive", "booting Linux"))
    used = processor_s() - used
    return Taken(running - phases["booting Linux"], used), Taken(end - phases["booting Linux"], used)


def engine(reads: int) -> Taken:
    """Run fio on the host with as many reads; return what that took."""
    library = ROOT / "build/fio/libnandram_fio.so"
    line = ["fio", f"--ioengine=external:{library}", f"--system={SYSTEM}", "--prepare=fill", "--name=r"]
    job = ["--rw=randread", "--bs=4k", "--size=8g", f"--number_ios={reads}", "--iodepth=8", "--output=/dev/null"]
    used, started = processor_s(), time.perf_counter()
    subprocess.run([*line, *job], check=True)
    return Taken(time.perf_counter() - started, processor_s() - used)


def per_read(few: list[Taken], many: list[Taken], reads: int) -> Taken:
    """Return the difference of two medians for each read that the second runs have more."""
    clock, processor = (
        [statistics.median(getattr(each, name) for each in runs) for runs in (few, many)]
        for name in ("clock_s", "processor_s")
    )
    return Taken((clock[1] - clock[0]) / reads, (processor[1] - processor[0]) / reads)


def main() -> None:
    """Measure, and insert the section into BENCH.md."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    before = os.getloadavg()[0]
    boots, few, many, engine_few, engine_many = [], [], [], [], []
    for _ in range(rounds):
        boot, whole = guest(f"{FIO} --number_ios={FEW} > /dev/null")
        boots.append(boot)
        few.append(whole)
        many.append(guest(f"{FIO} --number_ios={FEW + READS} > /dev/null")[1])
        engine_few.append(engine(1_000))
        engine_many.append(engine(1_000 + ENGINE_READS))
    read, of_engine = per_read(few, many, READS), per_read(engine_few, engine_many, ENGINE_READS)
    boot_s = statistics.median(each.clock_s for each in boots)
    boot_processor_s = statistics.median(each.processor_s for each in few)
    load, cores = max(before, os.getloadavg()[0]), os.cpu_count() or 1
    # Processes that wait for a processor say nothing of the clock; the time of the processors is then too long, at most.
    idle = load <= cores + 1
    boot_clock = f"{boot_s:.1f} s" if idle else "not measured"
    read_clock = f"{read.clock_s * 1e3:.2f} ms" if idle else "not measured"
    engine_clock = f"{of_engine.clock_s * 1e6:.1f} us" if idle else "not measured"
    section = [
        HEADING,
        f"Written by `make bench-guest` (`bench/guest.py`): medians of {rounds}, of Linux 6.12 on `{SYSTEM}`. The clock of",
        f"the boot runs from QEMU's start to the command's; its processor time is that of a whole run of {FEW:,} reads. Reads of 4 KiB,",
        f"at depth 1 in the guest, at depth 8 in fio's engine: the difference of two runs over the {READS:,} and {ENGINE_READS:,} reads",
        "that the second has more. Processor time is that of all processes.",
        "",
        "| | clock | processor | at most |",
        "| --- | ---: | ---: | ---: |",
        f"| boot | {boot_clock} | {boot_processor_s:.1f} s | {BOOT_MAX_S:.0f} s |",
        f"| read in the guest | {read_clock} | {read.processor_s * 1e3:.2f} ms | {READ_MAX_MS} ms |",
        f"| read in fio's engine | {engine_clock} | {of_engine.processor_s * 1e6:.1f} us | |",
    ]
    if not idle:
        section += ["", f"(Other work was under way: {load:.0f} processes wanted {cores} processors.)"]
    bench = ROOT / "BENCH.md"
    start, _, rest = bench.read_text().partition(HEADING)
    _, mark, after = rest.partition("\n## ")
    bench.write_text(start.rstrip() + "\n\n" + "\n".join(section) + "\n" + mark + after)
    print("\n".join(section[7:]))


main()
