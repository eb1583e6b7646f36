"""`circumspect serve` with what a fault needs: points to die at, a clock that can be moved (the worker's and the
database's), leases that end sooner.

The environment says which: FAULTS_FOLDER (where the clock's offset is read and marks are made), FAULTS_SPEED (by how much
every lease is shorter: all of them, so that they keep their proportions), FAULTS_UNDONE (a mended behaviour that is to be
broken again, see `undone.py`). Everything else is the command itself.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.faults import points, undone
from tests.faults.tools import FOLDER

SPEED = "FAULTS_SPEED"


class MovedClock:
    """The system's, moved by as many seconds as the file says."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def moved(self) -> float:
        try:
            return float(self.path.read_text() or 0)
        except FileNotFoundError:
            return 0.0

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.moved())


def main(arguments: list[str]) -> None:
    from circumspect.server import access, app, background, directory
    from circumspect.steps import act, claim, sweep
    from circumspect.stores import database_time, unfinished_turns

    folder = Path(os.environ[FOLDER])
    clock = MovedClock(folder / "clock")
    read = database_time.read
    database_time.read = lambda connection: read(connection) + clock.moved()
    points.install()
    made = app.create_app

    def create_app(settings: Any = None, **options: Any) -> Any:
        found = made(settings, **{"clock": clock, **options})
        found.add_middleware(points.Dying, folder=folder)
        return found

    app.create_app = create_app
    # Nothing is remembered between requests, so that a request passes the same points every time.
    for remembering, name in ((directory.Directory, "check_seconds"), (access.Keyring, "seconds")):
        defaults: Any = remembering.__init__.__kwdefaults__
        defaults[name] = -1.0
    access.USED_SECONDS = -1e9
    speed = float(os.environ.get(SPEED, 1))
    claim.LEASE_SECONDS /= speed
    claim.PATIENCE_SECONDS /= speed
    act.LEASE_MARGIN /= speed
    act.SETTLING_SECONDS /= speed
    sweep.LEASE_SECONDS /= speed
    unfinished_turns.SENDER_SECONDS /= speed
    background.SWEEP_SECONDS /= speed
    background.FINISH_SECONDS /= speed
    undone.install(os.environ.get(undone.UNDONE, ""))
    from circumspect.cli import main as command

    sys.argv = ["circumspect", *arguments]
    command()


if __name__ == "__main__":
    main(sys.argv[1:])
