"""Fetches QEMU, the guest's programs and kernels as Debian packages into a folder."""

import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nandram.errors import UserError
from nandram.guest.errors import GuestError
from nandram.guest.folder import (
    KERNELS,
    PROGRAM_PACKAGES,
    VERSIONS,
    Programs,
    find_kernel,
    headers_folder,
    is_complete,
    kernel_folder,
    programs_folder,
    series_and_flavor,
)
from nandram.guest.initramfs import PROGRAMS as GUEST_PROGRAMS
from nandram.guest.initramfs import libraries
from nandram.guest.packages.apt import KEYS, Apt
from nandram.guest.packages.headers import adapt, header_packages
from nandram.guest.packages.sources import debian_mirror

_NEEDED = re.compile(r"lib(?!pam|python|systemd-shared).*|zlib1g|qemu-system-(x86|common|data)|seabios")
"""Packages with what a program loads; the others only install or configure packages."""
_UNNEEDED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/lib/x86_64-linux-gnu/gconv", "usr/share/bug")
_SPACE = 900_000_000
"""Bytes of the programs, a kernel, their packages and apt's lists: 700 MB, and some more for later versions."""


@dataclass(frozen=True)
class Fetched:
    """A part that a call fetched."""

    part: str
    """``programs``, or ``kernel`` or ``headers`` and the series."""
    folder: Path
    versions: dict[str, str]
    """The version of every package."""


def fetch(
    folder: Path,
    kernel: str,
    mirror: str | None = None,
    phase: Callable[[str], None] = lambda _: None,
    *,
    headers: bool = False,
) -> list[Fetched]:
    """Fetch the programs, a kernel and, if wanted, its headers, unless they are already there. Raises `UserError`.

    `phase` receives the name of each step as it begins.
    """
    assert kernel in KERNELS, kernel
    wanted = [("programs", programs_folder(folder)), (f"kernel {kernel}", kernel_folder(folder, kernel))]
    if headers:
        wanted.append((f"headers {kernel}", headers_folder(folder, kernel)))
    missing = [(part, place) for part, place in wanted if not is_complete(place)]
    if not missing:
        return []
    address, keys = _mirror(mirror)
    _check_host(folder)
    with _temporary(folder) as work:
        apt = Apt(work.absolute() / "apt", address, keys, _releases([part for part, _ in missing], kernel))
        phase("reading package lists")
        apt.update()
        return [_part(apt, address, work, part, place, phase) for part, place in missing]


def _releases(missing: list[str], kernel: str) -> list[str]:
    """Return Debian's releases that have the missing parts; kernels depend on packages of the stable one."""
    programs = ["trixie-backports"] if "programs" in missing else []
    return sorted({"trixie", *programs, *(KERNELS[kernel] for part in missing if part != "programs")})


def _part(apt: Apt, address: str, work: Path, part: str, place: Path, phase: Callable[[str], None]) -> Fetched:
    packages = _packages(apt, part, work.parent)
    phase(f"downloading {part}: {len(packages)} packages")
    name = part.replace(" ", "-")
    files = apt.download(packages, work / f"{name}.packages")
    phase(f"unpacking {part}")
    tree = work / name
    _unpack(files, tree)
    if part == "programs":
        _check_libraries(Programs(tree), address)
    if part.startswith("headers"):
        adapt(tree)
    (tree / VERSIONS).write_text(json.dumps({"packages": packages}, indent=1, sort_keys=True) + "\n")
    place.parent.mkdir(exist_ok=True)
    if place.exists() and not is_complete(place):
        # Programs of an older version, which lack some of today's.
        place.rename(work / f"{name}.old")
    try:
        tree.rename(place)
    except OSError as error:
        # Another process may have fetched it meanwhile.
        if not is_complete(place):
            raise UserError(f"{place}: cannot be created: {error.strerror}") from error
    return Fetched(part, place, packages)


def _packages(apt: Apt, part: str, folder: Path) -> dict[str, str]:
    kind, _, series = part.partition(" ")
    if kind == "programs":
        return _programs(apt)
    if kind == "kernel":
        return _kernel(apt, series)
    return header_packages(apt, series, find_kernel(folder, series))


def _programs(apt: Apt) -> dict[str, str]:
    packages = apt.closure(PROGRAM_PACKAGES)
    version = packages["qemu-system-x86"].partition(":")[2]
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    if numbers < [10, 1]:
        raise UserError(f"--mirror: found QEMU {version} in trixie-backports, expected 10.1 or newer")
    return {name: found for name, found in packages.items() if name in PROGRAM_PACKAGES or _NEEDED.fullmatch(name)}


def _kernel(apt: Apt, kernel: str) -> dict[str, str]:
    """Return the packages of the newest kernel of a series: its image, or the image's parts."""
    series, flavor = series_and_flavor(kernel)
    names = apt.names(f"linux-image-{series}.")
    images = [name for name in names if re.fullmatch(rf"linux-image-[\d.]+(-\d+|\+deb\d+)-{flavor}", name)]
    if not images:
        raise UserError(f"--kernel: found no Linux {kernel} in {KERNELS[kernel]}, expected {_others(kernel)} instead")
    newest = max(images, key=lambda name: [int(number) for number in re.findall(r"\d+", name)])
    release = newest.removeprefix("linux-image-")
    parts = [f"linux-{part}-{release}" for part in ("image", "base", "binary", "modules")]
    packages = apt.closure([f"{newest}/{KERNELS[kernel]}"])
    return {name: version for name, version in packages.items() if name in parts}


def _others(series: str) -> str:
    return " or ".join(each for each in KERNELS if each != series)


def _unpack(files: list[Path], tree: Path) -> None:
    tree.mkdir()
    for file in files:
        done = subprocess.run(["dpkg-deb", "-x", file, tree], capture_output=True, text=True, check=False)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["no message"]
            if "No space left on device" in done.stderr:
                raise UserError(f"{tree.parent.parent}: the disk is full: {lines[0]}")
            raise UserError(f"{file.name}: cannot be unpacked: {lines[0]}")
        file.unlink()
    for name in _UNNEEDED:
        shutil.rmtree(tree / name, ignore_errors=True)


def _check_libraries(programs: Programs, mirror: str) -> None:
    """Raise `UserError` if a program would load a library of the host."""
    try:
        libraries(programs, ["usr/bin/qemu-system-x86_64", *GUEST_PROGRAMS.values()])
    except GuestError as error:
        raise UserError(f"{mirror}: its packages do not fit together: {error}") from error


def _mirror(mirror: str | None) -> tuple[str, Path]:
    """Return the address of the mirror and the keys that sign it."""
    if mirror is not None:
        if not re.fullmatch(r"(https?|file)://?[^\s\[\]]+", mirror):
            raise UserError(f"--mirror: found `{mirror}`, expected the address of a Debian mirror: http://HOST/debian")
        keys = KEYS
    else:
        source = debian_mirror()
        mirror, keys = source.address, Path(source.signed_by or KEYS)
    if not keys.is_file():
        raise UserError(f"{keys}: found no such file, expected Debian's keys: install debian-archive-keyring")
    return mirror, keys


def _check_host(folder: Path) -> None:
    if platform.machine() != "x86_64":
        raise UserError(f"guest fetch: found the architecture {platform.machine()}, expected x86_64")
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise UserError(f"guest fetch: found no {program} on the PATH, expected a host with apt: Debian or Ubuntu")
    if folder.exists() and not folder.is_dir():
        raise UserError(f"--folder: {folder}: found a file, expected a folder to write to")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror}") from error
    if free < _SPACE:
        raise UserError(f"{folder}: found {free // 1_000_000} MB of free space, expected {_SPACE // 1_000_000} MB")


@contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    """Yield a folder on the same file system, so that a part can be moved from it as a whole."""
    try:
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder, ignore_cleanup_errors=True) as work:
            # Packages have folders that only their owner may enter.
            os.chmod(work, 0o755)
            yield Path(work)
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror or error}") from error
