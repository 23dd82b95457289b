"""Measure how the C library and the function order affect paging: ``python layouts.py BUILD_FOLDER > layouts.md``.

The C libraries are compared on the bundled traces. Then the JPEG programs are compiled with newlib once more, and their
objects are linked in orders drawn at random: the same instructions at other addresses. ``build.sh`` has built in
BUILD_FOLDER before. Needs gcc-arm-none-eabi and libnewlib-arm-none-eabi.
"""

import os
import random
import subprocess
import sys
from pathlib import Path

import polars as pl

import nandram
from nandram.capture import capture_pages
from nandram.traces import path_of

SOURCES = Path(__file__).resolve().parent
ORDERS = 20
SRAM = ["4KiB", "8KiB"]
# The variant `current` of experiments/xip.toml.
READING = "with+after+fault"
REQUESTS_MAX = {"fft": 1_000_000}
ARGUMENTS = {
    "djpeg": ["large.jpg", "/dev/null"],
    "cjpeg": ["large.ppm", "/dev/null"],
    "basicmath": ["17"],
    "fft": ["4", "1024"],
}
INSTRUCTIONS = {"ARM": "newlib-arm", "Thumb": "newlib-thumb"}
COMPILER = ["arm-none-eabi-gcc", "-std=gnu11", "-mcpu=arm926ej-s", "-DNDEBUG", "-ffunction-sections", "-fdata-sections"]
FLAGS = ["-O2", "-marm"]
LINKER = ["--specs=nano.specs", "--specs=rdimon.specs", "-u", "_printf_float", "-Wl,--gc-sections"]


def objects(jpeg: Path, config: Path, folder: Path, flags: list[str]) -> list[Path]:
    """Compile libjpeg-turbo and the two programs that need it; return its objects."""
    # The objects of its static library.
    names = sorted({path.name.split(".")[0] for path in config.glob("**/j*.c.o")})
    include = [f"-I{config}", f"-I{jpeg}"]
    for name in [*names, "djpeg", "cjpeg"]:
        source = SOURCES / f"{name}.c" if name in ARGUMENTS else jpeg / f"{name}.c"
        subprocess.run([*COMPILER, *flags, *include, "-c", "-o", folder / f"{name}.o", source], check=True)
    return [folder / f"{name}.o" for name in names]


def link(program: Path, flags: list[str], inputs: list[Path]) -> None:
    """Link a program."""
    subprocess.run([*COMPILER, *flags, *LINKER, "-o", program, *inputs, "-lm"], check=True)


def captured(program: Path, name: str) -> Path:
    """Capture a program's page trace."""
    trace = program.with_name(f"{program.name}.pages.zst")
    ended = capture_pages([str(program), *ARGUMENTS[name]], trace, requests=REQUESTS_MAX.get(name)).ended
    if ended.exit_status:
        raise SystemExit(f"{program}: exited with status {ended.exit_status}")
    return trace


def ratios(trace: str | os.PathLike[str]) -> dict[str, list[float]]:
    """Return times and energies relative to LRU's, one for each SRAM size, and the trace's pages."""
    found = nandram.run_paging(
        trace, policies=["lru", "min", "pm-xip(8,4)"], sram=SRAM, reading=READING, bound_rounds=0
    ).frame()
    columns = {policy: found.filter(found["policy"] == policy) for policy in found["policy"].unique()}
    swept = nandram.run_paging_sweep(trace, sram=SRAM, reading=READING)
    lru = columns["lru"]
    return {
        "pages": lru["pages"].to_list(),
        "requests": lru["requests"].to_list(),
        "fixed": (columns["pm-xip(8,4)"]["time_s"] / lru["time_s"]).to_list(),
        "best": swept.best("time")["time_to_lru"].to_list(),
        "min": (columns["min"]["time_s"] / lru["time_s"]).to_list(),
        "best_energy": swept.best("energy")["energy_to_lru"].to_list(),
        "min_energy": (columns["min"]["energy_j"] / lru["energy_j"]).to_list(),
    }


def rent_or_buy(trace: Path) -> list[float]:
    """Return its time over the better of LRU's and PM-XIP(8,4)'s, by SRAM size, under Figure 5 as it stands."""
    sram = ["2KiB", "4KiB", "8KiB", "16KiB", "32KiB", "64KiB"]
    found = nandram.run_paging(trace, policies=["lru", "pm-xip(8,4)", "rent-or-buy"], sram=sram, bound_rounds=0).frame()
    times = found.pivot(on="policy", index="sram_bytes", values="time_s")
    ratio = pl.col("rent-or-buy") / pl.min_horizontal("lru", "pm-xip(8,4)")
    return times.select(ratio.alias("ratio"))["ratio"].to_list()


def saved(name: str, found: dict[str, dict[str, list[float]]]) -> str:
    """Return a row with the averages of the paper's abstract, over programs and SRAM sizes."""

    def mean(key: str) -> float:
        values = [value for each in found.values() for value in each[key]]
        return sum(values) / len(values)

    pages = ", ".join(f"{found[program]['pages'][0]:.0f}" for program in ARGUMENTS)
    best, energy = mean("best"), mean("best_energy")
    over_min = 1 - best / mean("min"), 1 - energy / mean("min_energy")
    return f"| {name} | {pages} | {1 - best:.3f} | {1 - energy:.3f} | {over_min[0]:.3f} | {over_min[1]:.3f} |"


def libraries(say: list[str]) -> list[float]:
    """Compare C libraries; return the results of rent or buy."""
    ours: list[float] = []
    say += [
        "| C library, code | pages of djpeg, cjpeg, basicmath, fft | time | energy | time over MIN | energy over MIN |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
        "| the paper | | 0.57 | 0.63 | 0.30 | 0.40 |",
    ]
    for level in ("O2", "Os"):
        bundled = {program: ratios(path_of(f"xip/{program}-arm-{level}")) for program in ARGUMENTS}
        say.append(saved(f"glibc, ARM, -{level}", bundled))
    for words, architecture in INSTRUCTIONS.items():
        for level in ("O2", "Os"):
            traces = {program: path_of(f"xip/{program}-{architecture}-{level}") for program in ARGUMENTS}
            ours += [ratio for trace in traces.values() for ratio in rent_or_buy(trace)]
            found = {program: ratios(trace) for program, trace in traces.items()}
            say.append(saved(f"newlib, {words}, -{level}", found))
    return ours


def orders(jpeg: Path, config: Path, place: Path, say: list[str]) -> list[float]:
    """Link the same objects in many orders; return the results of rent or buy."""
    ours: list[float] = []
    place.mkdir(parents=True, exist_ok=True)
    made = objects(jpeg, config, place, FLAGS)
    say += [
        "",
        "| program | SRAM KiB | requests | PM-XIP(8,4) | PM-XIP at its best | MIN |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for program in ("djpeg", "cjpeg"):
        found = []
        for order in range(ORDERS):
            inputs = [place / f"{program}.o", *made]
            random.Random(order).shuffle(inputs)
            link(place / "shuffled", FLAGS, inputs)
            trace = captured(place / "shuffled", program)
            found.append(ratios(trace))
            ours += rent_or_buy(trace)
        for index, size in enumerate(SRAM):

            def band(key: str, digits: int, at: int = index, of: list[dict[str, list[float]]] = found) -> str:
                values = sorted(each[key][at] for each in of)
                middle = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
                return f"{middle:,.{digits}f} ({values[0]:,.{digits}f} to {values[-1]:,.{digits}f})"

            shown = [band("requests", 0), *(band(key, 2) for key in ("fixed", "best", "min"))]
            say.append(f"| {program} | {size.removesuffix('KiB')} | {' | '.join(shown)} |")
    return ours


def main(build: Path) -> None:
    """Print two tables, and the results of rent or buy on the same builds."""
    say: list[str] = []
    os.chdir(build)
    terminal = os.dup(1)
    # The output of the programs is not part of the tables.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    ours = libraries(say)
    ours += orders(Path("libjpeg-turbo-2.1.5"), Path("newlib-arm/O2/libjpeg"), Path("orders"), say)
    worst = f"{max(ours):.3f} times the better of LRU and PM-XIP(8,4)"
    say += ["", f"Of {len(ours)} points (trace, SRAM of 2 to 64 KiB) rent or buy takes at most {worst}."]
    os.write(terminal, ("\n".join(say) + "\n").encode())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
