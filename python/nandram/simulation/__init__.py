"""Simulated devices under one virtual clock, driven by a program outside the simulation."""

from nandram.simulation.completions import OPS, STATUSES, Completions
from nandram.simulation.simulation import Simulation, SimulationDevice

__all__ = ["OPS", "STATUSES", "Completions", "Simulation", "SimulationDevice"]
