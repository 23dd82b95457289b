"""``nandram guest image``: the contents of a store as a plain image."""

from pathlib import Path
from typing import Annotated

import typer

from nandram.cli.run import SetOption, SystemArgument, split_changes


def image(
    system: SystemArgument,
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The file of --store.", show_default=False)],
    file: Annotated[Path, typer.Argument(metavar="IMAGE", help="The file to write.", show_default=False)],
    changes: SetOption = None,
) -> None:
    """Write the contents of a store to a sparse file, for mount, e2fsck or debugfs.

    The drive is mounted as at its next start, so the image is what a guest would read. The store does not change.
    """
    from nandram.drive_server import export_store
    from nandram.system import System

    export_store(System(system, tuple(split_changes(changes))), store, file)
