"""Names that results, tables and reports share."""

from collections.abc import Mapping
from typing import Any

DIRECTIONS = ("read", "write", "trim", "sync")
"""Directions of requests, as the native module numbers them."""
TITLES = ["job", "", "requests", "IOPS", "bandwidth", "mean", "50 %", "99 %", "99.9 %", "max"]
"""The columns of `nandram.Result.rows`."""
PARTS = {
    "queue": "waits to be issued",
    "host_wait": "waits for a core of the host",
    "host": "driver",
    "adapter": "adapter, DMA and chipset of the host",
    "messages": "commands and completions under way",
    "firmware_wait": "waits for the controller's firmware",
    "firmware": "firmware",
    "buffer": "waits for a buffer",
    "map": "map look-up",
    "die_wait": "waits for the die",
    "array": "flash array",
    "channel_wait": "waits for the channel",
    "channel": "flash channel",
    "correction": "error correction",
    "program": "waits until durable",
    "link_wait": "waits for the link",
    "link": "data on the link",
}
"""The parts of a latency, in the order in which a request usually meets them: column without ``_ps``, and title."""
BANDS = (
    ("up to 50 %", 0.0, 0.5),
    ("50 to 90 %", 0.5, 0.9),
    ("90 to 99 %", 0.9, 0.99),
    ("99 to 99.9 %", 0.99, 0.999),
    ("above 99.9 %", 0.999, 1.0),
)
"""Bands of requests by the percentile of their latency: name, begin, end."""


def system_name(manifest: Mapping[str, Any]) -> str:
    """Return a manifest's system as it was named, with the scale of a smaller copy: ``hmb-a at scale 1/64``."""
    scale = scale_of(manifest)
    return f"{manifest['system']} at scale {scale}" if scale else str(manifest["system"])


def scale_of(manifest: Mapping[str, Any]) -> str | None:
    """Return the scale of a manifest's system, such as ``1/64``; None for a system of full size."""
    scales = [value for key, _, value in (change.partition("=") for change in manifest["changes"]) if key == "scale"]
    return scales[-1] if scales and scales[-1] != "1/1" else None
