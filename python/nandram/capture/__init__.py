"""Traces of real programs."""

from nandram.capture.block import Capture, capture_block
from nandram.capture.emulated.memory import MemoryCapture, capture_memory
from nandram.capture.emulated.pages import PageCapture, capture_pages

__all__ = ["Capture", "MemoryCapture", "PageCapture", "capture_block", "capture_memory", "capture_pages"]
