"""One process at a time: two in one place would pay for the same work twice. The lock dies with whoever holds it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from circumspect.errors import StoreError


@contextmanager
def alone(lock: Path, problem: str, fix: str) -> Iterator[None]:
    """Raises `StoreError` with these words when somebody else is there."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StoreError(problem, fix=fix) from None
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
