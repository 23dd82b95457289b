"""Detection of the target architecture of a program."""

import struct
from pathlib import Path

import pytest

from nandram.capture.emulated.elf import Elf, read_elf
from nandram.errors import UserError


def elf(bits: int = 64, order: str = "<", machine: int = 62, kind: int = 2, interpreter: bytes | None = None) -> bytes:
    """Return the headers of a program."""
    word = "I" if bits == 32 else "Q"
    header_bytes, segment_bytes = (52, 32) if bits == 32 else (64, 56)
    ident = b"\x7fELF" + bytes([bits // 32, 1 if order == "<" else 2, 1]) + bytes(9)
    header = ident + struct.pack(f"{order}HHI3{word}I6H", kind, machine, 1, 0, header_bytes, 0, 0,
                                 header_bytes, segment_bytes, 2, 0, 0, 0)  # fmt: skip
    text = b"" if interpreter is None else interpreter + b"\0"
    at = header_bytes + 2 * segment_bytes
    load = struct.pack(f"{order}I", 1).ljust(segment_bytes, b"\0")
    kind_of_second = 4 if interpreter is None else 3
    if bits == 32:
        second = struct.pack(f"{order}8I", kind_of_second, at, 0, 0, len(text), 0, 0, 0)
    else:
        second = struct.pack(f"{order}2I6Q", kind_of_second, 0, at, 0, 0, len(text), 0, 0)
    return header + load + second + text


@pytest.mark.parametrize(
    ("bits", "order", "machine", "name"),
    [(64, "<", 62, "x86_64"), (32, "<", 40, "arm"), (32, ">", 40, "armeb"), (64, ">", 22, "s390x"),
     (32, "<", 243, "riscv32"), (64, "<", 183, "aarch64")],
)  # fmt: skip
@pytest.mark.parametrize("interpreter", [None, "/lib/ld-linux.so.3"])
def test_architectures(tmp_path: Path, bits: int, order: str, machine: int, name: str, interpreter: str | None) -> None:
    path = tmp_path / "p"
    path.write_bytes(elf(bits, order, machine, interpreter=interpreter.encode() if interpreter else None))
    assert read_elf(path) == Elf(name, interpreter)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"#!/bin/sh -e\necho\n", "found a script, expected a program: capture what runs it, as in `-- /bin/sh -e {}`"),
        (b"", "found an empty file, expected an ELF program"),
        (b"MZ\x90\0xyz", "found a file that begins with 4d 5a 90 00, expected an ELF program"),
        (elf()[:30], "found damaged ELF headers, expected an ELF program"),
        (elf()[:4] + b"\x07" + elf()[5:], "found damaged ELF headers, expected an ELF program"),
        (elf(kind=1), "found an ELF file of type 1, expected a linked program"),
    ],
)
def test_no_program(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "p"
    path.write_bytes(data)
    with pytest.raises(UserError) as error:
        read_elf(path)
    assert str(error.value) == f"{path}: {message.format(path)}"


def test_a_machine_without_a_qemu(tmp_path: Path) -> None:
    path = tmp_path / "p"
    path.write_bytes(elf(machine=4242))
    with pytest.raises(UserError, match="found a 64-bit little-endian program of machine 4242, expected aarch64, "):
        read_elf(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="p: cannot be read: No such file or directory"):
        read_elf(tmp_path / "p")
