"""Batch: work in chunks, on one machine or on many, with the same result, stopped and resumed at will.

`job.py` is what there is to do, `ledger.py` what is done, `engines.py` and `ray_engine.py` who does it, `running.py`
puts the three together. `backtests.py` and `audits.py` are jobs.
"""
