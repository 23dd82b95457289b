"""Memory on a full file system, and on a block device (as root)."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nandram import Memory, StorageError, UserError

pytestmark = [pytest.mark.system, pytest.mark.skipif(os.geteuid() != 0, reason="mounts file systems")]


@contextlib.contextmanager
def mounted(folder: Path, size: str, kind: str = "tmpfs") -> Iterator[Path]:
    """Mount a small file system: in DRAM, or ext4 on a loop device."""
    if kind == "tmpfs":
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], check=True)
    else:
        image = folder.parent / f"{folder.name}.ext4"
        image.touch()
        subprocess.run(["truncate", "-s", size, image], check=True)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


LOOPS = pytest.mark.skipif(not os.access("/dev/loop-control", os.W_OK), reason="no loop devices")


@pytest.mark.parametrize(("kind", "size"), [("tmpfs", "12M"), pytest.param("ext4", "16M", marks=LOOPS)])
def test_a_full_file_system_is_told_and_with_room_it_goes_on(tmp_path: Path, kind: str, size: str) -> None:
    with mounted(tmp_path, size, kind) as folder:
        path = folder / "a.memory"
        filler = folder / "filler"
        with Memory(path, capacity="16MiB", dram="8MiB") as memory:
            at = memory.alloc(8 << 20)
            memory.write(at, bytes([1]) * (1 << 20))
            token = memory.sync("first")
            space = os.statvfs(folder)
            filler.write_bytes(bytes(space.f_bavail * space.f_bsize - (3 << 20)))
            memory.write(at, bytes([2]) * (6 << 20))
            with pytest.raises(StorageError) as full:
                memory.sync("second")
            words = "FILE: the file system is full: No space left on device (os error 28); make room and try again"
            assert str(full.value) == words.replace("FILE", str(path))
            # The message in the guide.
            assert f"`{words}`" in (Path(__file__).parent.parent / "docs" / "memory.md").read_text()
            assert memory.read(at, 6 << 20) == bytes([2]) * (6 << 20)
            filler.unlink()
            second = memory.sync("second")
            assert memory.tokens() == {token: "first", second: "second"}
        with Memory(path) as memory:
            assert memory.read(at, 6 << 20) == bytes([2]) * (6 << 20)
            memory.rollback("first")
            assert memory.read(at, 2 << 20) == bytes([1]) * (1 << 20) + bytes(1 << 20)
            assert memory.verify() == []


def test_space_goes_back_to_the_file_system(tmp_path: Path) -> None:
    with mounted(tmp_path, "64m") as folder:
        path = folder / "a.memory"
        with Memory(path, capacity="16MiB", dram="1MiB") as memory:
            at = memory.alloc(12 << 20)
            memory.write(at, bytes([1]) * (12 << 20))
            memory.drop(memory.sync())
            before = path.stat().st_blocks * 512
            memory.delete(at, 12 << 20)
            memory.drop(memory.sync())
            memory.compact()
            after = path.stat().st_blocks * 512
            assert before > 12 << 20
            assert after < 4 << 20


@LOOPS
def test_a_block_device_holds_a_memory_and_nothing_is_overwritten(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(bytes(96 << 20))
    loop = subprocess.run(["losetup", "--find", "--show", image], check=True, capture_output=True, text=True)
    device = loop.stdout.strip()
    try:
        with Memory(device, capacity="16MiB", dram="1MiB") as memory:
            at = memory.alloc(100_000)
            memory.write(at, b"on a drive")
            memory.sync()
        with Memory(device) as memory:
            assert memory.read(at, 10) == b"on a drive"
        Path(device).write_bytes(b"something else")
        with pytest.raises(UserError):
            # The second superblock still exists.
            Memory(device, capacity="32MiB")
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)
