"""The shape of the Rust sources: sizes of structs, attributes, import circles, and what a release leaves out."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import rust_sources
from graphs import circles
from rust_imports import Crate

ROOT = Path(__file__).parents[1]
FIELDS_MAX = 20
FLAGS_MAX = 3
ATTRIBUTES_MAX = 60
CIRCLE_MAX = 3
NAMED_CIRCLE = re.compile(r"^\* `(?P<folder>crates/[\w/]+)/`, (?P<files>\d+) files: ", re.MULTILINE)

# Structs with more fields or flags, each with its reason.
LARGER = {
    "doors/guest/src/controller/mod.rs Controller": "the registers, queues and features that NVMe gives one controller",
    "doors/memory/src/cache/frames.rs Frame": "independent states of a frame, packed as thousands of frames exist",
    "doors/memory/src/storage/mod.rs Storage": "the requests, checksums and commit records of a file share one order",
    "machine/workload/src/fio/job.rs Job": "configuration: one field per fio key",
    "machine/workload/src/player/generated.rs Extras": "state of optional fio keys, one field per key",
    "machine/workload/src/player/mod.rs Lifecycle": "state of optional fio keys, one field per key",
    "machine/system/src/system.rs System": "a record: one field per section of a system file",
    "parts/dram/src/controller/channel.rs Channel": "the steps of a burst share one queue and one set of constraints",
    "parts/dram/src/device/timing.rs Timing": "a record: one field per timing parameter of JEDEC",
    "parts/dram_cache/src/lib.rs Hybrid": "tables of lines, fetches and write-backs that refer to each other by index",
    "parts/ftl/src/config.rs Buffers": "configuration",
    "parts/ftl/src/stats.rs Stats": "a record: one field per counter",
    "parts/host/src/cpu/thread.rs Thread": "a thread's place in its program, its caches and its misses in flight",
    "parts/host/src/linux/mod.rs Linux": "tables of memory management that refer to each other by index",
    "parts/nand/src/die.rs Die": "the state of a die, which the scheduler updates field by field",
    "parts/nand/src/schedule/op.rs Op": "progress of one operation, which the scheduler updates field by field",
    "parts/nand/src/store/view.rs BlockView": "a record for readers of the flash",
    "parts/nand/src/tables.rs Tables": "constants derived from the configuration once, one field each",
    "parts/nvmm/src/durability/mod.rs Due": "reasons for a commit, each set and cleared by itself",
    "parts/nvmm/src/space/collect.rs Collector": "two settings of the caller, and what one collection has found so far",
    "parts/nvmm/src/table/status.rs Permissions": "a record: the permissions of a page, one flag each",
    "machine/storage/src/machine/mod.rs Machine": "flags that each event looks at, in place of what they stand for",
}
CRATES = sorted(path.parent for path in ROOT.glob("crates/*/*/Cargo.toml"))
FEATURE = "injected-faults"
# Packages of which a release is built.
RELEASED = ("py", "capi", "clock_plugin", "nbd_plugin")


def test_structs_are_small_or_have_a_reason() -> None:
    structs = list(rust_sources.structs())
    assert len(structs) > 500
    larger = {name: (fields, flags) for name, fields, flags in structs if fields > FIELDS_MAX or flags > FLAGS_MAX}
    assert {name: size for name, size in larger.items() if name not in LARGER} == {}
    assert sorted(LARGER.keys() - larger.keys()) == []


@pytest.mark.parametrize("pattern", [r"#\[inline\(always\)\]", r"#\[inline\(never\)\]|#\[cold\]"])
def test_attributes_for_the_code_generator_are_few(pattern: str) -> None:
    assert 0 < rust_sources.attributes(pattern) <= ATTRIBUTES_MAX


def circles_of(crate: Path) -> list[tuple[str, int]]:
    """Return the folder and the number of files of each circle of more than three files in a crate."""
    found = []
    for circle in circles(Crate(crate / "src").imports()):
        if len(circle) > CIRCLE_MAX:
            files = [crate.relative_to(ROOT).joinpath("src", *module) for module in circle]
            found.append((os.path.commonpath(files), len(circle)))
    return found


def test_circles_of_more_than_3_files_are_those_that_the_architecture_names() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    named = [(found["folder"], int(found["files"])) for found in NAMED_CIRCLE.finditer(text)]
    assert sorted(circle for crate in CRATES for circle in circles_of(crate)) == sorted(named)


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def test_imports_are_found_in_every_form(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod a;\nuse a::X;\npub(crate) use a::Y;\n",
        "a.rs": "use crate::{c, b::{self, d::Name}};\n// use crate::e;\npub struct X;\npub struct Y(c::Z);\n",
        "b/mod.rs": "mod d;\nuse d::Name;\npub struct Other;\n",
        "b/d.rs": "fn f() { super::super::c::g() }\nuse super::Other;\npub enum Name {}\n",
        "c.rs": "pub use crate::a::X;\npub fn g() {}\npub struct Z;\n#[cfg(test)]\nmod tests {\n    use crate::b;\n}\n",
        "e.rs": 'use crate::*;\nfn f() -> &\'static str { "crate::b::d" }\npub(in crate::b) struct Own;\n',
    }
    write(tmp_path, files)
    assert Crate(tmp_path).imports() == {
        (): {("a",)},
        ("a",): {("b", "d"), ("c",)},
        ("b",): {("b", "d")},
        ("b", "d"): {("b",), ("c",)},
        ("c",): set(),
        ("e",): {()},
    }


def test_a_name_that_a_module_exports_leads_to_its_file(tmp_path: Path) -> None:
    files = {
        "lib.rs": "pub use a::{c::Third as Fifth, First};\n",
        "a/mod.rs": "mod b;\npub use b::{First, Second as Renamed};\npub use c::*;\npub struct Own(c::Third);\n",
        "a/b.rs": "use super::Third;\npub struct First;\npub struct Second;\n",
        "a/c.rs": "use crate::a::{First, Own};\npub struct Third;\n",
        "d.rs": "use crate::e::Fourth;\nuse crate::Fifth;\nuse crate::a;\nfn f(_: a::Own) {}\n",
        "e.rs": "pub use crate::a::Renamed as Fourth;\n",
    }
    write(tmp_path, files)
    assert Crate(tmp_path).imports() == {
        (): set(),
        ("a",): {("a", "c")},
        ("a", "b"): {("a", "c")},
        ("a", "c"): {("a",), ("a", "b")},
        ("d",): {("a",), ("a", "b"), ("a", "c")},
        ("e",): set(),
    }


def features(package: str, edges: str) -> str:
    command = ["cargo", "tree", "--offline", "--package", package, "--edges", edges]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
@pytest.mark.parametrize("package", RELEASED)
def test_a_release_has_no_injected_fault(package: str) -> None:
    found = features(package, "normal,build,features")
    assert found.startswith(package)
    assert not re.search(rf"{FEATURE}|\btestkit\b", found)


def faults() -> list[str]:
    """Return the names of all faults that tests inject into parts."""
    texts = [path.read_text() for path in ROOT.glob("crates/*/*/src/injected.rs")]
    return [name for text in texts for name in re.findall(r"^    ([A-Z]\w{5,}),$", text, re.MULTILINE)]


def test_the_extension_names_no_fault() -> None:
    core = pytest.importorskip("nandram._core")
    names = faults()
    assert {"JournalSkipped", "TagKept", "ErasedEarly", "FlushSkipped"} <= set(names)
    content = Path(core.__file__).read_bytes()
    assert [name for name in names if name.encode() in content] == []


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_the_tests_of_a_part_have_its_faults() -> None:
    assert f'ftl feature "{FEATURE}"' in features("ftl", "normal,dev,features")


def test_only_the_testkit_turns_faults_on_and_only_for_tests() -> None:
    offering = set()
    for crate in CRATES:
        manifest = tomllib.loads((crate / "Cargo.toml").read_text())
        if FEATURE in manifest.get("features", {}):
            offering.add(crate.name)
            assert FEATURE not in manifest["features"].get("default", []), crate.name
        if crate.name != "testkit":
            targets = [manifest, *manifest.get("target", {}).values()]
            for table in ("dependencies", "build-dependencies", "dev-dependencies"):
                found = [each for target in targets for each in target.get(table, {}).items()]
                assert FEATURE not in str(found), crate.name
                assert table == "dev-dependencies" or "testkit" not in dict(found), crate.name
    assert offering == {"sim", "ftl", "nvmm", "dram_cache", "memory", "zones"}
