"""Measured points, and the readers of fio's output and of CSV files."""
