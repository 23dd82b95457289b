"""Runs of experiments.

play.py        makes each distinct run once     generators.py  traces made from a few numbers
pages.py       runs of page traces              probes.py      runs of the probe
"""
