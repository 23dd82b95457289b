"""Papers beside the simulator: their claims, the experiments that test them, and what comes of it.

claims.py       what a paper reports; cells.py: tables   experiment.py   which runs are made; entries.py: for what
expression.py   the little language of experiments       functions.py    its functions; grid.py: its series
measures.py     what can be asked of a run               generators.py   traces made from a few numbers
play.py         makes the runs, keeps them               scope.py        what expressions see of them
bands.py        tables of papers beside ours             pages.py        runs of page traces
verdict.py      held, missed, calibrated, on what basis  reproduction.py all of it, a row a claim
"""

from nandram.papers.reproduction import Reproduction, reproduce

__all__ = ["Reproduction", "reproduce"]
