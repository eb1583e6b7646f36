"""How long a test waits for what must come about. Long: a busy machine is no failure, and a test that passes never waits
it out. Waits that a test is about (a tool that never answers) are short, and stand in that test."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 120.0
"""Seconds for one thing: a page, an answer, a server that starts, a process that ends."""
ENDURANCE = 600.0
"""Seconds for many things in one process, such as all pages of the documentation."""


def wait_until(comes: Callable[[], T], pause: float = 0.02, problem: Callable[[], str] | None = None) -> T:
    """What `comes` returns once that is something; what `problem` says when it never is."""
    end = time.monotonic() + PATIENCE
    while not (came := comes()):
        assert time.monotonic() < end, problem() if problem else "it did not come about"
        time.sleep(pause)
    return came
