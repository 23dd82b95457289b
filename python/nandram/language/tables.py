"""TOML files read key by key, so that every mistake is reported with its file and key; and the text of tables."""

import json
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nandram.errors import UserError
from nandram.language.grid import words
from nandram.options import nearest

NOTHING: Any = object()
"""Marks a key without default, which is required."""
BYTES_MAX = 1 << 20
"""Maximum size of a file; the largest bundled file has some ten thousand bytes."""


class Table:
    """A table of a file."""

    def __init__(self, file: str, key: str, values: Mapping[str, Any]) -> None:
        self.file = file
        self.key = key
        self.values = dict(values)
        """By key, in the order of the file."""

    def place(self, key: str) -> str:
        """Where a key stands, as messages say it."""
        name = key if key.replace("_", "").replace("-", "").isalnum() else f'"{key}"'
        return f"{self.file}: {self.key}.{name}" if self.key else f"{self.file}: {name}"

    def error(self, key: str, found: object, expected: str) -> UserError:
        """Return the error for a wrong value of a key."""
        return UserError(f"{self.place(key)}: found {shown(found)}, expected {expected}")

    def missing(self, message: str) -> UserError:
        """Return the error for a mistake in the table as a whole."""
        return UserError(f"{self.file}: {self.key or 'the file'}: {message}")

    def one_of(self, key: str, found: str, known: tuple[str, ...]) -> UserError:
        """Return the error for a value that is none of the known ones."""
        return self.error(key, found, f"{words(known)}{nearest(found, known)}")

    def only(self, *known: str) -> None:
        """Raise `UserError` if there is a key that is none of those known: first of all, since it explains the rest."""
        for key in self.values:
            if key not in known:
                raise UserError(f"{self.place(key)}: found this key, expected {words(known)}{nearest(key, known)}")

    def take(self, key: str, expected: str, *types: type, default: Any = NOTHING) -> Any:
        """Return the value of a key, of one of `types`. Raises `UserError`."""
        if key not in self.values:
            if default is NOTHING:
                raise UserError(f"{self.place(key)}: found nothing, expected {expected}")
            return default
        value = self.values[key]
        # TOML tells a truth value from a number; Python does not.
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            # In quotes, a text that reads like the number that is expected is seen to be one.
            raise self.error(key, f'"{value}"' if isinstance(value, str) else value, expected)
        if isinstance(value, float) and not math.isfinite(value):
            raise self.error(key, value, expected)
        return value

    def text(self, key: str, default: Any = NOTHING) -> Any:
        """Return a text. Raises `UserError`."""
        return self.take(key, "a text", str, default=default)

    def whole(self, key: str, least: int, default: Any = NOTHING) -> Any:
        """Return a whole number from `least`. Raises `UserError`."""
        value = self.take(key, f"a whole number from {least}", int, default=default)
        if value is not None and value < least:
            raise self.error(key, value, f"a whole number from {least}")
        return value

    def table(self, key: str) -> "Table":
        """Return the table of a key; an empty one if it is not there. Raises `UserError`."""
        values = self.take(key, "a table", dict, default={})
        return Table(self.file, self.place(key).removeprefix(f"{self.file}: "), values)

    def tables(self) -> "dict[str, Table]":
        """Return all keys, each a table. Raises `UserError`."""
        return {key: self.table(key) for key in self.values}


def read_text(path: Path) -> str:
    """Return the text of a TOML file. Raises `UserError` for a pipe, a device and a file that is too large."""
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError:
        raise UserError(f"{path}: not TOML: it is no UTF-8 text") from None


def read_bytes(path: Path) -> bytes:
    """Return the content of a small file. Raises `UserError` for a pipe, a device and a file that is too large."""
    try:
        # Opening a pipe waits for its writer, and a device may never end.
        if path.exists() and not path.is_file():
            found = "a folder" if path.is_dir() else "a pipe or a device"
            raise UserError(f"{path}: cannot be read: found {found}, expected a file")
        with path.open("rb") as file:
            content = file.read(BYTES_MAX + 1)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    if len(content) > BYTES_MAX:
        size = path.stat().st_size
        raise UserError(f"{path}: cannot be read: found {size} bytes, expected at most {BYTES_MAX}")
    return content


def parse(file: str, text: str) -> Table:
    """Read a file's text; `file` names it in messages. Raises `UserError`."""
    try:
        return Table(file, "", tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UserError(f"{file}: not TOML: {str(error) or 'too deep'}") from None


def shown(value: object) -> str:
    """A value of a file, as messages show it."""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list) and len(str(value)) > 60:
        return "a list"
    return f"`{value}`"


def table_lines(table: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Return the lines of a table and of the tables in it."""
    lines = [f"{key} = {value_text(value)}" for key, value in table.items() if not isinstance(value, dict)]
    if lines and prefix:
        lines = [f"[{prefix}]", *lines, ""]
    for key, value in table.items():
        if isinstance(value, dict):
            lines += table_lines(value, f"{prefix}.{key}" if prefix else key)
    return lines


def value_text(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(map(value_text, value))}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {value_text(each)}" for key, each in value.items()) + " }"
    return str(value)
