"""Brings a guest's output to the host."""

from collections.abc import Callable
from pathlib import Path


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
