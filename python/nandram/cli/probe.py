"""``nandram probe``: what caches and buffers a drive has."""

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

if TYPE_CHECKING:
    from nandram.probing import Probe


def probe(
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="A preset or system file (simulated), a file, or a block device.")
    ],
    tests: Annotated[
        list[str] | None,
        typer.Option(
            "--test",
            metavar="all|read-cache|mapping-cache|stripe|parallelism|write-buffer",
            help="What to find out; may be given again. [default: all, of a real target those that only read]",
        ),
    ] = None,
    allow_write: Annotated[
        bool,
        typer.Option("--allow-write", help="Also make tests that write. They destroy what is on the target."),
    ] = False,
    confirm: Annotated[
        str | None,
        typer.Option(
            metavar="SERIAL|PATH", help="With --allow-write: the drive's serial number, or a file's path from the root."
        ),
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show every step and what it costs, and touch nothing.")] = False,
    confidence: Annotated[
        str, typer.Option(metavar="P", help="How sure verdicts are to be: 0.99 is one error of a hundred.")
    ] = "0.99",
    keep_hmb: Annotated[
        bool,
        typer.Option(
            "--keep-hmb", help="Leave an NVMe drive's host memory buffer alone; else it is off for a part of the time."
        ),
    ] = False,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the report there, with every latency.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Write probe.json, samples.parquet and report.html with plots there."
        ),
    ] = None,
    seed: Annotated[str, typer.Option(metavar="N", help="Places and orders are chosen at random, by the seed.")] = "1",
    changes: SetOption = None,
    precondition: Annotated[
        str | None,
        typer.Option(metavar="none|fill|random|steady", help="Simulated drives: as in run. [default: fill]"),
    ] = None,
    cache: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|none", help="Where prepared drives are kept. [default: $NANDRAM_CACHE, or ~/.cache/nandram]"
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model", metavar="FILE", help="Write a system file that behaves like the drive, to simulate it."
        ),
    ] = None,
    root: Annotated[str | None, typer.Option(hidden=True, help="A folder with another sys and proc.")] = None,
) -> None:
    """Find out what caches and buffers a drive has, and how large they are.

    A simulated drive is probed in virtual time; a file or a block device on the clock, past the page cache. It is only
    read, unless --allow-write is given and what names it is typed. What is mounted, partitioned or otherwise in use is
    refused. An NVMe drive's host memory buffer is switched off and on for a comparison, and put back as it was found,
    whatever happens. Exits with 130 if interrupted, after it has shown what was found until then.
    """
    from nandram import probing

    options: dict[str, Any] = {
        "tests": chosen(tests),
        "allow_write": allow_write,
        "confirm": confirm,
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
        show_plan(target, planned)
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
    try:
        with orderly(caught), test_progress() as progress:
            show_target(target, planned)
            found = probing.probe(target, **options, progress=progress)
    except probing.ProbeInterrupted as interrupted:
        found = interrupted.partial
    except KeyboardInterrupt:
        # Before it began: there is nothing to show or to put back.
        print("interrupted: nothing was found until then", file=sys.stderr)
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
    """Read the names of tests; None stands for all. Raises `UserError`."""
    from nandram import probing

    probing.check_tests([name for name in tests or [] if name != "all"])
    return None if not tests or "all" in tests else tests


def probability(name: str, text: str) -> float:
    """Read an option's probability. Raises `UserError`."""
    try:
        return float(text)
    except ValueError:
        raise UserError(f"{name}: found `{text}`, expected a number above 0.5 and below 1") from None


def check_json(path: Path | None, option: str = "--json") -> None:
    """Have a mistake told before a long probe. Raises `UserError`."""
    if path is not None and (path.is_dir() or not path.parent.is_dir()):
        what = "a folder" if path.is_dir() else "no such folder"
        raise UserError(f"{option}: {path}: found {what}, expected a file in a folder that exists")


def wear(planned: dict[str, Any]) -> str:
    """Say what the target will have to bear."""
    from nandram.units import size

    if not planned["write_bytes_max"]:
        return "nothing is written"
    part = planned["drive_writes"]
    compared = f"{part:.1f} times" if part >= 1 else f"{100 * part:.2g} % of"
    return f"at most {size(planned['write_bytes_max'])} are written, {compared} what it holds"


def ask(planned: dict[str, Any]) -> str:
    """Have the user type what names the target. Raises `UserError` where nobody can."""
    needed = planned["confirm"]
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserError(f"--allow-write: destroys what is there ({wear(planned)}): needs --confirm with {needed}")
    print(f"What is on it will be destroyed: {wear(planned)}.", file=sys.stderr)
    print(f"To go on, type {needed}: ", file=sys.stderr, end="", flush=True)
    return sys.stdin.readline().rstrip("\n")


def show_target(target: str, planned: dict[str, Any]) -> None:
    """Say what is probed, what that costs, and what is left out."""
    from nandram.units import size

    named = f" {planned['name']}" if planned["name"] else ""
    print(f"{target}: {planned['kind']}{named}, {size(planned['capacity_bytes'])}")
    if planned["kind"] != "simulated":
        print(wear(planned))
    if planned["left_out"]:
        print(f"left out, since it writes: {', '.join(planned['left_out'])} (--allow-write)")
    for note in planned["notes"]:
        print(note)
    sys.stdout.flush()


def show_plan(target: str, planned: dict[str, Any]) -> None:
    """Print every step."""
    from nandram.units import size

    show_target(target, planned)
    for number, action in enumerate(planned["actions"], 1):
        written = action["write_bytes_max"]
        cost = f" (writes at most {size(written)})" if written and planned["kind"] != "simulated" else ""
        print(f"{number:3}. {action['does']}{cost}")
    print(f"at most {size(planned['read_bytes_max'])} are read")
    if planned["write_bytes_max"] and planned["confirm"] is not None:
        print(f"to do it, give --confirm with {planned['confirm']}")


@contextlib.contextmanager
def orderly(caught: list[int]) -> Iterator[None]:
    """Have the signals that end programs end the probe in good order; `caught` gets their numbers."""

    def end(number: int, _frame: FrameType | None) -> None:
        caught.append(number)
        raise KeyboardInterrupt

    before = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        handler = signal.getsignal(number)
        # Who started us may have had a signal ignored: nohup does.
        if handler not in (signal.SIG_IGN, None):
            before[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def test_progress() -> Iterator[Any]:
    """Yield what to call with how far the probe is: `probing.Progress`. None where nobody would see it."""
    from nandram.cli.progress import counted_progress

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

    from nandram.cli.console import output
    from nandram.findings import COLUMNS, row

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
    """Say how it ended, if not well, and exit accordingly."""
    if found.not_restored is not None:
        print(f"error: {found.not_restored}", file=sys.stderr)
    if found.interrupted:
        kept = "" if found.not_restored is not None else "; what was switched is as it was found"
        done = (
            f"{len(found.findings)} findings until then are above" if found.findings else "nothing was found until then"
        )
        print(f"interrupted: {done}{kept}", file=sys.stderr)
        raise typer.Exit(status_of(caught))
    if found.ended is not None:
        print(f"error: {found.ended}", file=sys.stderr)
    if found.ended is not None or found.not_restored is not None:
        raise typer.Exit(1)
