"""The core is small, works alone, and whatever needs more says what to install."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from scripts import try_core
from tests.packaging.missing_packages import run_command, run_python

from circumspect.cli import VERBS
from circumspect.extras import EXTRAS, explain_missing

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def expand(requirements: list[str]) -> set[str]:
    """The distributions that requirements name, with those of extras of ours that they name."""
    found: set[str] = set()
    for requirement in map(Requirement, requirements):
        if requirement.marker and not requirement.marker.evaluate():
            continue
        if canonicalize_name(requirement.name) == "circumspect":
            for extra in requirement.extras:
                found |= expand(PROJECT["optional-dependencies"][extra])
        else:
            found.add(canonicalize_name(requirement.name))
    return found


def find_all_needed(names: set[str]) -> set[str]:
    found, left = set(), set(names)
    while left:
        name = left.pop()
        found.add(name)
        wanted = (Requirement(text) for text in distribution(name).requires or ())
        needed = {canonicalize_name(one.name) for one in wanted if not one.marker or one.marker.evaluate({"extra": ""})}
        left |= needed - found
    return found


def test_the_core_is_at_most_fifteen_packages():
    needed = find_all_needed(expand(PROJECT["dependencies"]))
    assert len(needed | {"circumspect"}) <= try_core.MOST_PACKAGES, sorted(needed)


def test_no_extra_hides_what_the_core_needs():
    modules = {module for modules in EXTRAS.values() for module in modules}
    homes = packages_distributions()
    core = find_all_needed(expand(PROJECT["dependencies"]))
    assert not {module for module in modules for home in homes.get(module, ()) if canonicalize_name(home) in core}


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_every_package_of_an_extra_is_told_with_an_extra_that_brings_it(extra):
    modules = {}
    for module, homes in packages_distributions().items():
        for home in homes:
            modules.setdefault(canonicalize_name(home), set()).add(module)
    for name in expand(PROJECT["optional-dependencies"][extra]):
        try:
            distribution(name)
        except PackageNotFoundError:
            continue
        public = {one for one in modules.get(name, ()) if re.fullmatch(r"[a-z]\w*", one) and "__" not in one}
        # Time zones are data, and the two others are shared by many packages.
        for module in public - {"tzdata", "opentelemetry", "google"}:
            problem = explain_missing(ModuleNotFoundError(name=module))
            if problem is None:
                # A package beside the one that is imported: no import of ours can miss it alone.
                assert any(explain_missing(ModuleNotFoundError(name=other)) for other in public), (name, module)
                continue
            told = re.search(r"circumspect\[(\w+)\]", problem.fix)[1]
            assert name in expand(PROJECT["optional-dependencies"][told]), (name, module, told)


def test_a_module_of_ours_that_is_missing_is_no_missing_package():
    assert explain_missing(ModuleNotFoundError(name="circumspect.richer")) is None
    assert explain_missing(ModuleNotFoundError(name="richer")) is None


SERVER, TERMINAL, AGENT = "server", "terminal", "agent"
REVIEW = str(ROOT / "examples" / "review")
NEEDS = {
    "demo": (["demo"], TERMINAL),
    "chat": (["chat"], TERMINAL),
    "audit": (["audit", "talk.jsonl"], None),
    "backtest": (["backtest", "--policy", "policy.yaml"], TERMINAL),
    "test": (["test", "fixtures"], None),
    "calibrate": (["calibrate", "--tenant", "shop"], None),
    "check-model": (["check-model", "openai:gpt"], AGENT),
    "policy": (["policy", "check", "policy.yaml"], None),
    "evaluate": (
        ["evaluate", f"{REVIEW}/cases", f"{REVIEW}/policies", "--criteria", f"{REVIEW}/criteria.yaml"],
        "documents",
    ),
    "optimise": (["optimise", "review", "--dataset", REVIEW, "--budget", "5"], "optimise"),
    "browse": (["browse", "http://127.0.0.1:9", "look"], "browser"),
    "experiments": (["experiments", "list"], SERVER),
    "prompts": (["prompts", "list"], SERVER),
    "serve": (["serve"], SERVER),
    "health": (["health"], None),
    "apply": (["apply", "policy.yaml"], SERVER),
    "tenants": (["tenants", "list"], SERVER),
    "tools": (["tools", "seen", "shop"], SERVER),
    "keys": (["keys", "list"], SERVER),
    "operators": (["operators", "list"], SERVER),
    "approvals": (["approvals", "list"], SERVER),
    "escalations": (["escalations", "list"], SERVER),
    "outbox": (["outbox", "list"], SERVER),
    "mcp": (["mcp", "--tenant", "shop"], SERVER),
    "demo-data": (["demo-data", "add"], SERVER),
    "backup": (["backup", "copied"], SERVER),
    "restore": (["restore", "."], SERVER),
    "db": (["db", "upgrade"], None),
    "docs": (["docs", "policy"], None),
    "doctor": (["doctor"], SERVER),
}


def test_every_command_is_tried():
    assert list(NEEDS) == list(VERBS)


@pytest.mark.parametrize("verb", [verb for verb, (_, extra) in NEEDS.items() if extra])
def test_a_command_that_needs_more_says_what_to_install(verb, tmp_path):
    arguments, extra = NEEDS[verb]
    (tmp_path / "policy.yaml").write_text(try_core.POLICY)
    done = run_command(arguments, tmp_path, terminal=True)
    assert f"pip install 'circumspect[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 2


def test_every_command_has_help_in_the_core(tmp_path):
    done = run_python(
        f"from circumspect.cli import cli\nfor verb in {list(VERBS)}: cli.main([verb, '-h'], standalone_mode=False)",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def core_folder(tmp_path):
    (tmp_path / "policy.yaml").write_text(try_core.POLICY)
    (tmp_path / "talk.jsonl").write_text(try_core.TALK)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["policy", "check", "policy.yaml"], "is sound"),
        (["policy", "init", "talk.jsonl", "--out", "draft.yaml"], ""),
        (["audit", "talk.jsonl", "--policy", "policy.yaml", "--html", "report.html"], "cancel_order"),
        (["audit", "talk.jsonl", "--jobs", "2"], "cancel_order"),
        (["db", "upgrade"], "up to date"),
        (["docs"], "policy "),
        (["docs", "docs/policy.md"], "deny_unless"),
        (["chat"], ""),
    ],
)
def test_the_core_works_alone(arguments, said, core_folder):
    done = run_command(arguments, core_folder)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout


OUR_AGENT = """
import asyncio
from circumspect import Agent, tool

@tool(effect="destructive", phrases={"en": "cancel order {order_id}"})
def cancel_order(order_id: str) -> str:
    return f"order {order_id} is cancelled"

@tool(effect="read")
def get_order(order_id: str) -> dict:
    return {"status": "processing"}

async def main():
    async with Agent("shop", tools=[cancel_order, get_order], policy="policy.yaml", database="sqlite:///agent.db") as agent:
        return (await agent.turn("cancel order 12345")).reason_codes

print(asyncio.run(main()))
"""


def test_an_agent_on_the_offline_model_is_part_of_the_core(core_folder):
    done = run_python(OUR_AGENT, core_folder)
    assert done.returncode == 0, done.stderr
    assert "FACT_NEEDED" in done.stdout


@pytest.mark.parametrize("store", [None, "sqlite:///gate.db"])
def test_a_gate_is_part_of_the_core(store, core_folder):
    use = f"sys.path.insert(0, {str(ROOT)!r})\nimport asyncio\nfrom scripts.try_core import use_gate\n"
    done = run_python(f"{use}asyncio.run(use_gate({store!r}))", core_folder)
    assert done.returncode == 0, done.stderr


def test_words_that_tell_no_language_need_no_model_of_languages(tmp_path):
    code = "from circumspect.language.detection import detect\nprint(detect('zebra lampion kolibri', None, 'en'))"
    done = run_python(code, tmp_path)
    assert done.stdout == "en\n", done.stderr


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("from circumspect.models import open_model; open_model('openai:gpt-4o')", "agent"),
        ("from circumspect import Agent; Agent('shop', model='anthropic:claude')", "agent"),
        ("from circumspect.knowledge.read_document import read_document; read_document(b'# a', 'a.md')", "documents"),
        (
            "from circumspect.knowledge.read_document import read_document; read_document(b'<p>a', 'a.html')",
            "documents",
        ),
        ("from circumspect.knowledge.read_document import read_document; read_document(b'%PDF-1.7', 'a')", "documents"),
        (
            "from circumspect.knowledge.read_document import read_document; read_document(b'\\xe0\\xe1', 'a')",
            "documents",
        ),
        ("import circumspect.tools.http_tool", "server"),
        ("import circumspect.tools.mcp", "server"),
        ("import circumspect.outgoing", "server"),
        ("from circumspect.stores.engine import connect; connect('postgresql://nobody@localhost/x')", "postgres"),
        ("from circumspect.web.search.opening import open_search; open_search('searxng:http://localhost')", "server"),
    ],
)
def test_a_class_that_needs_more_says_what_to_install(code, extra, tmp_path):
    done = run_python(
        f"from circumspect.errors import ConfigError\ntry:\n    {code}\nexcept ConfigError as problem:\n    print(problem)",
        tmp_path,
    )
    assert f"circumspect[{extra}]" in done.stdout, done.stderr
