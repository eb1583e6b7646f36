"""The same agent before and after: each example runs as it stands, offline, and ends as its first line says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.patience import PATIENCE

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "adapters"
FRAMEWORKS = ("langchain", "openai_agents", "pydantic_ai", "openai_loop", "anthropic_loop")


def run(name: str) -> str:
    done = subprocess.run(
        [sys.executable, FOLDER / name], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_before_the_shipped_order_is_cancelled(framework: str) -> None:
    assert "the shop: ['cancelled 1002']" in run(f"{framework}_before.py")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_after_it_stays_and_the_other_waits_for_a_yes(framework: str) -> None:
    shown = [line for line in run(f"{framework}_after.py").splitlines() if line]
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
