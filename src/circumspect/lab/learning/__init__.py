"""Overrides and outcomes as data: calibration, suggestions, fixtures."""
