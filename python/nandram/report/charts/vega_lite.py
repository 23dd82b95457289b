"""Vega-Lite specifications as plain dicts.

Properties of marks, channels, scales, axes and legends have Vega-Lite's names. Without ``$schema``, a page draws a
specification with the version of Vega-Lite that it contains.
"""

from collections.abc import Sequence
from typing import Any

Spec = dict[str, Any]
Row = dict[str, Any]


def mark(kind: str, **properties: Any) -> Spec:
    """Return a mark, such as ``line`` or ``bar``."""
    return {"type": kind, **properties}


def quantitative(field: str, **properties: Any) -> Spec:
    """Return a channel that shows a field of numbers."""
    return {"field": field, "type": "quantitative", **properties}


def nominal(field: str, **properties: Any) -> Spec:
    """Return a channel that shows a field of names."""
    return {"field": field, "type": "nominal", **properties}


def ordinal(field: str, **properties: Any) -> Spec:
    """Return a channel that shows a field of sorted names or numbers."""
    return {"field": field, "type": "ordinal", **properties}


def zoom(*channels: str) -> Spec:
    """Return the parameter of a layer by which the pointer zooms and moves the scales of `channels`."""
    return {"name": "zoom", "select": {"type": "interval", "encodings": list(channels)}, "bind": "scales"}


def layer(
    mark: Spec,
    encoding: Spec,
    *,
    rows: list[Row] | None = None,
    transform: Sequence[Spec] = (),
    params: Sequence[Spec] = (),
) -> Spec:
    """Return a layer, which draws its own `rows` or else those of its chart."""
    found: Spec = {"mark": mark, "encoding": encoding}
    if rows is not None:
        found["data"] = {"values": rows}
    if transform:
        found["transform"] = list(transform)
    if params:
        found["params"] = list(params)
    return found


def chart(rows: list[Row], layers: Sequence[Spec], *, params: Sequence[Spec] = ()) -> Spec:
    """Return a chart of layers on common axes."""
    found: Spec = {"data": {"values": rows}, "layer": list(layers)}
    if params:
        found["params"] = list(params)
    return found
