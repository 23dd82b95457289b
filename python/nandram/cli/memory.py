"""``nandram memory``: what is in a memory on a file, and its tokens."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandram.cli.interrupt import interruptible
from nandram.errors import StorageError, UserError

if TYPE_CHECKING:
    from nandram.memory import Memory
    from nandram.memory_reader import MemoryReader

app = typer.Typer(no_args_is_help=True, help="Look after a memory on a file (nandram.Memory).", rich_markup_mode=None)

File = Annotated[str, typer.Argument(metavar="FILE", help="The file or block device.")]


@app.command()
@interruptible
def info(path: File) -> None:
    """Show what a memory was made with, and what it takes of the disk. It may be open elsewhere."""
    with _told():
        from nandram._core import memory_info

        found = memory_info(path)
    print(f"capacity   {_size(found['capacity'])}")
    print(f"pages      {_size(found['page_bytes'])}, of segments of {_size(found['segment_bytes'])}")
    print(f"tokens     at most {found['tokens']}")
    print(f"file       {_size(found['file_bytes'])}")
    if Path(path).is_file():
        print(f"on disk    {_size(Path(path).stat().st_blocks * 512)}")


@app.command()
@interruptible
def check(path: File) -> None:
    """Read all that the last sync left in a memory, which may be open elsewhere.

    Lists segments that cannot be read, with status 2.
    """
    with _told(), _read(path) as reader:
        lost = reader.verify()
    _report_lost(path, lost)
    print("all can be read")


def _report_lost(path: str, lost: list[str]) -> None:
    """List the segments that cannot be read. Raises `UserError` if there are any."""
    for line in lost:
        print(line)
    if lost:
        from nandram.units import count

        raise UserError(f"{path}: {count(len(lost), 'segment')} cannot be read")


@app.command()
@interruptible
def tokens(path: File) -> None:
    """List the states that a memory keeps, oldest first: token and name. It may be open elsewhere."""
    with _told(), _read(path) as reader:
        live = reader.tokens()
    for token, name in live.items():
        print(f"{token}  {name}" if name else f"{token}")


@app.command()
@interruptible
def rollback(
    path: File, token: Annotated[str, typer.Argument(metavar="TOKEN|NAME", help="A token, or the name of one.")]
) -> None:
    """Go back to a state that a memory keeps. What is newer is lost."""
    with _told(), _open(path) as memory:
        memory.rollback(_which(token, memory.tokens()))


@app.command()
@interruptible
def drop(
    path: File, token: Annotated[str, typer.Argument(metavar="TOKEN|NAME", help="A token, or the name of one.")]
) -> None:
    """Forget a state, so that what only it needs is room again."""
    with _told(), _open(path) as memory:
        memory.drop(_which(token, memory.tokens()))


@app.command()
@interruptible
def compact(path: File) -> None:
    """Gather what is needed, and give the rest of the file's space back to the disk."""
    with _told(), _open(path) as memory:
        memory.compact()


@app.command()
@interruptible
def export(
    path: File,
    to: Annotated[str, typer.Argument(metavar="OUT", help="A file that is not there yet.")],
    area: Annotated[str | None, typer.Option(metavar="NAME", help="The area of that name; else all pages.")] = None,
    token: Annotated[
        str | None, typer.Option(metavar="TOKEN|NAME", help="As that state was; else as the last sync left it.")
    ] = None,
) -> None:
    """Copy the bytes of an area, or of all pages each at its address, to a file. The memory may be open elsewhere."""
    with _told(), _read(path) as reader:
        if token is not None:
            reader.go_to(_which(token, reader.tokens()))
        reader.export(to, area)


@app.command()
@interruptible
def backup(
    path: File, to: Annotated[str, typer.Argument(metavar="COPY", help="A file that is not there yet.")]
) -> None:
    """Copy a memory with its tokens, as the last sync left it. It may be open elsewhere.

    Lists segments that cannot be read, with status 2; the copy has all else.
    """
    from nandram.memory_reader import backup

    with _told():
        lost = backup(path, to)
    _report_lost(path, lost)


def _which(token: str, live: dict[int, str | None]) -> int | str:
    """A name, if a token has it; else a number."""
    return int(token) if token.isdecimal() and token not in live.values() else token


def _read(path: str) -> "MemoryReader":
    from nandram.memory_reader import MemoryReader

    return MemoryReader(path, "64MiB")


def _open(path: str) -> "Memory":
    from nandram.memory import Memory

    return Memory(path)


class _told:  # noqa: N801 (reads as a statement)
    """A fault of the file is told as any other error is."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Tell it."""
        if isinstance(error, StorageError):
            raise UserError(str(error)) from error


def _size(amount: int) -> str:
    """``1TiB``, ``35.2MiB``: binary, as memory is."""
    value, units = float(amount), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{value:.1f}".removesuffix(".0") + units[0]
