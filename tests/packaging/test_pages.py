"""Whoever has the package has the pages that its messages point to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "circumspect").rglob("*.py"))


def find_texts(file: Path) -> Iterator[str]:
    """Every string of a module, and no comment on the module itself, which nobody is shown."""
    tree = ast.parse(file.read_text("utf-8"))
    about = ast.get_docstring(tree, clean=False)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != about:
            yield node.value


def test_messages_point_to_pages_that_there_are():
    named = {
        page for file in SOURCES for text in find_texts(file) for page in re.findall(r"circumspect docs ([\w-]+)", text)
    }
    assert named >= {"policy", "audit", "tools"}
    assert [page for page in named if not (ROOT / "docs" / f"{page}.md").is_file()] == []


def test_no_message_points_into_a_checkout():
    assert [
        (file.name, text) for file in SOURCES for text in find_texts(file) if re.search(r"docs/[\w-]+\.md", text)
    ] == []


@pytest.mark.parametrize("page", ["polcy", "../README", "decisions/0001-one-spine"])
def test_a_page_that_is_not_there_is_told_with_what_is(page, tmp_path):
    from tests.packaging.missing_packages import run_command

    done = run_command(["docs", page], tmp_path)
    assert done.returncode == 2
    assert "There is no page" in done.stderr
    assert "Traceback" not in done.stderr
