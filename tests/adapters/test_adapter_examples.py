"""The same agent before and after: each example runs as it stands, offline, and ends as its first line says."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from tests.patience import ENDURANCE, PATIENCE

from circumspect import adapters

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "adapters"
FRAMEWORKS = {
    "langchain": "langchain",
    "openai_agents": "openai-agents",
    "pydantic_ai": "pydantic-ai-slim",
    "openai_loop": "openai",
    "anthropic_loop": "anthropic",
    "claude_agent": "claude-agent-sdk",
    "crewai": "crewai",
    "llama_index": "llama-index-core",
    "adk": "google-adk",
}
ELSEWHERE = ("claude_agent", "crewai", "llama_index", "adk")
"""Frameworks that `make test-adapters` installs, each in an environment of its own."""


def run(framework: str, when: str) -> str:
    try:
        version(FRAMEWORKS[framework])
    except PackageNotFoundError:
        assert framework in ELSEWHERE
        pytest.skip(f"needs {FRAMEWORKS[framework]}: make test-adapters")
    done = subprocess.run(
        [sys.executable, FOLDER / f"{framework}_{when}.py"],
        env={**os.environ, "CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"},
        capture_output=True,
        text=True,
        timeout=ENDURANCE if framework in ELSEWHERE else PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_adapter_of_a_framework_has_its_two_examples() -> None:
    modules = Path(adapters.__file__).parent.glob("*.py")
    named = {one.stem for one in modules} - {"__init__", "frameworks", "tool_loop"}
    assert named == set(FRAMEWORKS)
    wanted = [FOLDER / f"{one}_{when}.py" for one in named for when in ("before", "after")]
    assert [one.name for one in wanted if not one.exists()] == []


@pytest.mark.timeout(ENDURANCE)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_before_the_shipped_order_is_cancelled(framework: str) -> None:
    assert "the shop: ['cancelled 1002']" in run(framework, "before")


@pytest.mark.timeout(ENDURANCE)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_after_it_stays_and_the_other_waits_for_a_yes(framework: str) -> None:
    shown = [line for line in run(framework, "after").splitlines() if line]
    assert "An order that has been shipped cannot be cancelled" in shown[0]
    assert shown[1] == "the shop: []"
    assert shown[2].startswith("asked: Just to confirm: you want me to cancel order 1001?")
    assert shown[3] == "the shop: []"
    assert shown[-1] == "the shop: ['cancelled 1001']"


@pytest.mark.parametrize(
    ("module", "package", "install"),
    [
        ("langchain", "langchain", "circumspect[langchain]"),
        ("openai_agents", "agents", "circumspect[openai-agents]"),
        ("pydantic_ai", "pydantic_ai", "circumspect[pydantic-ai]"),
        ("claude_agent", "claude_agent_sdk", "circumspect[claude-agent]"),
        ("crewai", "crewai", "crewai"),
        ("llama_index", "llama_index", "llama-index-core"),
        ("adk", "google.adk", "google-adk"),
    ],
)
def test_a_framework_that_is_not_installed_is_named_with_what_to_install(
    module: str, package: str, install: str
) -> None:
    code = (
        f"import sys; sys.modules['{package}'] = None\n"
        "from circumspect.errors import ConfigError\n"
        f"try:\n    import circumspect.adapters.{module}\n"
        "except ConfigError as problem:\n    print(problem)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert f"pip install '{install}'" in done.stdout, done.stderr
