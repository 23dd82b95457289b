"""``nandram capture pages`` and ``nandram capture memory``: traces of programs that run under QEMU."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from nandram.capture.emulator import Ended

_Command = Annotated[
    list[str], typer.Argument(metavar="PROGRAM", help="The program and its arguments, after `--`.", show_default=False)
]
_Environment = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME=VALUE",
        help="A variable of the program, such as PATH=/bin; it has no others. May be given again.",
    ),
]
_Sysroot = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="Where a foreign program's linker and libraries are. [default: /usr/*-linux-gnu*]"
    ),
]


def pages(
    command: _Command,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="The trace; compressed if it ends in .gz or .zst."),
    ] = Path("capture.pages.zst"),
    page: Annotated[str, typer.Option(metavar="SIZE", help="A page.")] = "1KiB",
    icache: Annotated[str, typer.Option(metavar="SIZE:WAYS", help="The instruction cache.")] = "4KiB:4",
    line: Annotated[str, typer.Option(metavar="SIZE", help="Its lines.")] = "16B",
    requests: Annotated[
        int | None, typer.Option(metavar="N", help="End the program after so many. [default: never]")
    ] = None,
    env: _Environment = None,
    sysroot: _Sysroot = None,
) -> None:
    """Record which pages a program's instruction cache misses ask for.

    The program runs under QEMU's user mode, whatever Linux it was compiled for, with a plugin that simulates the cache;
    it must have one thread, and processes that it forks are not recorded. The same command gives the same trace. Exits
    with the program's status. Needs qemu-user and a C compiler.
    """
    from nandram.capture.pages import capture_pages, describe

    result = capture_pages(
        command, output, page=page, icache=icache, line=line, requests=requests, environment=env, sysroot=sysroot
    )
    _finish(describe(result), result.ended)


def memory(
    command: _Command,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="The trace; compressed if it ends in .gz or .zst."),
    ] = Path("capture.memory.zst"),
    l1: Annotated[str, typer.Option("--l1", metavar="SIZE:WAYS", help="The first data cache, or `none`.")] = "32KiB:8",
    l2: Annotated[str, typer.Option("--l2", metavar="SIZE:WAYS", help="The second, or `none`.")] = "256KiB:8",
    llc: Annotated[str, typer.Option(metavar="SIZE:WAYS", help="The last, or `none`.")] = "2MiB:16",
    line: Annotated[str, typer.Option(metavar="SIZE", help="A line of all of them.")] = "64B",
    records: Annotated[
        int | None, typer.Option(metavar="N", help="End the program after so many. [default: never]")
    ] = None,
    env: _Environment = None,
    sysroot: _Sysroot = None,
) -> None:
    """Record which lines a program's loads and stores fill from memory and write back to it.

    The caches write back and replace the least recently used line; a physical address is the virtual one. Each line
    has the number of instructions since the line before. The rest is as for `capture pages`.
    """
    from nandram.capture.memory import capture_memory, describe

    result = capture_memory(
        command, output, l1=l1, l2=l2, llc=llc, line=line, records=records, environment=env, sysroot=sysroot
    )
    _finish(describe(result), result.ended)


def _finish(described: str, ended: "Ended") -> None:
    """Say what was recorded, what was seen and could not be, and exit with the program's status."""
    from nandram.units import count

    lines = [described]
    if ended.limited:
        lines.append("the program was ended there: it had as many as were wanted")
    if ended.children:
        lines.append(
            f"not recorded: {count(ended.children, 'process')} that it forked".replace("processs", "processes")
        )
    if ended.replaced:
        lines.append("not recorded: what it did after it executed another program in its place")
    if not ended.fixed_addresses:
        lines.append("addresses may differ from run to run: the system does not allow QEMU's to be fixed (personality)")
    if ended.exit_status:
        lines.append(f"the program exited with status {ended.exit_status}")
    print("\n".join(lines), file=sys.stderr)
    raise typer.Exit(ended.exit_status)
