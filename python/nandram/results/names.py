"""Names that results, tables and reports share."""

from collections.abc import Mapping
from typing import Any

DIRECTIONS = ("read", "write", "trim", "sync")
"""Directions of requests, as the native module numbers them."""
TITLES = ["job", "", "requests", "IOPS", "bandwidth", "mean", "50 %", "99 %", "99.9 %", "max"]
"""The columns of `nandram.Result.rows`."""


def system_name(manifest: Mapping[str, Any]) -> str:
    """Return a manifest's system as it was named, with the scale of a smaller copy: ``hmb-a at scale 1/64``."""
    scale = scale_of(manifest)
    return f"{manifest['system']} at scale {scale}" if scale else str(manifest["system"])


def scale_of(manifest: Mapping[str, Any]) -> str | None:
    """Return the scale of a manifest's system, such as ``1/64``; None for a system of full size."""
    scales = [value for key, _, value in (change.partition("=") for change in manifest["changes"]) if key == "scale"]
    return scales[-1] if scales and scales[-1] != "1/1" else None
