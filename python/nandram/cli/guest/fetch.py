"""``nandram guest fetch``: QEMU, kernels and programs."""

from typing import Annotated

import typer

from nandram.cli.guest.run import FolderOption


def fetch(
    folder: FolderOption = None,
    kernel: Annotated[
        str | None, typer.Option(metavar="6.1|6.12|7.3", help="Debian's kernel series. [default: 6.12]")
    ] = None,
    mirror: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Address of a Debian mirror. [default: the first of the host's apt sources]"),
    ] = None,
    headers: Annotated[
        bool,
        typer.Option("--headers", help="Also the kernel's headers, which the driver of a shared buffer is built with."),
    ] = False,
) -> None:
    """Fetch QEMU, a kernel and the guest's programs as Debian packages, 120 MB.

    The host's apt downloads and verifies them in a folder of its own; nothing is installed on the host, and root is not
    needed. A second call does nothing.
    """
    from nandram.cli.terminal.phase import PhaseLine
    from nandram.guest.folder import DEFAULT_KERNEL, KERNELS, default_folder
    from nandram.guest.packages.fetch import fetch as fetch_parts
    from nandram.options import one_of
    from nandram.units import count

    series = one_of("--kernel", kernel or DEFAULT_KERNEL, tuple(KERNELS))
    line = PhaseLine()
    try:
        found = fetch_parts(folder or default_folder(), series, mirror, line.phase, headers=headers)
    finally:
        line.clear()
    for part in found:
        print(f"{part.folder}: {part.part}, {count(len(part.versions), 'package')}")
    if not found:
        print(f"{folder or default_folder()}: already has the programs and kernel {series}")
