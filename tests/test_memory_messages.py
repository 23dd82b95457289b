"""Every misuse and fault of a memory on a file has the message listed in its guide."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nandram import Memory, MemoryReader, StorageError, UserError

GUIDE = Path(__file__).parent.parent / "docs" / "memory.md"

# Messages that are tested elsewhere: with a small file system, in test_memory_system.py.
ELSEWHERE = {
    "a full file system (`make test-system`)",
    # tests/test_memory_arrays.py
    "`close` while an array or buffer exists",
}


def rows() -> dict[str, str]:
    """Return the guide's messages, by mistake or fault."""
    section = GUIDE.read_text().split("## Error messages\n", 1)[1].split("\n## ", 1)[0]
    cells = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| ")][2:]
    return {what.strip(): message.strip().strip("`") for what, message in cells}


@contextlib.contextmanager
def changed(path: Path, change: Callable[[bytearray], None]) -> Iterator[None]:
    """Damage a file temporarily."""
    good = path.read_bytes()
    content = bytearray(good)
    change(content)
    path.write_bytes(content)
    try:
        yield
    finally:
        path.write_bytes(good)


def flip(*places: int) -> Callable[[bytearray], None]:
    """Flip a bit at each offset."""

    def change(content: bytearray) -> None:
        for place in places:
            content[place] ^= 1

    return change


def marker(content: bytearray) -> None:
    """Flip a bit of data."""
    content[content.index(b"a marker")] ^= 1


def another_format(content: bytearray) -> None:
    """Write a superblock with format 3."""
    content[:8192] = bytes(8192)
    for copy in (0, 4096):
        content[copy : copy + 52] = b"nandram\x01\x03" + bytes(35) + bytes.fromhex("6fe51a3f9d5c5911")


def in_child(memory: Memory, at: int) -> None:
    """Use the memory in a child process, and raise its exception here."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            memory.read(at, 1)
        except UserError as error:
            os.write(writer, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    raise UserError(os.read(reader, 1000).decode())


def overwritten(path: Path) -> None:
    """Read data that a writer without other room has overwritten."""
    with Memory(path, capacity="4MiB", dram="1MiB", space="4MiB") as memory:
        at = memory.alloc(1 << 20)
        memory.write(at, bytes([1]) * (1 << 20))
        memory.drop(memory.sync())
        with MemoryReader(path, "1MiB") as reader:
            for turn in range(20):
                memory.write(at, bytes([turn]) * (1 << 20))
                memory.drop(memory.sync())
            reader.read(at, 1 << 20)


def test_each_is_told_in_the_words_of_the_guide(tmp_path: Path) -> None:
    path, other = tmp_path / "FILE", tmp_path / "other" / "FILE"
    other.parent.mkdir()
    (tmp_path / "COPY").write_bytes(b"")
    found: dict[str, str] = {}

    def told(what: str, call: Callable[[], object]) -> None:
        with pytest.raises((UserError, StorageError)) as refused:
            call()
        folders = (f"{other.parent}/", f"{tmp_path}/")
        message = str(refused.value).replace(f"process {os.getpid()}", "process PARENT")
        for folder in folders:
            message = message.replace(folder, "")
        found[what] = message

    def made(place: Path = path, capacity: str = "4MiB", **more: object) -> Memory:
        return Memory(place, capacity, "1MiB", **more)  # type: ignore[arg-type]

    told("a missing memory", lambda: Memory(path))
    told("a missing folder", lambda: made(tmp_path / "none" / "FILE"))
    found["a missing folder"] = found["a missing folder"].replace("none/", "")
    told("less DRAM than the minimum", lambda: Memory(path, "4MiB", "4KiB"))
    told("less space than the capacity", lambda: made(space="1MiB"))
    told("more tokens than the maximum", lambda: made(tokens=300))
    told("a size without a unit", lambda: made(capacity="4"))
    assert not path.exists()
    memory = made(tokens=2)
    at = memory.alloc(100_000, name="field")
    memory.write(at + 50_000, b"a marker that is found again")
    memory.sync("here")
    told("a second opener", made)
    told("sizes for an existing memory", lambda: made(tokens=3))
    told("an address beyond the memory", lambda: memory.read(at, 1 << 40))
    told("an unallocated address", lambda: memory.read(at + (1 << 19), 1))
    told("an allocation without enough contiguous pages", lambda: memory.alloc(8 << 20))
    told("a duplicate area name", lambda: memory.alloc(1, name="field"))
    told("a duplicate token name", lambda: memory.sync("here"))
    told("an unknown name", lambda: memory.find("nobody"))
    told("an unknown token", lambda: memory.rollback(9))
    told("an object that is not a buffer", lambda: memory.write(at, "text"))  # type: ignore[arg-type]
    memory.setperms(at, 1, write=False)
    told("writing to a read-only page", lambda: memory.write(at, b"x"))
    memory.setperms(at, 1)
    memory.sync()
    told("a sync with the maximum number of tokens", memory.sync)
    told("use in a child made by `fork`", lambda: in_child(memory, at))
    told("a backup to an existing file", lambda: memory.backup(tmp_path / "COPY"))
    told("a size for `grow` below the present one", lambda: memory.grow("1MiB"))
    told("nothing to `grow`", memory.grow)
    memory.close()
    told("use after close", lambda: memory.read(at, 1))
    told("a different capacity", lambda: made(capacity="8MiB"))
    with changed(path, another_format):
        told("another format", made)
    with changed(path, flip(20, 4096 + 20)):
        told("both superblocks damaged", made)
    with changed(path, lambda content: content.__delitem__(slice(1_000_000, None))):
        told("a truncated file", made)
    with changed(path, marker), Memory(path) as damaged:
        told("a flipped bit of data", lambda: damaged.read(at, 100_000))
    (tmp_path / "other" / "FILE").write_bytes(b"x" * 100_000)
    told("a file that is not a memory", lambda: made(other))
    other.write_bytes(b"")
    told("an empty file", lambda: made(other))
    other.unlink()
    told("a reader whose state was overwritten", lambda: overwritten(other))
    expected = {what: message for what, message in rows().items() if what not in ELSEWHERE}
    read_only = "a read-only file (not as root)"
    path.chmod(0o400)
    if os.access(path, os.W_OK):
        # Root may write it despite its mode.
        del expected[read_only]
    else:
        told(read_only, made)
    assert found == expected
