"""``nandram memory``: inspect and maintain a memory in a file."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandram.cli.terminal.interrupt import interruptible
from nandram.errors import StorageError, UserError

if TYPE_CHECKING:
    from nandram.memory.memory import Memory
    from nandram.memory.reader import MemoryReader

app = typer.Typer(
    no_args_is_help=True,
    help="Inspect and maintain a memory in a file (nandram.Memory).\n\nExample: nandram memory info bank.memory",
    rich_markup_mode=None,
)

JsonOption = Annotated[bool, typer.Option("--json", help="Print a JSON object; sizes are bytes.")]
File = Annotated[str, typer.Argument(metavar="FILE", help="The file or block device.")]


@app.command()
@interruptible
def info(path: File, as_json: JsonOption = False) -> None:
    """Show the parameters of a memory and its size on disk.

    The memory may be open in another process.
    """
    with _user_errors():
        from nandram._core import memory_info

        found = memory_info(path)
    on_disk = Path(path).stat().st_blocks * 512 if Path(path).is_file() else None
    if as_json:
        print(json.dumps({**found, "disk_bytes": on_disk}, indent=2))
        return
    print(f"capacity   {_size(found['capacity'])}")
    print(f"pages      {_size(found['page_bytes'])}, in segments of {_size(found['segment_bytes'])}")
    print(f"tokens     at most {found['tokens']}")
    print(f"file       {_size(found['file_bytes'])}")
    if on_disk is not None:
        print(f"on disk    {_size(on_disk)}")


@app.command()
@interruptible
def check(path: File) -> None:
    """Read all data of a memory's last sync.

    The memory may be open in another process. Lists unreadable segments and exits with status 2 if there are any.
    """
    with _user_errors(), _read(path) as reader:
        lost = reader.verify()
    _report_lost(path, lost)
    print("all segments are readable")


def _report_lost(path: str, lost: list[str]) -> None:
    """List the segments that cannot be read. Raises `UserError` if there are any."""
    for line in lost:
        print(line)
    if lost:
        from nandram.units import count

        raise UserError(f"{path}: {count(len(lost), 'segment')} cannot be read")


@app.command()
@interruptible
def tokens(path: File, as_json: JsonOption = False) -> None:
    """List a memory's saved states, oldest first: token and name.

    The memory may be open in another process.
    """
    with _user_errors(), _read(path) as reader:
        live = reader.tokens()
    if as_json:
        print(json.dumps({str(token): name for token, name in live.items()}, indent=2, ensure_ascii=False))
        return
    for token, name in live.items():
        print(f"{token}  {name}" if name else f"{token}")


@app.command()
@interruptible
def rollback(
    path: File, token: Annotated[str, typer.Argument(metavar="TOKEN|NAME", help="A token, or the name of one.")]
) -> None:
    """Return to a saved state. Newer data and states are lost."""
    with _user_errors(), _open(path) as memory:
        memory.rollback(_which(token, memory.tokens()))


@app.command()
@interruptible
def drop(
    path: File, token: Annotated[str, typer.Argument(metavar="TOKEN|NAME", help="A token, or the name of one.")]
) -> None:
    """Drop a saved state and free the space that only it uses."""
    with _user_errors(), _open(path) as memory:
        memory.drop(_which(token, memory.tokens()))


@app.command()
@interruptible
def compact(path: File) -> None:
    """Move live data together and return the free space of the file to the disk."""
    with _user_errors(), _open(path) as memory:
        memory.compact()


@app.command()
@interruptible
def grow(
    path: File,
    capacity: Annotated[str | None, typer.Option(metavar="SIZE", help="Bytes that can be allocated.")] = None,
    space: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Bytes in the file for data and saved states.")
    ] = None,
) -> None:
    """Enlarge a memory, or convert it to the newest format.

    Copies all data to a new file that then takes the place of the old one, so the disk needs room for both. If it
    fails, the memory is unchanged.
    """
    with _user_errors(), _open(path) as memory:
        memory.grow(capacity, space)


@app.command()
@interruptible
def export(
    path: File,
    to: Annotated[str, typer.Argument(metavar="OUT", help="File to create.")],
    area: Annotated[str | None, typer.Option(metavar="NAME", help="Named area to copy. [default: all pages]")] = None,
    token: Annotated[
        str | None, typer.Option(metavar="TOKEN|NAME", help="Saved state to copy. [default: the last sync]")
    ] = None,
) -> None:
    """Copy an area, or all pages at their addresses, to a file.

    The memory may be open in another process.
    """
    with _user_errors(), _read(path) as reader:
        if token is not None:
            reader.go_to(_which(token, reader.tokens()))
        reader.export(to, area)


@app.command()
@interruptible
def backup(path: File, to: Annotated[str, typer.Argument(metavar="COPY", help="File to create.")]) -> None:
    """Copy a memory's last sync with its tokens.

    The memory may be open in another process. Lists unreadable segments and exits with status 2 if there are any; the
    copy holds everything else.
    """
    from nandram.memory.reader import backup

    with _user_errors():
        lost = backup(path, to)
    _report_lost(path, lost)


def _which(token: str, live: dict[int, str | None]) -> int | str:
    """Return a token's name if one has this name, else its number."""
    return int(token) if token.isdecimal() and token not in live.values() else token


def _read(path: str) -> "MemoryReader":
    from nandram.memory.reader import MemoryReader

    return MemoryReader(path, "64MiB")


def _open(path: str) -> "Memory":
    from nandram.memory.memory import Memory

    return Memory(path)


class _user_errors:  # noqa: N801 (used as a statement)
    """Context that turns a `StorageError` into a `UserError`, which the command line prints."""

    def __enter__(self) -> None:
        """Enter the context."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Convert the error, if it is one of storage."""
        if isinstance(error, StorageError):
            raise UserError(str(error)) from error


def _size(amount: int) -> str:
    """Return a size in binary units, as for memory: ``1TiB``, ``35.2MiB``."""
    value, units = float(amount), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:.1f}".removesuffix(".0") + units[0]
