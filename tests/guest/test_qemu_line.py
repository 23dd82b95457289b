"""The command line of QEMU."""

from pathlib import Path

from syrupy.assertion import SnapshotAssertion

from guest.fakes import install
from nandram.guest.qemu import PORTS, Machine, command_line, drive_arguments


def test_command_line(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    programs, kernel = install(tmp_path)
    ports = {name: Path(f"/run/guest/{name}") for name in PORTS}
    machine = Machine(
        programs, kernel, Path("/run/guest/initramfs"), 1024, Path("/out,put/console.txt"), ports, ["nohz=on"]
    )
    drive = drive_arguments(Path("/run/guest/drive"), Path("/run/guest/channel"), Path("/a,b/plugin.so"))
    line = [word.replace(str(tmp_path), "FOLDER") for word in command_line(machine, drive)]
    assert line == snapshot
