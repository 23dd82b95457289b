"""Each forbidden target and every other mistake is reported in one line with exit status 2, and nothing is written."""

import fcntl
import os
import shutil
import socket
import tempfile
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from conftest import TINY
from nandram.cli import main
from probe.images import MEGABYTE, checksum, image


def write_files() -> None:
    """Fill the working folder with targets."""
    shutil.copy(TINY, "tiny.toml")
    image(Path("good.img"))
    for name in (
        "read-only.img",
        "ext4.img",
        "gpt.img",
        "mbr.img",
        "luks.img",
        "backing.img",
        "swap.img",
        "mounted.img",
    ):
        shutil.copyfile("good.img", name)
    Path("read-only.img").chmod(0o444)
    for name, at, what in (
        ("ext4.img", 0x438, b"\x53\xef"),
        ("gpt.img", 512, b"EFI PART"),
        ("mbr.img", 446, bytes(4) + b"\x83" + bytes(59) + b"\x55\xaa"),
        ("luks.img", 0, b"LUKS\xba\xbe"),
    ):
        with Path(name).open("r+b") as file:
            file.seek(at)
            file.write(what)
    image(Path("small.img"), 2)
    Path("empty.img").touch()
    with Path("sparse.img").open("wb") as file:
        file.truncate(128 * MEGABYTE)
    with Path("half.img").open("wb") as file:
        file.write(os.urandom(32 * MEGABYTE))
        file.truncate(128 * MEGABYTE)
    with Path("reserved.img").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 64 * MEGABYTE)
    Path("folder").mkdir()
    os.mkfifo("pipe")
    Path("dangling").symlink_to("nowhere")
    Path("ring").symlink_to("ring")
    # A simulated kernel.
    here = Path.cwd()
    for name, text in (
        ("kernel/sys/block/loop7/loop/backing_file", f"{here}/backing.img\n"),
        ("kernel/proc/swaps", f"Filename Type Size Used Priority\n{here}/swap.img file 65532 0 -2\n"),
        (
            "kernel/proc/self/mountinfo",
            f"27 1 254:0 / / rw - ext4 /dev/vda rw\n28 27 0:99 / /mnt/old\\040image ro - erofs {here}/mounted.img ro\n",
        ),
    ):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def probing(target: str, *more: str) -> list[str]:
    return ["probe", target, *more]


def writing(target: str, *more: str) -> list[str]:
    return ["probe", target, "--test", "write-buffer", "--allow-write", *more]


def confirmed(target: str) -> list[str]:
    return writing(target, "--confirm", "HERE/" + target)


KERNEL = ("--root", "kernel")

MISTAKES = [
    # Targets.
    ["probe"],
    probing("no-such.img"),
    probing("./no-such.img"),
    probing("no-such-folder/some.img"),
    probing("nvme-cleint-tlc"),
    probing("no-such.toml"),
    probing("folder"),
    probing("pipe"),
    probing("dangling"),
    probing("ring"),
    probing("/dev/null"),
    probing("/dev/nvme77n1"),
    probing("/proc/self/status"),
    probing("empty.img"),
    probing("small.img"),
    probing("sparse.img"),
    probing("half.img"),
    probing("reserved.img"),
    # In use, according to the kernel.
    probing("backing.img", *KERNEL),
    probing("swap.img", *KERNEL),
    probing("mounted.img", *KERNEL),
    probing("good.img", "--root", "no-such-folder"),
    probing("backing.img", *KERNEL, "--plan"),
    # Writing.
    probing("good.img", "--test", "write-buffer"),
    probing("good.img", "--test", "read-cache", "--test", "write-buffer"),
    probing("good.img", "--confirm", "good.img"),
    probing("good.img", "--allow-write"),
    writing("good.img"),
    writing("good.img", "--confirm", ""),
    writing("good.img", "--confirm", "good.img"),
    writing("good.img", "--confirm", "S4EWNX0R700217A"),
    writing("good.img", "--confirm", "HERE/small.img"),
    confirmed("read-only.img"),
    confirmed("ext4.img"),
    confirmed("gpt.img"),
    confirmed("mbr.img"),
    confirmed("luks.img"),
    writing("ext4.img", "--plan"),
    # Options.
    probing("good.img", "--test", "raed-cache"),
    probing("good.img", "--test", "all", "--test", "nothing"),
    probing("good.img", "--method", "papr"),
    probing("good.img", "--method", "paper", "--test", "stripe"),
    probing("good.img", "--method", "paper", "--every", "0"),
    probing("good.img", "--method", "paper", "--every", "two"),
    probing("good.img", "--every", "2"),
    probing("good.img", "--confidence", "sure"),
    probing("good.img", "--confidence", "1"),
    probing("good.img", "--confidence", "0.5"),
    probing("good.img", "--confidence", "nan"),
    probing("good.img", "--seed", "-1"),
    probing("good.img", "--seed", "18446744073709551616"),
    probing("good.img", "--set", "flash.channels=4"),
    probing("good.img", "--set", "flash.channels"),
    probing("good.img", "--precondition", "steady"),
    probing("good.img", "--json", "folder"),
    probing("good.img", "--json", "no-such-folder/report.json"),
    probing("good.img", "-o", "good.img"),
    probing("good.img", "-o", "/dev/null/below"),
    probing("good.img", "--jsno", "report.json"),
    probing("good.img", "other.img"),
    # Simulated drives.
    probing("tiny.toml", "--set", "flash.chanels=4"),
    probing("tiny.toml", "--precondition", "stead"),
    probing("tiny.toml", "--allow-write"),
    probing("tiny.toml", "--confirm", "tiny.toml"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create the targets once; tests must not change them."""
    folder = tmp_path_factory.mktemp("targets")
    before = Path.cwd()
    os.chdir(folder)
    try:
        write_files()
    finally:
        os.chdir(before)
    return folder


def everything(folder: Path) -> list[tuple[str, int, int]]:
    return sorted((str(path), path.lstat().st_mtime_ns, path.lstat().st_size) for path in folder.rglob("*"))


def message(arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    before = everything(folder)
    with pytest.raises(SystemExit) as exit_:
        main([argument.replace("HERE", str(folder)) for argument in arguments])
    found = capsys.readouterr()
    assert exit_.value.code == 2
    assert everything(folder) == before
    assert found.out == ""
    assert found.err.count("\n") == 1
    return found.err.replace(str(folder), "HERE")


def test_there_are_many() -> None:
    assert len(MISTAKES) >= 55
    assert len({" ".join(each) for each in MISTAKES}) == len(MISTAKES)


@pytest.mark.parametrize("arguments", MISTAKES, ids=" ".join)
def test_message(
    arguments: list[str],
    folder: Path,
    snapshot: SnapshotAssertion,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    assert message(arguments, folder, capsys) == snapshot


@pytest.mark.parametrize("system", ["dram-only", "nvmm", "hbf", "onenand-xip"])
def test_a_system_without_a_drive(system: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = f"error: {system}: found a system without a drive that a host can address, expected a drive\n"
    for options in ([], ["--plan"]):
        assert message(["probe", system, *options], folder, capsys) == expected


def test_a_locked_file(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with Path("good.img").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        found = message(["probe", "good.img"], folder, capsys)
    assert found.startswith("error: good.img: found it locked by ")
    assert found.endswith(f"(process {os.getpid()}), expected a file that nothing uses\n")


def test_a_socket(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        try:
            found = message(["probe", "socket"], folder, capsys)
        finally:
            Path("socket").unlink()
    assert found == "error: socket: found a socket, expected a file or a block device\n"


def test_a_file_in_memory(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(f"/dev/shm/nandram-{os.getpid()}.img")
    if not path.parent.is_dir():
        pytest.skip("this machine has no /dev/shm")
    image(path, 1)
    try:
        found = message(["probe", str(path)], Path("/nowhere"), capsys)
    finally:
        path.unlink()
    assert found == f"error: {path}: found a file on tmpfs, which is in memory, expected one on a drive\n"


def test_what_is_refused_stays_as_it_is(folder: Path) -> None:
    """Check the targets after all of the above."""
    image(fresh := folder / "fresh.img")
    assert checksum(folder / "good.img") == checksum(fresh)
    fresh.unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not")
def test_no_permission(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        monkeypatch.chdir(folder)
        image(Path("good.img"))
        expected = "expected a user with permission: root, or a member of its group\n"
        try:
            Path("good.img").chmod(0o600)
            os.seteuid(65534)
            found = message(["probe", "good.img"], folder, capsys)
            assert found == f"error: good.img: found no permission to read it, {expected}"
            os.seteuid(0)
            Path("good.img").chmod(0o644)
            os.seteuid(65534)
            found = message(writing("good.img", "--confirm", "HERE/good.img"), folder, capsys)
            assert found == f"error: good.img: found no permission to write it, {expected}"
        finally:
            os.seteuid(0)
            monkeypatch.undo()
