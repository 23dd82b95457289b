"""Memory on a file, from Python."""

import os
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import nandram
from nandram import Memory, StorageError, UserError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "here.memory"


def made(path: Path, **more: object) -> Memory:
    return Memory(path, capacity="4MiB", dram="1MiB", **more)  # type: ignore[arg-type]


def test_what_was_synced_is_there_again_and_what_was_not_is_not(path: Path) -> None:
    values = np.arange(30_000, dtype=np.float64).reshape(100, 300)
    with made(path) as memory:
        at = memory.alloc(values.nbytes)
        memory.write(at, values)
        token = memory.sync("values")
        memory.write(at, b"not synced")
    with Memory(path) as memory:
        assert memory.capacity == 4 << 20
        found = np.frombuffer(memory.read(at, values.nbytes)).reshape(values.shape)
        assert np.array_equal(found, values)
        into = np.zeros_like(values)
        memory.read_into(at, into)
        assert np.array_equal(into, values)
        assert memory.tokens() == {token: "values"}
        memory.write(at, bytearray(values.nbytes))
        memory.rollback("values")
        assert memory.read(at + 8, 8) == values.ravel()[1].tobytes()
        memory.drop(token)
        assert memory.tokens() == {}


def test_areas_are_found_by_name(path: Path) -> None:
    with made(path) as memory:
        at = memory.alloc(1000, name="field")
        other = memory.alloc(65536)
        memory.name("corner", at + 10, 5)
        memory.write(memory.find("field")[0], b"found")
        memory.sync()
    with Memory(path) as memory:
        assert memory.names() == {"field": (at, 1000), "corner": (at + 10, 5)}
        assert memory.read(memory.find("field")[0], 5) == b"found"
        with pytest.raises(UserError) as taken:
            memory.alloc(100_000, name="field")
        assert str(taken.value) == f'name "field": the area at {at:#x} already has this name'
        # Nothing remains.
        with pytest.raises(UserError):
            memory.read(other + 65536, 1)
        memory.delete(at, 1)
        assert memory.names() == {}


def test_a_transaction_is_all_or_nothing(path: Path) -> None:
    with made(path) as memory:
        at = memory.alloc(10)
        with memory.transaction():
            memory.write(at, b"all of it")

        def fails() -> None:
            with memory.transaction():
                memory.write(at, b"nothing of it")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fails()
        assert memory.read(at, 9) == b"all of it"
        assert memory.tokens() == {}
    with Memory(path) as memory:
        assert memory.read(at, 9) == b"all of it"


def test_statistics_count_and_are_text_for_prometheus(path: Path) -> None:
    with made(path) as memory:
        at = memory.alloc(1 << 20)
        memory.write(at, bytes(1 << 20))
        memory.sync()
        stats = memory.stats()
        assert stats["written_bytes"] >= 1 << 20
        assert stats["dirty_segments"] == 0
        assert 256 <= stats["needed_bytes"] // 4096 <= 300
        text = memory.prometheus().splitlines()
        assert f'nandram_memory_flushes_total{{path="{path}"}} {stats["flushes"]}' in text
        assert "# TYPE nandram_memory_space_bytes gauge" in text


def test_misuses_are_told_in_these_words(path: Path) -> None:
    with pytest.raises(UserError) as missing:
        Memory(path)
    assert str(missing.value) == f"{path}: there is no memory, and a new one needs a capacity"
    memory = made(path)
    at = memory.alloc(100)
    table: list[tuple[Callable[[], object], str]] = [
        (lambda: made(path), f"{path}: the memory is already open for writing, and only one writer is allowed"),
        (lambda: memory.read(at, -1), "size is -1, expected 0 to 2^64 - 1"),
        (lambda: memory.read("x", 1), "address is 'x', expected a whole number"),  # type: ignore[arg-type]
        (
            lambda: memory.read(at, 1 << 40),
            f"address {at:#x}: an access of {1 << 40} bytes exceeds the capacity of 4194304 bytes",
        ),
        (lambda: memory.read(0, 1), "address 0x0: an access of 1 bytes exceeds the capacity of 4194304 bytes"),
        (lambda: memory.read(at + 65536, 1), "address 0x20000: its page is not allocated"),
        (lambda: memory.write(at, "text"), "found a str, expected bytes or an array"),  # type: ignore[arg-type]
        (
            lambda: memory.write(at, np.zeros((4, 4))[:, ::2]),
            "the array of shape (4, 2) is not contiguous: copy it first",
        ),
        (lambda: memory.rollback(7), "token 7 is not live"),
        (lambda: memory.rollback("x"), 'name "x": no live token has this name'),
        (
            lambda: Memory(path, tokens=3),
            f"{path}: the memory is there already: space and tokens are what it was made with",
        ),
        (
            lambda: made(path.with_name("b"), space="1MiB"),
            "space is 1048576 bytes, expected at least the capacity, 4194304",
        ),
        (
            lambda: Memory(path.with_name("b"), capacity="4"),
            'capacity: found "4" without a unit, expected a size such as "8KiB"',
        ),
    ]
    for call, words in table:
        with pytest.raises(UserError) as refused:
            call()
        assert str(refused.value) == words
    memory.close()
    memory.close()
    with pytest.raises(UserError) as closed:
        memory.read(at, 1)
    assert str(closed.value) == f"{path}: the memory is closed"


def test_a_child_process_does_not_keep_the_lock(path: Path) -> None:
    reader, writer = os.pipe()
    memory = made(path)
    child = os.fork()
    if child == 0:
        # Wait until the parent has opened it again.
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    memory.close()
    Memory(path).close()
    os.close(writer)
    assert os.waitpid(child, 0)[1] == 0


def test_damage_is_a_fault_and_the_rest_stays_readable(path: Path) -> None:
    with made(path) as memory:
        at = memory.alloc(100_000)
        memory.write(at, bytes([1]) * 100_000)
        memory.write(at + 50_000, b"a marker that is found again")
        memory.sync()
    content = bytearray(path.read_bytes())
    content[content.index(b"a marker")] ^= 1
    path.write_bytes(content)
    with Memory(path) as memory:
        with pytest.raises(StorageError) as lost:
            memory.read(at, 100_000)
        segment = (at + 50_000) // 4096 * 4096
        assert str(lost.value).startswith(f"{path}: address {segment:#x}: the 4096 bytes there cannot be read: ")
        assert memory.read(at, 4096) == bytes([1]) * 4096
        assert memory.verify() == [str(lost.value)]


def test_threads_share_it(path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with made(path) as memory:
        places = [memory.alloc(65536) for _ in range(8)]

        def work(number: int) -> None:
            for turn in range(50):
                memory.write(places[number], bytes([number, turn]) * 1000)
                assert memory.read(places[number], 2000) == bytes([number, turn]) * 1000

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        assert nandram.Memory is Memory


def test_the_readme_s_example_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text()
    start = readme.index('    memory = Memory("field.memory"')
    start = readme.rindex("\n\n", 0, readme.rindex("    import numpy as np", 0, start)) + 2
    code, rest = readme[start:].split("\n\nIt prints `", 1)
    monkeypatch.chdir(tmp_path)
    exec(compile(textwrap.dedent(code), "README.md", "exec"), {})
    assert capsys.readouterr().out == rest.split("`", 1)[0] + "\n"


def test_the_guide_s_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (Path(__file__).parent.parent / "docs" / "memory.md").read_text()
    monkeypatch.chdir(tmp_path)
    examples = [rest.split("```", 1)[0] for rest in guide.split("```python\n")[1:]]
    assert len(examples) == 3
    for example in examples:
        try:
            exec(compile(example, "memory.md", "exec"), {})
        except UserError as error:
            # Skip the array example if the kernel does not permit arrays.
            if ".array(" not in example or "cannot be mapped" not in str(error):
                raise
    assert len(Path("field.bin").read_bytes()) == 8_000_000


def test_a_sync_without_a_token_leaves_nothing_to_drop(path: Path) -> None:
    with made(path, tokens=2) as memory:
        at = memory.alloc(8)
        for step in range(10):
            memory.write(at, step.to_bytes(8, "little"))
            assert memory.sync(keep=False) is None
        assert memory.tokens() == {}
        with pytest.raises(UserError) as named:
            memory.sync("here", keep=False)
        assert str(named.value) == "the name 'here' needs a token, and keep=False makes none"
    with Memory(path) as memory:
        assert memory.read(at, 8) == (9).to_bytes(8, "little")


def test_a_creation_that_fails_leaves_no_file_and_links_are_not_followed(path: Path) -> None:
    for _ in range(2):
        with pytest.raises(StorageError, match="cannot be created"):
            Memory(path / "missing" / "folder", capacity="4MiB")
    path.symlink_to(path.with_name("target"))
    with pytest.raises(StorageError, match=r"cannot be created: File exists"):
        made(path)
    assert not path.with_name("target").exists()
    path.unlink()
    made(path).close()
    assert list(path.parent.iterdir()) == [path]


def test_a_memory_grows_and_keeps_everything(path: Path) -> None:
    with made(path, tokens=4) as memory:
        at = memory.alloc(3 << 20, name="most of it")
        memory.write(at, b"first")
        token = memory.sync("first")
        memory.write(at, b"other")
        memory.grow("64MiB")
        assert memory.capacity == 64 << 20
        assert memory.read(at, 5) == b"other"
        assert memory.find("most of it") == (at, 3 << 20)
        memory.alloc(40 << 20)
        memory.rollback("first")
        assert memory.tokens() == {token: "first"}
        assert memory.read(at, 5) == b"first"
        with pytest.raises(UserError, match="capacity is 1048576 bytes, expected at least the present one, 67108864"):
            memory.grow("1MiB")
        assert memory.read(at, 5) == b"first"
        memory.grow(space="256MiB")
        assert memory.read(at, 5) == b"first"
    assert list(path.parent.iterdir()) == [path]
    with pytest.raises(UserError, match="the memory is closed"):
        memory.grow("128MiB")
