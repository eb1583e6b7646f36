"""What processes used of the processor, finer than the hundredths of a second that `cpu_times` gives."""

from __future__ import annotations

from pathlib import Path

import psutil


def used_by(processes: list[psutil.Process]) -> float:
    """Seconds, all of them together; one that has ended counts as nothing."""
    return sum(map(_used, processes))


def family(first: psutil.Process) -> list[psutil.Process]:
    return [first, *first.children(recursive=True)]


def _used(process: psutil.Process) -> float:
    try:  # Linux says for how many nanoseconds each thread ran
        tasks = Path(f"/proc/{process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
