"""Nothing is left out of the docs, nothing in them is made up, and nothing in the repository says where it was written."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click
import pytest
from scripts.generate_docs import DOCS, options, walk
from scripts.generate_docs import PAGES as GENERATED
from tests.docs.pages import PAGES, ROOT, blocks, prose

from circumspect import Agent, Business, Faq, Plan, Tenant, TurnResult, tool
from circumspect.cli.chat import COMMANDS
from circumspect.models import ProviderSettings
from circumspect.policy.load import check, schema
from circumspect.reasons import ReasonCode
from circumspect.values import Profile, TurnOutcome

SOURCE = ROOT / "src" / "circumspect"


def page(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def quoted(name: str) -> set[str]:
    """Every word that a page sets in backticks."""
    return {word for code in re.findall(r"`([^`\n]+)`", page(name)) for word in re.findall(r"[\w.:/-]+", code)}


def prose_of(text: str) -> str:
    return re.sub(r"```.*?```", "", text, flags=re.S)


# --- nothing is left out ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GENERATED)
def test_generated_pages_are_current(name):
    assert page(name) == GENERATED[name](), "run `make docs`"


def test_the_schema_that_is_shipped_is_the_one_that_is_published():
    assert (SOURCE / "policy" / "policy.schema.json").read_text("utf-8").strip() == page("policy.schema.json").strip()


def test_every_reason_code_says_what_to_do_about_it():
    rows = re.findall(r"^\| `([A-Z_]+)` \| [^|]+ \| ([^|]+) \|", page("reason-codes.md"), re.M)
    assert [code for code, _ in rows] == [str(code) for code in ReasonCode]


def test_every_command_option_and_chat_command_is_listed():
    listed = page("cli.md").replace("\\|", "|")
    for names, command in walk():
        assert " ".join(("circumspect", *names)) in listed
        for option in options(command):
            assert all(f"`{name}`" in listed for name in option.opts), (names, option.opts)
    assert all(f"`{name}`" in listed for name in COMMANDS)


def test_every_environment_variable_that_the_code_reads_is_explained():
    read = {
        variable
        for path in SOURCE.rglob("*.py")
        for variable in re.findall(r"\b(?:CIRCUMSPECT|OPENAI|ANTHROPIC)_[A-Z_]+\b", path.read_text("utf-8"))
    }
    assert len(read) >= 6
    assert read - quoted("configuration.md") == set()


def test_every_key_of_the_policy_file_is_explained():
    whole = schema()
    keys = {name for part in (whole, *whole["$defs"].values()) for name in part.get("properties", {})}
    assert {"tools", "deny_unless", "because", "updated_by"} <= keys
    known = (
        quoted("policy.md")
        | quoted("policy-keys.md")
        | {word for block in blocks(DOCS / "policy.md") for word in re.findall(r"\w+", block.text)}
    )
    assert keys - known == set()


def test_every_prompt_is_named():
    prompts = {path.stem for path in (SOURCE / "prompts").glob("*.md")}
    assert prompts - quoted("guide-contributors.md") == set()


@pytest.mark.parametrize("kind", [Tenant, Plan, Business, Faq, Profile, ProviderSettings])
def test_every_setting_of_a_value_is_explained(kind):
    names = {one.name for one in dataclasses.fields(kind)}
    assert names - quoted("configuration.md") == set()


def test_every_parameter_of_an_agent_is_explained():
    shown = page("configuration.md")
    made = set(inspect.signature(Agent.__init__).parameters) - {"self", "tenant"}
    assert {name for name in made if f" {name}=" not in shown} == set()
    assert set(inspect.signature(Agent.turn).parameters) - {"self"} - quoted("configuration.md") == set()


def test_every_option_of_a_tool_is_explained():
    documented = set(re.findall(r"^ {4}(\w+):", inspect.getdoc(tool) or "", re.M))
    assert {"effect", "recovery", "lookup"} <= documented
    assert documented - quoted("guide-developers.md") == set()


def test_every_outcome_and_field_of_a_result_is_explained():
    words = quoted("guide-developers.md")
    assert {one.name for one in dataclasses.fields(TurnResult)} - words == set()
    assert set(TurnOutcome.__args__) - words == set()


def test_every_table_is_explained():
    from circumspect.stores.tables import metadata

    assert set(metadata.tables) - quoted("guide-operators.md") == set()


def test_every_chore_and_extra_is_named():
    chores = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text("utf-8"), re.M)
    codes = set(re.findall(r"`([^`\n]+)`", page("guide-contributors.md")))
    assert {f"make {name}" for name in chores if name != "help"} - codes == set()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(extras) - quoted("configuration.md") == set()


def test_every_page_is_in_the_index_and_every_example_in_theirs():
    index = page("README.md")
    pages = {path.name for path in DOCS.iterdir() if path.is_file()} - {"README.md"}
    assert {name for name in pages if f"({name})" not in index} == set()
    examples = ROOT / "examples"
    listed = (examples / "README.md").read_text("utf-8")
    assert {path.name for path in examples.glob("*.py") if f"({path.name})" not in listed} == set()


def test_figures_on_the_page_about_modes_are_those_of_the_benchmarks():
    cost = page("modes.md").partition("## Cost")[2].partition("\n## ")[0]
    figures = re.findall(r"[−$]\d[\d.,]*\d?(?: %)?", prose_of(cost))
    assert len(figures) >= 5
    assert [figure for figure in figures if figure not in page("benchmarks.md")] == []


# --- nothing is made up ----------------------------------------------------------------------------------------------


def written_commands() -> Iterator[tuple[str, str]]:
    """Every line in the docs that begins with our command, in blocks and in the running text."""
    for path in PAGES:
        for block in blocks(path):
            if block.kind in ("sh", "console"):
                text = re.sub(r"\\\n", " ", block.text)
                yield from ((path.name, line) for line in text.splitlines())
        yield from ((path.name, code) for code in re.findall(r"`([^`\n]+)`", prose(path)))


def test_commands_in_the_docs_exist_with_their_options():
    by_name = dict(walk())
    seen = 0
    for where, line in written_commands():
        for part in re.split(r"[|;]|&&", line.partition(" #")[0]):
            words = shlex.split(part.removeprefix("$").strip().replace("…", "")) if "circumspect " in part else []
            if not words or words[0] != "circumspect":
                continue
            seen += 1
            names: tuple[str, ...] = ()
            command: click.Command = by_name[()]
            for word in words[1:]:
                if word.startswith("-"):
                    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
                    assert word.partition("=")[0] in known | {"-h", "--help"}, (where, line)
                elif isinstance(command, click.Group) and not word.isupper():
                    if (*names, word) not in by_name and words[words.index(word) - 1].startswith("-"):
                        continue
                    assert (*names, word) in by_name, (where, line)
                    names, command = (*names, word), by_name[*names, word]
    assert seen > 10


def test_chores_in_the_docs_exist():
    chores = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    named = {name for _, line in written_commands() for name in re.findall(r"(?:^|\s)make ([a-z-]+)", line)}
    assert named - chores == set()


def test_blocks_that_are_not_run_compile_and_import_what_exists():
    for path in PAGES:
        for block in (one for one in blocks(path) if one.kind == "python" and not one.runs):
            tree = compile(block.text, path.name, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("circumspect"):
                    assert all(has_name(node.module or "", one.name) for one in node.names), (path.name, block.line)


def has_name(module: str, name: str) -> bool:
    """The source says it of an adapter, whose framework may not be installed."""
    if module.startswith("circumspect.adapters."):
        source = (ROOT / "src" / module.replace(".", "/")).with_suffix(".py").read_text("utf-8")
        return re.search(rf"^(?:async )?(?:def|class) {name}\b", source, re.M) is not None
    return hasattr(importlib.import_module(module), name)


def test_policies_in_the_docs_are_sound():
    # The blocks of these pages are parts of a tenant's file, or fixtures.
    policies = [
        path
        for path in PAGES
        if path.name
        not in ("tenants.md", "access.md", "widget.md", "browser.md", "search.md", "fixtures.md", "clients.md")
    ]
    found = [(path, block) for path in policies for block in blocks(path) if block.kind == "yaml"]
    assert len(found) >= 8
    for path, block in found:
        _, findings = check(block.text)
        assert [one.describe(path.name) for one in findings if one.level == "error"] == [], (path.name, block.line)


def test_files_that_the_docs_name_exist():
    """`policy/rules.py` in the running text is a file of ours, below the root, the package, the tests or the examples."""
    for path in PAGES:
        for name in re.findall(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|ftl|md|sh|toml))`", prose(path)):
            homes = (ROOT, SOURCE, SOURCE.parent, SOURCE / "language" / "en", path.parent)
            assert any((home / name).exists() for home in homes), (path.name, name)


def anchors(path: Path) -> set[str]:
    """Of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.+)$", prose(path), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).strip().replace(" ", "-") for heading in headings}


def links() -> Iterator[tuple[Path, str]]:
    for path in (*PAGES, *sorted((DOCS / "decisions").glob("*.md"))):
        for target in re.findall(r"!?\[[^\]\n]*\]\(([^)\s]+)\)", prose(path)):
            if not urlsplit(target).scheme:
                yield path, unquote(target)


def test_links_between_pages_lead_somewhere():
    broken = []
    for path, target in links():
        name, _, anchor = target.partition("#")
        there = (path.parent / name).resolve() if name else path
        if not there.exists() or (anchor and there.suffix == ".md" and anchor not in anchors(there)):
            broken.append(f"{path.relative_to(ROOT)}: {target}")
    assert broken == []


# --- nothing says where it was written -------------------------------------------------------------------------------


def tracked() -> Iterator[tuple[str, str]]:
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, capture_output=True, check=True,
        ).stdout.decode()  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if path.is_file() and b"\0" not in (content := path.read_bytes())[:8192]:
            yield name, content.decode("utf-8", "replace")


def package_sources() -> set[str]:
    """Hosts and folders that this machine takes packages from, if it says so: they are nobody else's business."""
    configured = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, encoding="utf-8"
    ).stdout
    named = " ".join(
        [configured, *(value for name, value in os.environ.items() if re.search(r"(?i)index|registry|links", name))]
    )
    hosts = {urlsplit(url).hostname or "" for url in re.findall(r"https?://[^\s'\"]+", named)}
    folders = {urlsplit(url).path.rstrip("/") for url in re.findall(r"file://[^\s'\"]+", named)}
    folders |= set(re.findall(r"find-links='(/[^']+)'", configured))
    return {source for source in hosts | folders if len(source) > 4} - {"pypi.org", "files.pythonhosted.org"}


HOME = re.compile(r"(?<![\w.])(?:/home/(?!user\b|you\b|me\b)\w+|/Users/(?!you\b|me\b)\w+|/root)/[\w.]|[A-Z]:\\Users\\")
INDEX = re.compile(
    r"--(?:extra-)?index-url[ =]https?://|(?i:registry\s*[=:]\s*[\"']?https?://)|PIP_INDEX_URL\s*=\s*http"
)


def test_no_file_names_a_path_of_this_machine_or_where_packages_come_from():
    places = package_sources() | {str(ROOT)}
    if len(ROOT.parent.parts) > 1 and str(ROOT.parent) not in ("/tmp", "/home", "/srv", "/opt", "/src", "/app"):
        places.add(f"{ROOT.parent}/")
    ours = re.compile("|".join(rf"(?<![\w./-]){re.escape(place)}" for place in sorted(places)))
    found = []
    for name, text in tracked():
        for number, line in enumerate(text.splitlines(), 1):
            if HOME.search(line) or INDEX.search(line) or ours.search(line):
                found.append(f"{name}:{number}: {line.strip()[:120]}")
    assert found == []


def test_every_promise_names_tests_that_are_there():
    lines = [line for line in page("promises.md").splitlines() if line.startswith("| ") and "tried by" not in line]
    rows = [line for line in lines if line.count("|") == 4]
    assert rows
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        assert named, row
        for path, test in named:
            assert f"def {test}(" in (ROOT / path).read_text("utf-8"), (path, test)
