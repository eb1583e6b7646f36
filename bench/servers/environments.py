"""A virtual environment for each peer, installed by name the first time: peers do not agree about their libraries."""

from __future__ import annotations

import subprocess
import venv
from pathlib import Path

FOLDER = Path(__file__).parents[2] / ".venv-servers"


class NotInstalled(Exception):
    """Why not, in one line."""


def prepare(name: str, packages: tuple[str, ...]) -> Path:
    """Where its programs are."""
    home = FOLDER / name
    programs = home / "bin"
    if not (home / "pyvenv.cfg").exists():
        print(f"Installing {' '.join(packages)} …", flush=True)
        venv.create(home, with_pip=True)
        _pip(programs, "install", "--quiet", *packages)
    try:
        _pip(programs, "show", "--quiet", packages[0].partition("[")[0])
    except NotInstalled:
        raise NotInstalled(f"could not be installed; remove {home.name} in {FOLDER.name} to try again") from None
    return programs


def version(programs: Path, package: str) -> str:
    shown = _pip(programs, "show", package.partition("[")[0])
    return next(line.split()[1] for line in shown.splitlines() if line.startswith("Version:"))


def _pip(programs: Path, *arguments: str) -> str:
    done = subprocess.run([programs / "python", "-m", "pip", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise NotInstalled((done.stderr.strip().splitlines() or ["pip failed"])[-1])
    return done.stdout
