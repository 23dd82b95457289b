"""``nandram serve``: serve a drive to the guest of a virtual machine monitor, or to clients of NBD."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nandram.cli.run import ScaleOption, SetOption, SystemArgument, split_changes, whole_number
from nandram.errors import UserError

if TYPE_CHECKING:
    from rich.table import Table


class Clock(StrEnum):
    """Clock of a served drive."""

    REAL = "real"
    VIRTUAL = "virtual"


def serve(
    system: SystemArgument,
    socket: Annotated[
        Path | None,
        typer.Option(
            "--vfio-user", metavar="SOCKET", help="Socket for the vfio-user-pci device of QEMU 10.1 or later."
        ),
    ] = None,
    nbd: Annotated[
        Path | None,
        typer.Option(
            metavar="SOCKET",
            help="Socket for NBD clients, such as nbdcopy, qemu-img and Linux's nbd, instead of a guest; needs nbdkit.",
        ),
    ] = None,
    clock: Annotated[
        Clock,
        typer.Option(
            help="real: the host's clock, for function only. virtual: the virtual clock of a QEMU that has loaded the "
            "plug-in, exact and repeatable; requires --channel."
        ),
    ] = Clock.REAL,
    channel: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="File to create for the plug-in: -plugin LIBRARY,channel=PATH."),
    ] = None,
    dilate: Annotated[str, typer.Option(metavar="K", help="Run the drive K times slower than the host's clock.")] = "1",
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File of the drive's flash, created if it does not exist. [default: in memory]"
        ),
    ] = None,
    cuts: Annotated[
        Path | None,
        typer.Option(
            metavar="JSON",
            help="Write the stores that power cuts at some instants would leave: a file with the keys folder, instants "
            "(nanoseconds) and witness (a file whose length is recorded at each instant).",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Write summary.json to this folder.")
    ] = None,
    seed: Annotated[str, typer.Option(metavar="N", help="Seed of all random draws.")] = "1",
    changes: SetOption = None,
    scale: ScaleOption = None,
) -> None:
    """Serve an NVMe drive to a guest in QEMU, until QEMU disconnects or Ctrl-C; or as a network block device.

    The drive is empty, its data lives in memory and is gone with the server; with --store, the data lives in a file,
    and what the guest flushed survives even if the server is killed.

    Example: nandram serve nvme-client-tlc --vfio-user /tmp/drive.sock
    """
    from nandram.cli.terminal.console import output as console
    from nandram.drive_server import read_cuts
    from nandram.drive_server import serve as serve_drive
    from nandram.system import System

    if nbd is not None:
        given = (socket, channel, cuts, output, None if dilate == "1" else dilate)
        for_guests = ("--vfio-user", "--channel", "--cuts", "--output", "--dilate")
        for name, value in zip(for_guests, given, strict=True):
            if value is not None:
                raise UserError(f"{name}: found with --nbd, expected --vfio-user, which serves a guest")
        _serve_nbd(system, split_changes(changes, scale), nbd, whole_number("--seed", seed), store)
        return
    if socket is None:
        raise UserError("--vfio-user: found none, expected a path for the socket, or --nbd")
    if clock is Clock.VIRTUAL and channel is None:
        raise UserError("--clock virtual: found without --channel, expected a path for the plug-in's channel")
    if clock is Clock.REAL and channel is not None:
        raise UserError("--channel: found with --clock real, expected --clock virtual")
    ended = serve_drive(
        System(system, tuple(split_changes(changes, scale))),
        socket,
        channel=channel,
        dilation=whole_number("--dilate", dilate),
        seed=whole_number("--seed", seed),
        store=store,
        cuts=None if cuts is None else read_cuts(cuts),
        output=output,
        ready=lambda: print(f"serving {system} at {socket}", flush=True),
    )
    console(100).print(summary_table(ended.summary))
    amplification = ended.summary["ftl"]["write_amplification"]
    written = "" if amplification is None else f"write amplification {amplification:.3f}, "
    print(f"{written}{ended.summary['simulated_s']:.6f} s of {clock} time")


def _serve_nbd(system: str, changes: list[str], socket: Path, seed: int, store: Path | None) -> None:
    from nandram.nbd import serve_nbd
    from nandram.system import System

    def ready() -> None:
        print(f"serving {system} at nbd+unix:///?socket={socket}", flush=True)

    serve_nbd(System(system, tuple(changes)), socket, seed=seed, store=store, ready=ready)


def summary_table(summary: dict[str, Any]) -> "Table":
    """Return the table of commands and their latencies in the device."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, title in enumerate(("commands", "count", "bytes", "mean us", "p99 us", "max us")):
        table.add_column(title, justify="right" if number else "left", no_wrap=True)
    for name in ("read", "write", "trim", "other"):
        found = summary[name]
        if found["total_ios"]:
            latency = found["lat_ns"]
            times = (latency["mean"], latency["percentile"]["99.000000"], latency["max"])
            counts = (str(found["total_ios"]), str(found["io_bytes"]))
            table.add_row(name, *counts, *(f"{time / 1000:.2f}" for time in times))
    return table
