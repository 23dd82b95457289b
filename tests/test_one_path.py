"""One path for each request, as ARCHITECTURE.md promises."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
REMOVED = {
    "crates/engine": "by_field WATCHED",
    "crates/machine/host_interface": """admit_one announce complete_at_once deliver foresees_end hand_over has_seen_all
        looks_ahead post_at_once posts_at_once skip_to stepwise""",
    "crates/machine/storage": """common_event decoded next_end next_end_watched other_event reaped serve skip_to
        submit_alone submit_watched take_in transferred""",
    "crates/parts/device": """admit_one foresees foresees_end is_direct looks_ahead posts_at_once skip_to stepwise""",
    "crates/parts/dram_cache": "miss_apart",
    "crates/parts/ftl": "end_whole_read read_whole reads_plainly start_whole_read whole_read_done",
    "crates/parts/host": "complete_at_once has_seen_all looks_ahead skip_to",
    "crates/parts/nvmm": "read_alone read_ended",
}
"""Functions that bypassed the path, by folder."""
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


@pytest.mark.parametrize("folder", REMOVED)
def test_ways_around_the_path_are_gone(folder: str) -> None:
    text = {path: path.read_text() for path in sources(folder) if "src" in path.parts}
    assert text
    functions = re.compile(rf"\b(?:fn|const) ({'|'.join(REMOVED[folder].split())})\b")
    assert {path.name: functions.findall(source) for path, source in text.items() if functions.search(source)} == {}


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
