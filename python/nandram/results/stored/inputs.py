"""The inputs of a run, stored in its output folder so that it can be repeated elsewhere.

run.json           the command, version and commit of the program, and the run's system, workload and options
inputs/system/     the system's file and the files that it extends; none for a preset
inputs/workload/   the job or trace, unless it is larger than 64 MiB or names other files
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from nandram.errors import UserError
from nandram.hashes import program_hash

if TYPE_CHECKING:
    from nandram.results.result import Result
    from nandram.simulate import Progress

FILE = "run.json"
FOLDER = "inputs"
BYTES_MAX = 1 << 26
"""Maximum size of a workload that is stored."""
_SAVED = ("system", "changes", "workload", "options", "command")
_NAMES_FILES = re.compile(rb"^\s*(include|read_iolog|write_iolog|replay_redirect)\b", re.MULTILINE)


@dataclass
class Inputs:
    """What a run was made from."""

    system: str
    """A preset's name or a file, as given."""
    changes: list[str]
    workload: str | list[str]
    """A file as given, or fio's options."""
    options: dict[str, Any]
    """The options of `nandram.run` that differ from their defaults."""
    command: list[str] = field(default_factory=lambda: list(sys.argv))
    """The command line of the process."""
    content: bytes | None = None
    """The workload, if its file is gone when the result is written."""
    source: "Stored | None" = None
    """The folder whose copies were run."""

    def write(self, folder: Path, workload_sha256: str) -> None:
        """Write ``run.json`` and the files; `workload_sha256` is that of the workload that ran. Raises `OSError`."""
        shutil.rmtree(folder / FOLDER, ignore_errors=True)
        found: dict[str, Any] = {name: getattr(self, name) for name in _SAVED}
        found |= {"version": _version(), "commit": commit(), "program_sha256": program_hash().hex()}
        if self.source is None:
            found["stored_system"] = self._store_system(folder)
            found["stored_workload"] = self._store_workload(folder, workload_sha256)
        else:
            found |= {"stored_system": self.source.system, "stored_workload": self.source.workload}
            if (self.source.folder / FOLDER).is_dir():
                shutil.copytree(self.source.folder / FOLDER, folder / FOLDER)
        (folder / FILE).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")

    def _store_system(self, folder: Path) -> str | None:
        """Copy the system's file and those that it extends, with their places relative to each other."""
        files = _chain(self.system)
        if not files:
            return None
        common = Path(os.path.commonpath([file.parent for file in files]))
        for file in files:
            copy = folder / FOLDER / "system" / file.relative_to(common)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
        return files[0].relative_to(common).as_posix()

    def _store_workload(self, folder: Path, workload_sha256: str) -> str | None:
        if isinstance(self.workload, list):
            return None
        import hashlib

        from nandram.language.measures import is_served

        path = Path(self.workload)
        content = self.content
        if content is None:
            if not path.is_file() or path.stat().st_size > BYTES_MAX:
                return None
            content = path.read_bytes()
        name = (
            path.name
            if self.content is None
            else f"stdin.{'toml' if is_served(content.decode(errors='replace')) else 'fio'}"
        )
        is_job = name.endswith(".fio") and _NAMES_FILES.search(content)
        if is_job or hashlib.sha256(content).hexdigest() != workload_sha256:
            return None
        copy = folder / FOLDER / "workload" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
        return name


def _chain(source: str) -> list[Path]:
    """Return the full paths of a system's file and of those that it extends; empty for a preset."""
    from nandram.system import systems

    found: list[Path] = []
    presets, name, folder = systems(), source, Path()
    # A preset's name stands for the preset, even if there is a file of this name.
    while name not in presets:
        path = Path(os.path.abspath(folder / name))
        found.append(path)
        extended = tomllib.loads(path.read_text(encoding="utf-8")).get("extends")
        if extended is None:
            break
        name, folder = extended, path.parent
    return found


def _version() -> str:
    from importlib.metadata import version

    return version("nandram")


@cache
def commit() -> str | None:
    """Return the commit of the source tree that this package is used from; None for an installed package."""
    tree = Path(__file__).parents[4]
    if not (tree / "pyproject.toml").is_file() or not (tree / ".git").exists():
        return None
    try:
        found = subprocess.run(
            ["git", "-C", str(tree), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()


@dataclass(frozen=True)
class Stored:
    """The inputs in a folder of results."""

    folder: Path
    inputs: Inputs
    version: str
    commit: str | None
    program_sha256: str
    system: str | None
    """Name of the copy of the system's file; None for a preset."""
    workload: str | None
    """Name of the copy of the workload; None if there is none."""

    def other_program(self) -> str | None:
        """Return a line on the program that made the results, unless it is this one."""
        if self.program_sha256 == program_hash().hex():
            return None
        made = f"version {self.version}, commit {self.commit or 'unknown'}"
        return f"made by another build: {made}; this is version {_version()}, commit {commit() or 'unknown'}"

    def run(self, progress: "Progress | None" = None, request_log: Path | None = None) -> "Result":
        """Run the inputs again, from their copies; `request_log` as in `nandram.run`. Raises `UserError`."""
        from nandram.simulate import run
        from nandram.system import System

        given = self.inputs
        with _staged(self.folder / FOLDER) as place:
            names: list[tuple[str, str]] = []
            system = given.system
            if self.system is not None:
                system = str(place / "system" / self.system)
                names.append((_folder_of(system), _folder_of(given.system)))
            workload = given.workload
            if self.workload is not None and isinstance(workload, str):
                staged = str(place / "workload" / self.workload)
                names += [(staged, workload), (_folder_of(staged), _folder_of(workload))]
                workload = staged
            changed = System(system, tuple(given.changes))
            found = run(changed, workload, progress=progress, request_log=request_log, **given.options)
        for here, there in names:
            found.rename(here, there)
        found.inputs = replace(given, source=self)
        return found


@contextlib.contextmanager
def _staged(folder: Path) -> Iterator[Path]:
    """Yield a copy of the stored files in a folder whose name is in no result."""
    with TemporaryDirectory(prefix="nandram-") as place:
        copy = Path(place, "inputs")
        if folder.is_dir():
            shutil.copytree(folder, copy)
        yield copy


def _folder_of(name: str) -> str:
    folder = os.path.dirname(name)
    return f"{folder}/" if folder else ""


def read(folder: Path) -> Stored:
    """Read the inputs of a result. Raises `UserError`."""
    try:
        found = json.loads((folder / FILE).read_text(encoding="utf-8"))
        rest = (found["version"], found["commit"], found["program_sha256"])
        return Stored(
            folder,
            Inputs(**{name: found[name] for name in _SAVED}),
            *rest,
            found["stored_system"],
            found["stored_workload"],
        )
    except FileNotFoundError:
        raise UserError(f"{folder}: found no {FILE}, expected a result written by `nandram run -o`") from None
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UserError(f"{folder / FILE}: cannot be read: {error}") from error
