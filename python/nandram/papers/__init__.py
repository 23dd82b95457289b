"""Reproduction of papers: claims, the experiments that test them, and verdicts.

claims.py       claims of a paper; cells.py: tables      experiment.py    runs of an experiment; entries.py: tests
runs/           executes each distinct run once          scope.py         names that expressions may use
bands.py        tables of papers with our ranges         charts.py        charts that experiments declare
verdict.py      held, missed or calibrated, and why      reproduction.py  the result, one row per claim
sensitivity.py  sensitivity of claims to parameters; parameters.py: its declaration
"""

from nandram.papers.reproduction import Reproduction, reproduce

__all__ = ["Reproduction", "reproduce"]
