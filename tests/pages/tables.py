"""Tables of the pages that come from several runs, by the names in `<!-- table NAME -->`."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import nandram

EXAMPLES = Path(__file__).parents[2] / "examples"
GUPS = EXAMPLES / "gups" / "gups.toml"
SQLITE = EXAMPLES / "sqlite_memory" / "sqlite.memory.zst"


def gups() -> list[str]:
    """Return the rows of `examples/gups/README.md`: user instructions per cycle, and the time of a thread's update."""
    program = tomllib.loads(GUPS.read_text())
    small: dict[str, object] = {"memory.cache.size": "32MiB"}
    changes: dict[str, dict[str, object]] = {
        "dram-only": {},
        "dram-ssd": {"memory.size": "32MiB", "flash.blocks": 96},
        "nvmm": small,
        "cxl-ssd": small,
        "hbf": small,
    }
    rows = ["| system | instructions per cycle | update |", "| --- | ---: | ---: |"]
    for system, change in changes.items():
        result = nandram.run(system, GUPS, set=change, cache=None)
        measured = result.summary["nandram"]
        update_us = 1e6 * program["threads"] * measured["window"]["span_s"] / program["updates"]
        rows.append(f"| `{system}` | {measured['cpu']['ipc']:.3g} | {update_us:.3g} us |")
    return rows


def bundled_programs() -> list[str]:
    """Return the rows of `docs/programs.md`: instructions per cycle of the bundled programs."""
    systems = ["dram-ddr5", "cxl-ssd", "hbf"]
    rows = ["| | " + " | ".join(f"`{system}`" for system in systems) + " |", "| --- | ---: | ---: | ---: |"]
    for name, program in (("examples/gups", GUPS), ("examples/sqlite_memory", SQLITE)):
        results = [nandram.run(system, program, cache=None) for system in systems]
        cells = [f"{result.summary['nandram']['cpu']['ipc']:.2f}" for result in results]
        rows.append(f"| `{name}` | {' | '.join(cells)} |")
    return rows


TABLES: dict[str, Callable[[], list[str]]] = {"gups": gups, "bundled-programs": bundled_programs}
