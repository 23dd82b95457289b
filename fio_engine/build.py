"""Builds the engine for the fio on the PATH: `python fio_engine/build.py LIBRARIES OUTPUT [--source FOLDER]`.

LIBRARIES is the folder of `libnandram.so`. The source of fio, for its headers, comes from Debian, or from `--source`.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from nandram.errors import UserError
from nandram.guest.packages.apt import KEYS, Apt
from nandram.guest.packages.sources import debian_mirror

HERE = Path(__file__).parent
INCLUDE = HERE.parent / "crates/doors/capi/include"
RELEASES = ("bookworm", "trixie")
_FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-Wall", "-Wextra", "-Werror")
# fio's callbacks have unused parameters, and its headers compare signed with unsigned numbers.
_FIO = ("-Wno-unused-parameter", "-Wno-sign-compare", "-D_GNU_SOURCE")


def version() -> str:
    """Return the version of the fio on the PATH. Raises `UserError`."""
    if shutil.which("fio") is None:
        raise UserError("fio engine: found no fio on the PATH, expected one: install the package fio")
    found = subprocess.run(["fio", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    match = re.fullmatch(r"fio-(\d+\.\d+(?:\.\d+)?)", found)
    if match is None:
        raise UserError(
            f"fio engine: found fio of the version `{found}`, expected a release, or its source with --source"
        )
    return match[1]


def download(number: str, folder: Path) -> Path:
    """Download the source of a version from Debian; return its folder. Raises `UserError`."""
    try:
        mirror = debian_mirror()
        keys = Path(mirror.signed_by or KEYS)
        with tempfile.TemporaryDirectory(prefix=".apt-", dir=folder) as work:
            # apt reads packages as a user of its own.
            os.chmod(work, 0o755)
            apt = Apt(Path(work).absolute() / "apt", mirror.address, keys, RELEASES, sources=True)
            apt.update()
            archive = apt.source("fio", number, Path(work) / "source")
            with tarfile.open(archive) as tar:
                tar.extractall(folder, filter="data")
    except UserError as error:
        raise UserError(f"fio engine: the source of fio {number} cannot be had: {error}; or give --source") from error
    return folder / f"fio-{number}"


def configure(source: Path) -> None:
    """Run fio's configuration once. Raises `UserError`."""
    if not (source / "ioengines.h").is_file():
        raise UserError(f"--source: {source}: found no ioengines.h, expected the source of fio")
    if not (source / "config-host.h").is_file():
        run("sh", "./configure", "--disable-native", folder=source)


def run(*line: str | Path, folder: Path | None = None) -> None:
    """Run a program. Raises `UserError` with the first line that names an error."""
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        lines = (done.stderr + done.stdout).strip().splitlines() or ["it printed no message"]
        raise UserError(f"{line[0]}: {next((each for each in lines if 'error' in each), lines[-1])}")


def compile_engine(source: Path, libraries: Path, output: Path) -> None:
    """Compile the engine, and link it with a copy of the library next to it. Raises `UserError`."""
    compiler = os.environ.get("CC", "cc")
    if shutil.which(compiler) is None:
        raise UserError(f"fio engine: found no C compiler `{compiler}` on the PATH, expected one: install gcc")
    shutil.copy(libraries / "libnandram.so", output)
    with tempfile.TemporaryDirectory(prefix=".build-", dir=output) as work:
        turns, engine = Path(work) / "turns.o", Path(work) / "engine.o"
        run(compiler, *_FLAGS, "-I", INCLUDE, "-c", "-o", turns, HERE / "turns.c")
        config = ("-include", source / "config-host.h", "-I", source, "-I", INCLUDE)
        run(compiler, *_FLAGS, *_FIO, *config, "-c", "-o", engine, HERE / "engine.c")
        link = (f"-L{output}", "-lnandram", "-Wl,-z,nodelete", "-Wl,-rpath,$ORIGIN", "-lpthread")
        run(compiler, "-shared", "-o", output / "libnandram_fio.so", engine, turns, *link)


def main() -> int:
    """Build; return 2 after a mistake or where a part cannot be had."""
    parser = argparse.ArgumentParser(description="Build nandram's engine for the fio on the PATH.")
    parser.add_argument("libraries", type=Path, help="folder with libnandram.so")
    parser.add_argument("output", type=Path, help="folder for the engine")
    parser.add_argument("--source", type=Path, help="source of fio, instead of Debian's")
    words = parser.parse_args()
    try:
        words.output.mkdir(parents=True, exist_ok=True)
        source = words.source or words.output / f"fio-{version()}"
        if words.source is None and not source.is_dir():
            source = download(version(), words.output)
        configure(source.absolute())
        compile_engine(source.absolute(), words.libraries, words.output.absolute())
    except (UserError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
