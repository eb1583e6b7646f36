"""A disk without room, for one worker: it cannot write to any file; then it can again."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

from tests.faults.site import Site


@contextmanager
def fill_disk(site: Site) -> Iterator[None]:
    pid = site.workers[-1].pid
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
