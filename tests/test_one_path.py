"""One path for each request, as ARCHITECTURE.md promises."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
INLINE_MAX = 15
"""Limit of inline attributes in the crates of the path."""
INLINE_MAX_TREE = 60
"""Limit of inline attributes in all crates."""
PATH = [
    "crates/engine/sim",
    "crates/engine/media",
    "crates/machine/host_interface",
    "crates/machine/storage",
    "crates/parts/device",
    ":(glob)crates/parts/host/src/*.rs",
    "crates/parts/host/src/shared_buffer",
]


def sources(*folders: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.splitlines() if name.endswith(".rs")]


@pytest.mark.parametrize("attribute", [r"inline\(always\)", r"inline\(never\)|cold"])
@pytest.mark.parametrize(("folders", "limit"), [(PATH, INLINE_MAX), (["crates"], INLINE_MAX_TREE)])
def test_attributes_for_the_compiler_are_few(attribute: str, folders: list[str], limit: int) -> None:
    count = sum(len(re.findall(rf"#\[(?:{attribute})\]", path.read_text())) for path in sources(*folders))
    assert 0 < count <= limit


def test_a_machine_is_driven_by_three_calls() -> None:
    """A drive has three calls: submit, next_event, advance."""
    source = (ROOT / "crates/machine/storage/src/machine/advance.rs").read_text()
    inherent = source[source.index("impl Machine {") : source.index("impl sim::Machine")]
    assert re.findall(r"\n    pub fn (\w+)", inherent) == ["submit", "next_event", "advance"]
