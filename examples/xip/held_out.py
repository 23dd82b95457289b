"""Generates page traces that meet what the XIP paper prints of LRU and MIN: ``python held_out.py TRACES_FOLDER``.

The paper's traces are not to be had, but in part their counts with LRU and MIN are (Tables 4 and 5). Each generated
trace consists of segments of a bundled trace of the same program, in their order. Each segment is repeated as often as
makes the whole meet these figures; of all such choices it takes the one nearest to equal weights (relative entropy).
PM-XIP's figures have no part in this, so that they can be predicted from the traces (experiments/xip.toml). The length
of a segment was chosen by how well LRU and MIN are met.
"""

import hashlib
import heapq
import json
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from nandram.paging.run import run_paging
from nandram.papers import library
from nandram.traces import path_of

FRAMES = (4, 8, 16, 32)
"""Pages of SRAM: 4, 8, 16 and 32 KiB."""
LOAD_US, SRAM_US = 29.33 + 12.86, 0.04
LOAD_NJ, SRAM_NJ = 1295.48 + 1056.21, 1.79
"""Cost of a page that LRU or MIN loads, and of a read from SRAM (Table 3)."""
BUILDS = ("arm-O0",)
"""The build whose segments met the figures best when others were tried: djpeg with arm-O2 and x86_64-O0, cjpeg and
basicmath with arm-O2."""
REQUESTS = {"djpeg": 295_081, "cjpeg": 268_980, "basicmath": 300_000, "fft": 300_000}
"""Length of each generated trace: the paper's, or less, since ratios do not depend on it."""
SOURCE = 100_000
"""Requests of a bundled trace that are used."""
SEGMENT = 500
"""Requests of a segment. With 1,500 the figures are not met: too few segments to choose from."""
COUNT = {4: 0.01, 32: 0.25}
"""Part of a count that counts as a deviation of one. With 32 KB a trace's first use of each page is most of it."""
ROUNDS = 6
"""Corrections for what the seams between segments add."""


@dataclass(frozen=True)
class Target:
    """A figure to meet: the sum of `coefficients` times the rates of LRU and MIN at four sizes equals `value`."""

    name: str
    coefficients: dict[tuple[str, int], float]
    """By policy and frames: of faults per request."""
    value: float
    scale: float
    """What the deviation is divided by: the paper's rounding, or a part of a count."""


def read(path: Path, most: int) -> np.ndarray:
    """Return the first pages of a bundled trace."""
    data = subprocess.run(["zstd", "-dc", path], check=True, capture_output=True).stdout
    at = data.index(b"\n", data.index(b"\n") + 1) + 1
    pages: list[int] = []
    page = 0
    while len(pages) < most:
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if value == 0:
            break
        value -= 1
        page += (value >> 1) ^ -(value & 1)
        pages.append(page)
    return np.array(pages)


def write(path: Path, pages: np.ndarray, header: dict[str, object], level: int = 19) -> None:
    """Write a page trace, compressed."""
    out = bytearray(b"nandram page trace 1\n" + json.dumps(header, separators=(",", ":")).encode() + b"\n")

    def push(value: int) -> None:
        while value >= 0x80:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        out.append(value)

    last = 0
    for page in pages.tolist():
        difference = page - last
        push(((difference << 1) ^ (difference >> 63)) + 1)
        last = page
    push(0)
    push(len(pages))
    packed = subprocess.run(["zstd", f"-{level}", "-qc"], input=bytes(out), check=True, capture_output=True)
    path.write_bytes(packed.stdout)


def header(program: str, build: str) -> dict[str, object]:
    """Return the header of a generated trace."""
    icache = {"bytes": 4096, "ways": 4, "line_bytes": 16}
    command = ["held_out.py", f"xip/{program}-{build}"]
    fields: dict[str, object] = {"page_bytes": 1024, "icache": icache, "program": program}
    return fields | {"architecture": build.partition("-")[0], "command": command}


def changes(pages: np.ndarray) -> np.ndarray:
    """Return the places at which the page is another than before."""
    return np.flatnonzero(np.concatenate(([True], pages[1:] != pages[:-1])))


def lru(pages: Sequence[int], frames: int) -> list[int]:
    """Return the places of LRU's faults."""
    held: OrderedDict[int, None] = OrderedDict()
    faults = []
    for place, page in enumerate(pages):
        if page in held:
            held.move_to_end(page)
            continue
        faults.append(place)
        if len(held) == frames:
            held.popitem(last=False)
        held[page] = None
    return faults


def belady(pages: Sequence[int], frames: int) -> list[int]:
    """Return the places of MIN's faults: the page that is used last, or never again, makes room."""
    never = len(pages)
    following = [never] * len(pages)
    last: dict[int, int] = {}
    for place in range(len(pages) - 1, -1, -1):
        following[place] = last.get(pages[place], never)
        last[pages[place]] = place
    held: dict[int, int] = {}
    order: list[tuple[int, int]] = []
    faults = []
    for place, page in enumerate(pages):
        if page not in held:
            faults.append(place)
            if len(held) == frames:
                while True:
                    use, victim = heapq.heappop(order)
                    if held.get(victim) == -use:
                        break
                del held[victim]
        held[page] = following[place]
        heapq.heappush(order, (-following[place], page))
    return faults


POLICIES = {"lru": lru, "min": belady}


def faults(pages: np.ndarray) -> dict[tuple[str, int], np.ndarray]:
    """Return, by policy and frames, the places of faults."""
    at = changes(pages)
    short = pages[at].tolist()
    return {
        (policy, frames): at[np.array(run(short, frames), dtype=int)]
        for policy, run in POLICIES.items()
        for frames in FRAMES
    }


def targets(program: str, source: dict[tuple[str, int], float]) -> list[Target]:
    """Return the paper's figures of LRU and MIN. `source`: faults per request of the trace that is to meet them."""
    claims = library.load("xip").claims.claims

    def printed(name: str) -> float:
        value = claims[f"xip.{name}"].value
        assert isinstance(value, int | float)
        return float(value)

    found = []
    fixed: dict[tuple[str, int], float] = {}
    if program == "djpeg":
        for frames in (4, 32):
            for policy in ("LRU", "MIN"):
                rate = printed(f"table4.{frames}.{policy}.flash_to_buffer") / REQUESTS[program]
                fixed[policy.lower(), frames] = rate
                found.append(
                    Target(f"{policy} {frames} KB", {(policy.lower(), frames): 1.0}, rate, COUNT[frames] * rate)
                )
    for frames in FRAMES:
        if ("lru", frames) in fixed:
            continue
        for quantity, load, sram in (("time", LOAD_US, SRAM_US), ("energy", LOAD_NJ, SRAM_NJ)):
            ratio = printed(f"table5.{program}.{frames}.{quantity}_min")
            # MIN's loads and reads over those of LRU are the printed ratio, which is rounded to a hundredth.
            coefficients = {("min", frames): load, ("lru", frames): -ratio * load}
            scale = 0.01 * (load * source["lru", frames] + sram)
            found.append(Target(f"{quantity} {frames} KB", coefficients, -(1 - ratio) * sram, scale))
    return found


def weights(features: np.ndarray, values: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return weights of segments that sum to one, nearest to equal ones, whose means of `features` are near `values`.

    It minimizes relative entropy plus the squared deviations in units of `scales`, times 1 / (2 `softness`), by
    Newton's method on the dual. Without any softness, figures that no weights meet have no solution.
    """
    scaled, goal = features / scales, values / scales
    softness = 1e-3
    dual = np.zeros(len(values))

    def state(at: np.ndarray) -> tuple[float, np.ndarray]:
        exponents = scaled @ at
        top = exponents.max()
        raw = np.exp(exponents - top)
        total = raw.sum()
        return top + np.log(total) - goal @ at + softness / 2 * at @ at, raw / total

    value, share = state(dual)
    for _ in range(500):
        mean = share @ scaled
        gradient = mean - goal + softness * dual
        if np.abs(gradient).max() < 1e-9:
            break
        hessian = (scaled * share[:, None]).T @ scaled - np.outer(mean, mean) + softness * np.eye(len(values))
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while size > 1e-8:
            new, other = state(dual - size * step)
            if new < value:
                dual, value, share = dual - size * step, new, other
                break
            size /= 2
        else:
            break
    return share


def compose(pages: np.ndarray, share: np.ndarray, requests: int) -> np.ndarray:
    """Return segments in their order, each as often as its weight says."""
    bounds = np.concatenate(([0.0], np.cumsum(share))) * (requests / SEGMENT)
    # Systematic rounding: the number of whole steps within each interval.
    counts = np.floor(bounds[1:] + 0.5).astype(int) - np.floor(bounds[:-1] + 0.5).astype(int)
    parts = [np.tile(pages[at * SEGMENT : (at + 1) * SEGMENT], count) for at, count in enumerate(counts) if count]
    whole = np.concatenate(parts)
    return np.resize(whole, requests) if len(whole) < requests else whole[:requests]


def rates(pages: np.ndarray) -> dict[tuple[str, int], float]:
    """Return faults per request by policy and frames."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "made.pages.zst")
        write(file, pages, header("made", "any"), level=1)
        sram = [f"{frames}KiB" for frames in FRAMES]
        rows = run_paging(file, policies=tuple(POLICIES), sram=sram, bound_rounds=0).table.to_dicts()
    return {(row["policy"], row["sram_bytes"] // 1024): row["flash_to_buffer"] / row["requests"] for row in rows}


def of(target: Target, found: dict[tuple[str, int], float]) -> float:
    """Return a target's figure."""
    return sum(factor * found[key] for key, factor in target.coefficients.items())


def looped(pages: np.ndarray, count: int) -> dict[tuple[str, int], np.ndarray]:
    """Return the faults per request of each segment when it is repeated, by policy and frames."""
    found = {(policy, frames): np.zeros(count) for policy in POLICIES for frames in FRAMES}
    for number in range(count):
        segment = pages[number * SEGMENT : (number + 1) * SEGMENT]
        # The second of three passes: the first is cold, and MIN knows that the third is the last.
        for key, places in faults(np.tile(segment, 3)).items():
            within = (places >= SEGMENT) & (places < 2 * SEGMENT)
            found[key][number] = within.sum() / SEGMENT
    return found


def generate(program: str, build: str) -> tuple[np.ndarray, float]:
    """Return a trace, and its largest deviation from the targets in units of their scales."""
    pages = read(path_of(f"xip/{program}-{build}"), SOURCE)
    count = len(pages) // SEGMENT
    pages = pages[: count * SEGMENT]
    per_segment = looped(pages, count)
    found = rates(pages)
    values = np.array([target.value for target in targets(program, found)])
    aimed = values.copy()
    best: tuple[float, np.ndarray] | None = None
    for _ in range(ROUNDS):
        # A hundredth of a ratio is a number of faults that depends on LRU's faults in the composed trace.
        wanted = targets(program, found)
        features = np.stack(
            [sum(factor * per_segment[key] for key, factor in target.coefficients.items()) for target in wanted], axis=1
        )
        made = compose(
            pages, weights(features, aimed, np.array([target.scale for target in wanted])), REQUESTS[program]
        )
        found = rates(made)
        wanted = targets(program, found)
        off = np.array([of(target, found) for target in wanted]) - values
        worst = float(np.abs(off / np.array([target.scale for target in wanted])).max())
        if best is None or worst < best[0]:
            best = (worst, made)
        aimed = aimed - 0.7 * off
    assert best is not None
    return best[1], best[0]


def main(folder: Path) -> None:
    """Write all traces and their manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        "# Generated page traces; made by examples/xip/held_out.py from the traces in ../xip.",
        "# The deviation is from the paper's figures of LRU and MIN, in hundredths (counts with 32 KB: in quarters).",
    ]
    for program in REQUESTS:
        for build in BUILDS:
            pages, worst = generate(program, build)
            file = folder / f"{program}-{build}.pages.zst"
            write(file, pages, header(program, build))
            lines += ["", "[[trace]]", f'file = "{file.name}"', f"requests = {len(pages)}"]
            lines.append(f"largest_deviation = {worst:.2f}")
            lines.append(f'trace_sha256 = "{hashlib.sha256(file.read_bytes()).hexdigest()}"')
            print(program, build, f"{worst:.2f}", file.stat().st_size, flush=True)
    (folder / "manifest.toml").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
