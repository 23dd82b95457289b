"""``nandram systems``, ``show`` and ``schema``: print the presets, one system, and the schema of system files."""

import json
import tomllib
from typing import Annotated

import typer

from nandram.cli.run import ScaleOption, SetOption, SystemArgument, split_changes


def show(
    system: SystemArgument,
    changes: SetOption = None,
    scale: ScaleOption = None,
    changed: Annotated[
        bool, typer.Option("--changed", help="Print only values that the file itself or --set gives.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the values as a JSON object.")] = False,
) -> None:
    """Print a system with all its values.

    Includes every default and the basis of every value; keys that do not apply are listed at the end.

    Example: nandram show nvme-client-tlc --set flash.read=80us
    """
    from nandram.system import System

    found = System(system, tuple(split_changes(changes, scale)))
    if as_json:
        values = tomllib.loads(found.changed_toml) if changed else found.values
        print(json.dumps(values, indent=2, ensure_ascii=False))
        return
    print(found.changed_toml if changed else found.toml, end="")


def schema() -> None:
    """Print the JSON Schema of system files.

    Editors use it to complete and check TOML files.

    Example: nandram schema > nandram.schema.json
    """
    from nandram import _core

    print(_core.schema())


def list_systems(
    as_json: Annotated[bool, typer.Option("--json", help="Print names and titles as a JSON object.")] = False,
) -> None:
    """List the presets.

    Example: nandram systems
    """
    from nandram.system import systems

    presets = systems()
    if as_json:
        print(json.dumps(presets, indent=2, ensure_ascii=False))
        return
    width = max(map(len, presets), default=0)
    for name, title in presets.items():
        print(f"{name:{width}}  {title}")
