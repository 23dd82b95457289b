"""Demand paging from flash: comparison of policies on page traces.

run.py      policies, sizes and thresholds            plots.py   charts of them
"""
