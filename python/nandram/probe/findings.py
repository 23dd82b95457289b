"""Formatting of a probe's findings."""

from typing import Any

COLUMNS = ("about", "host memory", "verdict", "size", "where", "evidence")


def about(finding: dict[str, Any]) -> str:
    """Return the subject of a finding: ``read cache``, ``read cache, without host memory``."""
    memory = {None: "", True: ", with host memory", False: ", without host memory"}[finding["hmb"]]
    return f"{finding['about'].replace('_', ' ')}{memory}"


def estimate(size: dict[str, Any] | None) -> str:
    """Return a size with its interval: ``32 KiB (30 to 34)``, ``4000 sections (3950 to 4050)``."""
    if size is None:
        return ""
    unit, scale = size["unit"], 1.0
    if unit.startswith("B"):
        unit, scale = f"KiB{unit[1:]}", 1024.0

    def digits(number: float) -> str:
        return f"{number:.6g}" if scale > 1 or number >= 100 else f"{number:.3g}"

    value, low, high = (digits(size[name] / scale) for name in ("value", "low", "high"))
    return f"{value} {unit}" if low == high else f"{value} {unit} ({low} to {high})"


def row(finding: dict[str, Any]) -> list[str]:
    """Return the cells of a finding for `COLUMNS`."""
    return [
        finding["about"].replace("_", " "),
        {None: "", True: "on", False: "off"}[finding["hmb"]],
        finding["verdict"],
        estimate(finding["size"]),
        (finding["place"] or "").replace("_", " "),
        finding["evidence"],
    ]
