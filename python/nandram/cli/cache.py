"""``nandram cache``: manage the folder of prepared drives and runs."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from nandram.cli.terminal.interrupt import interruptible
from nandram.errors import UserError
from nandram.options import default_cache

if TYPE_CHECKING:
    from pathlib import Path

app = typer.Typer(
    no_args_is_help=True,
    help="Manage the cache of prepared drives and runs.\n\nExample: nandram cache prune --size 1GiB",
)

FolderOption = Annotated[
    str | None,
    typer.Option("--cache", metavar="DIR", help="Cache folder. [default: $NANDRAM_CACHE, or ~/.cache/nandram]"),
]


@app.command()
@interruptible
def where(cache: FolderOption = None) -> None:
    """Print the path of the cache folder."""
    print(_folder(cache))


@app.command("list")
@interruptible
def list_files(
    cache: FolderOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list; sizes are bytes.")] = False,
) -> None:
    """List the cached files with their sizes, least recently used first."""
    from datetime import datetime

    from nandram.units import count, size

    files = _files(_folder(cache))
    if as_json:
        rows = [{"path": str(path), "bytes": length, "used_s": used} for path, length, used in files]
        print(json.dumps(rows, indent=2))
        return
    for path, length, used in files:
        print(f"{size(length):>10}  {datetime.fromtimestamp(used):%Y-%m-%d %H:%M}  {path}")
    print(
        f"{size(sum(length for _, length, _ in files)):>10}  in {count(len(files), 'file')}; drives are kept up to 2 GB"
    )


@app.command()
@interruptible
def prune(
    size: Annotated[
        str,
        typer.Option(metavar="SIZE", help="Keep the most recently used files up to this size; `0B` keeps none."),
    ] = "0B",
    cache: FolderOption = None,
) -> None:
    """Remove the least recently used files."""
    from nandram.units import count
    from nandram.units import size as size_text

    most = _bytes(size)
    files = _files(_folder(cache))
    left = sum(length for _, length, _ in files)
    removed = 0
    for path, length, _ in files:
        if left <= most:
            break
        path.unlink(missing_ok=True)
        left -= length
        removed += 1
    print(f"removed {count(removed, 'file')}, kept {count(len(files) - removed, 'file')} ({size_text(left)})")


def _folder(cache: str | None) -> "Path":
    from pathlib import Path

    folder = Path(cache or default_cache())
    if folder.exists() and not folder.is_dir():
        raise UserError(f"--cache: found the file `{folder}`, expected a folder")
    return folder


def _files(folder: "Path") -> "list[tuple[Path, int, float]]":
    """Return the cached files in `folder` as (path, bytes, time of last use), least recently used first."""
    found = []
    # A folder that the user chose may hold other files, which are left alone.
    for pattern in ("drive-*.zst", "runs/*/*.json"):
        for path in folder.glob(pattern):
            status = path.stat()
            found.append((path, status.st_size, status.st_mtime))
    return sorted(found, key=lambda each: (each[2], each[0]))


def _bytes(text: str) -> int:
    """Parse a size. Raises `UserError`."""
    units = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    number = text.rstrip("BKMGi")
    factor = units.get(text[len(number) :])
    if factor is None or not number.isascii() or not number.isdigit():
        raise UserError(f"--size: found `{text}`, expected a size such as 500MB or 1GiB")
    return int(number) * factor
