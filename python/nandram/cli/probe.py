"""``nandram probe``: detect the caches and buffers of a drive."""

import contextlib
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandram.cli.run import SetOption, split_changes, whole_number
from nandram.errors import UserError
from nandram.options import Precondition

if TYPE_CHECKING:
    from nandram.probe.run import Probe


def probe(
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="Preset or system file (simulated), file, or block device.")
    ],
    tests: Annotated[
        list[str] | None,
        typer.Option(
            "--test",
            metavar="all|read-cache|mapping-cache|stripe|parallelism|write-buffer",
            help="Test to run; repeatable. [default: all; for real targets, all that only read]",
        ),
    ] = None,
    allow_write: Annotated[
        bool,
        typer.Option("--allow-write", help="Also run tests that write. They destroy the data on the target."),
    ] = False,
    confirm: Annotated[
        str | None,
        typer.Option(
            metavar="SERIAL|PATH", help="With --allow-write: the drive's serial number, or the file's absolute path."
        ),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print every step and its cost without touching the target.")
    ] = False,
    method: Annotated[
        str,
        typer.Option(
            metavar="search|paper",
            help="How sizes are found: by bisection, or by the three tests of Kim and Kim (2020), step by step.",
        ),
    ] = "search",
    every: Annotated[
        str | None,
        typer.Option(metavar="N", help="With --method paper: try each N-th of the paper's sizes. [default: 1]"),
    ] = None,
    confidence: Annotated[
        str, typer.Option(metavar="P", help="Confidence of verdicts; 0.99 allows one error in a hundred.")
    ] = "0.99",
    keep_hmb: Annotated[
        bool,
        typer.Option("--keep-hmb", help="Do not switch an NVMe drive's host memory buffer off and on for comparison."),
    ] = False,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the report with all latencies to this file.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Write probe.json, samples.parquet and report.html to this folder."
        ),
    ] = None,
    seed: Annotated[str, typer.Option(metavar="N", help="Seed of the random addresses and orders.")] = "1",
    changes: SetOption = None,
    precondition: Annotated[
        Precondition | None, typer.Option(help="State of a simulated drive, as in `nandram run`. [default: fill]")
    ] = None,
    cache: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|none", help="Cache folder for prepared drives. [default: $NANDRAM_CACHE, or ~/.cache/nandram]"
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", metavar="FILE", help="Write a system file that simulates the probed drive."),
    ] = None,
    root: Annotated[str | None, typer.Option(hidden=True, help="Folder with replacements for /sys and /proc.")] = None,
) -> None:
    """Detect the caches and buffers of a drive and their sizes.

    A simulated drive is probed in virtual time; a file or a block device in real time, bypassing the page cache. The
    target is only read, unless --allow-write is given and confirmed. Targets that are mounted, partitioned or in use
    are refused. The host memory buffer of an NVMe drive is switched off and on for comparison; its original state is
    always restored. An interrupt exits with status 130 after printing the findings so far.

    Example: nandram probe hmb-a --test mapping-cache
    """
    from nandram.probe import run as probing

    options: dict[str, Any] = {
        "tests": chosen(tests),
        "allow_write": allow_write,
        "confirm": confirm,
        "method": method,
        "every": None if every is None else whole_number("--every", every),
        "confidence": probability("--confidence", confidence),
        "seed": whole_number("--seed", seed),
        "set": dict(change.split("=", 1) for change in split_changes(changes)),
        "precondition": probing.DEFAULT_PRECONDITION if precondition is None else precondition,
        "cache": "default" if cache is None else None if cache == "none" else cache,
        "keep_hmb": keep_hmb,
        "root": root,
    }
    planned = probing.plan(target, **options)
    if plan:
        show_plan(target, planned, options["precondition"])
        return
    check_json(json)
    if output is not None:
        from nandram.folders import check

        check(output)
    check_json(model, "--model")
    if planned["write_bytes_max"] and planned["confirm"] is not None and confirm is None:
        options["confirm"] = ask(planned)
        probing.plan(target, **options)
    caught: list[int] = []
    with orderly(caught):
        try:
            with test_progress() as progress:
                show_target(target, planned, options["precondition"])
                found = probing.run_probe(target, **options, progress=progress)
        except probing.ProbeInterrupted as interrupted:
            found = interrupted.partial
        except KeyboardInterrupt:
            # The probe had not begun: there is nothing to show or to restore.
            print("interrupted before the first test", file=sys.stderr)
            raise typer.Exit(status_of(caught)) from None
        show(found)
        if json is not None:
            found.save_json(json)
            print(json)
        if output is not None:
            found.save(output)
            print(output / "report.html")
        if model is not None:
            probing.save_model(found, model)
            print(model)
        end(found, caught)


def chosen(tests: list[str] | None) -> list[str] | None:
    """Check the names of tests and return them; None stands for all. Raises `UserError`."""
    from nandram.probe import run as probing

    probing.check_tests([name for name in tests or [] if name != "all"])
    return None if not tests or "all" in tests else tests


def probability(name: str, text: str) -> float:
    """Parse the probability of an option. Raises `UserError`."""
    try:
        return float(text)
    except ValueError:
        raise UserError(f"{name}: found `{text}`, expected a number above 0.5 and below 1") from None


def check_json(path: Path | None, option: str = "--json") -> None:
    """Check an output file before a long probe. Raises `UserError`."""
    if path is not None and (path.is_dir() or not path.parent.is_dir()):
        what = "a folder" if path.is_dir() else "no such folder"
        raise UserError(f"{option}: {path}: found {what}, expected a file in a folder that exists")


def wear(planned: dict[str, Any]) -> str:
    """Return a phrase about the bytes written to the target."""
    from nandram.units import size

    if not planned["write_bytes_max"]:
        return "nothing is written"
    part = planned["drive_writes"]
    compared = f"{part:.1f} times" if part >= 1 else f"{100 * part:.2g} % of"
    return f"at most {size(planned['write_bytes_max'])} are written, {compared} its capacity"


def ask(planned: dict[str, Any]) -> str:
    """Return the confirmation that the user types. Raises `UserError` without a terminal."""
    needed = planned["confirm"]
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserError(
            f"--allow-write: destroys the data on the target ({wear(planned)}): needs --confirm with {needed}"
        )
    print(f"The data on the target will be destroyed: {wear(planned)}.", file=sys.stderr)
    print(f"To continue, type {needed}: ", file=sys.stderr, end="", flush=True)
    return sys.stdin.readline().rstrip("\n")


def show_target(target: str, planned: dict[str, Any], precondition: str) -> None:
    """Print the target, the cost of the probe and the tests left out."""
    from nandram.units import size

    named = f" {planned['name']}" if planned["name"] else ""
    print(f"{target}: {planned['kind']}{named}, {size(planned['capacity_bytes'])}")
    if planned["kind"] == "simulated":
        print(f"drive prepared: {precondition}")
    else:
        print(wear(planned))
    if planned["left_out"]:
        print(f"left out, as it writes: {', '.join(planned['left_out'])} (--allow-write)")
    for note in planned["notes"]:
        print(note)
    sys.stdout.flush()


def show_plan(target: str, planned: dict[str, Any], precondition: str) -> None:
    """Print every step."""
    from nandram.units import size

    show_target(target, planned, precondition)
    for number, action in enumerate(planned["actions"], 1):
        written = action["write_bytes_max"]
        cost = f" (writes at most {size(written)})" if written and planned["kind"] != "simulated" else ""
        print(f"{number:3}. {action['does']}{cost}")
    print(f"at most {size(planned['read_bytes_max'])} are read")
    if planned["write_bytes_max"] and planned["confirm"] is not None:
        print(f"to run it, give --confirm with {planned['confirm']}")


@contextlib.contextmanager
def orderly(caught: list[int]) -> Iterator[None]:
    """Turn SIGINT, SIGTERM and SIGHUP into an orderly end of the probe; `caught` receives their numbers.

    Only the first one interrupts: a second must not stop the drive from being restored, or the findings from being
    shown.
    """

    def end(number: int, _frame: FrameType | None) -> None:
        caught.append(number)
        if len(caught) == 1:
            raise KeyboardInterrupt

    before = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        handler = signal.getsignal(number)
        # The parent process may have set a signal to be ignored, as nohup does.
        if handler not in (signal.SIG_IGN, None):
            before[number] = signal.signal(number, end)
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(status_of(caught)) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def test_progress() -> Iterator[Any]:
    """Yield a `probing.Progress` function; None if standard error is no terminal."""
    from nandram.cli.terminal.progress import counted_progress

    with counted_progress("tests") as report:
        if report is None:
            yield None
            return

        def update(done: int, of: int, _test: str, _hmb: bool | None) -> bool:
            report(done, of, done / of)
            return True

        yield update


def show(found: "Probe") -> None:
    """Print the verdicts with their evidence."""
    from rich.table import Table
    from rich.text import Text

    from nandram.cli.terminal.console import output
    from nandram.probe.findings import COLUMNS, row

    console = output(120)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in COLUMNS[:-1]:
        table.add_column(title, no_wrap=True)
    styles = {"supported": "green", "refuted": "red", "inconclusive": "yellow"}
    for finding in found.findings:
        about, memory, verdict, size, place, _ = row(finding)
        table.add_row(about, memory, Text(verdict, styles[verdict]), size, place)
    if found.findings:
        console.print(table)
    for finding in found.findings:
        memory = {None: "", True: " with host memory", False: " without host memory"}[finding["hmb"]]
        console.print(
            f"  {finding['about'].replace('_', ' ')}{memory}: {finding['evidence']}", markup=False, soft_wrap=True
        )


def status_of(caught: list[int]) -> int:
    """Return the exit status of a program that a signal ended."""
    return 128 + (caught[0] if caught else signal.SIGINT)


def end(found: "Probe", caught: list[int]) -> None:
    """Report an early or failed end and exit with the matching status."""
    if found.not_restored is not None:
        print(f"error: {found.not_restored}", file=sys.stderr)
    if found.interrupted:
        kept = "" if found.not_restored is not None else "; the host memory buffer is in its original state"
        done = f"the {len(found.findings)} findings so far are above" if found.findings else "no findings so far"
        print(f"interrupted: {done}{kept}", file=sys.stderr)
        raise typer.Exit(status_of(caught))
    if found.ended is not None:
        print(f"error: {found.ended}", file=sys.stderr)
    if found.ended is not None or found.not_restored is not None:
        raise typer.Exit(1)
