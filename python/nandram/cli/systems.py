"""``nandram systems``, ``check`` and ``schema``: the machines there are, and what one is in full."""

from nandram.cli.run import SetOption, SystemArgument, split_changes


def check(system: SystemArgument, changes: SetOption = None) -> None:
    """Print a system file in full.

    With every default, and the basis of every value.
    """
    from nandram.system import System

    print(System(system, tuple(split_changes(changes))).toml, end="")


def schema() -> None:
    """Print the JSON Schema of system files.

    Editors complete and check TOML files by it.
    """
    from nandram import _core

    print(_core.schema())


def list_systems() -> None:
    """List the presets."""
    from nandram.system import systems

    presets = systems()
    width = max(map(len, presets), default=0)
    for name, title in presets.items():
        print(f"{name:{width}}  {title}")
