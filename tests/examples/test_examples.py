"""Every example runs as it stands, offline, and shows what it is there to show."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.models.provider_server import ProviderServer
from tests.models.wire_formats import Answer
from tests.patience import PATIENCE

from circumspect.models import says

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SHOWN = {
    "ten_lines.py": ["agent: Just to confirm: you want me to cancel order 12345?", "(acted: CONFIRMED_BY_USER"],
    "web_page.py": [
        'action: type, because: The textbox "First name" should hold "Ann".',
        "filled in: “First name: Ann; Last name: Lee”",
        "The page has changed since I asked, so your yes does not fit it any more.",
        "action: submit",
        "The page says: “Patient Ann Lee was created.”",
    ],
    "confirmation.py": [
        "Which order do you mean?",
        "(a yes is bound to cancel_order",
        "Your answer came after the question had expired",
        "There is nothing waiting for your confirmation right now.",
        "The ledger says: cancel_order ran 1 time(s), succeeded.",
        "The shop's own database says: order 12345 is cancelled.",
    ],
    "custom_rule.py": [
        "Tuesday, 80: acted",
        "Tuesday, 5000: escalated (LIMIT_REACHED",
        "Sunday, 80: answered (PRECONDITION_FAILED",
    ],
    "scripted_test.py": ["3 conversations went as they should."],
    "three_languages.py": ["en  Cancel order 12345", "he  ", "ru  Отмените заказ 12345", "CONFIRMED_BY_USER: "],
    "crash_recovery.py": [
        "is 'started'",
        "after the next message: 'succeeded' (EXECUTED_SUCCESSFULLY)",
        "It went through.",
        "after the next message: 'indeterminate' (OUTCOME_UNKNOWN)",
        "waits for a person: pay was started and nobody knows how it ended.",
        "booked 1 time(s)",
    ],
    "http_tool.py": [
        "without leave: '127.0.0.1' leads to an address that is not on the public internet.",
        "agent: Just to confirm: you want me to cancel order 12345?",
        "(acted: CONFIRMED_BY_USER",
        'POST /orders/12345/cancel {"order":"12345","reason":"asked for in the chat"} with our token, with a key',
    ],
    "knowledge.py": ["guide.md says 30 days", "terms.md says 14 days"],
    "mcp_tool.py": [
        "calendar_clear_day: effect destructive",
        "calendar_forward_everything: effect None",
        "(blocked: TOOL_NOT_COVERED",
        "agent: Just to confirm: you want me to cancel every meeting on Friday?",
        "The ledger says: calendar_clear_day {'day': 'Friday'} succeeded",
    ],
    "real_provider.py": ["No language model is set", "OPENAI_API_KEY", "`circumspect demo` needs none of them."],
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, subprocess.CompletedProcess[str]]]:
    """All of them, two at a time."""
    unset = ("CIRCUMSPECT_", "OPENAI_", "ANTHROPIC_")
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith(unset)}

    # Made here, because pytest's first folder of a process is not safe to be asked for by two threads.
    folders = {name: tmp_path_factory.mktemp(name) for name in SHOWN}

    def run(name: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-W", "error", str(EXAMPLES / name)],
            capture_output=True, encoding="utf-8", timeout=2 * PATIENCE, cwd=folders[name],
            env=surroundings | {"PYTHONUTF8": "1"},
        )  # fmt: skip

    with ThreadPoolExecutor(2) as pool:
        yield dict(zip(SHOWN, pool.map(run, SHOWN), strict=True))


@pytest.mark.parametrize("name", SHOWN)
def test_the_example_runs_and_shows_its_point(name: str, runs: dict[str, subprocess.CompletedProcess[str]]):
    done = runs[name]
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    at = 0
    for words in SHOWN[name]:
        assert words in done.stdout[at:], (words, done.stdout)
        at = done.stdout.index(words, at)


def test_every_example_is_tested():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SHOWN)


def test_a_killed_worker_leads_to_one_payment_whatever_the_tool_promises(runs):
    assert runs["crash_recovery.py"].stdout.count("booked 1 time(s)") == 2


def test_the_example_test_is_a_test():
    """pytest finds and passes the functions of `scripted_test.py`."""
    module = runpy.run_path(str(EXAMPLES / "scripted_test.py"))
    tests = [function for name, function in module.items() if name.startswith("test_")]
    assert len(tests) == 3
    for one in tests:
        one()


async def test_with_a_provider_the_example_asks_it_and_reports_what_it_used(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    main = runpy.run_path(str(EXAMPLES / "real_provider.py"))["main"]
    async with ProviderServer() as server:
        monkeypatch.setenv("CIRCUMSPECT_MODEL", f"openai:gpt-4o@{server.url}/v1")
        server.plays(
            Answer(says("", tool="get_order_status", params={"order_id": "12345"})),
            Answer(says("It is being packed.")),
            Answer(says("", tool="cancel_order", params={"order_id": "12345"})),
            Answer('{"decision": "PROCEED", "reasoning": "asked for", "message": ""}'),
            Answer("Your order is cancelled."),
        )
        await main()
        address = server.url.removeprefix("http://")
    shown = capsys.readouterr().out
    assert f"model: openai:gpt-4o@{address}" in shown
    assert "agent: It is being packed." in shown
    assert "agent: Just to confirm: you want me to cancel order 12345?" in shown
    assert "agent: Your order is cancelled." in shown
    assert "(acted; CONFIRMED_BY_USER, EXECUTED_SUCCESSFULLY;\n       1 model call(s), 10 tokens in, 5 out" in shown
    assert len(server.requests) == 5


async def test_with_a_model_but_no_key_the_example_says_which_variable_to_set(monkeypatch, capsys):
    monkeypatch.setenv("CIRCUMSPECT_MODEL", "openai:gpt-4o")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    await runpy.run_path(str(EXAMPLES / "real_provider.py"))["main"]()
    assert "Set OPENAI_API_KEY" in capsys.readouterr().out
