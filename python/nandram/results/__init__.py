"""Results of runs: summaries, tables, plots, notes, output folders and comparisons.

result.py   the result of a run         output.py      its folder            notes.py   lines below the table
frames.py   its tables, built lazily    comparison.py  two systems or runs   plots.py   charts of a result
"""
