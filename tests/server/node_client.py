"""A script that runs in Node with our package and the clients of `make services`, against a server on loopback."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE

OURS = Path(__file__).parents[2] / "clients" / "typescript"
NODE_MODULES = Path(__file__).parents[2] / ".venv" / "node" / "node_modules"


def run_in_node(script: str, folder: Path, *packages: str, **environment: str) -> Any:
    """What the script prints, which has to be one JSON value."""
    node = shutil.which("node")
    if node is None or not all((NODE_MODULES / one).is_dir() for one in packages):
        pytest.skip(f"NO NODE CLIENT: run `make services` to test {', '.join(packages) or 'our own'}")
    (folder / "talk.mjs").write_text(script)
    modules = folder / "node_modules"
    modules.mkdir()
    (modules / "circumspect").symlink_to(OURS)
    for one in NODE_MODULES.iterdir() if NODE_MODULES.is_dir() else ():
        (modules / one.name).symlink_to(one)
    ran = subprocess.run(
        [node, "talk.mjs"],
        cwd=folder,
        env={"NO_PROXY": "*", **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
