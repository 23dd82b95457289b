"""MQSim's files to files of nandram."""

import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from nandram.errors import UserError
from nandram.importing import device, flows, traces
from nandram.importing.draft import MARK
from nandram.importing.elements import Element, read


@dataclass(frozen=True)
class Imported:
    """Files that were written, with notes about them."""

    files: list[Path]
    notes: list[str]
    commands: list[str]
    """How to run them."""


def import_files(files: list[Path], folder: Path) -> Imported:
    """Write a system file for MQSim's device and a job file per scenario of its workload into a folder.

    `files` are one device (``ssdconfig.xml``) and at most one workload (``workload.xml``), in any order. Raises
    `UserError` for mistakes in them, for a file in the folder that was not imported, and if nandram refuses the drive.
    """
    from nandram import folders

    found, workload = _roots(files)
    modes = set() if workload is None else flows.caching_modes(workload)
    drive = device.convert(found, modes)
    system = f"{Path(found.file).stem}.toml"
    notes = [f"{found.file}: {note}" for note in drive.notes]
    folders.check(folder)
    commands, names = [], [system]
    with tempfile.TemporaryDirectory(prefix=".import-", dir=folder) as name:
        made = Path(name)
        _write(made / system, drive.text)
        _check_system(found, made / system)
        for scenario in [] if workload is None else flows.convert(workload, drive.geometry, drive.queue_depth):
            assert workload is not None
            notes += [f"{workload.file}: {scenario.name}: {note}" for note in scenario.notes]
            missing = next((each.source for each in scenario.replays if not each.source.exists()), None)
            if missing is not None:
                notes.append(f"{workload.file}: {scenario.name} is not written: {missing} is missing")
                continue
            for replay in scenario.replays:
                notes += [f"{scenario.name}: {note}" for note in traces.write(replay, made / replay.target)]
            _write(made / scenario.name, scenario.text)
            _check_job(workload, made / scenario.name)
            names += [scenario.name, *(replay.target for replay in scenario.replays)]
            prepared = " --precondition steady" if drive.is_preconditioned else ""
            commands.append(f"nandram run {folder / system} {folder / scenario.name}{prepared}")
        for each in names:
            _expect_replaceable(folder / each)
        try:
            for each in names:
                os.replace(made / each, folder / each)
        except OSError as error:
            raise UserError(f"{folder / each}: cannot be written: {error.strerror}") from None
    return Imported([folder / each for each in names], notes, commands)


def _roots(files: list[Path]) -> tuple[Element, Element | None]:
    """Return the device and the workload. Raises `UserError`."""
    found: dict[str, Element] = {}
    for path in files:
        root = read(path)
        if root.name not in (device.ROOT, flows.ROOT):
            expected = f"MQSim's {device.ROOT} or {flows.ROOT}"
            raise UserError(f"{path}:{root.line}: found the element {root.name[:80]}, expected {expected}")
        if root.name in found:
            raise UserError(f"{path}: found a second {root.name}, expected one device and at most one workload")
        found[root.name] = root
    if device.ROOT not in found:
        expected = "the device's file (ssdconfig.xml) as well: flows share its addresses"
        raise UserError(f"{files[0]}: found a workload alone, expected {expected}")
    return found[device.ROOT], found.get(flows.ROOT)


def _check_system(root: Element, path: Path) -> None:
    from nandram import _core

    try:
        _core.check(str(path), [])
    except UserError as error:
        raise UserError(f"{root.file}: the converted drive is refused: {_reason(error, path)}") from None


def _check_job(root: Element, path: Path) -> None:
    from nandram import _core

    try:
        _core.check_workload(str(path))
    except UserError as error:
        raise UserError(f"{root.file}: a converted flow is refused: {_reason(error, path)}") from None


def _reason(error: UserError, path: Path) -> str:
    """Return a message without the place in a file that is not kept."""
    return re.sub(rf"^{re.escape(str(path))}(:[0-9]+)*: ", "", str(error)).replace(f"{path.parent}{os.sep}", "")


def _expect_replaceable(path: Path) -> None:
    """Raise `UserError` if a file exists that an import did not write."""
    try:
        with path.open("rb") as file:
            head = file.read(64)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    if not head.startswith((MARK.encode(), traces.HEAD.encode())):
        raise UserError(
            f"{path}: found a file that was not imported, expected none: choose another folder with --output"
        )


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path.name}: cannot be written: {error.strerror}") from None
