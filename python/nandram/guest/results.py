"""Brings a guest's output to the host."""

import tarfile
from collections.abc import Callable
from pathlib import Path

from nandram.guest.errors import GuestError


class Tail:
    """Passes on the bytes that are appended to a file."""

    def __init__(self, path: Path, sink: Callable[[bytes], object]) -> None:
        path.write_bytes(b"")
        self._file = path.open("rb")
        self._sink = sink

    def poll(self) -> None:
        """Pass on the bytes since the last call."""
        while chunk := self._file.read(1 << 16):
            self._sink(chunk)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Status:
    """The lines that a guest's init writes as it proceeds."""

    def __init__(self) -> None:
        self._text = b""

    def append(self, data: bytes) -> None:
        """Append bytes from the guest."""
        self._text += data

    @property
    def _lines(self) -> list[str]:
        return self._text.decode(errors="replace").split("\n")[:-1]

    @property
    def phase(self) -> str:
        """The current phase of the guest."""
        if "running" not in self._lines:
            return "booting Linux"
        return "running" if self.exit_status is None else "bringing files back"

    @property
    def exit_status(self) -> int | None:
        """The command's exit status."""
        for line in self._lines:
            word, _, value = line.partition(" ")
            if word == "exit" and value.isdigit():
                return int(value)
        return None

    @property
    def is_complete(self) -> bool:
        """Whether the guest handed over everything."""
        return "done" in self._lines

    def failure(self) -> str | None:
        """Return the guest's report of a failure."""
        for line in self._lines:
            if line.startswith("drive "):
                return f"the guest found no {line.removeprefix('drive ')} within 60 s of its time (see kernel.txt)"
            if line.startswith("root "):
                return f"the guest could not mount the drive as its root: {line.removeprefix('root ')}"
            if line.startswith("module "):
                return f"the guest could not load the {line}"
            if line.startswith("tar "):
                return f"the guest could not pack /out: {line.removeprefix('tar ')}"
        return None


def unpack(archive: Path, into: Path) -> tuple[list[str], list[str]]:
    """Unpack a guest's ``/out``; return the names of its files, and of members that no host should have.

    The latter are devices, and links to paths outside. Raises `GuestError` for a damaged archive.
    """
    files, refused = [], []
    try:
        with tarfile.open(archive, "r:") as tar:
            for member in tar:
                if member.name in (".", "./"):
                    continue
                try:
                    tar.extract(member, into, filter="data")
                except tarfile.FilterError:
                    refused.append(member.name.removeprefix("./"))
                else:
                    if not member.isdir():
                        files.append(member.name.removeprefix("./"))
    except tarfile.TarError as error:
        raise GuestError(f"the archive of /out is damaged: {error}") from error
    except OSError as error:
        raise GuestError(f"{into}: cannot be written: {error.strerror or error}") from error
    return sorted(files), sorted(refused)
