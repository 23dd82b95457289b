"""``nandram guest``: guests whose drive is simulated."""

from typing import Any

import typer
import typer.core

from nandram.cli.guest import fetch, image, run
from nandram.cli.terminal.interrupt import interruptible


class _RunByDefault(typer.core.TyperGroup):
    """A group in which words that are no command belong to `run`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert `run` before a system or an option."""
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_RunByDefault,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Run a command on a stock Linux in QEMU whose NVMe drive is simulated.\n\n"
    "Example: nandram guest nvme-client-tlc -- lsblk",
)
app.command("run")(interruptible(run.run))
app.command("fetch")(interruptible(fetch.fetch))
app.command("image")(interruptible(image.image))
