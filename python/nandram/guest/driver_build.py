"""Builds the driver of storage on the memory bus for a kernel, with the host's compiler."""

import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from nandram.errors import UserError
from nandram.guest.errors import GuestError
from nandram.guest.folder import Kernel, headers_folder, is_complete
from nandram.guest.initramfs import Module

DEVICE = "/dev/drambus0"
"""The block device that the driver creates."""
_SOURCES = Path(__file__).parent / "driver"
_GCC_OF_FLAG = (("CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT", 14),)
"""Options of Debian's compiler that older ones lack: only performance depends on them."""


def driver_module(folder: Path, series: str, kernel: Kernel) -> Module:
    """Return the driver for a fetched kernel, built once and then kept in `folder`.

    Raises `UserError` if the kernel has no headers there, or the host no compiler.
    """
    release = kernel.release
    if release is None:
        raise UserError(f"--kernel: found {kernel.image}, expected a fetched kernel, for which the driver can be built")
    sources = sorted(path for path in _SOURCES.iterdir() if path.is_file())
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    kept = folder / "drivers" / f"drambus-{release}-{digest}.ko"
    if not kept.is_file():
        _build(sources, _headers(folder, series, release), kept)
    return Module("drambus.ko", kept.read_bytes())


def _headers(folder: Path, series: str, release: str) -> Path:
    tree = headers_folder(folder, series)
    found = tree / "usr/src" / f"linux-headers-{release}"
    if not is_complete(tree) or not found.is_dir():
        raise UserError(
            f"{folder}: found no headers of Linux {release}, expected them for the driver of a shared buffer; "
            f"fetch them once with `nandram guest fetch --headers --kernel {series}`"
        )
    return found


def _build(sources: list[Path], headers: Path, kept: Path) -> None:
    for program in ("gcc", "make"):
        if shutil.which(program) is None:
            raise UserError(f"guest: found no {program} on the PATH, expected it for the driver of a shared buffer")
    kept.parent.mkdir(exist_ok=True)
    # make splits paths at blanks.
    with tempfile.TemporaryDirectory(prefix="nandram-driver-") as work:
        for source in sources:
            shutil.copy(source, work)
        line = ["make", "-C", str(headers), f"M={work}", "CC=gcc", "modules", *_options()]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode:
            raise GuestError(f"the driver of a shared buffer cannot be built: {_reason(done.stdout + done.stderr)}")
        partial = kept.with_suffix(".part")
        shutil.copy(Path(work) / "drambus.ko", partial)
        partial.rename(kept)


def _options() -> list[str]:
    """Return settings of the kernel's configuration that the host's compiler does not fit, and those not needed."""
    done = subprocess.run(["gcc", "-dumpversion"], capture_output=True, text=True, check=True)
    version = int(done.stdout.partition(".")[0])
    missing = [f"{name}=" for name, since in _GCC_OF_FLAG if version < since]
    return [*missing, "CONFIG_DEBUG_INFO=", "CONFIG_DEBUG_INFO_BTF_MODULES="]


def _reason(text: str) -> str:
    """Return the first error of a build."""
    errors = re.findall(r"^.*(?:error|Error|not found).*$", text, re.MULTILINE)
    return errors[0].strip() if errors else (text.strip().splitlines() or ["make printed no message"])[-1]
