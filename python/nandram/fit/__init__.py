"""Fitting of a system to measurements of a real drive."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nandram.fit.measurements.files import read_measurements
    from nandram.fit.measurements.points import Conditions, Direction, Measurements, Point
    from nandram.fit.run import run_fit

__all__ = ["Conditions", "Direction", "Measurements", "Point", "read_measurements", "run_fit"]


def __getattr__(name: str) -> Any:
    """Import a public name at its first use: the command line needs only an enum at its start."""
    if name == "run_fit":
        from nandram.fit.run import run_fit

        return run_fit
    if name == "read_measurements":
        from nandram.fit.measurements.files import read_measurements

        return read_measurements
    if name in __all__:
        from nandram.fit.measurements import points

        return getattr(points, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
