"""The headers of a kernel, with which the host's compiler builds modules for it."""

import os
import re
from pathlib import Path

from nandram.errors import UserError
from nandram.guest.folder import Kernel, series_and_flavor
from nandram.guest.packages.apt import Apt

_ELF = b"\x7fELF"
_VARIANTS = {"objtool": "real-x86", "modpost": "real-lsb-64"}
"""Programs that only choose the variant for the kernel's architecture, and that variant."""
_WRAPPER = """\
#!/bin/sh
# Debian's program, which needs newer libraries than the host may have: those of the guest's programs.
tree=${0%/*}/UP
exec "$tree/usr/lib64/ld-linux-x86-64.so.2" --inhibit-cache --library-path "$tree/usr/lib/x86_64-linux-gnu" \\
    "${0%/*}/ELF" "$@"
"""


def header_packages(apt: Apt, series: str, kernel: Kernel) -> dict[str, str]:
    """Return the packages of the headers of a fetched kernel. Raises `UserError` if the mirror has newer ones only."""
    release = kernel.release
    assert release is not None
    base, flavor = series_and_flavor(series)
    common = release.removesuffix(f"-{flavor}")
    # The headers have the version of the kernel.
    version = dict(kernel.versions)[f"linux-image-{release}"]
    kbuild = f"linux-kbuild-{common}" if apt.names(f"linux-kbuild-{common}") else f"linux-kbuild-{base}"
    names = (f"linux-headers-{release}", f"linux-headers-{common}-common", kbuild)
    for name in names:
        if name not in apt.names(name):
            raise UserError(
                f"--headers: found no package {name}, expected the headers of the kernel in the folder; "
                f"delete its folder kernels/{series} to fetch a newer one"
            )
    return dict.fromkeys(names, version)


def adapt(tree: Path) -> None:
    """Let a tree of headers work where it is: relative paths, and programs started with the guest's libraries."""
    for makefile in tree.glob("usr/src/linux-headers-*/Makefile"):
        text = makefile.read_text()
        # The last word of MAKEFILE_LIST is the file that is being read, wherever the build was started.
        here = "sources := $(dir $(abspath $(lastword $(MAKEFILE_LIST)))).."
        makefile.write_text(f"{here}\n{re.sub(r'(?<=[ =])/usr/src/', '$(sources)/', text)}")
    for kbuild in tree.glob("usr/lib/linux-kbuild-*"):
        programs = [path for path in kbuild.rglob("*") if _is_program(path)]
        for path in programs:
            _wrap(path, tree, programs)


def _is_program(path: Path) -> bool:
    if path.is_symlink() or not path.is_file() or not os.access(path, os.X_OK):
        return False
    with path.open("rb") as file:
        return file.read(4) == _ELF


def _wrap(path: Path, tree: Path, programs: list[Path]) -> None:
    """Replace a program by a script that starts it, or its variant for the architecture if there is one."""
    path.rename(path.with_name(f"{path.name}.elf"))
    variant = path.with_name(f"{path.name}.{_VARIANTS.get(path.name)}")
    # The tree is later moved to headers/SERIES, next to programs.
    up = "/".join([".."] * len(path.parent.relative_to(tree).parts)) + "/../../programs"
    name = variant.name if variant in programs else path.name
    path.write_text(_WRAPPER.replace("UP", up).replace("ELF", f"{name}.elf"))
    path.chmod(0o755)
