"""The pages on security and stability claim nothing that is not there: names, files, and how often something was tried."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from tests.docs.pages import ROOT

import circumspect

SECURITY = ROOT / "docs" / "security.md"
STABILITY = ROOT / "docs" / "stability.md"


def test_every_public_name_is_promised_and_every_promised_name_is_public() -> None:
    table = STABILITY.read_text("utf-8").partition("<!-- names -->")[2].partition("\n## ")[0]
    promised = re.findall(r"^\| `(\w+)` \| \S", table, re.M)
    assert promised == circumspect.__all__, "who takes a name away breaks somebody's program: see the page"
    assert [name for name in promised if not hasattr(circumspect, name)] == []


def claims() -> list[tuple[str, int]]:
    """Files of tests, each with how many cases the page says that it has."""
    found = re.findall(r"`(tests/[\w/]+\.py)` (\d+)", SECURITY.read_text("utf-8"))
    return [(path, int(number)) for path, number in found]


def test_every_class_of_attack_names_tests_that_are_there() -> None:
    rows = SECURITY.read_text("utf-8").partition("## What was tried")[2].partition("### ")[0].splitlines()
    classes = [row for row in rows if row.startswith("| ") and not row.startswith("| class ")]
    assert len(classes) >= 25
    assert [row for row in classes if row.count(" | ") != 3 or not re.search(r"`tests/[\w/]+\.py` \d", row)] == []
    assert [path for path, _ in claims() if not (ROOT / path).is_file()] == []


def test_what_was_tried_is_tried_at_least_as_often_as_the_page_says(request: pytest.FixtureRequest) -> None:
    """Counts what this run collected, so it says something of the files that were collected whole."""
    options = request.config.option
    if options.keyword or options.markexpr not in ("", "not llm") or any("::" in one for one in request.config.args):
        pytest.skip("not all cases were asked for")
    collected = Counter(item.path for item in request.session.items)
    here = [(path, number) for path, number in claims() if ROOT / path in collected]
    if not here:
        pytest.skip("none of these files is in this run")
    assert {path: number for path, number in here if collected[ROOT / path] < number} == {}
