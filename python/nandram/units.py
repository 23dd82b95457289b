"""Formatting of numbers with their units."""


def count(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 file``, ``12,345 files``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def size(amount: float) -> str:
    """Return a size in decimal units, as drives are sold: ``512 B``, ``1.50 MB``."""
    return _scaled(amount, "B")


def rate(amount: float) -> str:
    """Return a rate, given in bytes per second: ``1.50 MB/s``."""
    return _scaled(amount, "B/s")


def duration(nanoseconds: float) -> str:
    """Return a duration: ``850 ns``, ``12.3 us``, ``4.56 ms``, ``1.20 s``."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= scale:
            return f"{_digits(nanoseconds / scale)} {unit}"
    return f"{nanoseconds:.0f} ns"


def days(amount: float) -> str:
    """Return a lifetime, given in days: ``5.00 hours``, ``12.3 days``, ``4.56 years``."""
    if amount < 2:
        return f"{_digits(24 * amount)} hours"
    return f"{_digits(amount)} days" if amount < 730.5 else f"{_digits(amount / 365.25)} years"


def figure(value: float) -> str:
    """Return a number with four significant digits; whole numbers unchanged."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value)}"
    return f"{value:.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def change(part: float) -> str:
    """Return a relative change in percent with its sign: ``+12.34 %``, ``more than +10,000 %``."""
    return f"{100 * part:+.2f} %" if part < 100 else "more than +10,000 %"


def _scaled(amount: float, unit: str) -> str:
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if amount >= scale:
            return f"{_digits(amount / scale)} {prefix}{unit}"
    return f"{amount:.0f} {unit}"


def _digits(value: float) -> str:
    """Return a number with three significant digits."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"
