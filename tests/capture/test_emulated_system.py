"""`nandram capture pages` and `memory` with a real QEMU."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard

from capture.cache_model import missed_pages
from capture.trace_model import read_memory, read_pages
from nandram.capture import capture_memory, capture_pages
from nandram.cli import main
from nandram.errors import UserError

pytestmark = pytest.mark.system

# Ends in the way named by its argument.
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *nothing(void *x) { return x; }
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    int *numbers = malloc(40000 * sizeof *numbers), count = strcmp(how, "sort") ? 100 : 40000;
    for (int i = 0; i < count; i++)
        numbers[i] = (int)(i * 2654435761u >> 4);
    qsort(numbers, count, sizeof *numbers, compare);
    fprintf(stderr, "%d %s\n", numbers[count / 2], getenv("NAME") ? getenv("NAME") : "-");
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "fault")) *(volatile int *)8 = 1;
    if (!strcmp(how, "terminate")) kill(getpid(), 15);
    if (!strcmp(how, "execute")) execl("/bin/echo", "echo", "executed", NULL);
    if (!strcmp(how, "shell")) return system("exit 4") == 4 << 8 ? 5 : 6;
    if (!strcmp(how, "thread")) { pthread_t t; pthread_create(&t, NULL, nothing, NULL); pthread_join(t, NULL); }
    if (!strcmp(how, "close")) for (int i = 3; i < 1024; i++) close(i);
    if (!strcmp(how, "fork")) {
        if (fork() == 0) { qsort(numbers, count, sizeof *numbers, compare); _exit(7); }
        int status; wait(&status);
        return WEXITSTATUS(status);
    }
    return 3;
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the program: ``static``, ``dynamic``, ``static-pie``, ``arm`` and ``arm-dynamic``."""
    folder = tmp_path_factory.mktemp("programs")
    source = folder / "program.c"
    source.write_text(PROGRAM.replace("#include <stdio.h>", "#include <signal.h>\n#include <stdio.h>"))
    builds = {
        "static": ["gcc", "-static"],
        "dynamic": ["gcc"],
        "static-pie": ["gcc", "-static-pie"],
        "arm": ["arm-linux-gnueabi-gcc", "-static"],
        "arm-dynamic": ["arm-linux-gnueabi-gcc"],
    }
    for name, compiler in builds.items():
        subprocess.run([*compiler, "-O1", "-pthread", "-o", folder / name, source], check=True)
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


BUILDS = ["static", "dynamic", "static-pie", "arm", "arm-dynamic"]


@pytest.mark.parametrize("build", BUILDS)
def test_the_same_command_gives_the_same_bytes(
    programs: Path, folder: Path, build: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [str(programs / build), "sort"]
    kinds: dict[str, Any] = {"pages": capture_pages, "memory": capture_memory}
    for kind, capture in kinds.items():
        first = capture(command, "first.zst")
        monkeypatch.setenv("NAME", f"{kind} has another environment now")
        second = capture(command, "second.zst")
        assert first.ended == second.ended
        assert first.ended.exit_status == 3
        assert first.ended.records > 500
        assert first.architecture == ("arm" if build.startswith("arm") else "x86_64")
        assert Path("first.zst").read_bytes() == Path("second.zst").read_bytes()


def test_pages_are_those_of_an_obvious_cache(programs: Path, folder: Path) -> None:
    """QEMU itself logs the address of each instruction; ARM instructions never cross a line."""
    command = [str(programs / "arm")]
    capture_pages(command, "small.pages", page="4KiB", icache="1KiB:2", line="32B")
    capture_pages(command, "usual.pages")
    log = folder / "log"
    line = ["qemu-arm", "-seed", "1", "-0", command[0], "-singlestep", "-d", "exec,nochain", "-D", str(log), *command]
    subprocess.run(line, env={}, check=False)
    addresses = [int(pc, 16) for pc in re.findall(r"^Trace .*?\[[0-9a-f]+/([0-9a-f]+)/", log.read_text(), re.M)]
    # The kernel's helper page, which QEMU emulates, does not belong to the program.
    addresses = [address for address in addresses if address < 0xFFFF0000]
    assert len(addresses) > 10_000
    header, pages = read_pages(Path("usual.pages").read_bytes())
    assert pages == missed_pages(addresses, 4096, 4, 16, 1024)
    assert header == {
        "page_bytes": 1024,
        "icache": {"bytes": 4096, "ways": 4, "line_bytes": 16},
        "program": "arm",
        "architecture": "arm",
        "command": command,
    }
    assert read_pages(Path("small.pages").read_bytes())[1] == missed_pages(addresses, 1024, 2, 32, 4096)


def test_memory_sees_the_array(programs: Path, folder: Path) -> None:
    found = capture_memory([str(programs / "static"), "sort"], "t.memory.zst", l1="4KiB:4", l2="none", llc="16KiB:8")
    raw = zstandard.ZstdDecompressor().stream_reader(Path("t.memory.zst").read_bytes()).read()
    header, records, instructions = read_memory(raw)
    assert [cache["name"] for cache in header["caches"]] == ["l1", "llc"]
    assert len(records) == found.ended.records
    assert instructions == found.ended.instructions
    assert sum(since for _, _, since in records) <= instructions
    filled = {line for line, written, _ in records if not written}
    # Each line of the array is first stored to, and at most 16 KiB remain dirty in the caches.
    first = max(filled, key=lambda line: sum(line <= other < line + 2500 for other in filled))
    array = [line for line in range(first, first + 2500) if line in filled]
    assert len(array) == 2500
    assert len({line for line, written, _ in records if written} & set(array)) >= 2500 - 256


@pytest.mark.parametrize(
    ("how", "status"), [("abort", 128 + 6), ("fault", 128 + 11), ("terminate", 128 + 15), ("close", 3), ("", 3)]
)
def test_however_it_ends_the_trace_is_whole(programs: Path, folder: Path, how: str, status: int) -> None:
    ended = capture_pages([str(programs / "static"), how], "t.pages").ended
    assert ended.exit_status == status
    assert not ended.replaced
    assert len(read_pages(Path("t.pages").read_bytes())[1]) == ended.records > 500


def test_forks_are_noted(programs: Path, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    alone = capture_pages([str(programs / "static")], "alone.pages").ended
    forked = capture_pages([str(programs / "static"), "fork"], "t.pages").ended
    assert (forked.exit_status, forked.children) == (7, 1)
    assert 0 < forked.instructions - alone.instructions < 2000
    capfd.readouterr()
    with pytest.raises(SystemExit) as exit_:
        main(["capture", "pages", "-o", "t.pages", "--", str(programs / "static"), "shell"])
    assert exit_.value.code == 5
    lines = capfd.readouterr().err.splitlines()
    assert lines[-2:] == ["not recorded: 1 process that the program forked", "the program exited with status 5"]
    assert read_pages(Path("t.pages").read_bytes())


def test_another_program_in_its_place_is_noted(programs: Path, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["capture", "pages", "-o", "t.pages", "--", str(programs / "static"), "execute"])
    assert exit_.value.code == 0
    out, err = capfd.readouterr()
    assert out == "executed\n"
    assert err.splitlines()[-1] == "not recorded: the program that it executed in its place"
    assert read_pages(Path("t.pages").read_bytes())


def test_threads_are_refused(programs: Path, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("t.pages").write_text("kept")
    for kind in ("pages", "memory"):
        with pytest.raises(SystemExit) as exit_:
            main(["capture", kind, "-o", "t.pages", "--", str(programs / "dynamic"), "thread"])
        assert exit_.value.code == 2
        message = f"error: {programs / 'dynamic'}: started a second thread, expected a program of one: "
        assert capfd.readouterr().err.splitlines()[-1].startswith(message)
    assert Path("t.pages").read_text() == "kept"
    assert sorted(path.name for path in folder.iterdir()) == ["t.pages"]


def test_a_limit_ends_the_program(programs: Path, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for requests in (1, 600):
        ended = capture_pages([str(programs / "static"), "sort"], "t.pages", requests=requests).ended
        assert (ended.records, ended.limited, ended.exit_status) == (requests, True, 0)
        assert len(read_pages(Path("t.pages").read_bytes())[1]) == requests
    assert capture_memory([str(programs / "static")], "t.memory", records=9).ended.records == 9
    assert len(read_memory(Path("t.memory").read_bytes())[1]) == 9


def test_variables_are_those_that_are_given(
    programs: Path, folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAME", "mine")
    capture_pages([str(programs / "static")], "t.pages")
    assert capfd.readouterr().err.endswith(" -\n")
    capture_pages([str(programs / "static")], "t.pages", environment=["NAME=given=so", "OTHER="])
    assert capfd.readouterr().err.endswith(" given=so\n")


def test_a_foreign_linker_that_is_missing(programs: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError) as error:
        capture_pages([str(programs / "arm-dynamic")], "t.pages", sysroot=str(folder))
    assert str(error.value) == f"sysroot: found no arm linker {folder}/lib/ld-linux.so.3"
    monkeypatch.setattr("glob.glob", lambda _: [])
    with pytest.raises(UserError) as error:
        capture_pages([str(programs / "arm-dynamic")], "t.pages")
    assert "needs the arm linker /lib/ld-linux.so.3, which is not here: give the folder" in str(error.value)


def test_a_qemu_without_plugins(programs: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = folder / "qemu-x86_64"
    fake.write_text('#!/bin/sh\n[ "$1" = --version ] && echo qemu-x86_64 version 7.2.0 || exit 1\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    with pytest.raises(UserError) as error:
        capture_pages([str(programs / "static")], "t.pages")
    expected = "ended with 1 before it had loaded our plugin, expected a QEMU with TCG plugins"
    assert expected in str(error.value)


def test_a_python_under_qemu(folder: Path) -> None:
    """Capture a large dynamic program, this interpreter."""
    assert shutil.which(sys.executable)
    ended = capture_pages([sys.executable, "-I", "-S", "-c", "print(sum(range(1000)))"], "t.pages.gz").ended
    assert ended.exit_status == 0
    assert ended.records > 100_000
