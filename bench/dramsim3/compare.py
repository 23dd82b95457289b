"""Compare one channel of DDR4-2400 with DRAMsim3, and write the tables in docs/dramsim3.md.

Usage: compare.py BUILD, the folder of `make dramsim3`. The environment variable DRAMSIM3 names DRAMsim3's sources;
without it, nothing happens. The same program (rows.cc), compiled against both, measures both through DRAMsim3's
interface.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "dramsim3.md"
BEGIN, END = "<!-- tables of bench/dramsim3/compare.py -->\n", "<!-- end of the tables -->\n"
SOURCES = (
    "bankstate channel_state command_queue common configuration controller dram_system hmc refresh simple_stats timing "
    "memory_system"
).split()

Rows = list[tuple[str, int, float, float]]


def compiled(program: Path, *arguments: str) -> Path:
    """Compile rows.cc."""
    compiler = os.environ.get("CXX", "c++")
    flags = ["-std=c++17", "-O2", "-w", str(HERE / "rows.cc"), "-o", str(program)]
    subprocess.run([compiler, *flags, *arguments], check=True)
    return program


def measured(program: Path, config: Path) -> Rows:
    """Return pattern, transactions under way, nanoseconds per read and GB/s of each row."""
    with tempfile.TemporaryDirectory() as folder:
        printed = subprocess.run([program, config, folder], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in printed.splitlines() if line.startswith(("random ", "sequential ", "mixed "))]
    return [(pattern, int(outstanding), float(ns), float(rate)) for pattern, outstanding, ns, rate in rows]


def table(theirs: Rows, ours: Rows) -> str:
    """Return the table in Markdown."""
    lines = [
        "| transactions | under way | DRAMsim3, ns | here, ns | DRAMsim3, GB/s | here, GB/s | |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for (pattern, outstanding, ns, rate), (_, _, our_ns, our_rate) in zip(theirs, ours, strict=True):
        more = f"{100 * (our_rate / rate - 1):+.0f} %"
        lines.append(f"| {pattern} | {outstanding} | {ns:.1f} | {our_ns:.1f} | {rate:.1f} | {our_rate:.1f} | {more} |")
    return "\n".join(lines) + "\n"


def of_queues(theirs: Path, ours: Path, config: Path, folder: Path) -> str:
    """Return the bandwidth of half writes, 64 under way, by the number of writes that the controllers hold."""
    rows = ["| controller | writes held | GB/s |", "| --- | --- | ---: |"]
    text = config.read_text()
    for size in (1, 2, 8):
        other = folder / "queues.ini"
        other.write_text(text.replace("cmd_queue_size = 8", f"cmd_queue_size = {size}"))
        rate = measured(theirs, other)[-1][3]
        rows.append(f"| DRAMsim3 | 32, and {size} commands for each of 32 banks | {rate:.1f} |")
    keys = {"write_queue": 127, "write_high": 120, "write_low": 8}
    larger = folder / "queues.toml"
    basis = "".join(f'"memory.{key}" = {{ assumed = "as many writes as fit" }}\n' for key in keys)
    sizes = "".join(f"{key} = {value}\n" for key, value in keys.items())
    larger.write_text(f'extends = "{HERE / "one-channel.toml"}"\n[memory]\n{sizes}[basis]\n{basis}')
    for of, held in ((HERE / "one-channel.toml", "32"), (larger, "127")):
        rows.append(f"| here | {held} | {measured(ours, of)[-1][3]:.1f} |")
    return "\n".join(rows) + "\n"


def main() -> None:
    """Measure, and replace the tables."""
    there = os.environ.get("DRAMSIM3")
    if not there:
        print("skipped: DRAMSIM3 does not name DRAMsim3's sources")
        return
    sources, build = Path(there).resolve(), Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        includes = [f"-I{sources / path}" for path in ("src", "ext/fmt/include", "ext/headers")]
        files = [str(sources / "src" / f"{name}.cc") for name in SOURCES]
        theirs = compiled(Path(folder) / "theirs", "-DFMT_HEADER_ONLY=1", *includes, *files)
        links = [f"-I{build}", f"-L{build}", "-ldramsim3", f"-Wl,-rpath,{build}"]
        ours = compiled(Path(folder) / "ours", *links)
        settings = sources / "configs" / "DDR4_8Gb_x8_2400.ini"
        found = table(measured(theirs, settings), measured(ours, HERE / "one-channel.toml"))
        found += "\n" + of_queues(theirs, ours, settings, Path(folder))
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + found + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
