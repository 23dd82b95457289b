"""Arrays on a memory, from Python. Most tests are skipped if the kernel does not permit userfaultfd."""

import io
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nandram import Memory, UserError

EXAMPLES = Path(__file__).parents[1] / "examples" / "memory"
END = "cannot report this error to the faulting load or store; aborting"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a path for a memory, or skip the test if memories cannot be mapped here."""
    with Memory(tmp_path / "probe.memory", capacity="1MiB", dram="1MiB") as memory:
        try:
            memory.buffer(1)
        except UserError as error:
            if "cannot be mapped" in str(error):
                pytest.skip(str(error))
            raise
    return tmp_path / "here.memory"


def made(path: Path) -> Memory:
    return Memory(path, capacity="8MiB", dram="1MiB")


def run(path: Path, program: str, *, ends: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a program with `memory` open in a separate process."""
    start = f"import numpy as np\nfrom nandram import Memory\nmemory = Memory({str(path)!r}, '8MiB', dram='1MiB')\n"
    found = subprocess.run(
        [sys.executable, "-c", start + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert found.returncode == (-signal.SIGABRT if ends else 0), found.stderr
    return found


def test_an_array_is_there_again_by_its_name(path: Path) -> None:
    values = np.arange(300_000, dtype=np.float32).reshape(3, 100, 1000)
    with made(path) as memory:
        field = memory.array((3, 100, 1000), "f4", name="field")
        assert not field.any()
        field[:] = values
        assert memory["field"][2, 5, 7] == values[2, 5, 7]
        record = memory.array(7, [("a", "i2"), ("b", "f8")], name="record")
        record["b"] = 2.5
        scalar = memory.array((), int, name="scalar")
        scalar[()] = 7
        nothing = memory.array((0, 3), name="nothing")
        assert nothing.shape == (0, 3)
        memory.sync("filled")
        field[:] = -1
        del field, record, scalar, nothing
    with Memory(path, dram="1MiB") as memory:
        assert list(memory) == ["field", "record", "scalar", "nothing"]
        field = np.asarray(memory["field"])
        assert field.dtype == np.float32
        assert np.array_equal(field, values)
        assert np.asarray(memory["record"])["b"].sum() == 17.5
        assert memory["scalar"][()] == 7
        assert memory["nothing"].shape == (0, 3)
        del memory["record"]
        assert "record" not in memory
        assert "field" in memory
        # Calls and the array show the same data.
        at, size = memory.find("field")
        assert memory.read(at + size - 4, 4) == values[-1, -1, -1].tobytes()
        memory.write(at + size - 4, np.full(1, 5, "f4"))
        assert field[-1, -1, -1] == 5
        del field


def test_an_array_shows_what_a_rollback_restored_and_a_transaction_is_all_or_nothing(path: Path) -> None:
    with made(path) as memory:
        values = memory.array(400_000, name="values")
        values[:] = 1
        first = memory.sync()
        values[::2] = 2
        second = memory.sync("second")
        values *= 3
        memory.rollback(second)
        assert (values[::2] == 2).all()
        assert (values[1::2] == 1).all()
        values[5] = 7
        memory.rollback(first)
        assert (values == 1).all()
        with memory.transaction():
            values += 1

        def fails() -> None:
            with memory.transaction():
                values[:] = np.nan
                memory.array(5, name="new")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fails()
        assert (values == 2).all()
        assert "new" not in memory
        values = np.empty(0)  # a memory with arrays cannot be closed


def test_a_buffer_is_as_a_bytearray(path: Path) -> None:
    with made(path) as memory:
        text = memory.buffer(100_000, name="text")
        text[:5] = b"hello"
        text[99_999] = 1
        assert bytes(text[:6]) == b"hello\0"
        memory.sync()
        del text
    with Memory(path) as memory:
        found = memory["text"]
        assert isinstance(found, memoryview)
        text = found
        assert (len(text), bytes(text[:5]), text[99_999]) == (100_000, b"hello", 1)
        memory.write(memory.find("text")[0], text[:3])
        struct = memoryview(text)[:16].cast("Q")
        struct[1] = 1 << 40
        assert memory.read(memory.find("text")[0] + 8, 8) == (1 << 40).to_bytes(8, "little")
        del found, text, struct


def test_threads_compute_on_one_array_past_its_dram_while_it_is_synced(path: Path) -> None:
    with made(path) as memory:
        values = memory.array((8, 100_000), np.int64)

        def work(row: int) -> None:
            for _ in range(10):
                values[row] += row

        threads = [threading.Thread(target=work, args=(row,)) for row in range(8)]
        for thread in threads:
            thread.start()
        for _ in range(5):
            memory.drop(memory.sync())
        for thread in threads:
            thread.join()
        assert np.array_equal(values.sum(axis=1), np.arange(8) * 1_000_000)
        stats = memory.stats()
        assert stats["segments_evicted"] > 1000
        assert stats["dram_bytes"] <= 1 << 20
        values = np.empty(0)  # a memory with arrays cannot be closed


def test_what_is_advised_is_done(path: Path) -> None:
    with made(path) as memory:
        values = memory.array(500_000, name="values")
        values[:] = 1
        memory.sync()
        for how in ("random", "sequential", "normal"):
            memory.advise(values, how)
            memory.advise("values", "dontneed")
            before = memory.stats()
            assert values.sum() == 500_000
            ahead = memory.stats()["segments_read_ahead"] - before["segments_read_ahead"]
            assert (ahead == 0) == (how == "random")
        memory.advise(values[:1000], "willneed")
        table: list[tuple[Callable[[], object], str]] = [
            (
                lambda: memory.advise(values, "fast"),
                'advice is "fast", expected normal, random, sequential, willneed, dontneed',
            ),
            (lambda: memory.advise(np.zeros(3), "random"), "the array is not in this memory"),
            (lambda: memory.advise(values[::2], "random"), "the array of shape (250000,) is not contiguous"),
            (lambda: memory["nobody"], 'name "nobody": no area has this name'),
            (lambda: memory[3], "found 3, expected a name"),  # type: ignore[index]
            (
                lambda: memory.array(3, object),
                "dtype object holds Python objects, which exist in this process only",
            ),
            (lambda: memory.array(-3), "shape is -3, expected whole numbers from 0 on"),
            (
                lambda: memory.array(3, name="values"),
                f'name "values": the area at {memory.find("values")[0]:#x} already has this name',
            ),
        ]
        for call, words in table:
            with pytest.raises(UserError) as refused:
                call()
            assert str(refused.value) == words
        values = np.empty(0)  # a memory with arrays cannot be closed


def test_what_a_rollback_took_away_is_refused_by_calls_and_ends_who_touches_it(path: Path) -> None:
    found = run(
        path,
        """
        token = memory.sync()
        values = memory.array(10, name="values")
        values[:] = 3
        memory.rollback(token)
        for call in (lambda: memory["values"], lambda: memory.read(0x10000, 1)):
            try:
                call()
            except Exception as error:
                print(error, flush=True)
        print(values[0])
        """,
    )
    assert found.stdout.splitlines() == [
        'name "values": no area has this name',
        "address 0x10000: its page is not allocated",
    ]
    # The data begin a page after their header.
    assert f"nandram: {path}: address 0x11000: its page is not allocated: {END}" in found.stderr.splitlines()


def test_a_memory_with_arrays_on_it_is_not_closed(path: Path) -> None:
    memory = made(path)
    values = memory.array(10)
    half = values[:5]
    text = memory.buffer(3)
    with pytest.raises(BufferError, match=r"^cannot close exported pointers exist$"):
        memory.close()
    half[0] = 7
    assert values[0] == 7, "it is open as before"
    del values
    with pytest.raises(BufferError):
        memory.close()
    del half
    with pytest.raises(BufferError):
        memory.close()
    text.release()
    del text
    memory.close()
    memory.close()

    # The error does not hide an exception.
    def fails() -> None:
        with Memory(path) as memory:
            values = memory.array(10)
            values[0] = 1 / 0

    with pytest.raises(ZeroDivisionError):
        fails()


def test_a_child_has_the_array_no_more_and_the_parent_has_it_still(path: Path) -> None:
    run(
        path,
        """
        import os, signal
        values = memory.array(10)
        values[:] = 4
        child = os.fork()
        if child == 0:
            values[0]
            os._exit(0)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGSEGV
        assert values.sum() == 40
        """,
        ends=False,
    )


# Runs as the user nobody, optionally without the system call.
RESTRICTED = """
import ctypes, os, platform, struct, sys, warnings
import numpy as np
from nandram import Memory
def deny(number):
    libc = ctypes.CDLL(None, use_errno=True)
    program = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in program))
    table = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(code)))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, table, 0, 0) == 0
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
if sys.argv[2] == "none":
    deny({"x86_64": 323, "aarch64": 282}[platform.machine()])
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as told:
    with Memory(sys.argv[1], capacity="4MiB", dram="1MiB") as memory:
        at = memory.alloc(10)
        memory.write(at, b"by a call")
        try:
            values = memory.array(300_000, name="values")
            values[:] = 1
            print("sum", values.sum())
            memory.advise(values, "dontneed")
            try:
                print("written", os.write(os.open("/dev/null", os.O_WRONLY), values) >= 0)
                with open(sys.argv[1] + ".sink", "wb", buffering=0) as sink:
                    print("written", sink.write(values) > 0)
            except OSError as error:
                print(error.strerror)
        except Exception as error:
            print(error)
        values = None
        print(memory.read(at, 9))
for warning in told:
    print(warning.category.__name__, warning.message)
"""


def restricted(tmp_path: Path, how: str) -> list[str]:
    folder = tmp_path / "restricted"
    folder.mkdir()
    folder.chmod(0o777)
    # The user nobody cannot access the folders of the tests' user, so it uses its working folder.
    found = subprocess.run(
        [sys.executable, "-c", RESTRICTED, "here.memory", how],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=folder,
    )
    if found.returncode != 0 and re.search(r"Permission ?[Dd]enied|Operation not permitted", found.stderr):
        pytest.skip(f"a restricted process cannot be started here: {found.stderr.splitlines()[-1]}")
    assert found.returncode == 0, found.stderr
    return found.stdout.splitlines()


def test_without_privilege_system_calls_are_said_not_to_work(path: Path, tmp_path: Path) -> None:
    if Path("/proc/sys/vm/unprivileged_userfaultfd").read_text().strip() != "0" or os.access(
        "/dev/userfaultfd", os.W_OK
    ) != (os.getuid() == 0):
        pytest.skip("anybody may serve the kernel's faults here")
    lines = restricted(tmp_path, "user")
    assert lines[0] == "sum 300000.0"
    assert "Bad address" in lines
    assert "b'by a call'" in lines
    assert lines[-1].startswith("NoSystemCallsWarning this process may only handle its own page faults")


def test_without_faults_the_error_names_the_sysctl_and_the_calls_work(tmp_path: Path) -> None:
    if os.getuid() != 0 and os.access("/dev/userfaultfd", os.W_OK):
        pytest.skip("anybody may open /dev/userfaultfd here")
    first, second = restricted(tmp_path, "none")
    assert first.startswith(
        "here.memory: the memory cannot be mapped: the kernel does not allow this process to use userfaultfd "
        "(/dev/userfaultfd: "
    )
    assert "vm.unprivileged_userfaultfd=1" in first
    assert second == "b'by a call'"


def example(name: str, *arguments: object) -> list[str]:
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.splitlines()


def test_example_an_array_three_times_as_large_as_dram(path: Path) -> None:
    lines = example("past_dram", path)
    count = 3 * (8 << 20) // 8
    total = count * (count - 1) // 2
    assert lines[:3] == [f"sum {total}, of {total}", "halves in order: True", "all in order: True"]
    assert lines[3].endswith(": True")


def test_example_heat_has_the_same_bits(path: Path) -> None:
    assert example("heat", path)[0].endswith("the same bits")


def test_example_a_simulation_that_is_killed_goes_on_from_its_checkpoint(path: Path) -> None:
    whole = example("simulation", path, 4000)
    assert whole[0] == "from step 0"
    killed = path.with_name("killed.memory")
    command = [sys.executable, str(EXAMPLES / "simulation.py"), str(killed), "4000"]
    for checkpoint in (1000, 3000):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if line == f"checkpoint {checkpoint}\n":
                    break
            process.kill()
    lines = example("simulation", killed, 4000)
    # The process may have reached the next checkpoint before it was killed.
    assert lines[0] in ("from step 3000", "from step 4000")
    assert lines[-1] == whole[-1]


def test_example_undo_in_an_interactive_session(path: Path) -> None:
    session = """
    picture[10:20, 10:20] = 255; keep("square")
    picture[:] = 7
    undo()
    int(picture.sum())
    picture[0, 0] = 1; keep("dot")
    picture[5, 5] = 1
    undo(2)
    int(picture.sum())
    undo(9)
    bool(picture.any())
    """
    found = subprocess.run(
        [sys.executable, "-i", str(EXAMPLES / "undo.py"), str(path)],
        input=textwrap.dedent(session),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert found.stdout.splitlines() == ["'square'", "25500", "'square'", "25500", "'empty'", "False"]


def test_data_of_arrays_begin_at_a_page_and_numpy_reads_the_file_format(path: Path) -> None:
    with made(path) as memory:
        values = memory.array((100, 1000), "f4", name="rows")
        assert values.__array_interface__["data"][0] % 4096 == 0
        values[:] = np.arange(100_000).reshape(100, 1000)
        memory.sync(keep=False)
        segments = memory.stats()["data_segments"]
        # One 4 KiB page of the array is one segment of the memory.
        values.reshape(-1)[1024:2048] = -1
        memory.sync(keep=False)
        assert memory.stats()["data_segments"] - segments == 1
        many = memory.array(3, [(f"a field with a long name {n}", "f8") for n in range(200)], name="many")
        assert many.__array_interface__["data"][0] % 4096 == 0
        many["a field with a long name 7"] = 7
        assert memory["many"]["a field with a long name 7"].tolist() == [7, 7, 7]  # type: ignore[call-overload]
        loaded = np.load(io.BytesIO(memory.read(*memory.find("rows"))))
        assert np.array_equal(loaded, values)
        del values, many


def test_arrays_of_columns_stay_so(path: Path) -> None:
    with made(path) as memory:
        columns = memory.array([3, 4], np.int32, name="columns", order="F")
        assert columns.flags.f_contiguous
        columns[1, 2] = 5
        memory["copied"] = np.asfortranarray(np.arange(12.0).reshape(3, 4))
        memory.sync()
        del columns
    with Memory(path) as memory:
        columns = np.asarray(memory["columns"])
        assert (columns.flags.f_contiguous, columns[1, 2], columns.shape) == (True, 5, (3, 4))
        copied = np.asarray(memory["copied"])
        assert copied.flags.f_contiguous
        assert np.array_equal(copied, np.arange(12.0).reshape(3, 4))
        with pytest.raises(UserError, match="order is 'K'"):
            memory.array(3, order="K")  # type: ignore[arg-type]
        del columns, copied


def test_a_memory_is_a_mapping_of_names_to_arrays(path: Path) -> None:
    with Memory(path, capacity=8 << 20, dram=np.int64(1 << 20)) as memory:  # type: ignore[arg-type]
        assert (len(memory), bool(memory)) == (0, True)
        memory["x"] = np.arange(5)
        first = np.asarray(memory["x"])
        memory["x"] = [5, 4, 3, 2, 1]
        assert first.tolist() == [5, 4, 3, 2, 1]
        assert (len(memory), "x" in memory, "y" in memory) == (1, True, False)
        with pytest.raises(UserError, match="delete it first"):
            memory["x"] = np.arange(6)
        for missing in (lambda: memory["y"], lambda: memory.__delitem__("y")):
            with pytest.raises(KeyError) as none:
                missing()
            assert isinstance(none.value, UserError)
            assert str(none.value) == 'name "y": no area has this name'
        assert memory.array([np.int64(2), 3]).shape == (2, 3)
        del first, memory["x"]
        assert len(memory) == 0


def test_a_memory_grows_when_its_arrays_are_gone(path: Path) -> None:
    with made(path) as memory:
        field = memory.array((1000, 1000), np.uint8, name="field")
        field[:] = 3
        with pytest.raises(BufferError, match="cannot close exported pointers exist"):
            memory.grow("64MiB")
        field[5] = 4
        del field
        memory.grow("64MiB")
        found = memory["field"]
        assert not isinstance(found, memoryview)
        assert found[5].sum() == 4000
        assert found[6].sum() == 3000
        larger = memory.array((5000, 8000), np.uint8)
        larger[-1] = 1
        del found, larger


def test_stores_to_some_pages_after_dense_ones_are_all_kept(path: Path) -> None:
    rng = np.random.default_rng(7)
    with made(path) as memory:
        pages = memory.array((500, 4096), np.uint8)
        copy = np.zeros((500, 4096), np.uint8)
        for step in range(60):
            # Dense and sparse steps by turns, with stores of one byte, and of the same content again.
            chosen = rng.choice(500, int(rng.choice([2, 20, 200])), replace=False)
            at = rng.integers(4096)
            for array in (pages, copy):
                array[chosen, at] = step % 3
            token = memory.sync()
            stored = rng.choice(500, 100, replace=False)
            pages[stored] = 77
            if step % 2:
                memory.rollback(token)
            else:
                copy[stored] = 77
            assert (pages == copy).all()
            memory.drop(token)
            memory.sync(keep=False)
        del pages
