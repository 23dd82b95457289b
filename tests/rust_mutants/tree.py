"""A copy of the project with mutants in it.

Files that did not change keep their times, so that builds are incremental.
"""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from rust_mutants.rewrite import rewrite
from rust_mutants.sites import ROOT, Mutant

SIM = "crates/engine/sim/src"
ALLOW = "#![allow(warnings, clippy::all, arithmetic_overflow, overflowing_literals, unconditional_panic)]\n"
HOOK = """//! Chooses the mutant of this process, and reports which ones it reaches.

use std::sync::atomic::{{AtomicBool, AtomicU32, Ordering::Relaxed}};

const UNREAD: u32 = u32::MAX;
static CHOSEN: AtomicU32 = AtomicU32::new(UNREAD);
static REACHED: [AtomicBool; {count}] = [const {{ AtomicBool::new(false) }}; {count}];

/// Returns true if `NANDRAM_MUTANT` is `number`.
#[inline]
pub fn mutant(number: u32) -> bool {{
    if !REACHED[number as usize].load(Relaxed) {{
        reach(number);
    }}
    CHOSEN.load(Relaxed) == number
}}

#[cold]
fn reach(number: u32) {{
    if CHOSEN.load(Relaxed) == UNREAD {{
        let chosen = std::env::var("NANDRAM_MUTANT").ok().and_then(|number| number.parse().ok());
        CHOSEN.store(chosen.unwrap_or(UNREAD - 1), Relaxed);
    }}
    REACHED[number as usize].store(true, Relaxed);
    if let Ok(path) = std::env::var("NANDRAM_MUTANTS_REACHED") {{
        use std::io::Write;
        let mut file = std::fs::File::options().create(true).append(true).open(path).expect("a file");
        file.write_all(format!("{{number}}\\n").as_bytes()).expect("written");
    }}
}}
"""


def _write(path: Path, content: bytes) -> None:
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _files() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def make_tree(tree: Path, drawn: Sequence[Mutant]) -> None:
    """Copy the project, and put the drawn mutants into the copy, numbered from 0."""
    by_file: dict[str, dict[int, Mutant]] = {}
    for number, mutant in enumerate(drawn):
        by_file.setdefault(mutant.file, {})[number] = mutant
    names = _files()
    for old in tree.rglob("*.rs"):
        if old.relative_to(tree).as_posix() not in names and old.name != "mutant.rs":
            old.unlink()
    for name in names:
        _write(tree / name, _mutated(name, by_file))
    _write(tree / SIM / "mutant.rs", HOOK.format(count=len(drawn)).encode())


def _mutated(name: str, by_file: Mapping[str, Mapping[int, Mutant]]) -> bytes:
    content = (ROOT / name).read_bytes()
    if name in by_file:
        hook = "crate::mutant" if name.startswith(SIM) else "::sim::mutant"
        content = rewrite(content, by_file[name], hook).encode()
    crate = name.removesuffix("/lib.rs")
    if name == f"{SIM}/lib.rs":
        content += b"mod mutant;\npub use mutant::mutant;\n"
    if name.endswith("/lib.rs") and any(file.startswith(f"{crate}/") for file in by_file):
        content = ALLOW.encode() + content
    return content
