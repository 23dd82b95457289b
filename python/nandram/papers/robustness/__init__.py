"""How far verdicts depend on what was assumed, and whether they can fail.

declared.py   what an experiment declares: counter-models, and parameters that are not drawn
variants.py   an experiment with other constants and settings, and the claims that hold in it
scaling.py    values scaled by a factor
compared.py   all claims in each declared variant
draws.py      joint draws of everything assumed, by Latin hypercube
table.py      the share of draws in which each claim holds, stored with the program
"""
