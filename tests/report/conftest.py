"""Uses the test paper of `papers`."""

from papers.conftest import tiny

__all__ = ["tiny"]
