"""A guest's drive: `nandram serve` in a process of its own."""

import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from nandram.errors import UserError
from nandram.guest.children import Children, last_line
from nandram.guest.deadline import Deadline
from nandram.guest.errors import GuestError
from nandram.guest.qemu import drive_arguments


class Drive(Protocol):
    """The part of a run that provides its NVMe controller."""

    def start(self, children: Children, work: Path, output: Path, deadline: Deadline) -> list[str]:
        """Start it; return QEMU's arguments for it."""

    def check(self) -> None:
        """Raise `GuestError` if it ended early."""

    def finish(self, deadline: Deadline) -> None:
        """Wait until it has written its results, after the guest's end."""


class Server:
    """A simulated drive that a server attaches to QEMU over a socket."""

    def __init__(
        self,
        system: str,
        changes: Sequence[str],
        store: Path | None = None,
        cuts: Path | None = None,
        report: Callable[[bytes], object] = lambda _: None,
    ) -> None:
        """`report` receives each line about a store that could not be written, or can be written again."""
        self._report, self._passed = report, 0
        self._line = [sys.executable, "-m", "nandram", "serve", system]
        self._line += [word for change in changes for word in ("--set", change)]
        if store is not None:
            self._line += ["--store", str(store)]
        if cuts is not None:
            self._line += ["--cuts", str(cuts)]

    def start(self, children: Children, work: Path, output: Path, deadline: Deadline) -> list[str]:
        """Start the server and wait for its socket."""
        socket, channel = work / "drive", work / "channel"
        plugin = _plugin()
        line = [*self._line, "--vfio-user", str(socket), "--clock", "virtual", "--channel", str(channel)]
        self._log = work / "server.txt"
        self._process = children.start([*line, "-o", str(output)], self._log)
        while not socket.exists():
            self.check()
            deadline.pause("the drive was prepared")
        return drive_arguments(socket, channel, plugin)

    def check(self) -> None:
        """Raise if the server ended. Report what it has printed about its store."""
        status = self._process.poll()
        self._pass_on()
        if status == 2:
            raise UserError(last_line(self._log).removeprefix("error: "))
        if status is not None and status != 0:
            raise GuestError(f"nandram serve ended with status {status}: {last_line(self._log)}")

    def _pass_on(self) -> None:
        with self._log.open("rb") as file:
            file.seek(self._passed)
            complete, end, _ = file.read().rpartition(b"\n")
        self._passed += len(complete + end)
        for line in complete.splitlines(keepends=True):
            if line.startswith(b"nandram: store "):
                self._report(line.rstrip() + b"\n")

    def finish(self, deadline: Deadline) -> None:
        """Wait for the server's summary."""
        while True:
            try:
                self._process.wait(timeout=0)
            except subprocess.TimeoutExpired:
                deadline.pause("the drive wrote its summary")
            else:
                return self.check()


def _plugin() -> Path:
    """Return QEMU's plug-in that steps the drive."""
    name = "nandram.guest.plugin"
    if importlib.util.find_spec(name) is None:
        raise UserError("guest: this installation has no plug-in for QEMU, expected one built for x86-64 Linux")
    path: Path = importlib.import_module(name).plugin_path()
    return path
