"""A straightforward second reader of page and memory traces."""

import json
from typing import Any


def _numbers(data: bytes) -> list[int]:
    """Return all LEB128 numbers."""
    numbers, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(value)
            value, shift = 0, 0
    assert shift == 0
    return numbers


def _signed(value: int) -> int:
    return value // 2 if value % 2 == 0 else -(value + 1) // 2


def _header(data: bytes, kind: bytes) -> tuple[dict[str, Any], list[int]]:
    first, header, body = data.split(b"\n", 2)
    assert first == kind
    return json.loads(header), _numbers(body)


def read_pages(data: bytes) -> tuple[dict[str, Any], list[int]]:
    """Return the header and the pages."""
    header, numbers = _header(data, b"nandram page trace 1")
    *differences, end, count = numbers
    assert end == 0
    assert count == len(differences)
    pages, page = [], 0
    for difference in differences:
        page += _signed(difference - 1)
        pages.append(page)
    return header, pages


def read_memory(data: bytes) -> tuple[dict[str, Any], list[tuple[int, bool, int]], int]:
    """Return the header, the records (line, whether written, instructions since), and the total instructions."""
    header, numbers = _header(data, b"nandram memory trace 1")
    *body, end, count, instructions = numbers
    assert end == 0
    assert 2 * count == len(body)
    records, line = [], 0
    for value, since in zip(body[::2], body[1::2], strict=True):
        line += _signed((value - 1) >> 1)
        records.append((line, bool((value - 1) & 1), since))
    return header, records, instructions
