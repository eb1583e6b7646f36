"""Optimise: a prompt and labelled cases -> a better prompt, as a candidate for an experiment. Read `run.py` first.

GEPA (the `gepa` package) proposes and selects; what a text is worth is measured by our own reviewer and a metric in
code. Nothing here is ever live: a winner is a file, a stored version and the name of the next command.
"""
