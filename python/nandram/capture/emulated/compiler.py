"""Compiles our plugins for QEMU, once."""

import hashlib
import os
import shlex
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

from nandram.errors import UserError
from nandram.options import default_cache

SOURCES = Path(str(files("nandram.capture.emulated"))) / "plugin"
_FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread"]


def find_compiler() -> list[str]:
    """Return the C compiler's command: ``$CC``, or cc, gcc or clang."""
    chosen = shlex.split(os.environ.get("CC", ""))
    if chosen:
        if shutil.which(chosen[0]) is None:
            raise UserError(f"CC: found `{chosen[0]}`, which is no command, expected a C compiler")
        return chosen
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name) is not None:
            return [name]
    raise UserError(
        "capture compiles its plugin for QEMU and finds no C compiler on the PATH: "
        "install one (apt-get install gcc libc6-dev)"
    )


def plugin(name: str, api: int, cache: Path | None = None) -> Path:
    """Return the shared object of ``plugin/NAME.c`` for QEMU's plugin interface of version `api`.

    It is compiled the first time and kept in `cache` (``plugins`` in nandram's cache folder), by a hash of its source
    and how it is compiled. Raises `UserError` if that cannot be done.
    """
    compiler = find_compiler()
    flags = [*_FLAGS, f"-DQEMU_API={api}"]
    sources = sorted([SOURCES / f"{name}.c", *SOURCES.glob("*.h")])
    key = hashlib.sha256(repr((compiler, flags)).encode())
    for source in sources:
        key.update(source.read_bytes())
    folder = cache if cache is not None else Path(default_cache()) / "plugins"
    path = folder / f"{name}-{key.hexdigest()[:16]}.so"
    if not path.exists():
        compile_shared(compiler, flags, SOURCES / f"{name}.c", path)
    return path


def compile_shared(compiler: list[str], flags: list[str], source: Path, path: Path) -> None:
    """Compile `source` to the shared object `path`, which is there whole or not at all."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        command = [*compiler, *flags, "-o", str(unfinished), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said = done.stderr.strip().splitlines()
            errors = [line for line in said if "error" in line]
            first = (errors or said or ["it said nothing"])[0]
            raise UserError(
                f"{source.name}: {compiler[0]} could not compile it: {first}; "
                "it needs the C library's headers (apt-get install libc6-dev)"
            )
        unfinished.replace(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        unfinished.unlink(missing_ok=True)
