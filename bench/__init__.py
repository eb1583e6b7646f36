"""Benchmarks: what a turn costs in time and tokens, ours beside the peers that are installed. Run `python -m bench`."""
