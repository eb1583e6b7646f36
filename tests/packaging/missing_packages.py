"""A Python in which no package of an extra is installed, for tests that run what the core can do alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE

_HIDE = """
import sys
from importlib.machinery import PathFinder
from circumspect.extras import EXTRAS

HIDDEN = {module for modules in EXTRAS.values() for module in modules}

class CorePackages(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        parts = name.split(".")
        if any(".".join(parts[:end]) in HIDDEN for end in range(1, len(parts) + 1)):
            return None
        return super().find_spec(name, path, target)

sys.meta_path[:] = [CorePackages if one is PathFinder else one for one in sys.meta_path]
"""


def run_python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _HIDE + code],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE,
    )


def run_command(arguments: list[str], folder: Path, *, terminal: bool = False) -> subprocess.CompletedProcess[str]:
    """`terminal`: the command takes its standard input for one."""
    seen = "sys.stdin.isatty = lambda: True\n" if terminal else ""
    return run_python(f"{seen}sys.argv[1:] = {arguments!r}\nfrom circumspect.cli import main\nmain()\n", folder)
