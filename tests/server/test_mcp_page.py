"""The HTTP client of docs/mcp.md, run as the page says: its tenant, a server in a process of its own, a key."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, blocks
from tests.docs.test_pages import surroundings
from tests.patience import PATIENCE

PAGE = ROOT / "docs" / "mcp.md"


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    for block in blocks(PAGE):
        if block.file:
            (tmp_path / block.file).write_text(block.text, "utf-8")
    run(tmp_path, "-m", "circumspect", "apply", "tenant.yaml")
    return tmp_path


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder, env=surroundings(), capture_output=True, encoding="utf-8", timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def url(desk: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "circumspect", "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=desk, env=surroundings(), stdout=subprocess.PIPE, encoding="utf-8") as server:
        assert server.stdout is not None
        yield next(found[0] for line in server.stdout if (found := re.search(r"http://[\d.:]+\d", line)))
        server.terminate()
        server.communicate(timeout=PATIENCE)


def test_the_client_over_http_prints_what_the_page_says(desk, url):
    made = run(desk, "-m", "circumspect", "keys", "create", "--tenant", "desk", "--scope", "chat", "--json")
    printed = run(desk, "http_client.py", url, json.loads(made)["key"])
    (promised,) = [block.text for block in blocks(PAGE) if block.kind == "text"]
    assert printed.split() == promised.split()
