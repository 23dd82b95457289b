"""``nandram run``: run a workload on a system."""

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandram.cli.terminal import completion
from nandram.errors import UserError
from nandram.options import ContinueOnError, Payload, RunPrecondition

if TYPE_CHECKING:
    from rich.table import Table

    from nandram.results.result import Result

SystemArgument = Annotated[
    str,
    typer.Argument(metavar="SYSTEM", help="A preset's name or a system file.", autocompletion=completion.systems),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Set a key of the system; repeatable.", autocompletion=completion.keys
    ),
]

ScaleOption = Annotated[
    str | None,
    typer.Option(
        metavar="1/N", help="Simulate a smaller copy of the drive: blocks, capacity and caches shrink to 1/N."
    ),
]


MaxRequestsOption = Annotated[
    str | None,
    typer.Option(metavar="N", help="Limit of the requests with --until. [default: 10000000]"),
]


DIGITS_MAX = 20
"""Maximum number of digits of a whole number; each option has its own range below that."""


def run(
    system: SystemArgument,
    workload: Annotated[
        list[str],
        typer.Argument(
            metavar="WORKLOAD",
            help="A fio job file, a trace, a bundled page trace's name, or `-`: a job on standard input. Or fio's own "
            "options: -- --name=JOB --rw=randread ...",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Write summary.json, Parquet tables and report.html to this folder."
        ),
    ] = None,
    seed: Annotated[
        str, typer.Option(metavar="N", help="Seed of all random draws; the same seed gives identical results.")
    ] = "1",
    changes: SetOption = None,
    scale: ScaleOption = None,
    payload: Annotated[
        Payload, typer.Option(help="stamp: store 8 bytes per sector and verify every sector that is read.")
    ] = Payload.NONE,
    timeline: Annotated[
        bool, typer.Option("--timeline", help="Write timeline.json for Perfetto; requires -o.")
    ] = False,
    request_log: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write every request and the parts of its latency to this Parquet file; the report charts them.",
        ),
    ] = None,
    replay: Annotated[
        str | None,
        typer.Option(
            metavar="MODE",
            help="Replay of traces: open (at the recorded times), closed:DEPTH (at a constant queue depth), "
            "scaled:FACTOR (recorded times multiplied by FACTOR). "
            "[default: open]",
        ),
    ] = None,
    wrap: Annotated[
        bool,
        typer.Option("--wrap", help="Wrap trace addresses beyond the drive's capacity; without it they are an error."),
    ] = False,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Columns of a text trace of unknown format, such as time=0:us,op=2,offset=3:sectors,bytes=4.",
        ),
    ] = None,
    continue_on_error: Annotated[
        ContinueOnError | None,
        typer.Option(
            help="Requests whose errors are only counted, for traces and for jobs without this key; any other error "
            "ends its job. [default: none]",
        ),
    ] = None,
    precondition: Annotated[
        RunPrecondition | None,
        typer.Option(
            help="Drive state before the run: none (empty), fill (written once), random (then overwritten at random "
            "until steady), steady (that state, computed analytically), rested (steady, after an idle period), auto "
            "(fill if the workload reads what it has not written, else none). [default: auto]",
        ),
    ] = None,
    warm_up: Annotated[
        str | None,
        typer.Option(
            metavar="detect|keep|TIME",
            help="Warm-up to exclude from the statistics: detected, none (keep) or a time such as 50ms. "
            "[default: detect]",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="WIDTH|job",
            help="Run until the 95 % intervals of IOPS, median and 99th percentile are within this part of their "
            "values, such as 1%, whatever the length of the jobs; job: run to the end of the jobs. [default: 1% for "
            "jobs without a size or a time, else job]",
        ),
    ] = None,
    max_requests: MaxRequestsOption = None,
    cache: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|none", help="Cache folder for prepared drives. [default: $NANDRAM_CACHE, or ~/.cache/nandram]"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json instead of the table.")] = False,
) -> None:
    """Run a workload on a simulated system.

    Example: nandram run nvme-client-tlc job.fio --precondition steady -o results
    """
    from nandram.cli.terminal.progress import run_progress
    from nandram.cli.terminal.workloads import name_workload, workload_file
    from nandram.simulate import run as simulate
    from nandram.system import System

    if timeline and output is None:
        raise UserError("--timeline: found without -o, expected a folder to write to")
    if output is not None:
        from nandram.folders import check

        check(output)
        # NumPy only holds the columns of tables; the threads that it starts for linear algebra would cost 40 ms.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    given = _file_or_options(workload)
    if isinstance(given, str):
        expect_order("run", system, given)
    opened: AbstractContextManager[str | list[str]]
    opened = workload_file(given) if isinstance(given, str) else nullcontext(given)
    with opened as path, run_progress() as progress:
        result = simulate(
            System(system, tuple(split_changes(changes, scale))),
            path,
            seed=whole_number("--seed", seed),
            payload=payload,
            timeline=timeline,
            replay=replay,
            wrap=wrap,
            columns=columns,
            continue_on_error=continue_on_error,
            precondition=precondition,
            warm_up=warm_up,
            until=until,
            max_requests=None if max_requests is None else whole_number("--max-requests", max_requests),
            cache="default" if cache is None else None if cache == "none" else cache,
            request_log=request_log,
            progress=progress,
            partial=True,
        )
        if isinstance(path, str) and isinstance(given, str):
            name_workload(result, path, given)
    try:
        # Printed first: the figures must not be lost if the folder cannot be written.
        if as_json:
            print(result.summary_json)
        else:
            show(result)
        sys.stdout.flush()
    finally:
        # Nor must the folder be lost if the reader of the output has closed it.
        if output is not None:
            result.save(output)
    if output is not None and not as_json:
        print(output / "report.html")
    if any(note.kind == "interrupted" for note in result.validity):
        raise KeyboardInterrupt
    if result.inside.get("failed_jobs"):
        # fio, too, exits with a failure if jobs failed.
        raise typer.Exit(1)


def expect_order(command: str, system: str, workload: str | None) -> None:
    """Raise `UserError` for a job in the place of the system."""
    if workload is None or system.endswith(".toml") or not Path(system).is_file():
        return
    from nandram.system import systems

    if workload.endswith(".toml") or workload in systems():
        raise UserError(f"{command}: found the file `{system}` before `{workload}`, expected the system first")


def _file_or_options(words: list[str]) -> str | list[str]:
    """Return the workload's file, or fio's options that follow ``--``. Raises `UserError`."""
    if words[0].startswith("--"):
        return words
    if len(words) > 1:
        raise UserError(f"WORKLOAD: found `{words[1]}` after `{words[0]}`, expected one file, or -- and fio's options")
    return words[0]


def whole_number(name: str, text: str) -> int:
    """Parse the whole number of an option. Raises `UserError`."""
    if not (text.isascii() and text.isdigit()):
        raise UserError(f"{name}: found `{text}`, expected a whole number")
    # No number is larger, and Python refuses to convert more than 4,300 digits.
    if len(text.lstrip("0")) > DIGITS_MAX:
        raise UserError(f"{name}: found `{text}`, expected a whole number of at most {DIGITS_MAX} digits")
    return int(text)


def split_changes(changes: list[str] | None, scale: str | None = None) -> list[str]:
    """Check that each change has the form ``key=value``; return them, the scale last. Raises `UserError`."""
    for change in changes or []:
        key, equals, _ = change.partition("=")
        if not equals or not key.strip():
            raise UserError(f"--set: found `{change}`, expected KEY=VALUE")
    return [*(changes or []), *([] if scale is None else [f"scale={scale}"])]


def show(result: "Result") -> None:
    """Print the result table and the notes."""
    from rich.table import Table

    from nandram.cli.terminal.console import output
    from nandram.results.names import TITLES

    console = output(120)
    console.print(f"{result.title}, seed {result.manifest['seed']}", markup=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, title in enumerate(TITLES):
        table.add_column(title, justify="left" if number < 2 else "right", no_wrap=True)
    for row in result.rows():
        table.add_row(*row)
    console.print(table)
    if result.serving is not None:
        console.print(_times(result.serving))
    for note in result.notes:
        console.print(note, markup=False, soft_wrap=True)


def _times(serving: dict[str, Any]) -> "Table":
    """Return the table of the times of a served model's requests."""
    from rich.table import Table

    from nandram.results import serving as results

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, title in enumerate(results.TITLES):
        table.add_column(title, justify="left" if number == 0 else "right", no_wrap=True)
    for row in results.times(serving):
        table.add_row(*row)
    return table
