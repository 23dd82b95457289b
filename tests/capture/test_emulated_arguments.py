"""Mistakes that are reported before any program runs, and the files that are written."""

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from capture.trace_model import read_pages
from nandram.capture import capture_memory, capture_pages
from nandram.capture.emulated import compiler
from nandram.capture.emulated.cache_shapes import CacheShape, parse_cache, parse_size, size_text
from nandram.capture.emulated.elf import read_elf
from nandram.capture.emulated.trace_file import leb128, trace_file
from nandram.cli import main
from nandram.errors import UserError

PYTHON = [sys.executable, "-c", ""]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"page": "1000"}, "page: found `1000`, expected a size with its unit, such as 16B, 4KiB or 2MiB"),
        ({"page": "1kB"}, "page: found `1kB`, expected a size with its unit, such as 16B, 4KiB or 2MiB"),
        ({"page": "3KiB"}, "page: found `3KiB`, expected a power of two from 16B to 1GiB"),
        ({"page": "32B", "line": "64B"}, "page: found `32B`, expected a power of two from 64B to 1GiB"),
        ({"line": "2B"}, "line: found `2B`, expected a power of two from 4B to 4KiB"),
        ({"icache": "4KiB"}, "icache: found `4KiB`, expected SIZE:WAYS, such as 4KiB:4"),
        ({"icache": "4KiB:four"}, "icache: found `4KiB:four`, expected SIZE:WAYS, such as 4KiB:4"),
        (
            {"icache": "4KiB:3"},
            "icache: found `4KiB:3`, expected 1 to 64 ways that make sets of 16-byte lines whose number is a power of "
            "two",
        ),
        (
            {"icache": "32B:4"},
            "icache: found `32B:4`, expected 1 to 64 ways that make sets of 16-byte lines whose number is a power of "
            "two",
        ),
        ({"icache": "8B:1"}, "icache: found `8B`, expected a power of two from 16B to 1GiB"),
        ({"requests": 0}, "requests: found 0, expected at least 1"),
        ({"environment": ["HOME"]}, "env: found `HOME`, expected NAME=VALUE"),
    ],
)
def test_options_of_pages(tmp_path: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(UserError) as error:
        capture_pages(PYTHON, tmp_path / "t", **options)  # type: ignore[arg-type]
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l1": "none", "l2": "none", "llc": "none"}, "caches: found none, expected at least one of l1, l2 and llc"),
        ({"l2": "1MiB"}, "l2: found `1MiB`, expected SIZE:WAYS, such as 4KiB:4"),
        ({"line": "4B"}, "line: found `4B`, expected a power of two from 8B to 4KiB"),
        ({"records": -1}, "records: found -1, expected at least 1"),
    ],
)
def test_options_of_memory(tmp_path: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(UserError) as error:
        capture_memory(PYTHON, tmp_path / "t", **options)  # type: ignore[arg-type]
    assert str(error.value) == message


def test_shapes() -> None:
    assert parse_cache("x", "4KiB:4", 16) == CacheShape(4096, 4, 16)
    assert parse_cache("x", "64B:1", 64) == CacheShape(64, 1, 64)
    assert [size_text(parse_size("x", text, 1, 1 << 30)) for text in ("512B", "2048B", "4MiB")] == [
        "512B",
        "2KiB",
        "4MiB",
    ]


def test_commands_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    cases = {
        str(tmp_path / "none"): "no such program",
        str(tmp_path): "is a folder, not a program",
        str(script): "cannot be executed",
    }
    for command, message in cases.items():
        for kind in ("pages", "memory"):
            with pytest.raises(SystemExit) as exit_:
                main(["capture", kind, "-o", str(tmp_path / "t"), "--", command])
            assert exit_.value.code == 2
            assert capsys.readouterr().err == f"error: {command}: {message}\n"
    script.chmod(0o755)
    with pytest.raises(UserError, match="script: found a script, expected a program: capture what runs it, as in "):
        capture_pages([str(script)], tmp_path / "t")
    with pytest.raises(UserError, match="no program to capture: write it after `--`"):
        capture_pages([], tmp_path / "t")


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = shutil.which(sys.executable)
    assert python is not None
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    architecture = read_elf(Path(python)).architecture
    with pytest.raises(UserError) as error:
        capture_pages([python], tmp_path / "t")
    assert str(error.value) == (
        f"{python}: a program for {architecture} needs qemu-{architecture}, which is not on the PATH: "
        "install QEMU's user mode (apt-get install qemu-user)"
    )
    with pytest.raises(UserError) as error:
        compiler.find_compiler()
    assert str(error.value) == (
        "capture compiles its plugin for QEMU and finds no C compiler on the PATH: "
        "install one (apt-get install gcc libc6-dev)"
    )
    monkeypatch.setenv("CC", "ccc -m64")
    with pytest.raises(UserError, match="CC: found `ccc`, which is no command, expected a C compiler"):
        compiler.find_compiler()
    qemu = tmp_path / f"qemu-{architecture}"
    qemu.write_text("#!/bin/sh\necho qemu version 4.2.1\n")
    qemu.chmod(0o755)
    with pytest.raises(UserError, match=r"found \['qemu version 4.2.1'\], expected QEMU 5.2 or newer"):
        capture_pages([python], tmp_path / "t")


def test_the_plugin_is_compiled_once(tmp_path: Path) -> None:
    path = compiler.plugin("pages", 1, tmp_path)
    before = path.stat().st_mtime_ns
    assert compiler.plugin("pages", 1, tmp_path) == path
    assert path.stat().st_mtime_ns == before
    assert compiler.plugin("pages", 2, tmp_path) != path
    assert len(list(tmp_path.iterdir())) == 2


def test_plugins_compile_without_warnings(tmp_path: Path) -> None:
    for name in ("pages", "memory"):
        flags = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
        subprocess.run([*compiler.find_compiler(), *flags, compiler.SOURCES / f"{name}.c"], check=True)


def test_a_source_that_does_not_compile(tmp_path: Path) -> None:
    source = tmp_path / "wrong.c"
    source.write_text("#include <no_such_header.h>\n")
    with pytest.raises(UserError, match=r"wrong.c: .* could not compile it: .*no_such_header.h.*libc6-dev"):
        compiler.compile_shared(compiler.find_compiler(), ["-shared"], source, tmp_path / "wrong.so")
    assert [path.name for path in tmp_path.iterdir()] == ["wrong.c"]


def test_numbers() -> None:
    assert [leb128(value) for value in (0, 127, 128, 300)] == [b"\0", b"\x7f", b"\x80\x01", b"\xac\x02"]


def test_a_trace_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "t.pages.gz"
    for _ in range(2):
        with trace_file(path, "nandram page trace 1", {"page_bytes": 1}, 3) as sink:
            sink.write(b"\x07\x01\x02\0\x03")
        data = path.read_bytes()
        assert read_pages(gzip.decompress(data)) == ({"page_bytes": 1}, [3, 3, 2])
    with pytest.raises(ZeroDivisionError), trace_file(path, "nandram page trace 1", {}, 3) as sink:
        sink.write(b"\x07" * (1 // 0))
    assert path.read_bytes() == data
    assert os.listdir(tmp_path) == [path.name]
    missing = trace_file(tmp_path / "missing" / "t", "", {}, 3)
    with pytest.raises(UserError, match="missing/t: cannot be written: No such file or directory"), missing:
        pass
