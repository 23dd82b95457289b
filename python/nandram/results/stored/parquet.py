"""Tables as Parquet files, with the units of columns in the metadata of their fields.

Polars copies the metadata from the Arrow schema that it is given. PyArrow could make this schema, but importing it
takes more time than writing all tables of a run, and 34 MiB of memory. Therefore this module adds the units to the
schema that Polars exports through Arrow's C data interface (https://arrow.apache.org/docs/format/CDataInterface.html).
"""

import ctypes
import io
import struct
from pathlib import Path

import polars as pl

_LARGE_STRING, _STRING_VIEW = b"U", b"vu"
"""Formats of fields in Arrow's C data interface."""
_UNITS = {"_ns": "ns", "_s": "s", "bytes": "B", "_busy": "fraction of the time", "holding": "fraction of the time"}
"""Units by the suffix of a column's name. Counts and names have no unit."""


def write(frame: pl.DataFrame, path: Path) -> None:
    """Write a table. Raises `OSError`."""
    content = io.BytesIO()
    frame.write_parquet(content, compression="zstd", arrow_schema=_SchemaWithUnits(frame.schema))
    path.write_bytes(content.getvalue())


def _unit(column: str) -> str | None:
    return next((unit for end, unit in _UNITS.items() if column.endswith(end)), None)


class _ArrowSchema(ctypes.Structure):
    """The structure `ArrowSchema`: a table's schema, or one of its fields."""


_ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_ArrowSchema))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class _SchemaWithUnits:
    """The Arrow schema of a table, which must exist for as long as its capsules do: it owns the metadata."""

    def __init__(self, schema: pl.Schema) -> None:
        self._schema = schema
        units = {name: _unit(name) for name in schema}
        self._metadata = {name: _metadata("unit", unit) for name, unit in units.items() if unit is not None}

    def __arrow_c_schema__(self) -> object:
        capsule = self._schema.__arrow_c_schema__()
        table = _ArrowSchema.from_address(_pointer(capsule, b"arrow_schema"))
        for number, name in enumerate(self._schema):
            field = table.children[number].contents
            # Few readers of Parquet know string views.
            if field.format == _STRING_VIEW:
                field.format = _LARGE_STRING
            if name in self._metadata:
                field.metadata = ctypes.addressof(self._metadata[name])
        return capsule


def _metadata(key: str, value: str) -> "ctypes.Array[ctypes.c_char]":
    """Return one pair of metadata in Arrow's form: the number of pairs, then each text after its length."""
    texts = b"".join(struct.pack("=i", len(text)) + text for text in (key.encode(), value.encode()))
    return ctypes.create_string_buffer(struct.pack("=i", 1) + texts)
