"""``nandram memory``."""

import json
from pathlib import Path

import pytest

from nandram import Memory
from nandram.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["memory", *arguments])
    printed = capsys.readouterr()
    return int(end.value.code or 0), printed.out, printed.err


def test_looking_after_a_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "a.memory")
    with Memory(path, capacity="4MiB", dram="1MiB") as memory:
        at = memory.alloc(100_000)
        memory.write(at, b"first")
        first = memory.sync("the first")
        memory.write(at, b"other")
        second = memory.sync()
        status, out, _ = run(capsys, "info", path)
        assert status == 0
        assert out.splitlines()[0] == "capacity   4MiB"
        described = json.loads(run(capsys, "info", path, "--json")[1])
        assert described["capacity"] == 4 << 20
        assert 0 < described["disk_bytes"] <= described["file_bytes"]
        assert json.loads(run(capsys, "tokens", path, "--json")[1]) == {str(first): "the first", str(second): None}
        assert run(capsys, "tokens", path) == (0, f"{first}  the first\n{second}\n", "")
        assert run(capsys, "check", path) == (0, "all segments are readable\n", "")
        status, _, err = run(capsys, "drop", path, "the first")
        assert (status, err) == (
            2,
            f"error: {path}: the memory is already open for writing, and only one writer is allowed\n",
        )
    assert run(capsys, "tokens", path) == (0, f"{first}  the first\n{second}\n", "")
    assert run(capsys, "check", path) == (0, "all segments are readable\n", "")
    assert run(capsys, "rollback", path, "the first") == (0, "", "")
    assert run(capsys, "tokens", path)[1] == f"{first}  the first\n"
    with Memory(path) as memory:
        assert memory.read(at, 5) == b"first"
        for _ in range(6):
            memory.write(at, bytes(100_000))
            memory.drop(memory.sync())
    before = Path(path).stat().st_blocks
    assert run(capsys, "drop", path, str(first)) == (0, "", "")
    assert run(capsys, "compact", path) == (0, "", "")
    assert Path(path).stat().st_blocks <= before
    status, _, err = run(capsys, "rollback", path, "99")
    assert (status, err) == (2, "error: token 99 is not live\n")
    content = bytearray(Path(path).read_bytes())
    content[20] ^= 1
    content[4096 + 20] ^= 1
    Path(path).write_bytes(content)
    status, _, err = run(capsys, "info", path)
    words = f"error: {path}: not a memory: both copies of the superblock are damaged\n"
    assert (status, err) == (2, words)
    status, _, err = run(capsys, "check", str(tmp_path / "none"))
    assert (status, err) == (
        2,
        f"error: {tmp_path / 'none'}: cannot be opened: No such file or directory (os error 2)\n",
    )


def test_a_memory_is_exported_and_backed_up_while_it_is_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, copy, out = (str(tmp_path / name) for name in ("a.memory", "copy", "out"))
    with Memory(path, capacity="4MiB", dram="1MiB") as memory:
        at = memory.alloc(100_000, name="area")
        memory.write(at, b"first")
        memory.sync("one")
        memory.write(at, b"other")
        memory.sync("2")
        assert run(capsys, "backup", path, copy) == (0, "", "")
        assert run(capsys, "export", path, out, "--area", "area", "--token", "one") == (0, "", "")
        assert Path(out).read_bytes() == b"first" + bytes(99_995)
        Path(out).unlink()
        assert run(capsys, "export", path, out, "--token", "2") == (0, "", "")
        assert Path(out).read_bytes()[at : at + 5] == b"other"
        status, _, err = run(capsys, "export", path, out)
        assert (status, err) == (2, f"error: {out}: cannot be created: File exists (os error 17)\n")
    assert run(capsys, "rollback", copy, "one") == (0, "", "")
    with Memory(copy) as memory:
        assert memory.read(at, 5) == b"first"


def test_lost_segments_are_listed_and_end_in_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.memory"
    with Memory(path, capacity="4MiB", dram="1MiB") as memory:
        memory.write(memory.alloc(100_000), b"a marker that is found again")
        memory.sync()
    content = bytearray(path.read_bytes())
    content[content.index(b"a marker")] ^= 1
    path.write_bytes(content)
    copy = str(tmp_path / "copy")
    for arguments in (("check", str(path)), ("backup", str(path), copy)):
        status, out, err = run(capsys, *arguments)
        assert (status, err) == (2, f"error: {path}: 1 segment cannot be read\n")
        assert out.startswith(f"{path}: address 0x10000: the 4096 bytes there cannot be read: ")
        assert len(out.splitlines()) == 1
    assert Path(copy).is_file()


def test_a_memory_grows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "a.memory")
    with Memory(path, capacity="4MiB", dram="1MiB", tokens=8) as memory:
        memory.write(memory.alloc(5), b"first")
        token = memory.sync("the first")
    assert run(capsys, "grow", path, "--capacity", "16MiB") == (0, "", "")
    assert run(capsys, "info", path)[1].splitlines()[0] == "capacity   16MiB"
    assert run(capsys, "tokens", path) == (0, f"{token}  the first\n", "")
    same = f"error: {path}: the memory has this capacity and space already\n"
    assert run(capsys, "grow", path) == (2, "", same)
