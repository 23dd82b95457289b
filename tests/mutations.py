"""Runs mutated inputs of every kind: each must end with exit status 0 or 2, within 2 s of processor time and 1 GB.

    python tests/mutations.py --count 20000 --seed 7

A status of 2 comes with one line on the standard error. A mutant is known by its seed and number: ``--seed 7
--first 123 --count 1`` makes that one again, ``--keep DIR`` leaves it there. Each is played in a child of a process
that has loaded what its command loads, so that a mutant costs its own work and not Python's start. Runs end after some
1,000 requests, when the program next reports its progress, sweeps after 8 runs: both count as status 0.
"""

import argparse
import contextlib
import gc
import importlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mutants import JOB, KINDS, SWEEP, TINY, Kind

if TYPE_CHECKING:
    from nandram.sweep.work import Row, Work

CPU_S = 2
DATA_BYTES = 1 << 30
WALL_S = 60
"""Wall-clock limit of a child, which indicates blocking; its processor time is limited by `CPU_S`."""
REQUESTS = 1_000
RUNS = 8
"""Number of runs of a sweep; they execute in the child itself, to which the limits apply."""
STOPPED = 99
"""Exit status of a child that reached a limit of requests or runs."""


@dataclass
class Tally:
    """The outcomes of the mutants of one kind."""

    ends: Counter[int] = field(default_factory=Counter)
    """Count by exit status."""
    stopped: int = 0
    """Count of those that reached the limit of requests or runs."""
    cpu_s: float = 0.0
    cpu_max_s: float = 0.0
    resident_max_kib: int = 0
    bad: list[str] = field(default_factory=list)


def in_child(work: Callable[[], None]) -> int:
    """Run `work` in a child process with its exit status; return the process number."""
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        work()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 71
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def prepare(folder: Path) -> None:
    """Create the results and the memory to mutate; in a child process, since threads do not survive a fork."""

    def make() -> None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        import nandram

        job_file = folder / "job.fio"
        job_file.write_text(JOB)
        nandram.run(str(TINY), job_file, cache=None, output=folder / "run")
        (folder / "sweep.toml").write_text(SWEEP)
        nandram.run_sweep(folder / "sweep.toml", folder / "sweep", jobs=1, cache=None)
        with nandram.Memory(folder / "some.memory", capacity="1MiB", dram="1MiB") as made:
            at = made.alloc(10_000, name="area")
            made.write(at, b"x" * 10_000)
            made.sync("first")

    _, status = os.waitpid(in_child(make), 0)
    assert status == 0, "the inputs cannot be made"


def data_in_use() -> int:
    """Return the data size of this process in bytes."""
    [line] = [each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith("VmData:")]
    return 1024 * int(line.split()[1])


def _play(command: list[str], folder: Path) -> None:
    """Set the limits and execute the command, in the child."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S + 1, CPU_S + 2))
    # In addition to the address space reserved by libraries, little of which is resident; that is checked at the end.
    data_bytes = DATA_BYTES + data_in_use()
    resource.setrlimit(resource.RLIMIT_DATA, (data_bytes, data_bytes))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(folder / name, os.O_CREAT | os.O_RDWR, 0o600), stream)
    os.chdir(folder)
    from nandram import _core, cli

    native, stopped = _core.run, []

    def few(
        system: str, sets: list[str], workload: str, options: object, progress: object, log: object = None
    ) -> object:
        def more(_fraction: float, _simulated_s: float, done: int) -> bool:
            if done >= REQUESTS:
                stopped.append(done)
            return not stopped

        return native(system, sets, workload, options, more, log)  # type: ignore[arg-type]

    def made(works: "list[Work]", measures: dict[str, str], jobs: int) -> "Iterator[Row]":
        for work in works[:RUNS]:
            yield run(work, measures)
        if len(works) > RUNS:
            stopped.append(RUNS)
            raise KeyboardInterrupt

    _core.run = few  # type: ignore[assignment]
    if command[0] == "sweep":
        from nandram.sweep import local
        from nandram.sweep.work import run

        local.made = made
    try:
        cli.main(command)
    except SystemExit as end:
        if end.code == 130 and stopped:
            sys.exit(STOPPED)
        raise


def verdict(command: list[str], folder: Path, tally: Tally) -> str | None:
    """Run a mutant and count its outcome; return a description of the failure, or None."""
    child = in_child(lambda: _play(command, folder))
    late = []

    def end(*_: object) -> None:
        late.append(True)
        os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, end)
    signal.alarm(WALL_S)
    _, status, usage = os.wait4(child, 0)
    signal.alarm(0)
    spent = usage.ru_utime + usage.ru_stime
    tally.cpu_s += spent
    tally.cpu_max_s = max(tally.cpu_max_s, spent)
    tally.resident_max_kib = max(tally.resident_max_kib, usage.ru_maxrss)
    text = {
        name: (folder / name).read_text(errors="replace") if (folder / name).exists() else ""
        for name in ("stdout", "stderr")
    }
    lines = text["stderr"].strip("\n").split("\n") if text["stderr"] else []
    last = lines[-1][:300] if lines else ""
    if late:
        return f"took more than {WALL_S} s"
    if any("Traceback (most recent call last)" in each or "panicked at" in each for each in text.values()):
        return f"a traceback: {last}"
    if os.WIFSIGNALED(status):
        return f"ended by signal {os.WTERMSIG(status)} after {spent:.1f} s: {last}"
    code = os.WEXITSTATUS(status)
    if code == STOPPED:
        tally.stopped += 1
        code = 0
    tally.ends[code] += 1
    if code not in (0, 2):
        return f"exit status {code}: {last}"
    if code == 2 and len(lines) != 1:
        return f"a mistake in {len(lines)} lines: {last}"
    if spent > CPU_S:
        return f"took {spent:.1f} s: {last}"
    if 1024 * usage.ru_maxrss > DATA_BYTES:
        return f"took {usage.ru_maxrss / 1024:.0f} MiB of memory: {last}"
    return None


@contextlib.contextmanager
def mutant(kind: Kind, seed: int, number: int, kept: Path) -> Iterator[tuple[list[str], Path]]:
    """Create a mutant; return its command and its folder, which is removed at the end."""
    folder = kept / "mutant"
    folder.mkdir()
    try:
        yield kind.make(random.Random(f"{seed} {number}"), folder, kept), folder
    finally:
        shutil.rmtree(folder)


def load(kind: Kind, seed: int, kept: Path) -> None:
    """Load the modules that the commands of a kind need, and prepare the commands.

    A child that plays a few mutants reports these modules. Loading them starts no thread.
    """
    from nandram import cli

    for name in cli.COMMANDS:
        cli.app(name)
    for number in range(4):
        reader, writer = os.pipe()
        with mutant(kind, seed, number, kept) as (command, folder):

            def play(command: list[str] = command, folder: Path = folder, writer: int = writer) -> None:
                try:
                    _play(command, folder)
                finally:
                    with os.fdopen(writer, "w") as pipe:
                        pipe.write("\n".join(sys.modules))

            child = in_child(play)
            os.close(writer)
            with os.fdopen(reader) as pipe:
                names = pipe.read().split("\n")
            os.waitpid(child, 0)
        for name in names:
            if name and not name.startswith(("tests", "__")):
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)
    # Freeze existing objects, so that children do not collect them and thus copy their pages.
    gc.collect()
    gc.freeze()


def hunt_kind(kind: Kind, seed: int, numbers: range, kept: Path, keep: Path | None) -> Tally:
    """Run the mutants of a kind."""
    tally = Tally()
    load(kind, seed, kept)
    for number in numbers:
        with mutant(kind, seed, number, kept) as (command, folder):
            wrong = verdict(command, folder, tally)
            if wrong is not None:
                tally.bad.append(f"{kind.name} (--seed {seed} --first {number} --count 1): {wrong}")
                print(tally.bad[-1], flush=True)
            if keep is not None:
                shutil.copytree(folder, keep, dirs_exist_ok=True)
    return tally


def hunt(seed: int, first: int, count: int, keep: Path | None = None, names: list[str] | None = None) -> list[str]:
    """Run mutants `first` to `first + count` of a seed, all or those of some kinds; return one line per failure."""
    bad = []
    # Arrow's own allocator reserves 1 GiB for its first table. The limit of data includes this, and could leave the
    # mutant no memory.
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    with tempfile.TemporaryDirectory(prefix="nandram-mutants-") as name:
        kept = Path(name)
        prepare(kept)
        for place, kind in enumerate(KINDS):
            numbers = range(first + (place - first) % len(KINDS), first + count, len(KINDS))
            if not numbers or (names and kind.name not in names):
                continue
            found = kept / "tally.json"

            def work(kind: Kind = kind, numbers: range = numbers, found: Path = found) -> None:
                found.write_text(json.dumps(vars(hunt_kind(kind, seed, numbers, kept, keep))))

            begun = time.monotonic()
            _, status, usage = os.wait4(in_child(work), 0)
            assert status == 0, f"the mutants of kind {kind.name} were not played"
            tally: dict[str, Any] = json.loads(found.read_text())
            bad += tally["bad"]
            _report(kind, tally, len(numbers), usage.ru_utime + usage.ru_stime, time.monotonic() - begun)
    return bad


def _report(kind: Kind, tally: dict[str, Any], count: int, cpu_s: float, wall_s: float) -> None:
    """Print one line about the mutants of a kind."""
    ends = ", ".join(f"{number} with status {code}" for code, number in sorted(tally["ends"].items()))
    print(
        f"{kind.name}: {ends} ({tally['stopped']} stopped by a limit); each at most "
        f"{tally['cpu_max_s']:.2f} s and {tally['resident_max_kib'] / 1024:.0f} MiB resident, {count} in {cpu_s:.1f} s "
        f"of processor time with their making, {wall_s:.0f} s elapsed",
        flush=True,
    )


def main() -> None:
    """Run mutants; exit with status 1 after a failure."""
    arguments = argparse.ArgumentParser(description="Play mutated inputs.")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--first", type=int, default=0)
    arguments.add_argument("--count", type=int, default=1_000)
    arguments.add_argument("--keep", type=Path)
    arguments.add_argument("--kind", action="append", choices=[kind.name for kind in KINDS])
    given = arguments.parse_args()
    bad = hunt(given.seed, given.first, given.count, given.keep, given.kind)
    of_kinds = f" of which those of kind {', '.join(given.kind)} were run" if given.kind else ""
    print(f"{given.count} mutants{of_kinds}, {len(bad)} ended badly")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
