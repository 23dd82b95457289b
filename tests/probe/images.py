"""Files to probe, and fingerprints to detect changes."""

import hashlib
import random
from pathlib import Path

MEGABYTE = 1 << 20


def image(path: Path, megabytes: int = 64, seed: int = 1) -> Path:
    """Write a file of random bytes without holes or recognizable content."""
    draw = random.Random(seed)
    with path.open("wb") as file:
        for _ in range(megabytes):
            file.write(draw.randbytes(MEGABYTE))
    return path


def checksum(path: Path) -> str:
    """Return a fingerprint that changes with any bit of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
