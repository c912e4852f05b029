"""Evaluation: methods on tasks, as cells that are ordinary run logs, and what they add up to.

`cells` says what is to be run, `evaluate` runs it, `results` reads the logs, `statistics` is pure
arithmetic, `report` writes tables. Every number of a report is recomputed from the logs.
"""
