"""The commands of `nandram`: their groups in the help, and interrupts while one is prepared."""

from typing import Any

import typer
from typer.core import TyperGroup

GROUPS = {
    "Simulate": ("run", "compare", "rerun", "sweep", "paging", "serve", "guest"),
    "Systems and files": ("systems", "show", "check", "schema", "import"),
    "Real drives and programs": ("probe", "fit", "capture", "memory"),
    "Papers and reports": ("reproduce", "report"),
    "Housekeeping": ("cache",),
}


class GroupedCommands(TyperGroup):
    """Lists the commands by group, and leaves interrupts to `nandram.cli.main`: typer would exit silently."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Parse the arguments of the group."""
        try:
            return super().make_context(*arguments, **options)
        except KeyboardInterrupt:
            raise typer.Abort from None

    def invoke(self, ctx: Any) -> Any:
        """Parse the arguments of a command and call it."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one section per group."""
        names = [name for names in GROUPS.values() for name in names]
        width = max(len(name) for name in names)
        for title, group in GROUPS.items():
            rows = []
            for name in group:
                command = self.get_command(ctx, name)
                assert command is not None, f"{name} is in a group but no command"
                rows.append((name.ljust(width), command.get_short_help_str(formatter.width - width - 6)))
            with formatter.section(title):
                formatter.write_dl(rows)
