"""Mutated inputs of every kind end with one line or a result: a few here, 1,000 in CI, 20,000 with `make hunt`."""

import subprocess
import sys
from pathlib import Path

import pytest


def hunt(count: int) -> None:
    program = Path(__file__).parent / "mutations.py"
    command = [sys.executable, str(program), "--seed", "1", "--count", str(count)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def test_mutated_inputs_end_in_a_line_or_a_result() -> None:
    hunt(64)


@pytest.mark.system
def test_a_thousand_mutated_inputs_end_in_a_line_or_a_result() -> None:
    hunt(1_000)
