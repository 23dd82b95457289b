"""The language of experiments and sweeps.

tables.py      TOML files, read key by key      expression.py  expressions, parsed and walked
functions.py   their functions                  grid.py        values over coordinates
measures.py    measures of every run
"""
