"""Test programs: their build, and runs of each under limits, with one mutant or none."""

import json
import math
import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rust_mutants.sites import TARGET

MEMORY = 4 << 30
"""Bytes of address space of a test program: a mutant that takes more is killed."""


@dataclass(frozen=True)
class Program:
    """A test program of a package."""

    package: str
    target: str
    """`lib`, or the name of a file in `tests/`."""
    path: str
    folder: str
    """Where cargo runs it."""

    @property
    def name(self) -> str:
        """Package and target."""
        return f"{self.package}:{self.target}"


def _cargo(tree: Path, selection: Sequence[str]) -> list[Program]:
    command = ["cargo", "test", "--no-run", "--quiet", "--message-format=json-render-diagnostics", *selection]
    # In a folder of its own: cargo takes crates at the same place of two copies for the same ones.
    env = {**os.environ, "CARGO_TARGET_DIR": str(TARGET / "mutants")}
    done = subprocess.run(command, cwd=tree, env=env, check=True, stdout=subprocess.PIPE, text=True)
    programs = []
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["executable"] and message["profile"]["test"]:
            folder = Path(message["manifest_path"]).parent
            target = message["target"]
            name = "lib" if "lib" in target["kind"] else target["name"]
            programs.append(Program(folder.name, name, message["executable"], str(folder)))
    return programs


def build(tree: Path, names: Iterable[str]) -> list[Program]:
    """Build the tests with these names: of a package, or `package:target`."""
    targets: dict[str, list[str]] = {}
    for name in sorted(names):
        package, _, target = name.partition(":")
        targets.setdefault(package, []).append(target)
    whole = [package for package, of in targets.items() if "" in of]
    programs = _cargo(tree, ["--lib", "--tests", *(part for package in whole for part in ("--package", package))])
    for package, of in targets.items():
        if package not in whole:
            flags = [part for target in of for part in (("--lib",) if target == "lib" else ("--test", target))]
            programs += _cargo(tree, ["--package", package, *flags])
    return programs


@dataclass(frozen=True)
class Run:
    """How a run ended."""

    passed: bool
    cause: str
    """Test that failed, or limit that was exceeded."""
    seconds: float
    """Processor time."""


def _limit(pid: int, seconds: int) -> None:
    resource.prlimit(pid, resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.prlimit(pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))


def run(program: Program, env: Mapping[str, str], most: float) -> Run:
    """Run a program until its first failure, or for `most` seconds of processor time."""
    quiet = {"PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1", "INSTA_UPDATE": "no", "RUST_BACKTRACE": "0"}
    process = subprocess.Popen(
        [program.path, "--test-threads=1"],
        cwd=program.folder,
        env={**os.environ, **_cargo_env(program), **quiet, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    _limit(process.pid, math.ceil(most))
    # A program that waits for ever takes no processor time.
    late = threading.Timer(20 * most + 60, _kill, [process])
    late.start()
    test, cause = "", ""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("test ") and " ... " in line:
            test = line.split()[1]
        if line.rstrip().endswith("FAILED") and not line.startswith("test result"):
            cause = test
            _kill(process)
            break
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    late.cancel()
    if not cause and process.returncode != 0:
        cause = f"exit status {process.returncode}"
        if process.returncode < 0:
            cause = f"{signal.Signals(-process.returncode).name} after {test}"
    return Run(not cause, cause, usage.ru_utime + usage.ru_stime)


def _kill(process: "subprocess.Popen[str]") -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _cargo_env(program: Program) -> dict[str, str]:
    """Return what cargo would set for the program."""
    return {"CARGO_MANIFEST_DIR": program.folder, "PROPTEST_RNG_SEED": "20261122"}


def reached(program: Program, env: Mapping[str, str], file: Path, most: float) -> tuple[Run, set[int], float]:
    """Run a program without a mutant; return how it ended, the mutants that it reaches, and its duration."""
    file.unlink(missing_ok=True)
    begin = time.monotonic()
    ended = run(program, {**env, "NANDRAM_MUTANTS_REACHED": str(file)}, most)
    numbers = {int(line) for line in file.read_text().split()} if file.is_file() else set()
    return ended, numbers, time.monotonic() - begin
