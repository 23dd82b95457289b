"""Fetching packages, with stand-ins for apt and dpkg-deb."""

import json
import sys
from pathlib import Path

import pytest

from nandram.errors import UserError
from nandram.guest.folder import KERNELS, find_kernel, find_programs
from nandram.guest.packages import fetch as module
from nandram.guest.packages.fetch import fetch

MIRROR = "http://mirror.example/debian"
KERNEL = "linux-image-6.12.9+deb13-cloud-amd64"
PACKAGES = {
    "qemu-system-x86": "1:11.1.3+ds-1",
    "qemu-system-data": "1:11.1.3+ds-1",
    "busybox-static": "1.37",
    "fio": "3.39",
    "nvme-cli": "2.13",
    "e2fsprogs": "1.47",
    "util-linux": "2.41",
    "btrfs-progs": "6.14",
    "f2fs-tools": "1.16",
    "libc6": "2.41",
    "adduser": "3.152",
    "libpam0g": "1.7",
    "linux-image-6.12.9+deb13-cloud-amd64": "6.12.9-1",
    "linux-base": "4.12",
}
# Answers like apt and dpkg-deb; `fault` makes one command fail, with a text.
PROGRAM = """#!{python}
import json, os, re, sys
here = os.path.dirname(os.path.abspath(__file__))
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
with open(os.path.join(here, "calls"), "a") as file:
    file.write(" ".join([name, *words]) + "\\n")
packages = json.load(open(os.path.join(here, "packages")))
fault = os.path.join(here, "fault")
if os.path.exists(fault):
    command, text = json.load(open(fault))
    if command in words:
        print(text, file=sys.stderr)
        sys.exit(100)
if "pkgnames" in words:
    print("\\n".join(each for each in packages if each.startswith(words[-1])))
elif "install" in words:
    print("".join(f"Inst {{each}} ({{version}} Debian [amd64])\\n" for each, version in packages.items()))
elif "download" in words:
    for each in words[words.index("download") + 1 :]:
        open(each.partition("=")[0] + ".deb", "w").close()
elif name == "dpkg-deb":
    _, package, tree = words
    files = ["usr/share/doc/x"]
    if "qemu-system-x86." in package:
        files += ["usr/bin/qemu-system-x86_64"]
    if "linux-image" in package:
        files += ["boot/vmlinuz-6.12.9", "usr/lib/modules/6.12.9/x.ko"]
    if "libc6" in package:
        files += ["usr/lib64/ld-linux-x86-64.so.2"]
    for each in files:
        path = os.path.join(tree, each)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").write("#!/bin/sh\\n")
        os.chmod(path, 0o755)
"""


class Host:
    """A host whose apt is ours."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        for name in ("apt-get", "apt-cache", "dpkg-deb"):
            (folder / name).write_text(PROGRAM.format(python=sys.executable))
            (folder / name).chmod(0o755)
        self.has(PACKAGES)

    def has(self, packages: dict[str, str]) -> None:
        (self._folder / "packages").write_text(json.dumps(packages))

    def fails(self, command: str, text: str) -> None:
        (self._folder / "fault").write_text(json.dumps([command, text]))

    def works(self) -> None:
        (self._folder / "fault").unlink()

    def lacks(self, program: str) -> None:
        (self._folder / program).unlink()

    @property
    def calls(self) -> list[str]:
        calls = self._folder / "calls"
        return calls.read_text().splitlines() if calls.exists() else []


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    host = Host(tmp_path / "bin")
    keys = tmp_path / "keys.gpg"
    keys.touch()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(module, "KEYS", keys)
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    return host


def test_programs_and_a_kernel_are_fetched_once(host: Host, tmp_path: Path) -> None:
    folder = tmp_path / "guest"
    phases: list[str] = []
    found = fetch(folder, "6.12", MIRROR, phases.append)
    assert [part.part for part in found] == ["programs", "kernel 6.12"]
    needed = {name: version for name, version in PACKAGES.items() if name not in ("adduser", "libpam0g", "linux-base")}
    kernel = {KERNEL: needed.pop(KERNEL)}
    assert find_programs(folder).versions == needed
    assert find_kernel(folder, "6.12").release == "6.12.9"
    assert dict(find_kernel(folder, "6.12").versions) == kernel
    assert sorted(path.name for path in folder.iterdir()) == ["kernels", "programs"]
    assert not (folder / "programs/usr/share/doc").exists()
    assert phases == [
        "reading package lists",
        "downloading programs: 10 packages",
        "unpacking programs",
        "downloading kernel 6.12: 1 packages",
        "unpacking kernel 6.12",
    ]
    calls = host.calls
    assert fetch(folder, "6.12", MIRROR) == []
    assert host.calls == calls


def test_every_call_of_apt_has_a_root_of_its_own(host: Host, tmp_path: Path) -> None:
    fetch(tmp_path / "guest", "6.12", MIRROR)
    apt = [call for call in host.calls if call.startswith("apt")]
    assert len(apt) == 6
    assert all(f" -c {tmp_path}/guest/.fetch-" in call for call in apt)


@pytest.mark.parametrize(
    ("command", "text", "message"),
    [
        (
            "update",
            "E: Failed to fetch http://mirror.example/x  Could not resolve 'mirror.example'\nE: Some files failed",
            f"{MIRROR}: cannot be read: Failed to fetch http://mirror.example/x  Could not resolve 'mirror.example'; "
            "check the network, or give another --mirror",
        ),
        ("update", "W: GPG error\nE: The repository is not signed.", "apt-get update: The repository is not signed."),
        ("install", "E: Unable to locate package nvme-cli", f"{MIRROR}: has no package nvme-cli"),
        (
            "download",
            "E: You don't have enough free space in /x",
            "FOLDER: the disk is full: You don't have enough free",
        ),
        ("download", "", "apt-get download: it printed no message"),
        (
            "-x",
            "tar: x: Cannot write: No space left on device\ndpkg-deb: error",
            "FOLDER: the disk is full: tar: x: Cannot",
        ),
        (
            "-x",
            "dpkg-deb: error: not a Debian archive",
            "btrfs-progs.deb: cannot be unpacked: dpkg-deb: error: not a",
        ),
    ],
)
def test_a_fetch_that_fails_leaves_nothing(host: Host, tmp_path: Path, command: str, text: str, message: str) -> None:
    folder = tmp_path / "guest"
    host.fails(command, text)
    with pytest.raises(UserError) as error:
        fetch(folder, "6.12", MIRROR)
    assert str(error.value).startswith(message.replace("FOLDER", str(folder)))
    assert "\n" not in str(error.value)
    assert list(folder.iterdir()) == []
    host.works()
    assert len(fetch(folder, "6.12", MIRROR)) == 2


def test_the_newest_kernel_of_the_series(host: Host, tmp_path: Path) -> None:
    others = {f"linux-image-6.12.{n}+deb13-{kind}": "1" for n in (8, 10) for kind in ("cloud-amd64", "rt-amd64")}
    host.has(
        PACKAGES | others | {"linux-image-6.12.99+deb13-cloud-amd64-dbg": "1", "linux-image-6.120.1-cloud-amd64": "1"}
    )
    fetch(tmp_path / "guest", "6.12", MIRROR)
    assert dict(find_kernel(tmp_path / "guest", "6.12").versions) == {"linux-image-6.12.10+deb13-cloud-amd64": "1"}


def test_a_kernel_that_left_the_mirror(host: Host, tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"found no Linux 7\.3 in trixie-backports, expected 6\.1 or 6\.12 or 6\.12-amd64 instead"
    ):
        fetch(tmp_path / "guest", "7.3", MIRROR)
    assert set(KERNELS) == {"6.1", "6.12", "6.12-amd64", "7.3"}


def test_the_generic_flavor_of_a_series(host: Host, tmp_path: Path) -> None:
    host.has(PACKAGES | {"linux-image-6.12.9+deb13-amd64": "6.12.9-1"})
    fetch(tmp_path / "guest", "6.12-amd64", MIRROR)
    assert dict(find_kernel(tmp_path / "guest", "6.12-amd64").versions) == {
        "linux-image-6.12.9+deb13-amd64": "6.12.9-1"
    }
    with pytest.raises(UserError, match=r"found no kernel 6\.12; fetch it once"):
        find_kernel(tmp_path / "guest", "6.12")


def test_programs_of_an_older_version_are_fetched_again(host: Host, tmp_path: Path) -> None:
    folder = tmp_path / "guest"
    fetch(folder, "6.12", MIRROR)
    versions = folder / "programs/versions.json"
    fewer = {name: version for name, version in PACKAGES.items() if name not in ("util-linux", "f2fs-tools")}
    versions.write_text(json.dumps({"packages": fewer}))
    (folder / "programs/old").touch()
    with pytest.raises(UserError, match="found no programs for a guest; fetch them once"):
        find_programs(folder)
    assert [part.part for part in fetch(folder, "6.12", MIRROR)] == ["programs"]
    assert "util-linux" in find_programs(folder).versions
    assert sorted(path.name for path in folder.iterdir()) == ["kernels", "programs"]
    assert not (folder / "programs/old").exists()


def test_an_old_qemu(host: Host, tmp_path: Path) -> None:
    host.has(PACKAGES | {"qemu-system-x86": "1:10.0.13+ds"})
    with pytest.raises(
        UserError, match=r"--mirror: found QEMU 10\.0\.13\+ds in trixie-backports, expected 10\.1 or newer"
    ):
        fetch(tmp_path / "guest", "6.12", MIRROR)


@pytest.mark.parametrize("program", ["apt-get", "dpkg-deb"])
def test_a_host_without_apt(host: Host, tmp_path: Path, program: str) -> None:
    host.lacks(program)
    with pytest.raises(UserError, match=f"guest fetch: found no {program} on the PATH, expected a host with apt"):
        fetch(tmp_path / "guest", "6.12", MIRROR)


def test_a_host_of_another_architecture(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(UserError, match="guest fetch: found the architecture aarch64, expected x86_64"):
        fetch(tmp_path / "guest", "6.12", MIRROR)


def test_a_full_disk(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 5_000_000}))
    with pytest.raises(UserError, match="guest: found 5 MB of free space, expected 900 MB"):
        fetch(tmp_path / "guest", "6.12", MIRROR)


def test_without_debians_keys(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEYS", tmp_path / "none.gpg")
    with pytest.raises(UserError, match="found no such file, expected Debian's keys: install debian-archive-keyring"):
        fetch(tmp_path / "guest", "6.12", MIRROR)


@pytest.mark.parametrize("mirror", ["mirror.example", "ftp://x/debian", "http://x/a b", "http://x/[trusted=yes]", ""])
def test_an_address_that_is_none(host: Host, tmp_path: Path, mirror: str) -> None:
    with pytest.raises(UserError, match="--mirror: found"):
        fetch(tmp_path / "guest", "6.12", mirror)
    assert host.calls == []
