"""Traces of real programs."""

from nandram.capture.block import Capture, capture_block

__all__ = ["Capture", "capture_block"]
