"""A system file in the making: MQSim's parameters on one side, keys, their bases and notes on the other."""

from pathlib import Path
from typing import Any

from nandram.importing.defaults import DEVICE, FLASH, HOST
from nandram.importing.elements import Element, Parameters
from nandram.language.tables import table_lines, value_text

PRESET = "mqsim-ideal-map"
MARK = "# Imported by `nandram import` from "
"""Begins the first line of each file that is written; other files are not overwritten."""


class Draft:
    """The parameters of a device file, and the system file in the making."""

    def __init__(self, root: Element) -> None:
        self.file = root.file
        self.notes: list[str] = []
        """Parameters without counterpart, or with another meaning."""
        self.top = Parameters(root, {})
        self.host = Parameters(self.top.child("Host_Parameter_Set") or _empty(root, "Host_Parameter_Set"), HOST)
        device = self.top.child("Device_Parameter_Set") or _empty(root, "Device_Parameter_Set")
        self.device = Parameters(device, DEVICE)
        self.flash = Parameters(self.device.child("Flash_Parameter_Set") or _empty(root, "Flash_Parameter_Set"), FLASH)
        self._table: dict[str, Any] = {}
        self._basis: dict[str, Any] = {}

    def put(self, key: str, value: object, basis: str, kind: str = "given") -> None:
        """Set a key with its basis."""
        *folders, last = key.split(".")
        place = self._table
        for folder in folders:
            place = place.setdefault(folder, {})
        place[last] = value
        self._basis[key] = {kind: basis}

    def note(self, name: str, value: object, why: str) -> None:
        """Name a parameter without counterpart, or with another meaning."""
        self.notes.append(f"{name} {value}: {why}")

    def text(self) -> str:
        """Return the system file."""
        lines = [
            f"{MARK}{printable(Path(self.file).name)}, MQSim's parameters.",
            "# Without a counterpart, or with another meaning:",
            *(f"# {printable(note)}" for note in self.notes),
            f"extends = {value_text(PRESET)}",
            'title = "An imported drive of MQSim"',
            "",
            *table_lines(self._table),
            "[basis]",
            *(f"{value_text(key)} = {value_text(basis)}" for key, basis in self._basis.items()),
        ]
        return "\n".join(lines) + "\n"


def time(nanoseconds: int) -> str:
    """Return a time of a system file or a job."""
    for unit, scale in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if nanoseconds and nanoseconds % scale == 0:
            return f"{nanoseconds // scale}{unit}"
    return f"{nanoseconds}ns"


def size(count: int) -> str:
    """Return a size of a system file."""
    for unit, scale in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count and count % scale == 0:
            return f"{count // scale}{unit}"
    return f"{count}B"


def printable(text: str) -> str:
    """Return a text as one line of a comment."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def _empty(root: Element, name: str) -> Element:
    return Element(root.file, name, root.line)
