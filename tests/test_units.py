"""Human-readable numbers."""

import pytest

from nandram import units


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (units.count(1, "file"), "1 file"),
        (units.count(12345, "file"), "12,345 files"),
        (units.size(0), "0 B"),
        (units.size(999), "999 B"),
        (units.size(1500), "1.50 kB"),
        (units.size(123_456_789), "123 MB"),
        (units.rate(7.25e9), "7.25 GB/s"),
        (units.duration(850), "850 ns"),
        (units.duration(12_345), "12.3 us"),
        (units.duration(4_560_000), "4.56 ms"),
        (units.duration(1.2e9), "1.20 s"),
        (units.days(0.25), "6.00 hours"),
        (units.days(45.6), "45.6 days"),
        (units.days(3652.5), "10.0 years"),
    ],
)
def test_units(found: str, expected: str) -> None:
    assert found == expected
