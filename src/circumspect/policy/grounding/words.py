"""Word lists as they are easiest to read: one string, words apart by spaces."""

from __future__ import annotations


def bag(text: str) -> frozenset[str]:
    return frozenset(text.split())
