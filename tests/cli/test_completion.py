"""Completion in a shell, and the groups and examples of the help."""

import os
import re
import subprocess
import sys

import pytest

from nandram.cli import app, main
from nandram.cli.terminal.groups import GROUPS


def completed(line: str) -> list[str]:
    """Return what bash offers at the end of a command line."""
    words = line.split(" ")
    environment = {"_NANDRAM_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    code = "from nandram.cli import main; main()"
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    return found.stdout.split()


def test_presets_keys_and_papers_are_completed() -> None:
    assert completed("nandram run hmb-") == [f"hmb-{letter}" for letter in "abcdef"]
    assert completed("nandram run hmb-a --set device.hmb.s") == ["device.hmb.size="]
    assert sorted(completed("nandram compare nvme-client-tlc --set-b device.dram")) == [
        "device.dram=",
        "device.dram_bandwidth=",
    ]
    assert completed("nandram reproduce nv") == ["nvmm"]


def test_every_command_is_in_one_group() -> None:
    names = [name for names in GROUPS.values() for name in names]
    assert sorted(names) == sorted(app().commands)


@pytest.mark.parametrize("name", [name for names in GROUPS.values() for name in names])
def test_every_help_has_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([name, "--help"])
    assert re.search(rf"Example: nandram\s+{name}\b", capsys.readouterr().out)
