"""Fitting of a system to measurements of a real drive."""

from nandram.fit.measurements.files import read_measurements
from nandram.fit.measurements.points import Conditions, Direction, Measurements, Point

__all__ = ["Conditions", "Direction", "Measurements", "Point", "read_measurements"]
