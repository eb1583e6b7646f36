"""A toolset finds tools by their exact name and tells what is known about them."""

from __future__ import annotations

import pytest

from circumspect.errors import ConfigError, ToolError
from circumspect.ports import Tools
from circumspect.tools import Toolset, tool


@tool(effect="read")
def find(text: str) -> str:
    return text.upper()


@tool(effect="write", lookup=lambda key, arguments: {"key": key})
def save(text: str) -> str:
    return text


async def test_a_toolset_is_the_tools_port() -> None:
    tools: Tools = Toolset([find, save])
    assert list(tools.specs()) == ["find", "save"]
    assert tools.specs()["find"] is find.spec
    assert await tools.call("find", {"text": "a"}, "k") == "A"
    assert await tools.lookup("save", {"text": "a"}, "k") == {"key": "k"}


@pytest.mark.parametrize("name", ["Find", "find ", "fin", "find_", ""])
async def test_only_the_exact_name_finds_a_tool(name: str) -> None:
    with pytest.raises(ToolError, match="no tool named"):
        await Toolset([find]).call(name, {"text": "a"}, "k")


def test_two_tools_of_one_name_are_refused() -> None:
    @tool(name="find")
    def other() -> None: ...

    with pytest.raises(ConfigError, match="two tools named 'find'") as refused:
        Toolset([find, other])
    assert refused.value.fix


def test_a_function_without_the_decorator_is_refused() -> None:
    def plain() -> None: ...

    with pytest.raises(ConfigError, match="plain is not a tool") as refused:
        Toolset([plain])  # type: ignore[list-item]
    assert "@tool" in refused.value.fix


def test_the_specs_are_the_same_mapping_until_something_changes() -> None:
    settings = {"ready": False}

    @tool(configured=lambda: settings["ready"])
    def send() -> None: ...

    tools = Toolset([find, send])
    before = tools.specs()
    assert tools.specs() is before
    assert not before["send"].configured
    settings["ready"] = True
    assert tools.specs()["send"].configured
    assert tools.specs() is tools.specs()
    assert not before["send"].configured


def test_nobody_can_change_the_specs() -> None:
    with pytest.raises(TypeError):
        Toolset([find]).specs()["other"] = find.spec  # type: ignore[index]


async def test_a_tool_that_is_not_configured_does_not_run() -> None:
    ran = []

    @tool(configured=False)
    def send() -> None:
        ran.append(1)

    with pytest.raises(ToolError, match="not configured"):
        await Toolset([send]).call("send", {}, "k")
    assert ran == []
