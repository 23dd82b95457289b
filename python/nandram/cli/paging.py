"""``nandram paging``: run page traces through page-replacement policies."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandram.cli.run import SetOption, split_changes, whole_number
from nandram.errors import UserError

if TYPE_CHECKING:
    from nandram.paging.run import Paging, PagingSweep


def paging(
    traces: Annotated[
        list[Path],
        typer.Argument(
            metavar="TRACE",
            help="Page traces (nandram capture pages), or bundled traces by name, such as xip/djpeg-arm-O2.",
        ),
    ],
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Policies: lru, fifo, clock, 2q, arc, s3-fifo, min, pm-xip(WINDOW,THRESHOLD), rent-or-buy. "
            "[default: lru,min,pm-xip(8,4),rent-or-buy]",
        ),
    ] = None,
    sram: Annotated[str, typer.Option(metavar="LIST", help="SRAM sizes.")] = "4KiB,8KiB,16KiB,32KiB",
    window: Annotated[
        str | None,
        typer.Option(
            metavar="FROM..TO", help="Sweep PM-XIP over windows instead: powers of two in a range, or a list."
        ),
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            metavar="FROM..TO%", help="With --window: thresholds in percent of the window. [default: 0..100%]"
        ),
    ] = None,
    system: Annotated[
        str, typer.Option(metavar="SYSTEM", help="System that defines buffers and costs.")
    ] = "onenand-xip",
    changes: SetOption = None,
    reading: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS",
            help="Interpretation of PM-XIP: before or with, after or first, fault or hit, as in before+after+fault. "
            "[default: the system's]",
        ),
    ] = None,
    bound: Annotated[
        str | None,
        typer.Option(metavar="ROUNDS", help="Rounds of the lower-bound search; 0 for no bound. [default: 60]"),
    ] = None,
    requests: Annotated[
        str | None, typer.Option(metavar="N", help="Use the first N requests of each trace. [default: all]")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Write the table (Parquet) and plots to this folder."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print an array of objects.")] = False,
) -> None:
    """Compare page-replacement policies on page traces.

    Prints counts, time, energy and the distance from a lower bound. With --window, sweeps PM-XIP over windows and
    thresholds, and prints the best of each trace and SRAM size.

    Example: nandram paging xip/djpeg-arm-O2 --sram 8KiB --policy lru,min
    """
    from nandram.cli.terminal.progress import counted_progress
    from nandram.paging.run import BOUND_ROUNDS, POLICIES, run_paging, run_paging_sweep, sweep_summary
    from nandram.system import System

    if threshold is not None and window is None:
        raise UserError("--threshold: found without --window, expected both")
    if window is not None and (policy is not None or bound is not None):
        raise UserError(
            f"--{'policy' if policy is not None else 'bound'}: found with --window, which sweeps PM-XIP only"
        )
    if output is not None:
        from nandram.folders import check

        check(output)
    of = System(system, tuple(split_changes(changes)))
    first = None if requests is None else whole_number("--requests", requests)
    sizes = [size.strip() for size in sram.split(",")]
    with counted_progress("traces") as report:
        if window is not None:
            swept = run_paging_sweep(
                *traces,
                windows=window,
                thresholds=threshold or "0..100%",
                sram=sizes,
                system=of,
                reading=reading,
                requests=first,
                report=report,
            )
        else:
            rounds = BOUND_ROUNDS if bound is None else whole_number("--bound", bound)
            found = run_paging(
                *traces,
                policies=POLICIES if policy is None else split_policies(policy),
                sram=sizes,
                system=of,
                reading=reading,
                requests=first,
                bound_rounds=rounds,
                report=report,
            )
    if window is not None:
        rows: list[dict[str, Any]] = sweep_summary(swept)
        print(json.dumps(rows, indent=2)) if as_json else show_sweep(swept)
        files = _save_sweep(swept, output) if output is not None else []
    else:
        print(json.dumps(found.table.to_dicts(), indent=2)) if as_json else show(found)
        files = _save(found, output) if output is not None else []
    if not as_json:
        for file in files:
            print(file)


def split_policies(text: str) -> list[str]:
    """Split at commas outside parentheses."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def show(found: "Paging") -> None:
    """Print the table."""
    titles = ("trace", "SRAM", "policy", "loads", "moves", "in place", "time", "energy", "/ LRU", "/ bound")
    rows = []
    least = {
        (row["trace"], row["sram_bytes"]): row["time_s"]
        for row in found.table.iter_rows(named=True)
        if row["policy"] == "lru"
    }
    from nandram.capture.emulated.cache_shapes import size_text
    from nandram.units import duration

    for row in found.table.iter_rows(named=True):
        lru = least.get((row["trace"], row["sram_bytes"]))
        in_place = row["buffer_reads"] / row["requests"]
        rows.append(
            [
                row["trace"],
                size_text(row["sram_bytes"]),
                row["policy"],
                f"{row['flash_to_buffer']:,}",
                f"{row['buffer_to_sram']:,}",
                f"{100 * in_place:.1f} %",
                duration(row["time_s"] * 1e9),
                f"{row['energy_j'] * 1e3:.4g} mJ",
                "" if lru is None else f"{row['time_s'] / lru:.3f}",
                "" if row["time_to_bound"] is None else f"{row['time_to_bound']:.3f}",
            ]
        )
    _print(titles, rows, words=3)


def show_sweep(swept: "PagingSweep") -> None:
    """Print the best window and threshold for each trace and SRAM size."""
    from nandram.capture.emulated.cache_shapes import size_text
    from nandram.paging.run import sweep_summary
    from nandram.units import duration

    titles = ("trace", "SRAM", "least time", "/ LRU", "at", "least energy", "/ LRU", "at")
    rows = []
    for each in sweep_summary(swept):
        time, energy = each["time"], each["energy"]
        rows.append(
            [
                each["trace"],
                size_text(each["sram_bytes"]),
                duration(time["time_s"] * 1e9),
                f"{time['time_to_lru']:.3f}",
                f"({time['window']},{time['threshold']})",
                f"{energy['energy_j'] * 1e3:.4g} mJ",
                f"{energy['energy_to_lru']:.3f}",
                f"({energy['window']},{energy['threshold']})",
            ]
        )
    _print(titles, rows, words=1)
    print(f"{len(swept.table):,} points")


def _print(titles: tuple[str, ...], rows: list[list[str]], words: int) -> None:
    from rich.table import Table

    from nandram.cli.terminal.console import output

    console = output(140)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, title in enumerate(titles):
        table.add_column(title, justify="left" if number < words else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _save(found: "Paging", folder: Path) -> list[Path]:
    from nandram.results import plots

    table, plot = folder / "paging.parquet", folder / "paging.png"
    _written(lambda: found.table.write_parquet(table), table)
    _written(lambda: plots.save(found.plot(), plot), plot)
    return [table, plot]


def _save_sweep(swept: "PagingSweep", folder: Path) -> list[Path]:
    from nandram.results import plots

    table = folder / "sweep.parquet"
    _written(lambda: swept.table.write_parquet(table), table)
    files = [table]
    for quantity in ("energy", "time"):
        plot = folder / f"{quantity}.png"
        _written(lambda quantity=quantity, plot=plot: plots.save(swept.plot(quantity), plot), plot)
        files.append(plot)
    return files


def _written(write: Any, file: Path) -> None:
    try:
        write()
    except OSError as error:
        raise UserError(f"{file}: cannot be written: {error.strerror}") from error
