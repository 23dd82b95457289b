"""The members of a guest's initial file system."""

from pathlib import Path

import pytest

from guest.fakes import install
from nandram.errors import UserError
from nandram.guest.arguments import copies
from nandram.guest.cpio import File, Link
from nandram.guest.initramfs import OWN, Copy, Module, members, wanted


def script(folder: Path, text: str) -> Copy:
    path = folder / "script"
    path.write_text(text)
    return Copy(path, "/script")


@pytest.mark.parametrize(
    ("command", "text", "programs"),
    [
        (["fio", "/job.fio"], "", {"fio"}),
        (["sh", "-c", "mkfs.ext4 /dev/nvme0n1&&fio x"], "", {"mke2fs", "fio"}),
        (["sh", "/script"], "#!/bin/sh\n/usr/sbin/nvme id-ctrl /dev/nvme0\nfsck.ext3 x\n", {"nvme", "e2fsck"}),
        (["cat", "/dev/nvme0n1"], "no fiord, and tune2fsx", set()),
        (["sh", "/script"], "x" * (1 << 20) + " fio", set()),
    ],
)
def test_programs_that_are_mentioned(tmp_path: Path, command: list[str], text: str, programs: set[str]) -> None:
    assert wanted(command, [script(tmp_path, text)]) == programs


def test_members(tmp_path: Path) -> None:
    programs, _ = install(tmp_path / "fetched")
    copy = script(tmp_path, "text")
    copy.source.chmod(0o755)
    found = members(programs, ["fio", "a b"], [copy], [Module("x.ko", b"x"), Module("y.ko", b"y")])
    assert found["/nandram/command"] == File(b"exec fio 'a b'\n")
    assert found["/nandram/module-list"] == File(b"x.ko\ny.ko\n")
    assert found["/script"] == File(copy.source, executable=True)
    assert found["/usr/bin/ls"] == Link("busybox")
    assert "/usr/bin/fio" in found
    assert "/usr/sbin/nvme" not in found


def test_the_probe_is_there_if_it_is_mentioned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs, _ = install(tmp_path / "fetched")
    probe = tmp_path / "nandram-probe"
    monkeypatch.setitem(OWN, "nandram-probe", probe)
    command = ["sh", "-c", "nandram-probe /dev/nvme0n1"]
    with pytest.raises(UserError) as error:
        members(programs, command, [], [])
    assert str(error.value) == f"{probe}: was not built, expected an installation on x86-64 Linux or `make build`"
    probe.touch()
    assert members(programs, command, [], [])["/usr/bin/nandram-probe"] == File(probe, executable=True)
    assert "/usr/bin/nandram-probe" not in members(programs, ["true"], [], [])


def test_a_copy_replaces_a_program(tmp_path: Path) -> None:
    programs, _ = install(tmp_path / "fetched")
    (tmp_path / "fio").write_text("#!/bin/sh\n")
    own = copies([f"{tmp_path}/fio:/bin/fio"])
    assert members(programs, ["fio"], own, [])["/usr/bin/fio"] == File(tmp_path / "fio")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/usr/bin", "/usr/bin: is a folder of the guest, expected a file in it"),
        ("/etc/passwd/x", "/etc/passwd/x: /etc/passwd is not a folder in the guest"),
    ],
)
def test_copies_that_do_not_fit(tmp_path: Path, path: str, message: str) -> None:
    programs, _ = install(tmp_path / "fetched")
    own = copies([f"{script(tmp_path, '').source}:{path}"])
    with pytest.raises(UserError) as error:
        members(programs, ["true"], own, [])
    assert str(error.value) == f"--copy: {message}"
