"""``nandram fit``: fit a system to measurements of a drive."""

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandram.cli.run import whole_number
from nandram.errors import UserError
from nandram.fit.measure import Engine
from nandram.options import Precondition, at_least_one

if TYPE_CHECKING:
    from nandram.fit.evaluate import Told
    from nandram.fit.result import Fit


def fit(
    system: Annotated[
        str,
        typer.Option(
            "--system", metavar="START", help="Preset or system file to start from; values with the basis given stay."
        ),
    ],
    data: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DATA]...", help="fio's JSON output, CSV files with named columns, or folders."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FITTED.toml", help="Write the fitted system to this file.")
    ] = None,
    precondition: Annotated[
        Precondition, typer.Option(help="State of the simulated drive, as in `nandram run`.")
    ] = Precondition.FILL,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="REGION", help="Ignore these points: bs=512, jobs=8; repeatable, like --hold-out."),
    ] = None,
    try_: Annotated[
        list[str] | None,
        typer.Option(
            "--try",
            metavar="KEY=V,V",
            help="Try these values of a key that the search leaves alone: flash.channels=4,8; repeatable, all "
            "combinations are tried.",
        ),
    ] = None,
    hold_out: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REGION",
            help="Predict these points instead of fitting them: bs=8k, depth=16, jobs=2, engine=spdk or rw=randwrite; "
            "repeatable. [default: an inner depth, and an inner size of at least four]",
        ),
    ] = None,
    share: Annotated[
        str | None,
        typer.Option(metavar="P", help="Fraction of the other points that is held out at random. [default: 0.2]"),
    ] = None,
    noise: Annotated[
        str | None, typer.Option(metavar="P", help="Relative noise of the data. [default: that of repeated points]")
    ] = None,
    closed_form: Annotated[
        bool, typer.Option("--closed-form", help="Stop at the start that is read off the curves.")
    ] = False,
    seed: Annotated[str, typer.Option(metavar="N", help="Seed of the runs and of the held-out points.")] = "1",
    jobs: Annotated[
        str | None, typer.Option(metavar="N", help="Number of parallel runs. [default: one per processor]")
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            metavar="DEVICE",
            help="First measure a block device or a file with fio. It is only read; mounted or used ones are refused.",
        ),
    ] = None,
    engine: Annotated[Engine | None, typer.Option(help="With --measure: fio's I/O engine. [default: io_uring]")] = None,
    seconds: Annotated[
        str | None, typer.Option(metavar="N", help="With --measure: duration of each run. [default: 10]")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep the results of runs here; the same command resumes. [default: FITTED without .toml]",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the errors and the bands as a JSON object.")] = False,
) -> None:
    """Fit a system to measurements of a drive.

    Values that the start file marks as given stay; the others are free. Prints the errors of IOPS, p50 and p99, of the
    fitted and the held-out points, next to the noise of the data.

    Example: nandram fit drive.json --system nvme-client-tlc -o my-drive.toml
    """
    from nandram.fit.run import run_fit
    from nandram.fit.tries import parsed

    files = list(data or [])
    if not files and measure is None:
        raise UserError("fit: found no DATA, expected fio's JSON output or CSV files, or --measure")
    if measure is None and (engine is not None or seconds is not None):
        raise UserError("--engine, --seconds: expected --measure as well")
    if output is not None and not output.parent.is_dir():
        raise UserError(f"--output: {output}: no such folder, expected a file in a folder that exists")
    if folder is None and output is not None:
        folder = output.with_suffix("")
    if measure is not None:
        if folder is None:
            raise UserError("--measure: needs a folder for fio's output, expected --folder or --output")
        files += _measured(measure, folder / "fio", engine, seconds)
    with _progress() as (told, stage):
        found = run_fit(
            files,
            system,
            precondition=precondition,
            drop=drop or (),
            tries=parsed(try_ or []),
            hold_out=hold_out,
            share=None if share is None else fraction("--share", share),
            noise=None if noise is None else fraction("--noise", noise),
            seed=whole_number("--seed", seed),
            jobs=None if jobs is None else whole_number("--jobs", jobs),
            folder=folder,
            start_only=closed_form,
            told=told,
            stage=stage,
        )
    if as_json:
        print(json.dumps(figures(found), indent=2))
    else:
        show(found)
    if output is not None:
        for path in found.save(output):
            if not as_json:
                print(path)


def _measured(target: str, folder: Path, engine: Engine | None, seconds: str | None) -> list[Path]:
    """Measure a target with fio; return the output files."""
    from nandram.cli.terminal.progress import counted_progress
    from nandram.fit.measure import measure

    duration = 10 if seconds is None else at_least_one("seconds", whole_number("--seconds", seconds))
    with counted_progress("fio runs") as report:
        return measure(
            target,
            folder,
            engine=engine or Engine.IO_URING,
            seconds=duration,
            told=None if report is None else (lambda done, of: report(done, of, done / of)),
        )


def fraction(name: str, text: str) -> float:
    """Parse a fraction such as ``0.2`` or ``20%``. Raises `UserError`."""
    try:
        value = float(text.removesuffix("%").strip()) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise UserError(f"{name}: found `{text}`, expected a fraction from 0 to below 1, such as 0.2 or 20%")
    return value


class _Lines:
    """Progress in lines: one for each stage, and one every half minute."""

    EVERY_S = 30.0

    def __init__(self, stage: Callable[[], str]) -> None:
        self._stage = stage
        self._shown = ""
        self._next_s = 0.0

    def told(self, done: int, of: int) -> None:
        """Print a line if one is due."""
        name, now = self._stage(), time.monotonic()
        if name != self._shown or now >= self._next_s:
            self._shown, self._next_s = name, now + self.EVERY_S
            print(f"fit: {name}: {done:,} of {of:,} runs" if name else f"fit: {done:,} of {of:,} runs", file=sys.stderr)


@contextlib.contextmanager
def _progress() -> Iterator[tuple["Told | None", Callable[[str], None] | None]]:
    """Yield the functions that report finished runs and the current stage.

    Without a terminal, a line on standard error says so for each stage, and every half minute.
    """
    from nandram.cli.terminal.progress import counted_progress

    current = ""

    def stage(name: str) -> None:
        nonlocal current
        current = name

    with counted_progress("runs", rate=True, about=lambda: current) as report:
        if report is None:
            yield _Lines(lambda: current).told, stage
            return
        yield (lambda done, of: report(done, of, done / of)), stage


def figures(found: "Fit") -> dict[str, Any]:
    """Return what `show` prints, as numbers: fractions, and values in the units of their names."""
    return {
        "sha256": found.measured.hash,
        "points": len(found.measured.points),
        "fitted": len(found.split.fitted),
        "held_out": len(found.split.held_out),
        "regions": list(found.split.regions),
        "start": dict(found.start.sentences),
        "errors": [
            {name: getattr(row, name) for name in ("figure", "points", "count", "median", "p90", "largest")}
            for row in found.table()
        ],
        "noise": found.noise,
        "bands": [
            {"key": band.parameter.name, "unit": band.parameter.unit, "value": band.value}
            | {"low": band.low, "high": band.high, "determined": band.determined}
            for band in found.bands
        ],
        "undetermined": found.undetermined(),
        "guesses": [dict(guess.structure) for guess in found.guesses],
    }


def show(found: "Fit") -> None:
    """Print what the start showed, the errors, and what the data determine."""
    from rich.table import Table

    from nandram.cli.terminal.console import output

    console = output(120)
    for remark in found.measured.remarks:
        print(remark)
    regions = f", {' and '.join(found.split.regions)} as a whole" if found.split.regions else ""
    print(
        f"{len(found.measured.points)} points: {len(found.split.fitted)} fitted, "
        f"{len(found.split.held_out)} held out{regions}; sha256 {found.measured.hash[:16]}"
    )
    print("\nread off the curves:")
    for key, sentence in found.start.sentences.items():
        console.print(f"  {key}: {sentence}", markup=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("error of", "points", "figures", "median", "90 %", "largest"):
        table.add_column(title, justify="left" if title in ("error of", "points") else "right")
    for row in found.table():
        figure = {"iops": "IOPS", "all": "all three"}.get(row.figure, row.figure)
        cells = [f"{100 * each:.1f} %" for each in (row.median, row.p90, row.largest)]
        table.add_row(figure, row.points, str(row.count), *cells)
    print()
    console.print(table)
    noise = "unknown (no repeated points; --noise)" if found.noise is None else f"{100 * found.noise:.1f} %"
    print(f"noise of the data: {noise}")
    if found.bands:
        _show_bands(found)


def _show_bands(found: "Fit") -> None:
    from nandram.fit.parameters import text

    print("\ndetermined by the data, with bands of 95 %:")
    for band in found.bands:
        if band.determined:
            unit = band.parameter.unit
            shown = [text(each, unit) for each in (band.value, band.low, band.high)]
            print(f"  {band.parameter.name} = {shown[0]} ({shown[1]} to {shown[2]})")
    if found.undetermined():
        print(f"not determined by the data: {', '.join(found.undetermined())}")
    if len(found.guesses) > 1:
        print(f"{len(found.guesses)} choices fit as well:")
    for guess in found.guesses:
        print("  " + ", ".join(f"{key} = {str(value).lower()}" for key, value in guess.structure.items()))
