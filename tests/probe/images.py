"""Files to probe, and what they must still be afterwards."""

import hashlib
import random
from pathlib import Path

MEGABYTE = 1 << 20


def image(path: Path, megabytes: int = 64, seed: int = 1) -> Path:
    """Write a file of random bytes; it has no holes, and looks like nothing known."""
    draw = random.Random(seed)
    with path.open("wb") as file:
        for _ in range(megabytes):
            file.write(draw.randbytes(MEGABYTE))
    return path


def checksum(path: Path) -> str:
    """Return what changes with any bit of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
