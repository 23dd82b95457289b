"""Finds kernel modules, and those that they depend on, in the order in which they are loaded."""

import gzip
import lzma
import re
from collections.abc import Callable
from pathlib import Path

from nandram.errors import UserError
from nandram.guest.folder import Kernel
from nandram.guest.initramfs import Module
from nandram.options import nearest


def _zstd(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj().decompress(data)


_DEVICES = ("virtio_pci", "virtio_console", "nvme")
"""Drivers of the console and of NVMe drives: built into most kernels, but not into Debian's 6.1 or its generic ones."""
_PACKED: dict[str, Callable[[bytes], bytes]] = {".xz": lzma.decompress, ".gz": gzip.decompress, ".zst": _zstd}


def find_modules(kernel: Kernel, names: list[str]) -> list[Module]:
    """Return the modules of `names`, each after those that it depends on. Raises `UserError`.

    The modules of the console to the host, and of the drive, come first. A name with a slash or the suffix ``.ko`` is a
    file of the host; others are modules of the kernel's package.
    """
    found: dict[str, Module] = {}
    available = _available(kernel)
    devices = [name for name in _DEVICES if name in available]
    for name in (*devices, *names):
        _add(name, found, available, kernel)
    return list(found.values())


def _add(name: str, found: dict[str, Module], available: dict[str, Path | None], kernel: Kernel) -> None:
    own = "/" in name or name.endswith(".ko")
    key = _key(Path(name).name.removesuffix(".ko"))
    if key in found:
        return
    path = Path(name) if own else _of_the_kernel(key, name, available, kernel)
    if path is None:  # built in
        return
    content = _read(path)
    depends = re.search(rb"\0depends=([^\0]*)\0", content)
    if depends is None:
        raise UserError(f"--module: {path}: found no module information, expected a kernel module (.ko)")
    for other in depends[1].decode().split(","):
        if other:
            _add(other, found, available, kernel)
    found[key] = Module(f"{key}.ko", content)


def _of_the_kernel(key: str, name: str, available: dict[str, Path | None], kernel: Kernel) -> Path | None:
    if key in available:
        return available[key]
    if kernel.modules is None:
        raise UserError(f"--module: found `{name}`, expected a .ko file: {kernel.image} came without modules")
    raise UserError(f"--module: Linux {kernel.release} has no module `{name}`{nearest(key, tuple(available))}")


def _available(kernel: Kernel) -> dict[str, Path | None]:
    """Return the files of a kernel's modules by name; None for those that are built in."""
    if kernel.modules is None:
        return {}
    files: dict[str, Path | None] = {
        _key(path.name.partition(".ko")[0]): path for path in kernel.modules.rglob("*.ko*")
    }
    listed = kernel.modules / "modules.builtin"
    for line in listed.read_text().splitlines() if listed.is_file() else []:
        files.setdefault(_key(Path(line).name.removesuffix(".ko")), None)
    return files


def _read(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return _PACKED.get(path.suffix, bytes)(data)
    except (OSError, EOFError, lzma.LZMAError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "is damaged"
        raise UserError(f"--module: {path}: {reason}") from error


def _key(name: str) -> str:
    """Return a module's name as the kernel spells it."""
    return name.replace("-", "_")
