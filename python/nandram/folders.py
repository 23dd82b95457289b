"""Checks of output folders, without heavy imports."""

import tempfile
from pathlib import Path

from nandram.errors import UserError


def check(folder: Path) -> None:
    """Create a folder and check that it is writable, before a long run. Raises `UserError`."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder}: found a file, expected a folder to write to")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror}") from error
