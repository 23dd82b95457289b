"""Draws Figure 3 of Kim et al. (2009) from two runs: ``python examples/ddrssd/waveforms.py docs/ddrssd-dqs.svg``.

One run reads from the drive's cache, the other from flash. Each panel shows the last transfer of its run: the READ that
waits, DQS when the data is ready, and the first burst. The time axis is broken while the READ waits.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import nandram

CLOCK_NS = 2.5
"""DDR2-800."""
BURST = 4
"""Clocks of a burst of eight transfers."""
BEFORE = 4
"""Clocks that are drawn on each side of the break."""
STEP, HEIGHT, LEFT, GAP = 22, 16, 70, 34
ROWS = ("CK", "command", "DQS", "DQ")
HITS = """
[first]
rw=read
bs=64k
size=2m

[reads]
stonewall
rw=randread
norandommap
bs=64k
size=2m
number_ios=100
"""
MISSES = """
[reads]
rw=read
bs=64k
size=16m
"""


@dataclass(frozen=True)
class Signals:
    """The last transfer of a run, in clocks from its READ."""

    preamble: int
    data: int


def signals(job: str) -> Signals:
    """Return the signals of the last transfer of a job."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "job.fio")
        file.write_text(job)
        result = nandram.run("ddrssd", file, precondition="fill", set={"flash.blocks": 1024})
    last = result.summary["nandram"]["strobe"]["last"]
    return Signals(*(round(last[key] / CLOCK_NS) for key in ("preamble_ns", "data_ns")))


def panel(title: str, found: Signals, top: int) -> list[str]:
    """Return the elements of a panel."""
    # Clocks 0 to BEFORE, a break, and the clocks around the first burst.
    resume = found.preamble - BEFORE
    shown = BEFORE + BEFORE + (found.data - found.preamble) + BURST + 2
    breaks = LEFT + BEFORE * STEP + GAP / 2

    def x(clock: float) -> float:
        return LEFT + (clock if clock <= BEFORE else clock - resume + BEFORE) * STEP + (GAP if clock > BEFORE else 0)

    def level(row: int, high: float) -> float:
        return top + 34 + row * 34 + HEIGHT * (1 - high)

    def line(points: list[tuple[float, float]], row: int) -> str:
        path = " ".join(f"{x(clock):.1f},{level(row, high):.1f}" for clock, high in points)
        return f'<polyline points="{path}"/>'

    end = resume + shown - BEFORE
    found_rows = [f'<text x="8" y="{top + 16}" class="title">{title}</text>']
    found_rows += [f'<text x="8" y="{level(row, 0.2):.1f}">{name}</text>' for row, name in enumerate(ROWS)]
    for start, stop in ((0, BEFORE), (resume, end)):
        clocks = []
        for clock in range(start, stop):
            clocks += [(clock, 0), (clock, 1), (clock + 0.5, 1), (clock + 0.5, 0)]
        shift = 1e-9 if start else 0.0
        found_rows.append(line([(clock + shift, high) for clock, high in [*clocks, (stop, 0)]], 0))
        found_rows.append(line([(start + shift, 0.5), (stop, 0.5)], 1))
    found_rows.append(f'<rect x="{x(0):.1f}" y="{level(1, 1)}" width="{STEP}" height="{HEIGHT}"/>')
    found_rows.append(f'<text x="{x(0.5):.1f}" y="{level(1, 0.28):.1f}" class="in">READ</text>')
    # The strobe: high impedance (half), the preamble low, an edge at each transfer.
    strobe: list[tuple[float, float]] = [(resume + 1e-9, 0.5), (found.preamble, 0.5), (found.preamble, 0)]
    for clock in range(found.data, found.data + BURST):
        strobe += [(clock, 0), (clock, 1), (clock + 0.5, 1), (clock + 0.5, 0)]
    strobe += [(found.data + BURST, 0), (found.data + BURST, 0.5)]
    strobe.append((end, 0.5))
    found_rows += [line([(0, 0.5), (BEFORE, 0.5)], row) for row in (2, 3)]
    found_rows.append(line(strobe, 2))
    found_rows.append(line([(resume + 1e-9, 0.5), (end, 0.5)], 3))
    for beat in range(2 * BURST):
        left = x(found.data + beat / 2)
        found_rows.append(f'<rect x="{left:.1f}" y="{level(3, 1)}" width="{STEP / 2}" height="{HEIGHT}"/>')
    found_rows.append(f'<text x="{breaks:.1f}" y="{level(0, 0.2):.1f}" class="in">…</text>')
    wait = found.data * CLOCK_NS
    text = f"{wait:.1f} ns" if wait < 1000 else f"{wait / 1000:.2f} us"
    bottom = level(3, 0) + 16
    found_rows.append(f'<path d="M{x(0):.1f},{bottom} H{x(found.data):.1f}" class="measure"/>')
    found_rows.append(f'<text x="{x(found.data) + 6:.1f}" y="{bottom + 4:.1f}">READ to data: {text}</text>')
    return found_rows


def main(output: Path) -> None:
    """Run both jobs and write the drawing."""
    rows = [
        *panel("(a) the data is in the cache buffer", signals(HITS), 0),
        *panel("(b) the data is read from flash", signals(MISSES), 200),
    ]
    style = (
        "svg{background:#fff} polyline,path{fill:none} rect{fill:#fff} "
        "polyline,rect,path{stroke:#1f4e79;stroke-width:1.3} "
        "text{font:12px sans-serif;fill:#222} .in{font-size:8px;text-anchor:middle} .title{font-weight:bold}"
    )
    width = LEFT + (2 * BEFORE + BURST + 8) * STEP + GAP + 20
    body = "\n".join(rows)
    output.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="400" viewBox="0 0 {width} 400" role="img" '
        f'aria-label="DQS signaling: a read from the cache buffer, and one from flash">\n'
        f"<style>{style}</style>\n{body}\n</svg>\n"
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
