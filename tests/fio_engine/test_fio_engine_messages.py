"""Building the engine of fio where a part is missing: one line, and status 2."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path(__file__).parents[2] / "fio_engine/build.py"


def build(tmp_path: Path, programs: dict[str, str], *words: str) -> str:
    """Run the build with nothing but `programs` on the PATH; return its message."""
    path = tmp_path / "bin"
    path.mkdir()
    for name, script in programs.items():
        (path / name).write_text(f"#!/bin/sh\n{script}\n")
        (path / name).chmod(0o755)
    line = [sys.executable, str(BUILD), str(tmp_path), str(tmp_path / "out"), *words]
    environment = {**os.environ, "PATH": str(path), "CC": "cc"}
    done = subprocess.run(line, capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    return done.stderr.removeprefix("error: ").strip()


@pytest.mark.parametrize(
    ("programs", "message"),
    [
        ({}, "fio engine: found no fio on the PATH, expected one: install the package fio"),
        ({"fio": "echo fio-3.33-dirty"}, "fio engine: found fio of the version `fio-3.33-dirty`, expected a release"),
        ({"fio": "echo fio-3.33"}, "fio engine: the source of fio 3.33 cannot be had: "),
    ],
)
def test_a_missing_fio_or_source_is_one_line(tmp_path: Path, programs: dict[str, str], message: str) -> None:
    assert build(tmp_path, programs).startswith(message)


def test_a_source_that_is_not_fio_is_refused(tmp_path: Path) -> None:
    message = build(tmp_path, {}, "--source", str(tmp_path))
    assert message == f"--source: {tmp_path}: found no ioengines.h, expected the source of fio"


def test_a_missing_compiler_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "ioengines.h").touch()
    (tmp_path / "config-host.h").touch()
    message = build(tmp_path, {}, "--source", str(tmp_path))
    assert message == "fio engine: found no C compiler `cc` on the PATH, expected one: install gcc"
