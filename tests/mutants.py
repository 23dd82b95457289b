"""Inputs of every kind with small random changes: the mutants that `mutations` runs."""

import copy
import hashlib
import json
import os
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mqsim_files

ROOT = Path(__file__).parent.parent
TRACES = ROOT / "crates" / "machine" / "workload" / "tests" / "data"
MEASURED = ROOT / "drives" / "fio" / "980pro_bs_4_proc_1_qd_128.json"
TINY = ROOT / "tests" / "data" / "tiny.toml"

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
max_latency=10s
percentile_list=50:99:99.999
thinktime=1us
thinktime_iotime=1ms
filename=/dev/nvme0n1
"""
EVENTS = {
    "systor17": "Timestamp,Response,IOType,LUN,Offset,Size\n"
    "1456000000.000000000,0.000512,R,2,1048576,4096\n1456000000.001000000,,W,2,2097152,8192\n",
    "etw": "DiskRead, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum\n"
    "DiskRead, 1000, app ( 100), 4242, 0xfffffa8001a9b010, 0x0000100000, 0x00001000, 512, 1\n"
    "DiskWrite, 2000, app ( 100), 4242, 0xfffffa8001a9b010, 0x0000200000, 0x00002000, 101, 1\n",
    "ftrace": "app  4242 [000]   100.000000: block:block_rq_issue: 259,0 R 4096 () 2048 + 8 [app]\n"
    "app-4242 [000] ..... 100.001000: block_rq_issue: 259,0 W 8192 () 4096 + 16 [app]\n",
    "biosnoop": "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES   QUE(ms) LAT(ms)\n"
    "0.000000    a b            4242    nvme0n1   R 2048       4096       0.01    0.51\n"
    "0.001000    app            4242    nvme0n1   W 4096       8192       0.01    0.10\n",
    "tectonic": "77 1048576 4096 1000.000 getChunkData.Permanent 3 9 0 1 5\n"
    "78 2097152 8192 1000.001 putChunk.NotInitialized 3 9 0 1 5\n",
    "fiu": "89967195 4253 nfsd 2048 8 R 6 0 1f9e8d2c6b7a4f3e5d0c1b2a39485766\n90967195 4253 nfsd 4096 16 W 6 0\n",
    "blkparse": "259,0 0 1 0.000000000 697 D R 2048 + 8 [fio]\n259,0 0 2 0.001000000 697 C W 4096 + 16 [fio]\n",
}
"""Block traces of tools and repositories, by extension."""
TRAFFIC = {
    "trace": "0x10000000 READ 0\n0x10000040 WRITE 4\n0x10000080 READ 4000\n",
    "trc": "0x12345680 P_MEM_RD 10\n0x4cbd56c0 BOFF 200\n0x4cbd5700 P_FETCH 300\n",
    "stl": "0:\twrite\t0x0\n4:\tread\t0x80\n9: (64) write 0x100 0x1234\n",
    "rstl": "0:\twrite\t0x0\n4:\tread\t0x80\n",
    "scalesim": "-2.0,62.0,63.0,64.0,-1.0\n1.0,4096.0,64.0,65.0,-1.0\n",
    "vectors": "W 140736775976056,140736775976056\nR 64,64\n",
}
"""Memory traces, by extension."""
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
iops = "maximize"
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
JSON_VALUES: tuple[object, ...] = (None, True, 0, -1, 1.5, 1e308, 1 << 70, "", "x", [], [1], ["x"], {}, {"x": 1})
LONG = 1 << 20
"""Characters from which on a text is not made many times as long: what is read is bounded far below."""


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
                lines[at] = lines[at] * (rng.choice((2, 50, 5_000)) if len(text) < LONG else 2)
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


def copy_data(source: Path, target: Path) -> list[tuple[int, int]]:
    """Copy a file with its holes; return the start and end of each run of data."""
    extents, at = [], 0
    with source.open("rb") as old, target.open("wb") as new:
        size = new.truncate(source.stat().st_size)
        while at < size:
            try:
                at = os.lseek(old.fileno(), at, os.SEEK_DATA)
            except OSError:
                break  # only a hole is left
            end = os.lseek(old.fileno(), at, os.SEEK_HOLE)
            old.seek(at)
            new.seek(at)
            new.write(old.read(end - at))
            extents.append((at, end))
            at = end
    return extents


def mutate_data(rng: random.Random, path: Path, extents: list[tuple[int, int]]) -> None:
    """Make a small change to the data bytes of a file: flip, overwrite, fill with zeros, swap, cut, add."""
    with path.open("r+b") as file:
        for _ in range(rng.choice((1, 1, 2, 8))):
            start, end = rng.choice(extents)
            at = rng.randrange(start, end)
            file.seek(at)
            match rng.randrange(8):
                case 0 | 1:
                    byte = file.read(1) or b"\0"
                    file.seek(at)
                    file.write(bytes([byte[0] ^ 1 << rng.randrange(8)]))
                case 2 | 3:
                    file.write(rng.randbytes(8))
                case 4 | 5:
                    file.write(bytes(rng.randrange(1, 4096)))
                case 6:
                    page = file.read(4096)
                    file.seek(rng.choice(extents)[0])
                    file.write(page)
                case _:
                    file.truncate(at if rng.random() < 0.7 else path.stat().st_size + 4096)


def changed(rng: random.Random, content: bytes) -> bytes:
    """Change the content of a file, as text if possible."""
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
    make: Callable[[random.Random, Path, Path], list[str]]
    """Write a mutant of the inputs in one folder into another; return its command."""


def _write(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)


def _systems() -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in sorted((ROOT / "systems").glob("*.toml"))}


def system(rng: random.Random, folder: Path, kept: Path) -> list[str]:
    """Check a preset or the tiny drive, and run it if it is a storage system."""
    files = _systems()
    name = rng.choice((*files, *["tiny"] * 4))
    path = _write(folder / "system.toml", changed(rng, TINY.read_bytes() if name == "tiny" else files[name]))
    if rng.random() < 0.5 and name == "tiny":
        return ["run", path, _write(folder / "job.fio", JOB.encode()), "--cache", "none"]
    return ["show", path, *rng.choice(([], ["--changed"], ["--scale", "1/8"]))]


def job(rng: random.Random, folder: Path, kept: Path) -> list[str]:
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


def trace(rng: random.Random, folder: Path, kept: Path) -> list[str]:
    """A block trace on a tiny drive."""
    names = sorted(path for path in TRACES.glob("sample.*") if "lackey" not in path.name and "memory" not in path.name)
    source = rng.choice(names)
    path = _write(folder / source.name, changed(rng, source.read_bytes()))
    return ["run", str(TINY), path, "--wrap", "--replay", rng.choice(("closed:4", "scaled:0.001")), "--cache", "none"]


def events(rng: random.Random, folder: Path, kept: Path) -> list[str]:
    """A block trace of a tool on a tiny drive."""
    name = rng.choice(sorted(EVENTS))
    path = _write(folder / f"trace.{name}", changed(rng, EVENTS[name].encode()))
    return ["run", str(TINY), path, "--wrap", "--cache", "none"]


def traffic(rng: random.Random, folder: Path, kept: Path) -> list[str]:
    """A memory trace, with or without cycles."""
    name = rng.choice(sorted(TRAFFIC))
    return ["run", "dram-only", _write(folder / f"memory.{name}", changed(rng, TRAFFIC[name].encode()))]


def mqsim(rng: random.Random, folder: Path, kept: Path) -> list[str]:
    """MQSim's device, workload or trace: changed as a text, or elements moved, doubled, renamed, left out."""
    texts = {"ssdconfig.xml": mqsim_files.DEVICE, "workload.xml": mqsim_files.WORKLOAD, "some.trace": mqsim_files.TRACE}
    name = rng.choice(("ssdconfig.xml", "workload.xml", "workload.xml", "some.trace"))
    content = {each: text.encode() for each, text in texts.items()}
    if name.endswith(".xml") and rng.random() < 0.5:
        content[name] = mqsim_files.mutate_elements(rng, texts[name], WORDS.split()).encode()
    else:
        content[name] = changed(rng, content[name])
    paths = [_write(folder / each, content[each]) for each in content]
    return ["import", *paths[:2], "-o", str(folder / "out")]


def pages(rng: random.Random, folder: Path, kept: Path) -> list[str]:
    """A page trace for paging policies."""
    text = "# nandram pages 4096\n" + "\n".join(str(rng.randrange(20)) for _ in range(200)) + "\n"
    files = [
        path for path in (ROOT / "python" / "nandram" / "traces" / "xip").glob("*.zst") if path.stat().st_size < 3000
    ]
    content = rng.choice(files).read_bytes() if files and rng.random() < 0.3 else text.encode()
    name = "trace.pages.zst" if content[:4] == b"\x28\xb5\x2f\xfd" else "trace.pages"
    return ["paging", _write(folder / name, changed(rng, content)), "--sram", "16KiB", "--policy", "lru,min"]


def experiment(rng: random.Random, folder: Path, kept: Path) -> list[str]:
    """The claims or the experiment of a test paper."""
    claims, text = CLAIMS.encode(), EXPERIMENT.encode()
    if rng.random() < 0.4:
        claims = changed(rng, claims)
    else:
        text = changed(rng, text)
    (folder / "claims").mkdir()
    _write(folder / "claims" / "small.toml", claims)
    return ["reproduce", _write(folder / "small.toml", text), "--cache", "none", "--jobs", "1"]


def sweep(rng: random.Random, folder: Path, kept: Path) -> list[str]:
    """A sweep of four short runs."""
    path = _write(folder / "sweep.toml", changed(rng, SWEEP.encode()))
    return ["sweep", path, "-o", str(folder / "out"), "--jobs", "1", "--cache", "none"]


def result(rng: random.Random, folder: Path, kept: Path) -> list[str]:
    """A result folder of a run or of a sweep, with one changed file."""
    kind = rng.choice(("run", "run", "sweep"))
    made = folder / kind
    shutil.copytree(kept / kind, made)
    path = rng.choice(sorted(path for path in made.rglob("*") if path.is_file() and path.name != "report.html"))
    if rng.random() < 0.1:
        path.unlink()
    else:
        path.write_bytes(changed(rng, path.read_bytes()))
    if kind == "run" and rng.random() < 0.5:
        return ["compare", str(made), str(kept / "run")]
    return ["report", str(made), "-o", str(folder / "report.html"), "--no-sensitivity"]


def mutate_json(rng: random.Random, value: object) -> object:
    """Replace, remove or move one value of a JSON document, so that types are wrong but the syntax is right."""
    places: list[tuple[Any, Any]] = []

    def walk(node: object) -> None:
        entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, each in entries:
            places.append((node, key))
            walk(each)

    walk(value)
    if not places or rng.random() < 0.02:
        return rng.choice(JSON_VALUES)
    for _ in range(rng.choice((1, 1, 2))):
        node, key = rng.choice(places)
        try:
            match rng.randrange(4):
                case 0:
                    del node[key]
                case 1:
                    other, place = rng.choice(places)
                    node[key] = copy.deepcopy(other[place])
                case _:
                    node[key] = rng.choice(JSON_VALUES)
        except (KeyError, IndexError):
            continue  # an earlier change removed it
    return value


def sealed(rng: random.Random, folder: Path, kept: Path) -> list[str]:
    """A result folder whose checksums are right and whose summary or manifest is not."""
    made = folder / "run"
    shutil.copytree(kept / "run", made)
    name = rng.choice(("summary.json", "summary.json", "manifest.json"))
    text = json.dumps(mutate_json(rng, json.loads((made / name).read_text())))
    (made / name).write_text(text)
    sums = [line.split("  ", 1) for line in (made / "SHA256SUMS").read_text().splitlines()]
    lines = [f"{hashlib.sha256((made / file).read_bytes()).hexdigest()}  {file}\n" for _, file in sums]
    (made / "SHA256SUMS").write_text("".join(lines))
    if rng.random() < 0.5:
        return ["compare", str(made), str(kept / "run")]
    return ["report", str(made), "-o", str(folder / "report.html"), "--no-sensitivity"]


def measured(rng: random.Random, folder: Path, kept: Path) -> list[str]:
    """fio's output of a real drive, with values of wrong types."""
    found = json.loads(MEASURED.read_text())
    path = _write(folder / "fio.json", json.dumps(mutate_json(rng, found)).encode())
    return ["fit", path, "--system", str(TINY), "--closed-form"]


def memory(rng: random.Random, folder: Path, kept: Path) -> list[str]:
    """A memory on a file."""
    path = folder / "some.memory"
    extents = copy_data(kept / "some.memory", path)
    mutate_data(rng, path, extents)
    return ["memory", rng.choice(("info", "check", "tokens")), str(path)]


MAKERS = (system, job, trace, events, traffic, mqsim, pages, experiment, sweep, result, sealed, measured, memory)
KINDS = [Kind(make.__name__, make) for make in MAKERS]
