"""``nandram compare``: compare two runs or systems, or one system with changed keys."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandram.cli.run import MaxRequestsOption, ScaleOption, expect_order, split_changes, whole_number
from nandram.cli.terminal import completion
from nandram.errors import UserError
from nandram.options import RunPrecondition

if TYPE_CHECKING:
    from rich.console import Console

    from nandram.results.comparison import Comparison, Difference
    from nandram.results.sides import Side


def _side_option(letter: str) -> Any:
    return typer.Option(
        f"--set-{letter}",
        metavar="KEY=VALUE",
        help=f"Changed key of side {letter.upper()}, a copy of A; repeatable.",
        autocompletion=completion.keys,
    )


Changes = list[str] | None


def compare(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="A folder of results, a preset's name or a system file.",
            autocompletion=completion.systems,
        ),
    ],
    b: Annotated[
        str | None,
        typer.Argument(
            metavar="B",
            help="Likewise; left out with --set-b.",
            show_default=False,
            autocompletion=completion.systems,
        ),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Argument(
            metavar="WORKLOAD",
            help="Job or trace to run on all sides; `-` reads a job from standard input. [default: compare the files "
            "only]",
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[str, typer.Option(metavar="N", help="Runs of each side, with seeds 1 to N, at most 1000.")] = "5",
    set_b: Annotated[Changes, _side_option("b")] = None,
    set_c: Annotated[Changes, _side_option("c")] = None,
    set_d: Annotated[Changes, _side_option("d")] = None,
    set_e: Annotated[Changes, _side_option("e")] = None,
    changes: Annotated[
        Changes,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Set a key of every side; repeatable.", autocompletion=completion.keys
        ),
    ] = None,
    scale: ScaleOption = None,
    precondition: Annotated[RunPrecondition | None, typer.Option(help="Drive state, as in `nandram run`.")] = None,
    replay: Annotated[str | None, typer.Option(metavar="MODE", help="Replay of traces, as in `nandram run`.")] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="WIDTH|job",
            help="Length of each run, as in `nandram run`. [default: 1%, where a job can go on]",
        ),
    ] = None,
    max_requests: MaxRequestsOption = None,
    jobs: Annotated[
        str | None, typer.Option(metavar="N", help="Number of parallel runs. [default: one per processor]")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Also write an HTML report to this file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as a JSON object.")] = False,
) -> None:
    """Compare two runs, two systems, or one system with changed keys.

    Lists the differences in configuration and in results. With a WORKLOAD, all sides run it with the same seeds, and
    each change is shown with its 95 % confidence interval. With --set-b, B is a copy of A with the changed keys;
    further copies are C to E. Ctrl-C prints the comparison over the seeds that are finished.

    Example: nandram compare nvme-client-tlc job.fio --set-b device.dram=512MiB
    """
    from nandram.cli.terminal.progress import counted_progress
    from nandram.cli.terminal.workloads import workload_file
    from nandram.results.comparing import ComparisonInterrupted, compare_sides

    copies = [each for each in (set_b, set_c, set_d, set_e) if each]
    if copies:
        if workload is not None:
            raise UserError(f"--set-b: found with the systems `{a}` and `{b}`, expected one system and a workload")
        b, workload = None, b
    expect_order("compare", a, workload if copies else b)
    sides = _sides(a, b, copies, split_changes(changes, scale))
    limit = None if max_requests is None else whole_number("--max-requests", max_requests)
    options: dict[str, Any] = {"precondition": precondition, "replay": replay, "until": until, "max_requests": limit}
    options = {name: value for name, value in options.items() if value is not None}
    count = whole_number("--seeds", seeds)
    parallel = None if jobs is None else whole_number("--jobs", jobs)
    interrupted = False
    with workload_file(workload or "") as path, counted_progress("runs") as report:
        try:
            found = compare_sides(sides, path or None, seeds=count, jobs=parallel, report=report, **options)
        except ComparisonInterrupted as end:
            found, interrupted = end.partial, True
    if not interrupted or found[0].seeds:
        _print(found, as_json=as_json)
    if interrupted:
        raise KeyboardInterrupt
    if output is not None:
        from nandram.report import comparison_page

        comparison_page(found, output)


def _sides(a: str, b: str | None, copies: list[list[str]], shared: list[str]) -> "list[Side]":
    """Return the sides, systems with the shared changes. Raises `UserError`."""
    from nandram.results.comparing import changed_sides
    from nandram.results.sides import side
    from nandram.system import System

    named = [a] if copies else [a, *([b] if b is not None else [])]
    folders = [name for name in named if Path(name).is_dir()]
    if folders and (shared or copies):
        raise UserError(f"--set: found with the result {folders[0]}, expected systems")
    read = [name if name in folders else System(name, tuple(shared)) for name in named]
    if copies:
        return changed_sides(read[0], [split_changes(each) for each in copies])
    if b is None:
        raise UserError(f"compare: found `{a}` alone, expected a second side, or the keys to change: --set-b KEY=VALUE")
    return [side(each) for each in read]


def _print(found: "tuple[Comparison, ...]", *, as_json: bool) -> None:
    if not as_json:
        for number, each in enumerate(found):
            show(each, chr(ord("B") + number), first=number == 0)
        return
    import json

    sides = [_json(each) for each in found]
    print(json.dumps(sides[0] if len(sides) == 1 else {"comparisons": sides}, indent=2))


def _json(found: "Comparison") -> dict[str, Any]:
    """Return a comparison for JSON, which has no infinite and no undefined numbers: they are null."""
    import math
    from dataclasses import asdict, replace

    sides = asdict(replace(found, results=((), ())))
    del sides["results"]
    for row, each in zip(sides["differences"], found.differences, strict=True):
        row |= {key: None for key, value in row.items() if isinstance(value, float) and not math.isfinite(value)}
        row["verdict"] = each.verdict
    return sides


def show(found: "Comparison", letter: str = "B", *, first: bool = True) -> None:
    """Print the keys and the figures that differ. `letter`: of the second side; `first`: also name side A."""
    from rich.table import Table

    from nandram.cli.terminal.console import output

    console = output(120)
    console.print(
        f"A: {found.a}\n{letter}: {found.b}" if first else f"\n{letter}: {found.b}", markup=False, soft_wrap=True
    )
    for line in found.followed:
        console.print(f"{letter}: {line}", markup=False, soft_wrap=True)
    for what, settings in (("system", found.settings), ("run", found.runs)):
        if not settings:
            continue
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for title in (f"{what} key", "A", letter):
            table.add_column(title)
        for setting in settings:
            table.add_row(setting.key, *("" if each is None else each for each in (setting.a, setting.b)))
        console.print(table)
    if not found.settings:
        same = "the systems are the same" if found.runs else "the configurations are the same"
        console.print(same)
    _show_figures(found, letter, console)
    for note in found.notes:
        side = letter if note.side == "B" else note.side
        runs = len(found.seeds)
        some = f" ({note.runs} of {runs} runs)" if note.runs < runs else ""
        if first or side != "A":
            console.print(f"{side}{some}: {note.text}", markup=False, soft_wrap=True)


def _show_figures(found: "Comparison", letter: str, console: "Console") -> None:
    """Print the figures that both sides support."""
    from rich.table import Table

    from nandram.cli.terminal.claims import figure

    if not found.differences:
        return
    console.print()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("figure", "A", letter, "change", "95 % interval", ""):
        table.add_column(title, justify="left" if title in ("figure", "") else "right", no_wrap=True)
    for each in found.differences:
        sides = ("groups" if value is None else figure(value) for value in (each.a, each.b))
        table.add_row(each.name, *sides, *_change(each))
    console.print(table)
    for apart in found.disagreements():
        side = letter if apart.where == "B" else apart.where
        console.print(f"{side}: {apart}", markup=False, soft_wrap=True)
    count = len(found.seeds)
    means = f"geometric means over {count} seeds; intervals of the paired ratios, by their logarithms"
    console.print(means if count > 1 else "one seed each: no interval")


def _change(each: "Difference") -> tuple[str, str, str]:
    from nandram.units import change

    verdict = "" if each.verdict in ("changed", "one run each") else each.verdict
    if each.change != each.change:
        return "", "", verdict
    if each.low is None or each.high is None:
        return change(each.change), "", verdict
    return change(each.change), f"{change(each.low).removesuffix(' %')} to {change(each.high)}", verdict
