"""Runs a program under QEMU's user mode with one of our plugins, and takes what the plugin tells.

Runs can be repeated: the program has only the environment variables it is given; QEMU fills its ``AT_RANDOM`` from a
fixed seed and maps it at fixed addresses, its own being fixed by ``personality(2)``.
"""

import ctypes
import fcntl
import glob
import mmap
import os
import re
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from nandram.capture.emulated.compiler import plugin
from nandram.capture.emulated.elf import Elf, read_elf
from nandram.capture.interrupts import interrupts_are_the_commands
from nandram.errors import UserError

_SEED = 1
_OLDEST = 5
"""The first QEMU with version 1 of the plugin interface is 5.2; from 9 on it wants to be told version 2."""
_ADDR_NO_RANDOMIZE = 0x0040000
_PERSONALITY_ASK = 0xFFFFFFFF
_DESCRIPTOR_MIN = 900
"""Ours are out of the way of the program's, which shares QEMU's table of them."""
_CHUNK = 1 << 18

# `struct stream` of plugin/stream.h, and the states it names.
_HEAD = struct.Struct("=6Q")
_BUFFER_BYTES = 1 << 16
_STARTED, _ENDED, _LIMIT, _THREADS, _NO_MEMORY, _LOST = range(1, 7)


@dataclass(frozen=True)
class Target:
    """A program, and the QEMU that runs it."""

    path: str
    elf: Elf
    qemu: str
    version: int
    """QEMU's major version."""
    sysroot: str | None
    """Where QEMU looks for the program's dynamic linker and libraries before it looks here."""


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    exit_status: int
    """The program's; 128 + n if signal n ended it."""
    records: int
    instructions: int
    children: int
    """Processes that it forked."""
    limited: bool
    """It was ended because it had as many records as were wanted."""
    replaced: bool
    """It executed another program in its place."""
    fixed_addresses: bool
    """QEMU's own address space was not randomized."""


def find_target(command: list[str], sysroot: str | None = None) -> Target:
    """Find the program of a command and the QEMU for it. Raises `UserError` with what is missing."""
    if not command:
        raise UserError("no program to capture: write it after `--`, as in `nandram capture pages -- ls -l`")
    path = shutil.which(command[0])
    if path is None:
        if os.path.isdir(command[0]):
            raise UserError(f"{command[0]}: is a folder, not a program")
        if os.path.exists(command[0]):
            raise UserError(f"{command[0]}: cannot be executed")
        raise UserError(f"{command[0]}: no such program")
    elf = read_elf(Path(path))
    qemu = shutil.which(f"qemu-{elf.architecture}")
    if qemu is None:
        raise UserError(
            f"{path}: a program for {elf.architecture} needs qemu-{elf.architecture}, which is not on the PATH: "
            "install QEMU's user mode (apt-get install qemu-user)"
        )
    text = subprocess.run([qemu, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"version (\d+)\.", text)
    if version is None or int(version[1]) < _OLDEST:
        raise UserError(f"{qemu}: found {text.splitlines()[:1]}, expected QEMU {_OLDEST}.2 or newer")
    return Target(path, elf, qemu, int(version[1]), _sysroot(path, elf, sysroot))


def _sysroot(path: str, elf: Elf, chosen: str | None) -> str | None:
    """Return the folder below which the program's dynamic linker is; none if the root will do."""
    if elf.interpreter is None:
        return chosen
    if chosen is not None:
        if not _is_linker(chosen + elf.interpreter, elf):
            raise UserError(f"sysroot: found no {elf.architecture} linker {chosen}{elf.interpreter}")
        return chosen
    if _is_linker(elf.interpreter, elf):
        return None
    for folder in sorted(glob.glob("/usr/*-linux-gnu*")):
        if _is_linker(folder + elf.interpreter, elf):
            return folder
    raise UserError(
        f"{path}: needs the {elf.architecture} linker {elf.interpreter}, which is not here: "
        "give the folder it is below by --sysroot, or link the program statically"
    )


def _is_linker(path: str, elf: Elf) -> bool:
    try:
        return read_elf(Path(path)).architecture == elf.architecture
    except UserError:
        return False


def run(
    target: Target,
    name: str,
    arguments: dict[str, int],
    command: list[str],
    environment: dict[str, str],
    write: Callable[[bytes], object],
) -> Ended:
    """Run `command` with the plugin `name`; give `write` its records as they come. Raises `UserError`."""
    shared_object = plugin(name, 1 if target.version < 9 else 2)
    if "," in str(shared_object):
        raise UserError(
            f"{shared_object}: found a comma in the path, expected none: QEMU takes what follows for options"
        )
    read_end, write_end = os.pipe()
    with ExitStack() as stack:
        reader = stack.enter_context(open(read_end, "rb", buffering=0))
        given = ExitStack()
        with given:
            data = _moved_up(given, write_end)
            memory = _moved_up(given, os.memfd_create("nandram-capture"))
            os.ftruncate(memory, _HEAD.size + _BUFFER_BYTES)
            shared = stack.enter_context(mmap.mmap(memory, _HEAD.size + _BUFFER_BYTES))
            options = {**arguments, "data": data, "shared": memory}
            line = [target.qemu, "-seed", str(_SEED), "-0", command[0]]
            if target.sysroot is not None:
                line += ["-L", target.sysroot]
            line += ["-plugin", ",".join([str(shared_object), *(f"{key}={value}" for key, value in options.items())])]
            stack.enter_context(interrupts_are_the_commands())
            with _fixed_addresses() as fixed:
                line += [target.path, *command[1:]]
                process = subprocess.Popen(line, env=environment, pass_fds=[data, memory])
        while chunk := reader.read(_CHUNK):
            write(chunk)
        code = process.wait()
        state, children, records, instructions, used, flushing = _HEAD.unpack_from(shared)
        _complain(target, command[0], state, flushing, code)
        write(shared[_HEAD.size : _HEAD.size + used])
    replaced = state == _STARTED and code >= 0
    return Ended(code if code >= 0 else 128 - code, records, instructions, children, state == _LIMIT, replaced, fixed)


def _complain(target: Target, name: str, state: int, flushing: int, code: int) -> None:
    """Raise `UserError` if there is no trace."""
    if state == 0:
        raise UserError(
            f"{target.qemu}: ended with {code} before it had loaded our plugin, expected a QEMU with "
            "TCG plugins (apt-get install qemu-user; a static one has none)"
        )
    if state == _THREADS:
        raise UserError(
            f"{name}: started a second thread, expected a program of one: a trace of several would depend on their "
            "timing (many programs have an option for one thread, such as -j1)"
        )
    if state == _NO_MEMORY:
        raise UserError(f"{name}: there is no memory for what is kept of its code")
    if state == _LOST:
        raise UserError(
            f"{name}: closed file descriptors from {_DESCRIPTOR_MIN} on, which are the capture's, "
            "expected it to close those that it opened"
        )
    if flushing:
        raise UserError(f"{name}: was killed while a part of the trace was written, which is incomplete")


def _moved_up(stack: ExitStack, descriptor: int) -> int:
    """Give a descriptor a high number, which it keeps in QEMU; it is closed with the stack."""
    try:
        high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _DESCRIPTOR_MIN)
    except OSError as error:
        raise UserError(f"file descriptors: found a limit below {_DESCRIPTOR_MIN + 2} (ulimit -n)") from error
    finally:
        os.close(descriptor)
    stack.callback(os.close, high)
    return high


@contextmanager
def _fixed_addresses() -> Iterator[bool]:
    """Have programs that are started in here mapped where they always are; false if the system forbids it."""
    personality = ctypes.CDLL(None).personality
    personality.argtypes = [ctypes.c_ulong]
    before = personality(_PERSONALITY_ASK)
    fixed = before >= 0 and personality(before | _ADDR_NO_RANDOMIZE) >= 0
    try:
        yield fixed
    finally:
        if fixed:
            personality(before)
