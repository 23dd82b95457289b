"""Inputs of every kind, mutated: each must end with exit status 0 or 2, in one line, within 2 s and 1 GB.

    python tests/mutations.py --count 20000 --seed 7

A mutant is known by its seed and number: ``--seed 7 --first 123 --count 1`` makes that one again, ``--keep DIR``
leaves it there. Each is played in a child of its own, with limits on processor time and memory; runs end after some
1,000 requests.
"""

import argparse
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
TRACES = ROOT / "crates" / "workload" / "tests" / "data"
TINY = ROOT / "tests" / "data" / "tiny.toml"
CPU_S = 2
DATA_BYTES = 1 << 30
WALL_S = 60
"""A child that takes so long waits for something: of its own it has `CPU_S`."""
REQUESTS = 1_000

JOB = """[global]
bs=4k
rw=randrw
number_ios=200
norandommap
[a]
iodepth=4
rwmixread=70
bssplit=4k/60:16k/40
[b]
stonewall
rw=write
bsrange=4k-16k
size=1m
fsync=10
numjobs=2
rate_iops=10000
random_distribution=zipf:1.1
"""
SWEEP = f"""system = "{TINY}"
seed = 1
repeat = 1
job = \"\"\"
[j]
rw=randread
bs=4k
iodepth={{depth}}
number_ios=20
\"\"\"
[set]
"flash.read" = "60us"
[space]
kind = "grid"
[space.axes]
depth = [1, 2]
"flash.erase" = {{ from = "1ms", to = "2ms", steps = 2 }}
[measures]
more = "sum(jobs.read.iops) / 2"
[objectives]
iops = "most"
"""
CLAIMS = """title = "On tiny drives"
[[claim]]
id = "small.read_us"
value = 60
unit = "us"
kind = "number"
where = "Table 1"
when = "reads"
"""
EXPERIMENT = f"""paper = "claims/small.toml"
[runs.one]
system = "{TINY}"
precondition = "fill"
job = \"\"\"
[reads]
rw=randread
bs=4k
number_ios=50
\"\"\"
[values]
twice = "2 * one.read_us"
[tests]
number = {{ within = 0.5, set_by = "the editor" }}
[claims]
"small.read_us" = "twice / 2"
"""
WORDS = (
    "0 -1 1 2 1e12 18446744073709551616 nan inf 0x10 1/0 true none auto steady 4k 1e309 64k-4k 100% zipf:0 é "
    "\\ \" ' [ ] { } = ,"
)


def mutate_text(rng: random.Random, text: str) -> str:
    """Change a text a little: lines, numbers, words, single characters, its length."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        lines = text.split("\n")
        at = rng.randrange(len(lines))
        match rng.randrange(12):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, rng.choice(lines))
            case 2:
                other = rng.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case 3 | 4 | 5:
                numbers = list(re.finditer(r"\d+(\.\d+)?", text))
                if numbers:
                    found = rng.choice(numbers)
                    new = rng.choice((rng.choice(WORDS.split()), str(rng.randrange(200)), str(10 ** rng.randrange(25))))
                    text = text[: found.start()] + new + text[found.end() :]
                    continue
            case 6 | 7:
                words = list(re.finditer(r"[A-Za-z_.-]+", text))
                if words:
                    found = rng.choice(words)
                    new = rng.choice((rng.choice(words)[0], rng.choice(WORDS.split()), found[0][:-1]))
                    text = text[: found.start()] + new + text[found.end() :]
                    continue
            case 8:
                lines[at] = lines[at] * rng.choice((2, 50, 5_000))
            case 9:
                lines = lines[:at]
            case _:
                line = lines[at]
                place = rng.randrange(len(line) + 1)
                lines[at] = line[:place] + rng.choice((*WORDS, "\0", "\t", "\x7f", "\ufeff")) + line[place + 1 :]
        text = "\n".join(lines)
        if not text:
            return text
    return text


def mutate_bytes(rng: random.Random, content: bytes) -> bytes:
    """Change bytes a little: flip, overwrite, cut, double, fill with zeros."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        if not data:
            return b"\0"
        at = rng.randrange(len(data))
        match rng.randrange(6):
            case 0:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                data[at : at + 8] = rng.randbytes(8)
            case 2:
                del data[at:]
            case 3:
                data += data[at : at + 4096]
            case 4:
                data[at : at + rng.randrange(4096)] = bytes(rng.randrange(4096))
            case _:
                del data[at : at + rng.randrange(64)]
    return bytes(data)


def changed(rng: random.Random, content: bytes) -> bytes:
    """Change a file's content, as a text where it is one."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return mutate_bytes(rng, content)
    if rng.random() < 0.15:
        return mutate_bytes(rng, content)
    return mutate_text(rng, text).encode()


@dataclass(frozen=True)
class Kind:
    """A kind of input."""

    name: str
    make: Callable[[random.Random, Path], list[str]]
    """Writes a mutant into a folder; returns the command that takes it."""


def _write(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)


def _systems() -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in sorted((ROOT / "systems").glob("*.toml"))}


def system(rng: random.Random, folder: Path) -> list[str]:
    """A preset or the tiny drive, checked, and run if it is one of storage."""
    files = _systems()
    name = rng.choice((*files, *["tiny"] * 4))
    path = _write(folder / "system.toml", changed(rng, TINY.read_bytes() if name == "tiny" else files[name]))
    if rng.random() < 0.5 and name == "tiny":
        return ["run", path, _write(folder / "job.fio", JOB.encode()), "--cache", "none"]
    return ["check", path, *rng.choice(([], ["--changed"], ["--scale", "1/8"]))]


def job(rng: random.Random, folder: Path) -> list[str]:
    """A fio job on a tiny drive."""
    path = _write(folder / "job.fio", changed(rng, JOB.encode()))
    return [
        "run",
        str(TINY),
        path,
        *rng.choice(([], ["--warm-up", "1ms"], ["--precondition", "fill"])),
        "--cache",
        "none",
    ]


def trace(rng: random.Random, folder: Path) -> list[str]:
    """A block trace on a tiny drive."""
    names = sorted(path for path in TRACES.glob("sample.*") if "lackey" not in path.name and "memory" not in path.name)
    source = rng.choice(names)
    path = _write(folder / source.name, changed(rng, source.read_bytes()))
    return ["run", str(TINY), path, "--wrap", "--replay", rng.choice(("closed:4", "scaled:0.001")), "--cache", "none"]


def pages(rng: random.Random, folder: Path) -> list[str]:
    """A page trace through policies."""
    text = "# nandram pages 4096\n" + "\n".join(str(rng.randrange(20)) for _ in range(200)) + "\n"
    files = [
        path for path in (ROOT / "python" / "nandram" / "traces" / "xip").glob("*.zst") if path.stat().st_size < 3000
    ]
    content = rng.choice(files).read_bytes() if files and rng.random() < 0.3 else text.encode()
    name = "trace.pages.zst" if content[:4] == b"\x28\xb5\x2f\xfd" else "trace.pages"
    return ["paging", _write(folder / name, changed(rng, content)), "--sram", "16KiB", "--policy", "lru,min"]


def experiment(rng: random.Random, folder: Path) -> list[str]:
    """A paper of our own: its claims or its experiment."""
    claims, text = CLAIMS.encode(), EXPERIMENT.encode()
    if rng.random() < 0.4:
        claims = changed(rng, claims)
    else:
        text = changed(rng, text)
    (folder / "claims").mkdir()
    _write(folder / "claims" / "small.toml", claims)
    return ["reproduce", _write(folder / "small.toml", text), "--cache", "none", "--jobs", "1"]


def sweep(rng: random.Random, folder: Path) -> list[str]:
    """A sweep of four short runs."""
    path = _write(folder / "sweep.toml", changed(rng, SWEEP.encode()))
    return ["sweep", path, "-o", str(folder / "out"), "--jobs", "1", "--cache", "none"]


def result(rng: random.Random, folder: Path) -> list[str]:
    """A folder of results, of a run or of a sweep, with one file changed."""
    kind = rng.choice(("run", "run", "sweep"))
    made = folder / kind
    shutil.copytree(KEPT / kind, made)
    path = rng.choice(sorted(path for path in made.rglob("*") if path.is_file() and path.name != "report.html"))
    if rng.random() < 0.1:
        path.unlink()
    else:
        path.write_bytes(changed(rng, path.read_bytes()))
    if kind == "run" and rng.random() < 0.5:
        return ["compare", str(made), str(KEPT / "run")]
    return ["report", str(made), "-o", str(folder / "report.html"), "--no-sensitivity"]


def memory(rng: random.Random, folder: Path) -> list[str]:
    """A memory on a file."""
    path = _write(folder / "some.memory", mutate_bytes(rng, (KEPT / "some.memory").read_bytes()))
    return ["memory", rng.choice(("info", "check", "tokens")), path]


KINDS = [Kind(make.__name__, make) for make in (system, job, trace, pages, experiment, sweep, result, memory)]
KEPT = Path()


def prepare(folder: Path) -> None:
    """Make the results and the memory of which copies are changed; in a child, since a fork takes no threads along."""
    global KEPT
    KEPT = folder
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert status == 0, "the inputs cannot be made"
        return
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    try:
        import nandram

        job_file = folder / "job.fio"
        job_file.write_text(JOB)
        nandram.run(str(TINY), job_file, cache=None, output=folder / "run")
        (folder / "sweep.toml").write_text(SWEEP)
        nandram.sweep(folder / "sweep.toml", folder / "sweep", jobs=1, cache=None)
        with nandram.Memory(folder / "some.memory", capacity="1MiB", dram="1MiB") as made:
            at = made.alloc(10_000, name="area")
            made.write(at, b"x" * 10_000)
            made.sync("first")
    except BaseException:
        import traceback

        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _play(command: list[str], folder: Path) -> None:
    """In the child: limits, then the command."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S + 1, CPU_S + 2))
    resource.setrlimit(resource.RLIMIT_DATA, (DATA_BYTES, DATA_BYTES))
    out = os.open(folder / "output", os.O_CREAT | os.O_RDWR, 0o600)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.chdir(folder)
    from nandram import _core, cli

    native = _core.run

    def few(system: str, sets: list[str], workload: str, options: object, progress: object) -> object:
        begun = time.process_time()

        def enough(_fraction: float, _simulated_s: float, done: int) -> bool:
            return done < REQUESTS and time.process_time() - begun < CPU_S / 2

        return native(system, sets, workload, options, enough)  # type: ignore[arg-type]

    _core.run = few  # type: ignore[assignment]
    cli.main(command)


def verdict(command: list[str], folder: Path, ends: "Counter[int]") -> str | None:
    """Play a mutant, and count its exit status; return what is wrong with its end, None if nothing is."""
    child = os.fork()
    if child == 0:
        status = 70
        try:
            _play(command, folder)
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0 if end.code is None else 71
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    begun = time.monotonic()
    while True:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() - begun > WALL_S:
            os.kill(child, signal.SIGKILL)
            os.wait4(child, 0)
            return f"took more than {WALL_S} s"
        time.sleep(0.002)
    spent = usage.ru_utime + usage.ru_stime
    output = (folder / "output").read_bytes().decode(errors="replace") if (folder / "output").exists() else ""
    last = output.strip().splitlines()[-1][:300] if output.strip() else ""
    if "Traceback (most recent call last)" in output or "panicked at" in output:
        return f"a traceback: {last}"
    if os.WIFSIGNALED(status):
        return f"ended by signal {os.WTERMSIG(status)} after {spent:.1f} s: {last}"
    code = os.WEXITSTATUS(status)
    ends[code] += 1
    # 130: stopped by the limit of requests; 1: what `memory check` answers of a memory that has lost segments.
    allowed = (0, 1, 2, 130) if command[:2] == ["memory", "check"] else (0, 2, 130)
    if code not in allowed:
        return f"exit status {code}: {last}"
    if code == 2 and len(output.strip().splitlines()) != 1:
        return f"a mistake in {len(output.strip().splitlines())} lines: {last}"
    if spent > CPU_S:
        return f"took {spent:.1f} s: {last}"
    return None


def hunt(seed: int, first: int, count: int, keep: Path | None = None) -> list[str]:
    """Play mutants `first` to `first + count` of a seed; return a line for each that ends badly."""
    # Loaded once, so that a child costs milliseconds. None of them starts a thread by being loaded.
    import altair  # noqa: F401
    import numpy  # noqa: F401
    import polars  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import nandram.comparing
    import nandram.output
    import nandram.papers
    import nandram.report.run
    import nandram.sweeping  # noqa: F401

    bad = []
    ends = {kind.name: Counter[int]() for kind in KINDS}
    with tempfile.TemporaryDirectory(prefix="nandram-mutants-") as name:
        prepare(Path(name))
        for number in range(first, first + count):
            rng = random.Random(f"{seed} {number}")
            kind = KINDS[number % len(KINDS)]
            folder = Path(name) / "mutant"
            folder.mkdir()
            command = kind.make(rng, folder)
            wrong = verdict(command, folder, ends[kind.name])
            if wrong is not None:
                bad.append(f"{kind.name} (--seed {seed} --first {number} --count 1): {wrong}")
                print(bad[-1], flush=True)
            if keep is not None:
                shutil.copytree(folder, keep, dirs_exist_ok=True)
            shutil.rmtree(folder)
    for kind_name, statuses in ends.items():
        print(f"{kind_name}: " + ", ".join(f"{count} with status {code}" for code, count in sorted(statuses.items())))
    return bad


def main() -> None:
    """Play mutants; exit with 1 if one ends badly."""
    arguments = argparse.ArgumentParser(description="Play mutated inputs.")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--first", type=int, default=0)
    arguments.add_argument("--count", type=int, default=1_000)
    arguments.add_argument("--keep", type=Path)
    given = arguments.parse_args()
    bad = hunt(given.seed, given.first, given.count, given.keep)
    print(f"{given.count} mutants, {len(bad)} ended badly")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
