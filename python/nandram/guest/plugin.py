"""The plug-in that lets a served drive share QEMU's virtual clock."""

from pathlib import Path

from nandram.errors import UserError


def plugin_path() -> Path:
    """Return the plug-in's library for ``qemu-system-x86_64 -plugin PATH,channel=CHANNEL``. Raises `UserError`."""
    path = Path(__file__).parent / "lib" / "libnandram_clock.so"
    if not path.exists():
        raise UserError(f"{path}: the clock plug-in was not built, expected an installation on Linux or `make build`")
    return path
