"""The arguments of a system call as strace prints them: descriptors, strings, numbers, offsets."""

import os
import re

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(?:\.\.\.)?|<[^<>]*>|[][{}()]|, |.', re.DOTALL)
_DESCRIPTOR = re.compile(r"(-?\d+|AT_FDCWD)(?:<([^>]*)>)?(\(deleted\))?")
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|x[0-9a-f]{2}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"v": b"\v", b"f": b"\f"}

AT_FDCWD = -100
"""The descriptor that stands for the current folder (``fcntl.h``)."""


def close_parenthesis(text: str) -> int:
    """Return where the parenthesis closes that was opened just before `text`; -1 if it does not."""
    depth = 0
    for token in _TOKEN.finditer(text):
        symbol = token[0]
        if symbol in "([{":
            depth += 1
        elif symbol in ")]}":
            if depth == 0:
                return token.start()
            depth -= 1
    return -1


def split(text: str) -> list[str]:
    """Split at the commas that are not inside quotes, brackets or a descriptor's path."""
    if not text:
        return []
    depth = 0
    start = 0
    parts = []
    for token in _TOKEN.finditer(text):
        symbol = token[0]
        if symbol == ", ":
            if depth == 0:
                parts.append(text[start : token.start()])
                start = token.end()
        elif symbol in "([{":
            depth += 1
        elif symbol in ")]}":
            depth -= 1
    parts.append(text[start:])
    return parts


def descriptor(text: str) -> tuple[int, str | None, bool]:
    """Read ``3</some/path>(deleted)``: the number, the path still escaped, whether its last name is gone."""
    match = _DESCRIPTOR.match(text)
    if match is None:
        return -1, None, False
    number = AT_FDCWD if match[1] == "AT_FDCWD" else int(match[1])
    return number, match[2], match[3] is not None


def _unescape_one(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if code[:1] in b"01234567":
        return bytes([int(code, 8)])
    if code[:1] == b"x":
        return bytes([int(code[1:], 16)])
    return _LETTERS.get(code, code)


def unescape(text: str) -> str:
    """Undo strace's escapes; bytes that are not UTF-8 come back as `os.fsdecode` gives them."""
    if "\\" not in text:
        return text
    return os.fsdecode(_ESCAPE.sub(_unescape_one, os.fsencode(text)))


def string(text: str) -> str | None:
    """Read a quoted string; None if it is none (``NULL``, an address that could not be read)."""
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return None
    return unescape(text[1:-1])


def number(text: str) -> int | None:
    """Read a decimal, hexadecimal or octal number; None if it is none."""
    try:
        if len(text) > 1 and text[0] == "0" and text[1].isdigit():
            return int(text, 8)
        return int(text, 0)
    except ValueError:
        return None


def pointed(text: str) -> int | None:
    """Read what an offset pointer held when the call began: ``[5]``, ``[5] => [9]``; None for ``NULL``."""
    if not text.startswith("["):
        return None
    return number(text[1 : text.index("]")])


def flags(text: str) -> frozenset[str]:
    """Read ``O_RDWR|O_CREAT``."""
    return frozenset(text.split("|"))


def fields(text: str) -> dict[str, str]:
    """Read ``{name=value, name=value, ...}``, one level deep."""
    found = {}
    for part in split(text.strip()[1:-1]):
        name, equals, value = part.partition("=")
        if equals:
            found[name] = value
    return found
