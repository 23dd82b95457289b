"""Interrupts at any time, and calls in other locales."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import TINY

WHILE_IMPORTING = """
import sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "MODULE":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
import nandram.__main__
nandram.__main__.main()
"""


@pytest.mark.parametrize("module", ["typer", "nandram.system"], ids=["command", "simulator"])
def test_an_interrupt_during_an_import_is_one_line(module: str) -> None:
    code = WHILE_IMPORTING.replace("MODULE", module)
    command = [sys.executable, "-c", code, "show", "nvme-client-tlc"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "interrupted\n")


LOCALES = {
    "C": {"LC_ALL": "C"},
    "ascii": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "ascii-output": {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
}


@pytest.mark.parametrize("locale", LOCALES.values(), ids=LOCALES)
@pytest.mark.parametrize("arguments", [["check", "jöb.fio"], ["run", TINY, "jöb.fio", "--cache", "none"]])
def test_a_locale_without_unicode_gives_a_result_or_a_line(
    arguments: list[str], locale: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "jöb.fio").write_text("[job]\nrw=randread\nbs=4k\nnumber_ios=10\n")
    found = subprocess.run(
        [sys.executable, "-m", "nandram", *arguments],
        cwd=tmp_path,
        env={**os.environ, **locale},
        capture_output=True,
        check=False,
    )
    error = found.stderr.decode()
    assert found.returncode in (0, 2), error
    assert error.count("\n") == (1 if found.returncode else 0), error


def test_an_argument_that_is_no_text_is_one_line() -> None:
    command: list[str | bytes] = [sys.executable, "-m", "nandram", "show", b"\xff"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert found.stderr.startswith("error: found `\\udcff`, expected a text in ")
    assert found.stderr.count("\n") == 1
