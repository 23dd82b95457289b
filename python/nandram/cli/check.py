"""``nandram check``: validate files."""

from typing import Annotated

import typer


def check(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Systems, jobs, programs, traces, sweeps, experiments, claims."),
    ],
    kind: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="pages|blocks",
            help="Read a text of one number per line as page numbers or as libCacheSim block objects.",
        ),
    ] = None,
) -> None:
    """Validate files.

    Prints one line per file. Stops at the first invalid file with exit status 2.

    Example: nandram check my-drive.toml job.fio
    """
    from nandram.check import check_file

    for file in files:
        print(f"{file}: ok ({check_file(file, kind)})", flush=True)
