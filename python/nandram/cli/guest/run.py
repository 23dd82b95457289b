"""``nandram guest run``: a command on a stock Linux whose drive is simulated."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nandram.cli.run import SetOption, SystemArgument, split_changes
from nandram.errors import UserError

if TYPE_CHECKING:
    from nandram.cli.terminal.phase import PhaseLine
    from nandram.guest.drive import Drive
    from nandram.guest.run import Finished, Guest

TIMED_OUT = 124
"""Exit status after the time limit, as of timeout(1)."""
FAILED = 125
"""Exit status if the guest ended before the command did."""

FolderOption = Annotated[
    Path | None,
    typer.Option(
        "--folder", metavar="DIR", help="Folder of programs and kernels. [default: guest in the cache folder]"
    ),
]


def run(
    system: SystemArgument,
    command: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND", help="The command and its arguments, after `--`.", show_default=False),
    ],
    changes: SetOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Write the command's output, the files that it wrote to /out, and the drive's summary to this folder.",
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File of the drive's flash, created if it does not exist. [default: a new drive in memory]",
        ),
    ] = None,
    copy: Annotated[
        list[str] | None,
        typer.Option(
            "--copy", metavar="FILE[:PATH]", help="Copy a file into the guest, by default to its root; repeatable."
        ),
    ] = None,
    module: Annotated[
        list[str] | None,
        typer.Option(
            "--module", metavar="NAME", help="Load a kernel module before the command, or a .ko file; repeatable."
        ),
    ] = None,
    root: Annotated[
        bool,
        typer.Option("--root", help="Run the command on the file system in the drive, as the guest's root."),
    ] = False,
    kernel: Annotated[
        str | None, typer.Option(metavar="6.1|6.12|7.3|FILE", help="Debian's kernel, or a bzImage. [default: 6.12]")
    ] = None,
    append: Annotated[
        list[str] | None,
        typer.Option("--append", metavar="PARAMETERS", help="Parameters for the kernel, such as nohz=on; repeatable."),
    ] = None,
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Memory of the guest.")] = "1GiB",
    time_limit: Annotated[str, typer.Option(metavar="TIME", help="End the guest after this time, such as 2h.")] = "10m",
    folder: FolderOption = None,
) -> None:
    """Run a command in a guest; `run` may be left out.

    The guest has busybox, fio, nvme, e2fsprogs and nandram-probe; its drive is /dev/nvme0n1, or /dev/drambus0 for a
    system with a shared buffer on the memory bus. Time is that of the simulation, so two runs give identical results.
    Exits with the command's status; 124 after the time limit, 125 if the guest failed.
    `nandram guest fetch` gets QEMU, the programs and the kernel, once.
    """
    from nandram.cli.terminal.phase import PhaseLine
    from nandram.guest import arguments
    from nandram.guest.drive import Server
    from nandram.guest.driver_build import DEVICE, driver_module
    from nandram.guest.folder import DEFAULT_KERNEL, default_folder, find_kernel, find_programs
    from nandram.guest.initramfs import NVME_DRIVE
    from nandram.guest.modules import find_modules
    from nandram.guest.run import Guest
    from nandram.system import System

    if not command[0]:
        raise UserError("COMMAND: found an empty name, expected a program, such as `-- fio /job.fio`")
    settings = split_changes(changes)
    memory_mib, limit_s = arguments.memory_mib(memory), arguments.seconds(time_limit)
    copies, parameters = arguments.copies(copy or []), arguments.parameters(append or [])
    if output is not None and output.exists() and not output.is_dir():
        raise UserError(f"--output: {output}: found a file, expected a folder to write to")
    link = System(system, tuple(settings)).values["link"]["type"]
    place, series = folder or default_folder(), kernel or DEFAULT_KERNEL
    programs, image = find_programs(place), find_kernel(place, series)
    modules, device = find_modules(image, module or []), NVME_DRIVE
    if link == "shared-buffer":
        modules, device = [*modules, driver_module(place, series, image)], DEVICE
    guest = Guest(command, programs, image, copies, modules, memory_mib, parameters, device, root)
    line = PhaseLine()
    drive = Server(system, settings, store, report=line.stderr)
    raise typer.Exit(_show(guest, drive, output, limit_s, line))


def _show(guest: "Guest", drive: "Drive", output: Path | None, limit_s: float, line: "PhaseLine") -> int:
    """Run a guest with its output on the terminal; return the exit status."""
    import tempfile
    from contextlib import ExitStack

    from nandram.guest.errors import GuestError, TimeLimitError
    from nandram.guest.run import Watch, run_guest

    with ExitStack() as stack:
        stack.callback(line.clear)
        kept = output or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nandram-")))
        try:
            found = run_guest(guest, drive, kept, limit_s, Watch(line.phase, line.stdout, line.stderr))
        except GuestError as error:
            line.clear()
            print(f"error: {error}", file=sys.stderr)
            return TIMED_OUT if isinstance(error, TimeLimitError) else FAILED
        line.clear()
        for note in notes(found, output):
            print(note, file=sys.stderr)
        return found.exit_status


def notes(found: "Finished", output: Path | None) -> list[str]:
    """Return remarks on the files that the command wrote."""
    from nandram.units import count

    lines = []
    if found.files and output is None:
        lines.append(f"not kept: {count(len(found.files), 'file')} in /out; -o DIR keeps them")
    if found.refused:
        more = f" and {len(found.refused) - 3} more" if len(found.refused) > 3 else ""
        lines.append(f"left out of /out, which may hold files and folders: {', '.join(found.refused[:3])}{more}")
    return lines
