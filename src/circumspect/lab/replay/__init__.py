"""Stored turns, decided again under another policy."""
