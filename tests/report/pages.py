"""Parses the content of a page like a browser."""

import json
from html.parser import HTMLParser
from typing import Any

import altair as alt

ROWS_CHECKED = 3
"""Rows of each layer that are validated; the other rows have the same form."""


class Page(HTMLParser):
    """The figures of a page, whose specifications are validated, and its network requests."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.figures: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.open: list[str] = []
        self._script: list[str] | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "figure" and "data-name" in values:
            self.figures.append({"title": values["data-name"], "spec": {}, "text": ""})
        for name in ("src", "href"):
            value = values.get(name)
            if value and not value.startswith(("#", "data:")):
                self.asked.append(value)
        if tag == "script" and values.get("type") == "application/json":
            self._script = []
        if tag not in ("meta", "link", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag == "script" and self._script is not None:
            self.figures[-1]["spec"] = json.loads("".join(self._script))
            validate(self.figures[-1]["spec"])
            self._script = None

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self._script.append(data)
        elif self.figures:
            self.figures[-1]["text"] += data


def axes(spec: dict[str, Any]) -> dict[str, str]:
    """Return the titles of a chart's axes."""
    found: dict[str, str] = {}
    for layer in [spec, *spec.get("layer", [])]:
        for axis in ("x", "y"):
            title = layer.get("encoding", {}).get(axis, {}).get("title")
            if title:
                found.setdefault(axis, title)
    return found


def values(spec: dict[str, Any], layer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the data of a layer, or of its chart."""
    found: list[dict[str, Any]] = layer.get("data", spec["data"])["values"]
    return found


def validate(spec: dict[str, Any]) -> None:
    """Validate a specification against Vega-Lite's schema. Raises `jsonschema.ValidationError`."""

    def shortened(part: dict[str, Any]) -> dict[str, Any]:
        rows = part["data"]["values"] if "data" in part else []
        return part | {"data": {"values": rows[:ROWS_CHECKED]}} if rows else part

    alt.LayerChart.from_dict(shortened(spec) | {"layer": [shortened(layer) for layer in spec["layer"]]})
