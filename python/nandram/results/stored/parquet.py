"""Tables as Parquet files, with the units of columns in the metadata of their fields.

Polars takes types and metadata from an Arrow schema. PyArrow could make it, but importing PyArrow takes more time than
writing all tables of a run, and 34 MiB of memory. Therefore this module makes the schema itself, in Arrow's C data
interface (https://arrow.apache.org/docs/format/CDataInterface.html).
"""

import ctypes
import io
import struct
from collections.abc import Mapping
from pathlib import Path

import polars as pl

_UNITS = {"_ns": "ns", "_s": "s", "bytes": "B", "_busy": "fraction of the time", "holding": "fraction of the time"}
"""Units by the suffix of a column's name. Counts and names have no unit."""
_FORMATS: dict[type[pl.DataType], bytes] = {
    pl.Boolean: b"b",
    pl.Int8: b"c",
    pl.UInt8: b"C",
    pl.Int16: b"s",
    pl.UInt16: b"S",
    pl.Int32: b"i",
    pl.UInt32: b"I",
    pl.Int64: b"l",
    pl.UInt64: b"L",
    pl.Float32: b"f",
    pl.Float64: b"g",
    pl.Null: b"n",
    # Polars' own form, the string view, is new to many readers of Parquet.
    pl.String: b"U",
}
"""Formats of the interface, by type."""
_NULLABLE = 2


def write(frame: pl.DataFrame, path: Path) -> None:
    """Write a table. Raises `OSError`, and `KeyError` for a type that no table has."""
    content = io.BytesIO()
    schema = _Schema(frame.schema)
    frame.write_parquet(content, compression="zstd", arrow_schema=schema)
    path.write_bytes(content.getvalue())


def _unit(column: str) -> str | None:
    return next((unit for end, unit in _UNITS.items() if column.endswith(end)), None)


class _ArrowSchema(ctypes.Structure):
    """The structure `ArrowSchema`: a table's schema, or one of its fields."""


_ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_ArrowSchema))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


def _mark_released(found: "ctypes._Pointer[_ArrowSchema]") -> None:
    """Mark a structure and its children as released. The memory is Python's."""
    schema = found.contents
    for number in range(schema.n_children):
        if schema.children[number].contents.release:
            _mark_released(schema.children[number])
    schema.release = None


_release = ctypes.CFUNCTYPE(None, ctypes.POINTER(_ArrowSchema))(_mark_released)
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class _Schema:
    """The Arrow schema of a table. It owns the memory of its capsule, and so must outlive every reader."""

    def __init__(self, schema: Mapping[str, pl.DataType]) -> None:
        self._fields = [_field(name, type(kind)) for name, kind in schema.items()]
        pointers = [ctypes.pointer(field) for field in self._fields]
        self._children = (ctypes.POINTER(_ArrowSchema) * len(pointers))(*pointers)
        self._table = _structure(b"+s", b"", None)
        self._table.n_children, self._table.children = len(pointers), self._children

    def __arrow_c_schema__(self) -> object:
        return _new_capsule(ctypes.addressof(self._table), b"arrow_schema", None)


def _field(name: str, kind: type[pl.DataType]) -> _ArrowSchema:
    unit = _unit(name)
    found = _structure(_FORMATS[kind], name.encode(), None if unit is None else _metadata("unit", unit))
    found.flags = _NULLABLE
    return found


def _structure(kind: bytes, name: bytes, metadata: bytes | None) -> _ArrowSchema:
    # The structure keeps the bytes that it points to.
    return _ArrowSchema(format=kind, name=name, metadata=metadata, release=ctypes.cast(_release, ctypes.c_void_p).value)


def _metadata(key: str, value: str) -> bytes:
    """Return one pair of metadata in Arrow's form: the number of pairs, then each text after its length."""
    texts = b"".join(struct.pack("=i", len(text)) + text for text in (key.encode(), value.encode()))
    return struct.pack("=i", 1) + texts
