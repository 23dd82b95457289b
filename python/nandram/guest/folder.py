"""The folder of fetched programs and kernels, and the parts in it."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from nandram.errors import UserError
from nandram.options import default_cache, nearest

KERNELS = {"6.1": "bookworm", "6.12": "trixie", "6.12-amd64": "trixie", "7.3": "trixie-backports"}
"""Debian's release of each kernel: a series, in Debian's flavor for virtual machines unless another one follows."""
DEFAULT_KERNEL = "6.12"
PROGRAM_PACKAGES = (
    *("qemu-system-x86", "busybox-static", "fio", "nvme-cli", "e2fsprogs"),
    *("util-linux", "btrfs-progs", "f2fs-tools"),
)
"""Debian's packages with QEMU and the guest's programs."""
CLOUD = "cloud-amd64"
"""The flavor for virtual machines, which lacks some file systems."""
VERSIONS = "versions.json"
"""In each part: the version of every package."""
_LIBRARIES = "usr/lib/x86_64-linux-gnu"


def default_folder() -> Path:
    """Return the default folder: ``guest`` in the cache folder."""
    return Path(default_cache()) / "guest"


def series_and_flavor(kernel: str) -> tuple[str, str]:
    """Return the series and the flavor of a kernel of `KERNELS`."""
    series, _, flavor = kernel.partition("-")
    return series, flavor or CLOUD


def programs_folder(folder: Path) -> Path:
    """Return the folder of QEMU and the guest's programs."""
    return folder / "programs"


def kernel_folder(folder: Path, series: str) -> Path:
    """Return the folder of a kernel and its modules."""
    return folder / "kernels" / series


def headers_folder(folder: Path, series: str) -> Path:
    """Return the folder of a kernel's headers, with which modules are built."""
    return folder / "headers" / series


def is_complete(part: Path) -> bool:
    """Return whether a part was fetched; its folder appears as a whole.

    Programs are complete with all packages that guests can have today: an older version fetched fewer.
    """
    if not (part / VERSIONS).is_file():
        return False
    return part.name != "programs" or set(PROGRAM_PACKAGES) <= _versions(part).keys()


@dataclass(frozen=True)
class Programs:
    """Debian's tree with QEMU and the guest's programs, which need nothing of the host but its kernel."""

    tree: Path

    @property
    def loader(self) -> Path:
        """The dynamic linker that starts the tree's programs on the host."""
        return self.tree / "usr/lib64/ld-linux-x86-64.so.2"

    @property
    def libraries(self) -> Path:
        """The folder of libraries."""
        return self.tree / _LIBRARIES

    @property
    def busybox(self) -> Path:
        """The static busybox."""
        return self.tree / "usr/bin/busybox"

    @property
    def versions(self) -> dict[str, str]:
        """The version of every package."""
        return _versions(self.tree)

    @property
    def loader_line(self) -> list[str]:
        """The loader with the folders in which it searches libraries; the host's cache has others."""
        # Ceph's, which fio loads, are in a folder of their own.
        folders = f"{self.libraries}:{self.libraries}/ceph"
        return [str(self.loader), "--inhibit-cache", "--library-path", folders]

    def started(self, program: str) -> list[str]:
        """Return the start of a command line that runs a program of the tree on the host."""
        return [*self.loader_line, str(self.tree / program)]


@dataclass(frozen=True)
class Kernel:
    """A kernel to boot."""

    image: Path
    modules: Path | None = None
    """The folder of its modules; a user's own kernel has none."""
    versions: tuple[tuple[str, str], ...] = ()

    @property
    def release(self) -> str | None:
        """The release of a fetched kernel, such as ``6.12.117+deb13-cloud-amd64``."""
        return None if self.modules is None else self.modules.name


def find_programs(folder: Path) -> Programs:
    """Return the fetched programs. Raises `UserError`."""
    tree = programs_folder(folder)
    if not is_complete(tree):
        raise UserError(f"{folder}: found no programs for a guest; fetch them once with `{_fetch(folder)}`")
    return Programs(tree)


def find_kernel(folder: Path, kernel: str) -> Kernel:
    """Return a fetched kernel by its series, or a user's own by its path. Raises `UserError`."""
    if kernel in KERNELS:
        return _fetched_kernel(folder, kernel)
    path = Path(kernel)
    if "/" not in kernel and not path.exists():
        known = tuple(KERNELS)
        names = ", ".join(known)
        raise UserError(
            f"--kernel: found `{kernel}`, expected {names} or the path of a bzImage{nearest(kernel, known)}"
        )
    return Kernel(_checked_image(path))


def _fetched_kernel(folder: Path, series: str) -> Kernel:
    part = kernel_folder(folder, series)
    if not is_complete(part):
        more = "" if series == DEFAULT_KERNEL else f" --kernel {series}"
        raise UserError(f"{folder}: found no kernel {series}; fetch it once with `{_fetch(folder)}{more}`")
    modules = sorted(each for pattern in ("lib/modules/*", "usr/lib/modules/*") for each in part.glob(pattern))
    images = sorted([*part.glob("boot/vmlinuz-*"), *part.glob("usr/lib/modules/*/vmlinuz")])
    assert len(modules) == 1, modules
    assert len(images) == 1, images
    return Kernel(images[0], modules[0], tuple(sorted(_versions(part).items())))


def _fetch(folder: Path) -> str:
    return "nandram guest fetch" + ("" if folder == default_folder() else f" --folder {folder}")


def _checked_image(path: Path) -> Path:
    try:
        with path.open("rb") as file:
            head = file.read(0x206)
    except OSError as error:
        raise UserError(f"--kernel: {path}: {error.strerror}") from error
    if not re.fullmatch(rb"HdrS", head[0x202:]):
        raise UserError(f"--kernel: {path}: found no Linux boot header, expected a bzImage for x86-64")
    return path


def _versions(part: Path) -> dict[str, str]:
    versions: dict[str, str] = json.loads((part / VERSIONS).read_text())["packages"]
    return versions
