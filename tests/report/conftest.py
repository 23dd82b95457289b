"""The paper of our own is that of `papers`."""

from papers.conftest import tiny

__all__ = ["tiny"]
