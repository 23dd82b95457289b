"""Captures the page traces of the programs built by ``build.sh``: ``python traces.py BUILD_FOLDER TRACES_FOLDER``.

It makes the files in ``python/nandram/traces/xip``, manifest included. The programs write to /dev/null, so
that the terminal has no say in how their C library buffers. Builds that are not in BUILD_FOLDER keep their traces and
entries in the manifest.
"""

import hashlib
import os
import sys
from pathlib import Path

from nandram.capture import capture_pages

LEVELS = ("O0", "O1", "O2", "O3", "Os")
BUILDS = {"arm": LEVELS, "x86_64": LEVELS, "newlib-arm": ("O2", "Os"), "newlib-thumb": ("O2", "Os")}
"""Optimization levels by architecture; ``newlib``: with this C library instead of glibc."""
REQUESTS_MAX = {"fft": 1_000_000}
"""Length at which the paper cuts its trace of the FFT."""
ARGUMENTS = {
    "djpeg": ["large.jpg", "/dev/null"],
    "cjpeg": ["large.ppm", "/dev/null"],
    "basicmath": ["17"],
    "fft": ["4", "1024"],
}


def main(build: Path, traces: Path) -> None:
    """Capture all traces and write the manifest."""
    traces.mkdir(parents=True, exist_ok=True)
    lines = [
        "# Page traces of the programs in examples/xip; made by examples/xip/build.sh and traces.py.",
        "# 1 KiB pages, behind an instruction cache of 4 KiB, 4 ways and 16-byte lines.",
    ]
    folder = traces.resolve()
    known = entries(folder / "manifest.toml")
    os.chdir(build)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    for program, arguments in ARGUMENTS.items():
        for architecture, levels in BUILDS.items():
            for level in levels:
                name = f"{program}-{architecture}-{level}.pages.zst"
                path = f"{architecture}/{level}/{program}"
                if not Path(path).exists() and name in known:
                    lines += known[name]
                    continue
                found = capture_pages([path, *arguments], folder / name, requests=REQUESTS_MAX.get(program), level=19)
                if found.ended.exit_status:
                    raise SystemExit(f"{path}: exited with status {found.ended.exit_status}")
                lines += [
                    "",
                    "[[trace]]",
                    f'file = "{name}"',
                    f'program = "{program}"',
                    f'architecture = "{architecture}"',
                    f'level = "{level}"',
                    f'command = "{" ".join([path, *arguments])}"',
                    f"requests = {found.ended.records}",
                    f"instructions = {found.ended.instructions}",
                    f"ended_at_limit = {str(found.ended.limited).lower()}",
                    f'program_sha256 = "{hashlib.sha256(Path(path).read_bytes()).hexdigest()}"',
                    f'trace_sha256 = "{hashlib.sha256((folder / name).read_bytes()).hexdigest()}"',
                ]
                print(lines[-10], lines[-4], file=sys.stderr)
    (folder / "manifest.toml").write_text("\n".join(lines) + "\n")


def entries(manifest: Path) -> dict[str, list[str]]:
    """Return the lines of each trace's entry in a manifest, by file."""
    if not manifest.exists():
        return {}
    _, *parts = manifest.read_text().split("\n[[trace]]\n")
    return {part.split('"')[1]: ["", "[[trace]]", *part.rstrip("\n").split("\n")] for part in parts}


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
