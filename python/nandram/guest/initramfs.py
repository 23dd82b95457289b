"""The initial file system of a guest: busybox, Debian's programs, their libraries, modules and a user's files."""

import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from nandram.errors import UserError
from nandram.guest.cpio import Device, File, Link, Member
from nandram.guest.errors import GuestError
from nandram.guest.folder import Programs

PROGRAMS = {
    "fio": "usr/bin/fio",
    "nvme": "usr/sbin/nvme",
    "btrfs": "usr/bin/btrfs",
    **{name: f"usr/sbin/{name}" for name in ("blkzone", "mkfs.btrfs", "mkfs.f2fs", "fsck.f2fs")},
    **{
        name: f"usr/sbin/{name}"
        for name in ("mke2fs", "e2fsck", "tune2fs", "resize2fs", "dumpe2fs", "debugfs", "badblocks", "filefrag")
    },
}
"""Programs by name, with their path in Debian and in the guest; busybox has the others."""
LINKS = {
    **{f"mkfs.ext{n}": "mke2fs" for n in (2, 3, 4)},
    **{f"fsck.ext{n}": "e2fsck" for n in (2, 3, 4)},
    "e2label": "tune2fs",
}
NVME_DRIVE = "/dev/nvme0n1"
"""The block device of an NVMe drive."""
_LOADER = "/lib64/ld-linux-x86-64.so.2"
_LIBRARIES = "/usr/lib/x86_64-linux-gnu"
_INIT = Path(__file__).parent / "init.sh"
_SCRIPT_MAX = 1 << 20
"""Bytes of a copied file that are searched for names of programs."""
OWN = {"nandram-probe": Path(__file__).parent / "lib" / "nandram-probe"}
"""nandram's own programs for guests, without libraries, by name."""
_RESERVED = ("/nandram", "/proc", "/sys", "/dev", "/init")


@dataclass(frozen=True)
class Copy:
    """A file of the host and its path in the guest."""

    source: Path
    path: str


@dataclass(frozen=True)
class Module:
    """A kernel module that is loaded before the command."""

    name: str
    content: bytes


def members(
    programs: Programs,
    command: Sequence[str],
    copies: Sequence[Copy],
    modules: Sequence[Module],
    drive: str = NVME_DRIVE,
    *,
    is_root: bool = False,
) -> dict[str, Member]:
    """Return the members of the archive by path. A copy replaces a program of the same path. Raises `UserError`.

    The command starts when the block device `drive` exists; with `is_root`, on the file system in it.
    """
    words = wanted(command, copies)
    found: dict[str, Member] = dict(_system(programs, words - set(OWN)))
    for name in words & set(OWN):
        if not OWN[name].is_file():
            raise UserError(f"{OWN[name]}: was not built, expected an installation on x86-64 Linux or `make build`")
        found[f"/usr/bin/{name}"] = File(OWN[name], executable=True)
    for copy in copies:
        _check_place(copy, found)
        executable = copy.source.stat().st_mode & 0o111 != 0
        found[copy.path] = File(copy.source, executable)
    for module in modules:
        found[f"/nandram/modules/{module.name}"] = File(module.content)
    found["/nandram/module-list"] = File("".join(f"{module.name}\n" for module in modules).encode())
    found["/nandram/drive"] = File(f"{drive}\n".encode())
    if is_root:
        found["/nandram/root"] = File(b"")
    found["/nandram/command"] = File(f"exec {shlex.join(command)}\n".encode())
    found["/init"] = File(_INIT, executable=True)
    return found


def wanted(command: Sequence[str], copies: Sequence[Copy]) -> set[str]:
    """Return the names of the programs that the command or a copied file mentions.

    fio's libraries are 60 MB, and take a third of the time of a boot.
    """
    words = set(re.findall(r"[\w.-]+", " ".join(command)))
    for copy in copies:
        with copy.source.open("rb") as file:
            words.update(word.decode() for word in re.findall(rb"[\w.-]+", file.read(_SCRIPT_MAX)))
    return {LINKS.get(name, name) for name in words if name in PROGRAMS or name in LINKS or name in OWN}


def _check_place(copy: Copy, found: Mapping[str, Member]) -> None:
    """Check that a copy is no folder of other members, and that its folders are none. Raises `UserError`."""
    if any(path.startswith(f"{copy.path}/") for path in found):
        raise UserError(f"--copy: {copy.path}: is a folder of the guest, expected a file in it")
    for parent in PurePosixPath(copy.path).parents:
        if str(parent) in found:
            raise UserError(f"--copy: {copy.path}: {parent} is not a folder in the guest")


def is_reserved(path: str) -> bool:
    """Return whether a path belongs to the guest's own files."""
    parents = {str(parent) for parent in PurePosixPath(path).parents} | {path}
    return any(each in parents for each in _RESERVED)


def _system(programs: Programs, wanted: set[str]) -> Iterator[tuple[str, Member]]:
    yield "/dev/console", Device(5, 1)
    yield "/bin", Link("usr/bin")
    yield "/sbin", Link("usr/sbin")
    yield "/lib", Link("usr/lib")
    yield "/etc/passwd", File(b"root:x:0:0:root:/:/bin/sh\n")
    yield "/etc/group", File(b"root:x:0:\n")
    # Without this file mke2fs creates file systems that have neither a journal nor extents.
    yield "/etc/mke2fs.conf", File(programs.tree / "etc/mke2fs.conf")
    yield "/etc/mtab", Link("/proc/self/mounts")
    yield "/usr/bin/busybox", File(programs.busybox, executable=True)
    for name in _applets(programs):
        if name not in PROGRAMS and name not in LINKS and name != "busybox":
            yield f"/usr/bin/{name}", Link("busybox")
    for name, path in PROGRAMS.items():
        if name in wanted:
            yield f"/{path}", File(programs.tree / path, executable=True)
    for name, target in LINKS.items():
        if target in wanted:
            yield f"/usr/sbin/{name}", Link(target)
    for library in libraries(programs, [PROGRAMS[name] for name in wanted]):
        yield f"{_LIBRARIES}/{library.name}", File(library)
    yield _LOADER, File(programs.loader, executable=True)


def libraries(programs: Programs, paths: Iterable[str]) -> list[Path]:
    """Return the libraries that programs of the tree load. Raises `GuestError` if one is missing."""
    found: set[Path] = set()
    for path in paths:
        line = [*programs.loader_line, "--list", str(programs.tree / path)]
        listed = subprocess.run(line, capture_output=True, text=True, check=False, env={})
        for row in listed.stdout.splitlines():
            name, arrow, rest = row.strip().partition(" => ")
            library = Path(rest.rpartition(" (")[0])
            if arrow and name != _LOADER:
                # A library of the host would be of another version.
                if not library.is_relative_to(programs.tree):
                    raise GuestError(f"{programs.tree}/{path}: needs {name}, which is not among the packages")
                found.add(library)
        if listed.returncode:
            raise GuestError(f"{programs.tree}/{path}: {listed.stderr.strip() or 'cannot be started'}")
    return sorted(found)


def _applets(programs: Programs) -> list[str]:
    return subprocess.run([str(programs.busybox), "--list"], capture_output=True, text=True, check=True).stdout.split()
