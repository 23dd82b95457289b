"""Hashes of what shapes a run, by which results are stored and found again."""

import hashlib
from functools import cache
from pathlib import Path


def text_hash(text: str) -> bytes:
    """Return the hash of a text."""
    return hashlib.sha256(text.encode()).digest()


def file_hash(path: Path) -> bytes:
    """Return the hash of a file, read in parts: a trace may be larger than memory. Raises `OSError`."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


@cache
def program_hash() -> bytes:
    """Return the hash of the simulator itself: a result of another build is not reused."""
    from nandram import _core

    return file_hash(Path(str(_core.__file__)))


def joint_hash(*hashes: bytes) -> bytes:
    """Return the hash of several hashes, in order."""
    return hashlib.sha256(b"".join(hashes)).digest()
