"""The search for kernel modules."""

import lzma
from pathlib import Path

import pytest
import zstandard

from guest.fakes import install
from nandram.errors import UserError
from nandram.guest.folder import Kernel
from nandram.guest.modules import find_modules


def module(depends: str) -> bytes:
    return b"\x7fELF\0license=GPL\0depends=" + depends.encode() + b"\0name=x\0"


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    kernel = install(tmp_path)[1]
    assert kernel.modules is not None
    folder = kernel.modules / "kernel"
    folder.mkdir()
    (folder / "top-one.ko.xz").write_bytes(lzma.compress(module("middle,base_two")))
    (folder / "middle.ko.zst").write_bytes(zstandard.compress(module("base_two,nvme_core")))
    (folder / "base-two.ko").write_bytes(module(""))
    (folder / "damaged.ko.xz").write_bytes(lzma.compress(module(""))[:-20])
    (folder / "text.ko").write_bytes(b"no module")
    return kernel


def test_dependencies_come_first_and_once(kernel: Kernel) -> None:
    found = find_modules(kernel, ["top_one", "base-two", "middle"])
    assert [each.name for each in found] == ["base_two.ko", "middle.ko", "top_one.ko"]
    assert found[1].content == module("base_two,nvme_core")


def test_the_consoles_modules_are_loaded_unasked(kernel: Kernel) -> None:
    assert kernel.modules is not None
    (kernel.modules / "kernel/virtio_pci.ko").write_bytes(module(""))
    assert [each.name for each in find_modules(kernel, ["base-two"])] == ["virtio_pci.ko", "base_two.ko"]


def test_built_in_modules_need_no_file(kernel: Kernel) -> None:
    assert find_modules(kernel, ["nvme-core"]) == []


def test_a_file_may_depend_on_the_kernels_modules(kernel: Kernel, tmp_path: Path) -> None:
    own = tmp_path / "own.ko"
    own.write_bytes(module("middle"))
    assert [each.name for each in find_modules(kernel, [str(own)])] == ["base_two.ko", "middle.ko", "own.ko"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("midle", "Linux 6.12.1+deb13-cloud-amd64 has no module `midle`; the nearest is `middle`"),
        ("damaged", "damaged.ko.xz: is damaged"),
        ("text", "text.ko: found no module information, expected a kernel module (.ko)"),
        ("./no.ko", "no.ko: No such file or directory"),
    ],
)
def test_mistakes(kernel: Kernel, name: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        find_modules(kernel, [name])
    assert str(error.value).startswith("--module: ")
    assert str(error.value).endswith(message)


def test_an_own_kernel_has_no_modules(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"expected a \.ko file: bzImage came without modules"):
        find_modules(Kernel(Path("bzImage")), ["loop"])
