"""Real block devices: loop devices over files, mounted, partitioned, used as swap and in use (`make test-system`)."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nandram.cli import main
from probe.images import MEGABYTE, checksum, image

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes loop devices"),
    pytest.mark.skipif(
        not Path("/dev/loop-control").exists() or shutil.which("losetup") is None,
        reason="this machine has no loop devices (/dev/loop-control, losetup)",
    ),
]

Attach = Callable[..., str]


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    return image(tmp_path / "disk.img")


@pytest.fixture
def attach() -> Iterator[Attach]:
    """Return a function that creates loop devices, which are removed when the test ends."""
    made: list[str] = []

    def attach(path: Path | str, *options: str) -> str:
        made.append(run("losetup", "--find", "--show", "--direct-io=on", *options, str(path)))
        return made[-1]

    yield attach
    for device in reversed(made):
        subprocess.run(["losetup", "--detach", device], check=False, capture_output=True)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Return a function that mounts devices below the test's folder."""
    mounted: list[Path] = []

    def mount(device: str) -> Path:
        at = tmp_path / f"mounted {len(mounted)}"
        at.mkdir()
        run("mount", device, str(at))
        mounted.append(at)
        return at

    yield mount
    for at in reversed(mounted):
        subprocess.run(["umount", str(at)], check=False, capture_output=True)


def refusal(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as exit_:
        main(["probe", *arguments])
    found = capsys.readouterr()
    assert exit_.value.code == 2
    assert found.out == ""
    assert found.err.count("\n") == 1
    return found.err.removeprefix("error: ").rstrip("\n")


def partitioned(path: Path) -> None:
    """Write a partition table (MBR) with one partition that starts at 1 MiB."""
    entry = bytes([0, 0, 2, 0, 0x83, 0, 0, 0]) + (2048).to_bytes(4, "little") + (2048 * 100).to_bytes(4, "little")
    with path.open("r+b") as file:
        file.seek(446)
        file.write(entry + bytes(48) + b"\x55\xaa")


def test_a_free_device_is_read(disk: Path, attach: Attach, capsys: pytest.CaptureFixture[str]) -> None:
    device, before = attach(disk), checksum(disk)
    with pytest.raises(SystemExit) as exit_:
        main(["probe", device])
    out = capsys.readouterr().out
    assert exit_.value.code == 0
    assert out.startswith(f"{device}: drive, 67.1 MB\nnothing is written\nleft out, as it writes: write-buffer")
    assert "parallelism" in out
    assert checksum(disk) == before


def test_a_mounted_device(
    disk: Path, attach: Attach, mount: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    device = attach(disk)
    run("mkfs.ext4", "-q", "-F", device)
    at = mount(device)
    expected = f"found {device} mounted on {at}, expected a drive that nothing uses: unmount it first"
    assert refusal([device], capsys) == f"{device}: {expected}"
    assert refusal([device, "--plan"], capsys) == f"{device}: {expected}"
    # The file below it is in use too.
    expected = f"found the loop device {device} on it, expected an unused file or drive: losetup -d {device} first"
    assert refusal([str(disk)], capsys) == f"{disk}: {expected}"


def test_a_file_system_that_is_not_mounted(disk: Path, attach: Attach, capsys: pytest.CaptureFixture[str]) -> None:
    device = attach(disk)
    run("mkfs.ext4", "-q", "-F", device)
    before = checksum(disk)
    found = refusal([device, "--allow-write", "--test", "write-buffer", "--confirm", device], capsys)
    assert found.startswith(
        f"{device}: found an ext2, ext3 or ext4 file system on it, expected nothing that write-buffer"
    )
    assert checksum(disk) == before


def test_a_partitioned_device(
    tmp_path: Path, attach: Attach, mount: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    disk = image(tmp_path / "disk.img", 128)
    partitioned(disk)
    # The kernel creates no partitions on a loop device unless requested, but the table exists.
    device = attach(disk)
    expected = "found a partition table (MBR), expected a drive without one: wipe it first (wipefs --all)"
    assert refusal([device], capsys) == f"{device}: {expected}"
    run("losetup", "--detach", device)
    device = attach(disk, "--partscan")
    part = f"{device}p1"
    if not Path(part).exists():
        # A kernel that does not read such tables can be given the partition explicitly.
        run("addpart", device, "1", "2048", str(2048 * 100))
    names = part.removeprefix("/dev/")
    expected = (
        f"found the partitions {names}, expected a drive without partitions: name a partition that nothing uses, or"
    )
    assert refusal([device], capsys) == f"{device}: {expected} wipe the drive first (wipefs --all)"
    # An unused partition may be probed; a mounted one prevents probing its whole drive.
    with pytest.raises(SystemExit) as exit_:
        main(["probe", part, "--test", "parallelism"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out.startswith(f"{part}: partition, 105 MB\n")
    run("mkfs.ext4", "-q", "-F", part)
    at = mount(part)
    expected = f"found {part} mounted on {at}, expected a drive that nothing uses: unmount it first"
    assert refusal([device], capsys) == f"{device}: {expected}"
    assert refusal([part], capsys) == f"{part}: {expected}"


def test_swap(disk: Path, attach: Attach, capsys: pytest.CaptureFixture[str]) -> None:
    device = attach(disk)
    run("mkswap", device)
    found = refusal([device, "--allow-write", "--test", "write-buffer", "--confirm", device], capsys)
    assert found.startswith(f"{device}: found swap space on it, ")
    swapped = subprocess.run(["swapon", device], check=False, capture_output=True, text=True)
    if swapped.returncode != 0:
        pytest.skip(f"this machine does not swap to a loop device: {swapped.stderr.strip()}")
    try:
        expected = f"found {device} in use as swap, expected an unused file or drive: swapoff {device} first"
        assert refusal([device], capsys) == f"{device}: {expected}"
    finally:
        run("swapoff", device)


def test_a_device_that_something_holds(disk: Path, attach: Attach, capsys: pytest.CaptureFixture[str]) -> None:
    device = attach(disk)
    expected = "found it in use (the kernel refuses exclusive access), expected a drive that nothing uses"
    held = os.open(device, os.O_RDONLY | os.O_EXCL)
    try:
        assert refusal([device], capsys) == f"{device}: {expected}"
    finally:
        os.close(held)
    upper = attach(device)
    expected = f"found the loop device {upper} on it, expected an unused file or drive: losetup -d {upper} first"
    assert refusal([device], capsys) == f"{device}: {expected}"


def test_a_device_that_is_read_only(disk: Path, attach: Attach, capsys: pytest.CaptureFixture[str]) -> None:
    device = attach(disk, "--read-only")
    expected = "found a drive that is read-only, expected one that can be written, for write-buffer"
    found = refusal([device, "--allow-write", "--test", "write-buffer", "--confirm", device], capsys)
    assert found == f"{device}: {expected}"


def test_a_device_is_written_only_by_its_name(disk: Path, attach: Attach, capsys: pytest.CaptureFixture[str]) -> None:
    device, before = attach(disk), checksum(disk)
    writing = [device, "--allow-write", "--test", "write-buffer"]
    key = f"the path of the drive, which has no serial number: {device}"
    warning = "--allow-write: destroys the data on the target (at most 243 MB are written, 3.6 times its capacity)"
    assert refusal(writing, capsys) == f"{warning}: needs --confirm with {key}"
    found = refusal([*writing, "--confirm", "S4EWNX0R700217A"], capsys)
    assert found == f"--confirm: found `S4EWNX0R700217A`, expected {key}"
    assert checksum(disk) == before
    with pytest.raises(SystemExit) as exit_:
        main(["probe", *writing, "--confirm", device])
    assert exit_.value.code == 0
    assert "write buffer" in capsys.readouterr().out
    assert checksum(disk) != before


def kernel_of(folder: Path, device: str, serial: str = "S4EWNX0R700217A") -> Path:
    """Simulate a kernel that presents a loop device as an NVMe drive with host memory; return its switch."""
    number = os.stat(device).st_rdev
    name = f"{os.major(number)}:{os.minor(number)}"
    controller = folder / "sys/devices/pci0000:00/nvme/nvme0"
    drive = controller / "nvme0n1"
    for path, text in (
        (drive / "dev", f"{name}\n"),
        (drive / "size", f"{64 * MEGABYTE // 512}\n"),
        (drive / "ro", "0\n"),
        (drive / "queue/logical_block_size", "512\n"),
        (controller / "serial", f"{serial}\n"),
        (controller / "model", "EXAMPLE 970\n"),
        (controller / "hmb", "1\n"),
        (folder / "sys/module/nvme/parameters/max_host_mem_size_mb", "128\n"),
        (folder / "proc/self/mountinfo", "27 1 254:0 / / rw - ext4 /dev/vda rw\n"),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for link, to in (
        (drive / "device", controller),
        (folder / f"sys/dev/block/{name}", drive),
        (folder / "sys/class/nvme/nvme0", controller),
    ):
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(to)
    return controller / "hmb"


def start(device: str, folder: Path) -> "subprocess.Popen[str]":
    """Start a long-running probe."""
    options = ["--test", "parallelism", "--test", "read-cache", "--confidence", "0.999999999", "--root", str(folder)]
    command = [sys.executable, "-m", "nandram", "probe", device, *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_until(text: str, switch: Path, probing: "subprocess.Popen[str]") -> None:
    while switch.read_text().strip() != text:
        assert probing.poll() is None, probing.communicate()
        time.sleep(0.001)


def test_host_memory_is_switched_and_put_back(
    disk: Path, attach: Attach, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    device = attach(disk)
    kernel = tmp_path / "kernel"
    switch = kernel_of(kernel, device)
    for found in ("1\n", "0\n"):
        switch.write_text(found)
        with pytest.raises(SystemExit) as exit_:
            main(["probe", device, "--test", "parallelism", "--root", str(kernel)])
        out = capsys.readouterr().out
        assert exit_.value.code == 0
        assert out.startswith(f"{device}: drive EXAMPLE 970, 67.1 MB\nnothing is written\n")
        assert f"restore the host memory buffer with: echo {found.strip()} > {kernel}/sys/class/nvme/nvme0/hmb\n" in out
        assert "parallelism with host memory: " in out
        assert "parallelism without host memory: " in out
        assert switch.read_text() == found
    # Unchanged with --keep-hmb.
    switch.write_text("1\n")
    before = switch.stat().st_mtime_ns
    with pytest.raises(SystemExit):
        main(["probe", device, "--test", "parallelism", "--root", str(kernel), "--keep-hmb"])
    assert "host memory:" not in capsys.readouterr().out
    assert (switch.stat().st_mtime_ns, switch.read_text()) == (before, "1\n")


def test_the_serial_number_is_asked_for_and_not_told(
    disk: Path, attach: Attach, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    device = attach(disk)
    kernel_of(tmp_path / "kernel", device)
    writing = [device, "--allow-write", "--test", "write-buffer", "--root", str(tmp_path / "kernel")]
    key = f"the serial number of {device} (EXAMPLE 970, 64MiB)"
    assert refusal([*writing, "--confirm", device], capsys) == f"--confirm: found `{device}`, expected {key}"
    assert refusal([*writing, "--confirm", "S4EWNX0R700217B"], capsys).endswith(f"expected {key}")
    assert refusal(writing, capsys).endswith(f"needs --confirm with {key}")
    with pytest.raises(SystemExit) as exit_:
        main(["probe", *writing, "--confirm", "S4EWNX0R700217A", "--keep-hmb"])
    assert exit_.value.code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_host_memory_is_put_back_after_a_signal(
    disk: Path, attach: Attach, tmp_path: Path, number: signal.Signals
) -> None:
    device, before = attach(disk), checksum(disk)
    switch = kernel_of(tmp_path / "kernel", device)
    probing = start(device, tmp_path / "kernel")
    wait_until("0", switch, probing)
    probing.send_signal(number)
    # An impatient user.
    probing.send_signal(number)
    out, err = probing.communicate(timeout=60)
    assert probing.returncode == 128 + number, (out, err)
    assert err.endswith("; the host memory buffer is in its original state\n")
    assert "parallelism with host memory: " in out
    assert switch.read_text() == "1\n"
    assert checksum(disk) == before


def test_a_killed_probe_has_said_how_its_switch_is_put_back(disk: Path, attach: Attach, tmp_path: Path) -> None:
    device = attach(disk)
    switch = kernel_of(tmp_path / "kernel", device)
    probing = start(device, tmp_path / "kernel")
    wait_until("0", switch, probing)
    probing.kill()
    out, _ = probing.communicate(timeout=60)
    assert switch.read_text() == "0\n"
    said = next(line for line in out.splitlines() if line.startswith("if this program is killed"))
    subprocess.run(["sh", "-c", said.partition("buffer with: ")[2]], check=True)
    assert switch.read_text() == "1\n"


def test_host_memory_that_cannot_be_put_back_is_told(disk: Path, attach: Attach, tmp_path: Path) -> None:
    device = attach(disk)
    switch = kernel_of(tmp_path / "kernel", device)
    probing = start(device, tmp_path / "kernel")
    wait_until("0", switch, probing)
    switch.unlink()
    out, err = probing.communicate(timeout=120)
    assert probing.returncode == 1, (out, err)
    assert "NOT RESTORED" in err
    assert f"echo 1 > {tmp_path}/kernel/sys/class/nvme/nvme0/hmb" in err
    assert "parallelism with host memory: " in out


def test_nothing_mounts_what_is_being_probed(disk: Path, attach: Attach, tmp_path: Path) -> None:
    device = attach(disk)
    run("mkfs.ext4", "-q", "-F", device)
    # The table of the simulated kernel only makes the probe wait at a visible point.
    switch = kernel_of(tmp_path / "kernel", device)
    probing = start(device, tmp_path / "kernel")
    wait_until("0", switch, probing)
    at = tmp_path / "at"
    at.mkdir()
    mounted = subprocess.run(["mount", device, str(at)], check=False, capture_output=True, text=True)
    probing.send_signal(signal.SIGINT)
    out, err = probing.communicate(timeout=60)
    assert probing.returncode == 130, (out, err)
    assert mounted.returncode != 0
    assert "busy" in mounted.stderr or "already mounted" in mounted.stderr, mounted.stderr
