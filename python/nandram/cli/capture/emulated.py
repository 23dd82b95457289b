"""``nandram capture pages`` and ``nandram capture memory``: record traces of programs that run under QEMU."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from nandram.capture.emulated.emulator import Ended

_Command = Annotated[
    list[str], typer.Argument(metavar="PROGRAM", help="The program and its arguments, after `--`.", show_default=False)
]
_Environment = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME=VALUE",
        help="Environment variable of the program, such as PATH=/bin; it has no others. Repeatable.",
    ),
]
_Sysroot = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="Folder with a foreign program's dynamic linker and libraries. [default: /usr/*-linux-gnu*]"
    ),
]


def pages(
    command: _Command,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="The trace; compressed if it ends in .gz or .zst."),
    ] = Path("capture.pages.zst"),
    page: Annotated[str, typer.Option(metavar="SIZE", help="Page size.")] = "1KiB",
    icache: Annotated[str, typer.Option(metavar="SIZE:WAYS", help="Instruction cache.")] = "4KiB:4",
    line: Annotated[str, typer.Option(metavar="SIZE", help="Line size of the cache.")] = "16B",
    requests: Annotated[
        int | None, typer.Option(metavar="N", help="End the program after this many requests. [default: never]")
    ] = None,
    env: _Environment = None,
    sysroot: _Sysroot = None,
) -> None:
    """Record the code pages that a program's instruction cache misses request.

    The program runs under QEMU's user mode, with a plugin that simulates the cache. It may be compiled for any Linux
    architecture, but must have one thread; processes that it forks are not recorded. The same command gives the same
    trace. Exits with the program's status. Needs qemu-user and a C compiler.
    """
    from nandram.capture.emulated.pages import capture_pages, describe

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
    l1: Annotated[str, typer.Option("--l1", metavar="SIZE:WAYS", help="First data cache, or `none`.")] = "32KiB:8",
    l2: Annotated[str, typer.Option("--l2", metavar="SIZE:WAYS", help="Second data cache, or `none`.")] = "256KiB:8",
    llc: Annotated[str, typer.Option(metavar="SIZE:WAYS", help="Last-level cache, or `none`.")] = "2MiB:16",
    line: Annotated[str, typer.Option(metavar="SIZE", help="Line size of all caches.")] = "64B",
    records: Annotated[
        int | None, typer.Option(metavar="N", help="End the program after this many records. [default: never]")
    ] = None,
    env: _Environment = None,
    sysroot: _Sysroot = None,
) -> None:
    """Record the lines that a program's data caches fill from memory and write back.

    The caches write back and replace the least recently used line. Physical addresses equal virtual addresses. Each
    record holds the number of instructions since the previous one. Otherwise like `capture pages`.
    """
    from nandram.capture.emulated.memory import capture_memory, describe

    result = capture_memory(
        command, output, l1=l1, l2=l2, llc=llc, line=line, records=records, environment=env, sysroot=sysroot
    )
    _finish(describe(result), result.ended)


def _finish(described: str, ended: "Ended") -> None:
    """Print what was recorded and what could not be, and exit with the program's status."""
    from nandram.units import count

    lines = [described]
    if ended.limited:
        lines.append("the program was ended at the requested number of records")
    if ended.children:
        lines.append(
            f"not recorded: {count(ended.children, 'process')} that the program forked".replace("processs", "processes")
        )
    if ended.replaced:
        lines.append("not recorded: the program that it executed in its place")
    if not ended.fixed_addresses:
        lines.append(
            "addresses may differ from run to run: the system does not allow fixed addresses for QEMU (personality)"
        )
    if ended.exit_status:
        lines.append(f"the program exited with status {ended.exit_status}")
    print("\n".join(lines), file=sys.stderr)
    raise typer.Exit(ended.exit_status)
