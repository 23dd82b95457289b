"""Runs a command in a guest."""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from nandram.errors import UserError
from nandram.folders import check as check_folder
from nandram.guest.children import Children, children, last_line
from nandram.guest.cpio import write_archive
from nandram.guest.deadline import Deadline
from nandram.guest.drive import Drive
from nandram.guest.errors import GuestError
from nandram.guest.folder import Kernel, Programs
from nandram.guest.initramfs import NVME_DRIVE, Copy, Module, members
from nandram.guest.output.archive import unpack
from nandram.guest.output.results import Status, Tail
from nandram.guest.qemu import PORTS, Machine, command_line

RECORD = "guest.json"
_TEXTS = {"stdout": "stdout.txt", "stderr": "stderr.txt", "kernel": "kernel.txt"}
_CONSOLE_MAX = 1 << 20


@dataclass(frozen=True)
class Guest:
    """A command and its machine."""

    command: Sequence[str]
    programs: Programs
    kernel: Kernel
    copies: Sequence[Copy] = ()
    modules: Sequence[Module] = ()
    memory_mib: int = 1024
    parameters: Sequence[str] = ()
    """Parameters of the kernel."""
    drive: str = NVME_DRIVE
    """The drive's block device, for which the guest waits."""
    is_root: bool = False
    """The command runs on the file system in the drive."""


@dataclass(frozen=True)
class Watch:
    """Functions that are called as a run proceeds."""

    phase: Callable[[str], None] = lambda _: None
    stdout: Callable[[bytes], object] = lambda _: None
    stderr: Callable[[bytes], object] = lambda _: None


@dataclass(frozen=True)
class Finished:
    """The outcome of a run."""

    exit_status: int
    """The command's; 128 + n if signal n ended it."""
    files: list[str] = field(default_factory=list)
    """The files that the command wrote below ``/out``."""
    refused: list[str] = field(default_factory=list)
    """Members of ``/out`` that were left out: links, devices and pipes."""


def run_guest(guest: Guest, drive: Drive, output: Path, limit_s: float, watch: Watch | None = None) -> Finished:
    """Boot a guest on a drive, run the command and bring its results to the folder `output`.

    Raises `UserError` for a mistake, `TimeLimitError` and `GuestError`; no process survives.
    """
    watch = watch or Watch()
    _prepare(output)
    deadline = Deadline(limit_s)
    with ExitStack() as stack:
        # Not below `output`: the path of a socket must be short.
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nandram-")))
        processes = stack.enter_context(children())
        initramfs = work / "initramfs"
        with initramfs.open("wb") as file:
            write_archive(
                file,
                members(guest.programs, guest.command, guest.copies, guest.modules, guest.drive, is_root=guest.is_root),
            )
        watch.phase("preparing the drive")
        arguments = drive.start(processes, work, output, deadline)
        ports = {name: output / _TEXTS[name] if name in _TEXTS else work / name for name in PORTS}
        console = output / "console.txt"
        machine = Machine(guest.programs, guest.kernel, initramfs, guest.memory_mib, console, ports, guest.parameters)
        status = _run(processes, command_line(machine, arguments), work, ports, drive, deadline, watch)
        _check(status, console, work)
        assert status.exit_status is not None
        files, refused = unpack(ports["files"], output / "out")
        _record(guest, initramfs, output, status.exit_status)
        # The results are there even if the drive cannot write its store at the end.
        drive.finish(deadline)
        return Finished(status.exit_status, files, refused)


def _prepare(output: Path) -> None:
    """Create the folder; remove the files of an earlier run."""
    check_folder(output)
    out = output / "out"
    if out.exists():
        if not (output / RECORD).is_file():
            raise UserError(f"--output: {out}: already exists, expected a folder without `out`, or of an earlier run")
        shutil.rmtree(out)
    (output / RECORD).unlink(missing_ok=True)


def _run(
    processes: Children,
    line: list[str],
    work: Path,
    ports: dict[str, Path],
    drive: Drive,
    deadline: Deadline,
    watch: Watch,
) -> Status:
    """Run QEMU to its end, and pass on the command's output as it comes."""
    status = Status()
    tails = [
        Tail(ports["stdout"], watch.stdout),
        Tail(ports["stderr"], watch.stderr),
        Tail(ports["status"], status.append),
    ]
    process = processes.start(line, work / "qemu.txt", environment={})
    while True:
        ended = process.poll() is not None
        for tail in tails:
            tail.poll()
        if ended:
            break
        watch.phase(status.phase)
        drive.check()
        deadline.pause("Linux booted" if status.phase == "booting Linux" else "the command ran")
    for tail in tails:
        tail.close()
    # QEMU ends itself when the drive's server is gone, of which the server knows the reason.
    drive.check()
    return status


def _check(status: Status, console: Path, work: Path) -> None:
    """Raise `GuestError` if the guest did not hand over everything."""
    failure = status.failure()
    if failure is not None:
        raise GuestError(failure)
    if status.is_complete:
        return
    with console.open("rb") if console.is_file() else (work / "qemu.txt").open("rb") as file:
        lines = file.read(_CONSOLE_MAX).decode(errors="replace").splitlines()
    for line in lines:
        if "nandram: " in line or "Kernel panic" in line or "Out of memory" in line:
            raise GuestError(f"{line.strip()} (see {console})")
    doing = (
        "before the command ran" if status.phase == "booting Linux" else "before the command's results were complete"
    )
    raise GuestError(f"the guest ended {doing}; QEMU: {last_line(work / 'qemu.txt')} (see {console})")


def _record(guest: Guest, initramfs: Path, output: Path, exit_status: int) -> None:
    """Write the versions and hashes of the inputs; the same run gives the same text."""
    record = {
        "command": list(guest.command),
        "exit_status": exit_status,
        "memory_mib": guest.memory_mib,
        "parameters": list(guest.parameters),
        "kernel": {"sha256": _sha256(guest.kernel.image), "packages": dict(guest.kernel.versions)},
        "programs": guest.programs.versions,
        "copies": {copy.path: _sha256(copy.source) for copy in guest.copies},
        "modules": {module.name: hashlib.sha256(module.content).hexdigest() for module in guest.modules},
        "initramfs_sha256": _sha256(initramfs),
    }
    (output / RECORD).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
