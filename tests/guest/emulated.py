"""QEMU's own NVMe controller as a guest's drive, for tests of everything but the server."""

from pathlib import Path

from nandram.guest.children import Children
from nandram.guest.deadline import Deadline
from nandram.guest.qemu import clock_arguments


class EmulatedDrive:
    """A drive of 1 GiB, of zeros, that QEMU emulates."""

    def start(self, children: Children, work: Path, output: Path, deadline: Deadline) -> list[str]:
        drive = "if=none,id=drive,driver=null-co,size=1G,read-zeroes=on"
        return ["-drive", drive, "-device", "nvme,drive=drive,serial=test", *clock_arguments()]

    def check(self) -> None:
        pass

    def finish(self, deadline: Deadline) -> None:
        pass
