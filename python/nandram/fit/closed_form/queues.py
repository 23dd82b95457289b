"""Waiting in a closed loop: mean value analysis with the residual of constant service times."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

ROUNDS = 200
"""Iterations of the fixed point; each halves its error or better."""


@dataclass(frozen=True)
class Station:
    """Equal servers, of which each request visits one at random."""

    servers: float
    service_ns: float


def response_ns(alone_ns: float, stations: Sequence[Station], outstanding: int) -> float:
    """Return the mean response time of a closed loop in nanoseconds.

    `alone_ns`: response time of a lone request, services included. Schweitzer's approximation: an arriving request
    finds what the others leave on average; of the one in service it waits for half.
    """
    waits = [0.0] * len(stations)
    others = (outstanding - 1) / outstanding
    for _ in range(ROUNDS):
        rate = outstanding / (alone_ns + sum(waits))
        found = []
        for station, wait in zip(stations, waits, strict=True):
            each = rate / station.servers
            present = others * each * (station.service_ns + wait)
            busy = min(others * each * station.service_ns, present)
            found.append(station.service_ns * (present - busy / 2))
        waits = [(old + new) / 2 for old, new in zip(waits, found, strict=True)]
    return alone_ns + sum(waits)


def servers_for(
    alone_ns: float, service_ns: float, others: Sequence[Station], outstanding: int, mean_ns: float
) -> float:
    """Return the number of servers at which a loop responds in `mean_ns`; infinite if it never waits so little."""
    low, high = 1.0, 4096.0
    if response_ns(alone_ns, [*others, Station(high, service_ns)], outstanding) >= mean_ns:
        return float("inf")
    for _ in range(40):
        middle = math.sqrt(low * high)
        if response_ns(alone_ns, [*others, Station(middle, service_ns)], outstanding) > mean_ns:
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)
