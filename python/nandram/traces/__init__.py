"""Page traces that come with nandram: ``FOLDER/NAME.pages.zst``, as ``nandram capture pages`` records them."""

import os
from functools import cache
from pathlib import Path

_END = ".pages.zst"


@cache
def bundled() -> tuple[str, ...]:
    """Return the names of the traces, ``FOLDER/NAME``, in order."""
    folder = Path(__file__).parent
    files = folder.rglob(f"*{_END}")
    return tuple(sorted(file.relative_to(folder).as_posix().removesuffix(_END) for file in files))


def path_of(name: str) -> Path:
    """Return the file of a trace of `bundled`."""
    return Path(__file__).parent / f"{name}{_END}"


def resolve(trace: str) -> str:
    """Return the path of a trace; the name of a bundled one is accepted for it, unless such a file exists."""
    return os.fspath(path_of(trace)) if not os.path.exists(trace) and trace in bundled() else trace
