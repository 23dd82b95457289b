"""``nandram compare``: compare two runs or systems."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandram.cli.run import whole_number
from nandram.options import RunPrecondition

if TYPE_CHECKING:
    from rich.console import Console

    from nandram.results.comparison import Comparison, Difference


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A folder of results, a preset's name or a system file.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Likewise.")],
    workload: Annotated[
        str | None,
        typer.Argument(
            metavar="WORKLOAD", help="Job or trace to run on both systems. [default: compare the files only]"
        ),
    ] = None,
    seeds: Annotated[str, typer.Option(metavar="N", help="Runs of each system, with seeds 1 to N.")] = "5",
    precondition: Annotated[RunPrecondition | None, typer.Option(help="Drive state, as in `nandram run`.")] = None,
    replay: Annotated[str | None, typer.Option(metavar="MODE", help="Replay of traces, as in `nandram run`.")] = None,
    jobs: Annotated[
        str | None, typer.Option(metavar="N", help="Number of parallel runs. [default: one per processor]")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Also write an HTML report to this file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as a JSON object.")] = False,
) -> None:
    """Compare two runs or two systems.

    Lists the differences in configuration and in results. With a WORKLOAD, both systems run it with the same seeds, and
    each change is shown with its 95 % confidence interval.
    """
    from nandram.results.comparison import compare as found_of

    options: dict[str, Any] = {"precondition": precondition, "replay": replay}
    found = found_of(
        a,
        b,
        workload,
        seeds=whole_number("--seeds", seeds),
        jobs=None if jobs is None else whole_number("--jobs", jobs),
        **{name: value for name, value in options.items() if value is not None},
    )
    if output is not None:
        from nandram.report import comparison_page

        comparison_page(found, output)
    if as_json:
        import json
        from dataclasses import asdict

        print(json.dumps(asdict(found), indent=2))
    else:
        show(found)


def show(found: "Comparison") -> None:
    """Print the keys and the figures that differ."""
    from rich.table import Table

    from nandram.cli.terminal.console import output

    console = output(120)
    console.print(f"A: {found.a}\nB: {found.b}", markup=False, soft_wrap=True)
    for what, settings in (("system", found.settings), ("run", found.runs)):
        if not settings:
            continue
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for title in (f"{what} key", "A", "B"):
            table.add_column(title)
        for setting in settings:
            table.add_row(setting.key, *("" if each is None else each for each in (setting.a, setting.b)))
        console.print(table)
    if not found.settings:
        same = "the systems are the same" if found.runs else "the configurations are the same"
        console.print(same)
    _show_figures(found, console)
    for note in found.notes:
        runs = len(found.seeds)
        some = f" ({note.runs} of {runs} runs)" if note.runs < runs else ""
        console.print(f"{note.side}{some}: {note.text}", markup=False, soft_wrap=True)


def _show_figures(found: "Comparison", console: "Console") -> None:
    """Print the figures that both sides support."""
    from rich.table import Table

    from nandram.cli.terminal.claims import figure

    if not found.differences:
        return
    console.print()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("figure", "A", "B", "change", "95 % interval", ""):
        table.add_column(title, justify="left" if title in ("figure", "") else "right", no_wrap=True)
    for each in found.differences:
        table.add_row(each.name, figure(each.a), figure(each.b), f"{100 * each.change:+.2f} %", *_interval(each))
    console.print(table)
    count = len(found.seeds)
    console.print(f"means over {count} seeds, paired" if count > 1 else "one seed each: no interval")


def _interval(each: "Difference") -> tuple[str, str]:
    if each.low is None or each.high is None:
        return "", ""
    return f"{100 * each.low:+.2f} to {100 * each.high:+.2f} %", "" if each.certain else "no difference beyond noise"
