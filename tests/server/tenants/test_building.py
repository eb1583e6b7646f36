"""A name in a tenant file becomes tools: a tool, a list of them, or what a factory makes of its context."""

from __future__ import annotations

from pathlib import Path

import pytest

from circumspect.clock import FixedClock
from circumspect.errors import CircumspectError, ConfigError
from circumspect.policy.policy_file import Policy
from circumspect.server.tenants.tenant_file import ToolSection
from circumspect.server.tenants.tool_building import build, python_tools
from circumspect.tools import ToolContext
from circumspect.values import TenantId

CODE = """
from circumspect import tool
from circumspect.tools import ToolContext

@tool(effect="read")
def one(): "One."

@tool(effect="read")
def two(): "Two."

BOTH = [one, two]

def made(context: ToolContext):
    @tool(effect="read")
    def hello() -> str:
        "Greet."
        return f"{context.options['greeting']}, {context.tenant}, {context.secrets['token']}"
    return [hello]

async def made_later(context):
    return one

def by_type(where: "ToolContext", extra: int = 1):
    return (two,)

def broken(context):
    raise RuntimeError(f"the token is {context.secrets['token']}")

def leaves(context):
    raise SystemExit(3)

def returns_nothing(context):
    return None

class Tools:
    inner = one
"""


@pytest.fixture
def context(tmp_path: Path, clock: FixedClock) -> ToolContext:
    return ToolContext(TenantId("shop"), "en", tmp_path, clock, {"token": "t0ken"}, {"greeting": "Hi"})


@pytest.mark.parametrize(
    ("name", "tools"),
    [
        ("one", ["one"]),
        ("BOTH", ["one", "two"]),
        ("made", ["hello"]),
        ("made_later", ["one"]),
        ("by_type", ["two"]),
        ("Tools.inner", ["one"]),
    ],
)
async def test_what_a_name_may_stand_for(name, tools, module, context):
    found = await python_tools(f"{module(CODE)}:{name}", context)
    assert [one.spec.name for one in found] == tools


async def test_a_factory_gets_the_tenant_its_secrets_and_its_options(module, context):
    (hello,) = await python_tools(f"{module(CODE)}:made", context)
    assert await hello.call({}, "k") == "Hi, shop, t0ken"
    assert "t0ken" not in repr(context)


async def test_a_factory_that_fails_is_told_without_what_it_said(module, context):
    with pytest.raises(ConfigError, match="could not make its tools: RuntimeError in made_") as refused:
        await python_tools(f"{module(CODE)}:broken", context)
    assert "t0ken" not in str(refused.value)


async def test_code_of_a_tenant_that_wants_to_end_the_process_is_refused(module, context):
    with pytest.raises(ConfigError, match="could not make its tools: SystemExit in made_"):
        await python_tools(f"{module(CODE)}:leaves", context)
    with pytest.raises(ConfigError, match=r"cannot be imported: SystemExit in made_\d+\.py:2"):
        await python_tools(module("import sys\nsys.exit(3)\n") + ":tools", context)


async def test_a_factory_that_makes_nothing_is_refused(module, context):
    with pytest.raises(ConfigError, match="is neither a tool nor makes any"):
        await python_tools(f"{module(CODE)}:returns_nothing", context)


async def test_a_module_that_breaks_while_it_is_imported_is_told_with_its_line(module, context):
    with pytest.raises(ConfigError, match=r"cannot be imported: ZeroDivisionError in made_\d+\.py:2"):
        await python_tools(module("x = 1\n1 / 0\n") + ":tools", context)


async def test_a_module_that_needs_a_missing_one_names_it(module, context):
    with pytest.raises(ConfigError, match=r"it needs surely_not_installed"):
        await python_tools(module("import surely_not_installed\n") + ":tools", context)


async def test_a_module_in_the_working_directory_is_found(tmp_path, monkeypatch, context):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "only_here_by_directory.py").write_text(CODE)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    assert await python_tools("only_here_by_directory:one", context)


async def test_two_tools_of_one_name_are_refused(module, context):
    name = module(CODE)
    sections = [ToolSection(python=f"{name}:one"), ToolSection(python=f"{name}:BOTH")]
    with pytest.raises(ConfigError, match="two tools named 'one'"):
        await build(sections, context, policy=Policy())


async def test_an_http_tool_may_not_lead_inside_unless_allowed(context):
    section = ToolSection.model_validate(
        {"http": {"name": "inside", "effect": "read", "request": {"url": "http://127.0.0.1:9/x"}}}
    )
    with pytest.raises(ConfigError):
        await build([section], context, policy=Policy())
    tools = await build([section], context, policy=Policy(), allow=("127.0.0.1",))
    assert list(tools.specs()) == ["inside"]
    await tools.opened.aclose()


async def test_an_mcp_server_that_is_not_there_is_an_error_and_leaves_nothing_behind(context):
    section = ToolSection.model_validate({"mcp": {"name": "desk", "command": "surely-no-such-command"}})
    with pytest.raises(CircumspectError, match="desk"):
        await build([section], context, policy=Policy())
