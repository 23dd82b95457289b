"""Probes: black-box tests of simulated and real drives.

run.py      plan and run a probe        findings.py   how findings are worded        report.py   its files and page
"""
