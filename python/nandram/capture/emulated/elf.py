"""The target of an ELF file (System V ABI, chapter 4; machine numbers of the ABI's registry)."""

import struct
from dataclasses import dataclass
from pathlib import Path

from nandram.errors import UserError

# Machine number, 32- or 64-bit, byte order: as QEMU calls it.
_ARCHITECTURES = {
    (3, 32, "<"): "i386",
    (4, 32, ">"): "m68k",
    (8, 32, ">"): "mips",
    (8, 32, "<"): "mipsel",
    (8, 64, ">"): "mips64",
    (8, 64, "<"): "mips64el",
    (15, 32, ">"): "hppa",
    (20, 32, ">"): "ppc",
    (21, 64, ">"): "ppc64",
    (21, 64, "<"): "ppc64le",
    (22, 64, ">"): "s390x",
    (40, 32, "<"): "arm",
    (40, 32, ">"): "armeb",
    (42, 32, "<"): "sh4",
    (42, 32, ">"): "sh4eb",
    (43, 64, ">"): "sparc64",
    (62, 64, "<"): "x86_64",
    (183, 64, "<"): "aarch64",
    (183, 64, ">"): "aarch64_be",
    (243, 32, "<"): "riscv32",
    (243, 64, "<"): "riscv64",
    (258, 64, "<"): "loongarch64",
    (0x9026, 64, "<"): "alpha",
}
_EXECUTABLE, _SHARED = 2, 3
_INTERPRETER = 3


@dataclass(frozen=True)
class Elf:
    """A program's file."""

    architecture: str
    """As QEMU names it."""
    interpreter: str | None
    """The path of the dynamic linker that it asks for; none if it is static."""


def read_elf(path: Path) -> Elf:
    """Read a program's headers. Raises `UserError` if it is none."""
    try:
        with path.open("rb") as file:
            data = file.read(1 << 16)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    if data.startswith(b"#!"):
        interpreter = data[2:].split(b"\n")[0].decode(errors="replace").strip()
        raise UserError(
            f"{path}: found a script, expected a program: capture what runs it, as in `-- {interpreter} {path}`"
        )
    if not data.startswith(b"\x7fELF"):
        raise UserError(f"{path}: found {_what(data)}, expected an ELF program")
    try:
        return _parse(path, data)
    except (struct.error, KeyError) as error:
        raise UserError(f"{path}: found damaged ELF headers, expected an ELF program") from error


def _what(data: bytes) -> str:
    return f"a file that begins with {data[:4].hex(' ')}" if data else "an empty file"


def _parse(path: Path, data: bytes) -> Elf:
    bits = {1: 32, 2: 64}[data[4]]
    order = {1: "<", 2: ">"}[data[5]]
    kind, machine = struct.unpack_from(f"{order}HH", data, 16)
    if kind not in (_EXECUTABLE, _SHARED):
        raise UserError(f"{path}: found an ELF file of type {kind}, expected a linked program")
    architecture = _ARCHITECTURES.get((machine, bits, order))
    if architecture is None:
        endian = "little" if order == "<" else "big"
        known = ", ".join(sorted(_ARCHITECTURES.values()))
        raise UserError(f"{path}: found a {bits}-bit {endian}-endian program of machine {machine}, expected {known}")
    # Program headers: where they are, how long each is, how many there are.
    table = struct.unpack_from(f"{order}{'I' if bits == 32 else 'Q'}", data, 28 if bits == 32 else 32)[0]
    size, count = struct.unpack_from(f"{order}HH", data, 42 if bits == 32 else 54)
    interpreter = None
    for start in range(table, table + size * count, size):
        if struct.unpack_from(f"{order}I", data, start)[0] == _INTERPRETER:
            if bits == 32:
                offset, length = (struct.unpack_from(f"{order}I", data, start + at)[0] for at in (4, 16))
            else:
                offset, length = (struct.unpack_from(f"{order}Q", data, start + at)[0] for at in (8, 32))
            interpreter = data[offset : offset + length].rstrip(b"\0").decode()
    return Elf(architecture, interpreter)
