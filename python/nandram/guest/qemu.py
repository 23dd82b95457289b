"""The command line of QEMU."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nandram.guest.folder import Kernel, Programs

PORTS = ("status", "stdout", "stderr", "kernel", "files")
"""The guest writes to these ports of its virtio console; each is a file of the host."""
ANSWER_MS_MAX = 600_000
"""Time after which QEMU takes a server that does not answer for dead."""

_PARAMETERS = "console=ttyS0 panic=-1 quiet mitigations=off no_timer_check nolapic_timer nohz=off"


@dataclass(frozen=True)
class Machine:
    """The parts of a guest, and the files that it writes."""

    programs: Programs
    kernel: Kernel
    initramfs: Path
    memory_mib: int
    console: Path
    """File of the serial console: messages of the firmware and of a dying kernel."""
    ports: dict[str, Path]
    parameters: Sequence[str] = ()
    """Parameters of the kernel, after those of every guest."""


def command_line(machine: Machine, drive: list[str]) -> list[str]:
    """Return the command line that boots a machine with a drive."""
    assert tuple(machine.ports) == PORTS
    share = machine.programs.tree / "usr/share"
    memory = f"{machine.memory_mib}M"
    return [
        *machine.programs.started("usr/bin/qemu-system-x86_64"),
        *("-L", str(share / "qemu"), "-L", str(share / "seabios")),
        # The memory is shared with the server, which performs the drive's DMA.
        *("-object", f"memory-backend-memfd,id=mem,size={memory},share=on"),
        # The features of newer processors, such as five-level page tables, only cost time to emulate.
        *("-machine", "q35,memory-backend=mem,accel=tcg", "-cpu", "Nehalem", "-smp", "1", "-m", memory),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-kernel", str(machine.kernel.image), "-initrd", str(machine.initramfs)),
        # A serial port takes 87 us a character, so the kernel prints warnings only. Speculation, which the mitigations
        # are about, is not emulated. Without the next two, Linux calibrates the local APIC's timer and checks its
        # interrupt, which takes 11 million PAUSEs, and QEMU leaves its translated code at each. The tick comes from the
        # HPET instead. It goes on while the guest is idle (nohz=off): else the first interrupt after a long sleep takes
        # 1.4 us more, in which Linux sets its clocks, and a guest's software adds more time to a slow drive's latency.
        *("-append", " ".join([_PARAMETERS, *machine.parameters])),
        *("-chardev", f"file,id=console,path={_escaped(machine.console)}", "-serial", "chardev:console"),
        # Without ioeventfd, a write to a port ends before the guest's next instruction, at no virtual time.
        *("-device", "virtio-serial-pci,ioeventfd=off,max_ports=8"),
        *(word for number, name in enumerate(PORTS, 1) for word in _port(number, name, machine.ports[name])),
        *drive,
    ]


def drive_arguments(socket: Path, channel: Path, plugin: Path) -> list[str]:
    """Return the arguments that attach the server's drive, in virtual time.

    The guest's clock counts its instructions, one per nanosecond, and skips idle time. The plug-in steps the drive.
    """
    device = {
        "driver": "vfio-user-pci",
        "socket": {"type": "unix", "path": str(socket)},
        # A doorbell's write must reach the server before the guest's next instruction.
        "x-no-posted-writes": True,
        # On a busy machine an answer may take longer than the 5 s after which QEMU would give up.
        "x-msg-timeout": ANSWER_MS_MAX,
    }
    return [
        *("-device", json.dumps(device)),
        *clock_arguments(),
        *("-plugin", f"{_escaped(plugin)},channel={_escaped(channel)}"),
    ]


def clock_arguments() -> list[str]:
    """Return the arguments of a clock, and of random numbers, that repeat from run to run."""
    return ["-icount", "shift=0,sleep=off", "-rtc", "base=2000-01-01T00:00:00,clock=vm", "-seed", "1"]


def _port(number: int, name: str, file: Path) -> list[str]:
    chardev = f"file,id={name},path={_escaped(file)}"
    return ["-chardev", chardev, "-device", f"virtserialport,nr={number},chardev={name},name=nandram.{name}"]


def _escaped(path: Path) -> str:
    """Return a path in a list of QEMU's options, in which a comma is doubled."""
    return str(path).replace(",", ",,")
