"""Completed requests, as columns."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OPS = ("read", "write", "flush", "trim", "rollback")
"""Operations of requests, by their number."""
STATUSES = ("ok", "uncorrectable", "failed", "no space", "refused")
"""Statuses of completions, by their number."""


class Completion(NamedTuple):
    """A completed request."""

    id: int
    """Number of the request, from `Simulation.submit`."""
    handle: int
    """The caller's name for the request."""
    device: int
    """Index of the device."""
    submitted: int
    """Time passed to `Simulation.submit`, in picoseconds."""
    completed: int
    """Time at which the program was notified, in picoseconds."""
    status: str
    """One of `STATUSES`."""


@dataclass(frozen=True, eq=False)
class Completions:
    """Completed requests in order of time: NumPy arrays of one length. Iteration yields `Completion` tuples."""

    id: "NDArray[np.uint64]"
    """Numbers of the requests, from `Simulation.submit`."""
    handle: "NDArray[np.uint64]"
    """The caller's names for the requests."""
    device: "NDArray[np.uint16]"
    """Indices of the devices."""
    submitted: "NDArray[np.uint64]"
    """Times passed to `Simulation.submit`, in picoseconds."""
    completed: "NDArray[np.uint64]"
    """Times at which the program was notified, in picoseconds."""
    status: "NDArray[np.uint8]"
    """Indices into `STATUSES`; 0 is ``ok``."""

    @property
    def latency(self) -> "NDArray[np.uint64]":
        """Response times in picoseconds, from submission to completion."""
        return self.completed - self.submitted

    def __len__(self) -> int:
        return len(self.id)

    def __iter__(self) -> Iterator[Completion]:
        columns = (self.id, self.handle, self.device, self.submitted, self.completed, self.status)
        for one, handle, device, submitted, completed, status in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            yield Completion(one, handle, device, submitted, completed, STATUSES[status])
