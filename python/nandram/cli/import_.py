"""``nandram import``: turn another simulator's files into system files and jobs."""

import json
from pathlib import Path
from typing import Annotated

import typer


def import_(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="MQSim's device (ssdconfig.xml), and its workload (workload.xml)."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Write the files to this folder.")
    ] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print files, notes and commands as a JSON object.")] = False,
) -> None:
    """Turn MQSim's XML into a system file and fio jobs.

    The device becomes a system file, each scenario a job file, and each trace that a flow replays an iolog.
    Parameters without counterpart are listed in the files and printed.

    Example: nandram import ssdconfig.xml workload.xml -o mqsim
    """
    from nandram.importing.mqsim import import_files

    found = import_files(files, output)
    if as_json:
        named = {"files": [str(path) for path in found.files], "notes": found.notes, "commands": found.commands}
        print(json.dumps(named, indent=2, ensure_ascii=False))
        return
    for path in found.files:
        print(path)
    for note in found.notes:
        print(f"note: {note}")
    for command in found.commands:
        print(f"run with: {command}")
