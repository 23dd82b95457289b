"""``nandram rerun``: run a result again and compare the bytes."""

import json
from pathlib import Path
from typing import Annotated

import typer


def rerun(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of results, written by `nandram run -o`.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Write the new result to this folder.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what differs as a JSON object.")] = False,
) -> None:
    """Run a result again from the inputs in its folder, and compare the files.

    Prints what differs; the exit status is 1 if anything does.

    Example: nandram rerun results
    """
    from nandram.cli.terminal.progress import run_progress
    from nandram.results.stored.rerun import rerun as run_again

    if output is not None:
        from nandram.folders import check

        check(output)
    with run_progress() as progress:
        found = run_again(folder, output, progress=progress)
    if as_json:
        names = ("same", "differing", "figures", "other_program")
        print(json.dumps({name: getattr(found, name) for name in names}, indent=2))
        raise typer.Exit(0 if found else 1)
    if found.other_program is not None:
        print(found.other_program)
    for name in found.differing:
        print(f"{name}: differs")
    for line in found.figures:
        print(line)
    print(f"{len(found.same)} of {len(found.same) + len(found.differing)} files have the same SHA-256")
    if not found:
        raise typer.Exit(1)
