"""Every key of a definition is explained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from circumspect.tools.http_tool import Auth, HttpRequest, HttpToolDefinition
from circumspect.tools.mcp import McpDefinition, McpToolSettings

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tools.md").read_text("utf-8")


@pytest.mark.parametrize("kind", [HttpToolDefinition, HttpRequest, Auth, McpDefinition, McpToolSettings])
def test_every_key_of_a_definition_is_explained(kind: type[HttpToolDefinition]):
    quoted = {word for code in re.findall(r"`([^`\n]+)`", PAGE) for word in re.findall(r"\w+", code)}
    assert {one.alias or name for name, one in kind.model_fields.items()} - quoted == set()
