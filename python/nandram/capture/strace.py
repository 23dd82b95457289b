"""Running a command under strace."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from nandram.capture.calls.recorder import CALLS
from nandram.capture.interrupts import interrupts_are_the_commands
from nandram.errors import UserError

_VERSION = re.compile(r"version (\d+)\.(\d+)")
_OLDEST = (5, 3)
"""The first with ``--seccomp-bpf``: calls that are not traced then run at full speed."""


def find() -> str:
    """Return the path of a strace that is new enough."""
    path = shutil.which("strace")
    if path is None:
        raise UserError("capture needs strace, which is not on the PATH: install the package strace")
    text = subprocess.run([path, "-V"], capture_output=True, text=True, check=False).stdout
    version = _VERSION.search(text)
    if version is not None and (int(version[1]), int(version[2])) < _OLDEST:
        raise UserError(f"capture needs strace {_OLDEST[0]}.{_OLDEST[1]} or newer; {path} is {version[1]}.{version[2]}")
    return path


def check_command(command: list[str]) -> None:
    """Refuse a command that cannot be started."""
    if not command:
        raise UserError("no command to capture: write it after `--`, as in `nandram capture block -- make test`")
    name = command[0]
    if shutil.which(name) is not None:
        return
    if os.path.isdir(name):
        raise UserError(f"{name}: is a folder, not a command")
    if os.path.exists(name):
        raise UserError(f"{name}: cannot be executed")
    raise UserError(f"{name}: no such command")


def arguments(strace: str, log: Path, command: list[str]) -> list[str]:
    """Return the command line."""
    # A question mark lets a call pass that this machine's architecture does not have.
    calls = ",".join(f"?{name}" for name in CALLS)
    return [
        strace,
        "-f",  # children, too
        "--seccomp-bpf",
        "-q",  # nothing on the terminal
        "-ttt",  # seconds since the epoch, with microseconds
        "-y",  # the path of each descriptor
        "-s0",  # none of the data
        "-eabbrev=!io_submit,fstat,fstat64,newfstatat",  # all requests of a submission, all of what stat says
        "-esignal=none",
        f"-etrace={calls}",
        "-o",
        str(log),
        "--",
        *command,
    ]


def run(strace: str, command: list[str], log: Path) -> int:
    """Run `command` to its end, its calls written to `log`; return its exit status, 128 + n if signal n ended it."""
    line = arguments(strace, log, command)
    with interrupts_are_the_commands():
        status = subprocess.run(line, check=False).returncode
    if not log.exists() or log.stat().st_size == 0:
        raise UserError(
            f"{command[0]}: strace could not start it; if ptrace is not permitted here (a container), "
            "allow it (docker run --cap-add=SYS_PTRACE)"
        )
    return status if status >= 0 else 128 - status
