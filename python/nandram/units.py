"""Numbers as people read them."""


def count(number: int, noun: str) -> str:
    """``1 file``, ``12,345 files``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def size(amount: float) -> str:
    """``512 B``, ``1.5 MB``: decimal, as drives are sold."""
    return _scaled(amount, "B")


def rate(amount: float) -> str:
    """``1.5 MB/s``, from bytes a second."""
    return _scaled(amount, "B/s")


def duration(nanoseconds: float) -> str:
    """``850 ns``, ``12.3 us``, ``4.56 ms``, ``1.20 s``."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= scale:
            return f"{_digits(nanoseconds / scale)} {unit}"
    return f"{nanoseconds:.0f} ns"


def days(amount: float) -> str:
    """``5.0 hours``, ``12.3 days``, ``4.56 years``."""
    if amount < 2:
        return f"{_digits(24 * amount)} hours"
    return f"{_digits(amount)} days" if amount < 730.5 else f"{_digits(amount / 365.25)} years"


def _scaled(amount: float, unit: str) -> str:
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if amount >= scale:
            return f"{_digits(amount / scale)} {prefix}{unit}"
    return f"{amount:.0f} {unit}"


def _digits(value: float) -> str:
    """Three significant digits."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"
