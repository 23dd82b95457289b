"""Readers alongside a memory's writer, exports and backups, from Python."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nandram import Memory, MemoryReader, StorageError, UserError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "here.memory"


def made(path: Path) -> Memory:
    return Memory(path, capacity="4MiB", dram="1MiB")


def test_a_reader_has_the_last_sync_until_it_is_refreshed(path: Path) -> None:
    values = np.arange(30_000, dtype=np.float64)
    with made(path) as memory:
        at = memory.alloc(values.nbytes, name="values")
        memory.write(at, values)
        first = memory.sync("first")
        memory.write(at, b"not synced")
        with MemoryReader(path, dram="1MiB") as reader:
            assert reader.capacity == 4 << 20
            assert reader.names() == {"values": (at, values.nbytes)}
            assert reader.find("values") == (at, values.nbytes)
            into = np.zeros_like(values)
            reader.read_into(at, into)
            assert np.array_equal(into, values)
            memory.write(at, values * 2)
            second = memory.sync("second")
            assert reader.read(at, 16) == values[:2].tobytes()
            assert reader.tokens() == {first: "first"}
            reader.refresh()
            assert reader.tokens() == {first: "first", second: "second"}
            assert reader.read(at, 16) == (values[:2] * 2).tobytes()
            reader.go_to("first")
            assert reader.read(at + 8, 8) == values[1:2].tobytes()
            assert reader.verify() == []
            assert repr(reader) == f"<MemoryReader of {path}>"
        assert memory.read(at + 8, 8) == (values[1:2] * 2).tobytes()
        assert memory.tokens() == {first: "first", second: "second"}


def test_the_writer_s_own_process_exports_and_backs_up(path: Path, tmp_path: Path) -> None:
    with made(path) as memory:
        at = memory.alloc(200_000, name="area")
        memory.write(at, bytes([3]) * 200_000)
        memory.sync("kept")
        memory.write(at, b"not synced")
        assert memory.export(tmp_path / "area", "area") == 200_000
        assert (tmp_path / "area").read_bytes() == bytes([3]) * 200_000
        assert memory.export(tmp_path / "all") == (4 << 20) + 65536
        assert memory.backup(tmp_path / "copy") == []
    with Memory(tmp_path / "copy") as copy:
        assert copy.read(at, 200_000) == bytes([3]) * 200_000
        copy.write(at, b"it goes on")
        copy.sync()
        copy.rollback("kept")
        assert copy.read(at, 10) == bytes([3]) * 10


def test_amplification_is_what_is_written_over_data(path: Path) -> None:
    with made(path) as memory:
        assert memory.stats()["amplification"] == 0
        at = memory.alloc(1 << 20)
        for turn in range(3):
            memory.write(at, bytes([turn]) * (1 << 20))
            memory.drop(memory.sync())
        stats = memory.stats()
        assert stats["amplification"] == stats["written_bytes"] / (stats["data_segments"] * 4096)
        assert 1 < stats["amplification"] < 1.5
        text = memory.prometheus()
        assert "# TYPE nandram_memory_amplification gauge" in text
        assert f'nandram_memory_amplification{{path="{path}"}} {stats["amplification"]}' in text.splitlines()


def test_misuses_are_told_in_these_words(path: Path, tmp_path: Path) -> None:
    with made(path) as memory:
        at = memory.alloc(10)
        memory.sync("one")
    there = tmp_path / "there"
    there.write_bytes(b"")
    reader = MemoryReader(path)
    table: list[tuple[Callable[[], object], type[Exception], str]] = [
        (
            lambda: MemoryReader(tmp_path / "none"),
            StorageError,
            f"{tmp_path / 'none'}: cannot be opened: No such file or directory (os error 2)",
        ),
        (lambda: MemoryReader(path, "4KiB"), UserError, "dram is 4096 bytes, expected at least 1048576"),
        (
            lambda: MemoryReader(there),
            UserError,
            f"{there}: not a memory: both copies of the superblock are missing",
        ),
        (lambda: reader.read(at + 65536, 1), UserError, "address 0x20000: its page is not allocated"),
        (
            lambda: reader.go_to(7),
            UserError,
            "token 7 is not live; the newest live token is 2",
        ),
        (lambda: reader.go_to("two"), UserError, 'name "two": no live token has this name'),
        (lambda: reader.export(there), StorageError, f"{there}: cannot be created: File exists (os error 17)"),
        (lambda: reader.export(tmp_path / "new", "two"), UserError, 'name "two": no area has this name'),
    ]
    for call, kind, words in table:
        with pytest.raises(kind) as refused:
            call()
        assert str(refused.value) == words
    assert not (tmp_path / "new").exists()
    reader.close()
    reader.close()
    with pytest.raises(UserError) as closed:
        reader.read(at, 1)
    assert str(closed.value) == f"{path}: the reader is closed"
