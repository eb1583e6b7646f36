"""The four walkthroughs of a service business: what came of each, in the reply, the record and the school's books (D12)."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import io
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from email import message_from_string, policy
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console
from tests.patience import PATIENCE

from circumspect.cli import cli
from circumspect.cli.debug import show
from circumspect.reasons import ReasonCode
from circumspect.values import TurnResult

SERVICE = Path(__file__).resolve().parents[2] / "examples" / "service"
WALKS = ("pricing", "lead", "conflict", "calendar_failure")
OFFLINE, SCRIPTED = "--- the offline model", "--- a scripted model"


class Ran:
    def __init__(self, walks: list[Any], shown: str) -> None:
        self.walks, self.shown = walks, shown


@pytest.fixture(scope="module")
def walked() -> Iterator[Callable[[str], Ran]]:
    """Each example once, as it stands, with every way out of this machine shut."""
    patch = pytest.MonkeyPatch()
    patch.syspath_prepend(SERVICE)
    for name in ("OPENAI_API_KEY", "CIRCUMSPECT_MODEL", "CIRCUMSPECT_DATABASE"):
        patch.delenv(name, raising=False)
    connect = socket.socket.connect

    def only_here(self: socket.socket, address: Any) -> None:
        assert self.family == socket.AF_UNIX or address[0] == "127.0.0.1", address
        connect(self, address)

    patch.setattr(socket.socket, "connect", only_here)
    done: dict[str, Ran] = {}

    def run(name: str) -> Ran:
        if name not in done:
            shown = io.StringIO()
            with contextlib.redirect_stdout(shown):
                walks = asyncio.run(importlib.import_module(name).main())
            done[name] = Ran(walks, shown.getvalue())
        return done[name]

    yield run
    patch.undo()
    for name in ("school", *WALKS):
        sys.modules.pop(name, None)


def decisions(turn: TurnResult) -> list[str]:
    return [
        one.meta["decision"]["decision"]
        for one in turn.entries
        if one.kind == "understanding" and isinstance(one.meta.get("decision"), dict)
    ]


def judged(turn: TurnResult) -> dict[str, Any]:
    """The entry with sources and confidence."""
    return next(dict(one.meta) for one in turn.entries if one.kind == "understanding" and "searches" in one.meta)


def called(*turns: TurnResult) -> list[tuple[str, str]]:
    """The calls in their order, with how each ended."""
    return [
        (str(one.meta["tool"]), str(one.meta["state"])) for turn in turns for one in turn.entries if one.kind == "tool"
    ]


def factor(turn: TurnResult, name: str) -> float:
    return next(float(one["value"]) for one in judged(turn)["confidence"]["factors"] if one["name"] == name)


# --- pricing --------------------------------------------------------------------------------------------------------


def test_a_price_is_looked_up_and_cited(walked):
    offline, scripted = walked("pricing").walks
    _, fee, _, instalments = offline.turns
    for turn, words in ((fee, "₪120"), (instalments, "three equal monthly payments"), (scripted.turns[0], "₪220")):
        assert turn.outcome == "answered"
        assert decisions(turn) == ["RETRIEVE"]
        assert words in turn.reply
        assert "[1]" in turn.reply
        assert judged(turn)["sources"][0]["document"] == "prices.md"
        assert judged(turn)["confidence"]["value"] >= 0.75


def test_a_question_about_nothing_in_particular_is_asked_back_and_searches_nothing(walked):
    vague = walked("pricing").walks[0].turns[0]
    assert vague.outcome == "asked"
    assert ReasonCode.CLARIFICATION_NEEDED in vague.reason_codes
    assert not [one for one in vague.entries if "searches" in one.meta]


def test_thanks_are_answered_without_a_search_or_an_analysis(walked):
    thanks = walked("pricing").walks[0].turns[2]
    assert decisions(thanks) == ["REASON_ONLY"]
    assert judged(thanks)["saved"] is True
    assert judged(thanks)["searches"] == 0
    assert len(thanks.usage.calls) == 1


# --- lead -----------------------------------------------------------------------------------------------------------


def test_a_lead_is_looked_up_and_written_down_before_times_are_offered(walked):
    first = walked("lead").walks[0]
    tools = ("find_lead", "update_lead", "find_free_times", "book_meeting", "send_email")
    assert called(*first.turns) == [(tool, "succeeded") for tool in tools]
    results = {one.call.tool: one.result for one in first.executions}
    assert set(results) == set(tools)
    assert results["find_lead"] == {"found": False, "lead": None}
    assert results["update_lead"]["lead"]["company"] == "Acme"
    assert [slot["time"] for slot in results["find_free_times"]["free"]] == ["09:00", "10:00", "11:00"]


@pytest.mark.parametrize("number", [0, 1], ids=["scripted", "offline"])
def test_a_meeting_is_booked_after_a_yes_and_once(walked, number):
    one = walked("lead").walks[number]
    asked, done = (one.turns[1], one.turns[2]) if number == 0 else (one.turns[2], one.turns[3])
    assert asked.outcome == "asked"
    assert asked.pending.call.tool == "book_meeting"
    assert done.outcome == "acted"
    assert done.reason_codes[0] == ReasonCode.CONFIRMED_BY_USER
    (booked,) = [ran for ran in one.executions if ran.call.tool == "book_meeting"]
    assert booked.call.arguments == asked.pending.call.arguments
    assert (booked.result["date"], booked.result["time"]) == ("2026-11-18", "10:00")


def test_the_mail_goes_out_after_a_yes_with_the_words_that_were_shown(walked):
    first = walked("lead").walks[0]
    asked, done = first.turns[3:]
    assert asked.pending.call.tool == "send_email"
    assert done.outcome == "acted"
    (text,) = first.mails
    mail = message_from_string(text, policy=policy.default)
    assert mail["To"] == "dana@acme.example"
    assert mail["Subject"] in asked.reply
    assert mail.get_content().strip() in asked.reply
    assert walked("lead").walks[1].mails == []


def test_nothing_of_it_is_searched_for(walked):
    decided = [turn for one in walked("lead").walks for turn in one.turns if decisions(turn)]
    assert len(decided) == 6
    for turn in decided:
        assert decisions(turn) == ["USE_TOOL"]
        assert judged(turn)["saved"] is True


# --- conflict -------------------------------------------------------------------------------------------------------


def test_contradicting_documents_go_to_a_person_with_both_quotes_and_no_number_to_the_user(walked):
    before, _ = walked("conflict").walks
    turn = before.turns[0]
    assert turn.outcome == "escalated"
    assert ReasonCode.SOURCES_CONFLICT in turn.reason_codes
    assert "30" not in turn.reply
    assert "14" not in turn.reply
    assert judged(turn)["confidence"]["conflict"] is True
    assert judged(turn)["confidence"]["value"] < 0.5
    (row,) = [one for one in before.escalations if one.reason == ReasonCode.SOURCES_CONFLICT]
    assert "within 30 days of payment.” (guide.md)" in row.suggestion
    assert "within 14 days of payment, as long as no more than one class has taken place.” (terms.md)" in row.suggestion


def test_meanwhile_the_talk_goes_on_and_a_demand_is_for_a_person_whatever_documents_say(walked):
    _, other, demand = walked("conflict").walks[0].turns
    assert other.outcome == "answered"
    assert demand.outcome == "escalated"
    assert ReasonCode.SENSITIVE_TOPIC in demand.reason_codes
    assert len(demand.usage.calls) == 0


def test_once_the_documents_agree_the_same_question_is_answered(walked):
    before, after = walked("conflict").walks
    (turn,) = after.turns
    assert turn.outcome == "answered"
    assert "14 days" in turn.reply
    assert "[1]" in turn.reply
    doubled = 2 * judged(before.turns[0])["confidence"]["value"]
    assert judged(turn)["confidence"]["value"] == pytest.approx(doubled, abs=0.001)
    assert after.escalations == []


# --- calendar failure -----------------------------------------------------------------------------------------------


def test_a_calendar_that_is_down_is_asked_twice_and_then_done_without(walked):
    ran = walked("calendar_failure")
    times, fee, *_ = ran.walks[0].turns
    assert "The calendar was asked 2 times: REPORT, REPORT" in ran.shown
    assert ReasonCode.TOOL_FAILED in times.reason_codes
    assert "That did not work" in times.reply
    assert fee.outcome == "answered"
    assert "₪120" in fee.reply
    assert factor(fee, "tool_success_rate") == 0.0


def test_a_model_that_claims_a_booking_is_corrected_and_goes_on_without_the_calendar(walked):
    scripted = walked("calendar_failure").walks[1]
    (turn,) = scripted.turns
    assert ReasonCode.UNSUPPORTED_CLAIM in turn.reason_codes
    assert "booked" not in turn.reply
    assert "I cannot reach our calendar" in turn.reply
    assert called(turn) == [("find_free_times", "failed"), ("update_lead", "succeeded")]


def test_a_booking_that_nobody_knows_about_is_said_to_be_so_and_goes_to_a_person(walked):
    offline = walked("calendar_failure").walks[0]
    turn = offline.turns[-1]
    assert turn.outcome == "escalated"
    assert "I do not know whether it went through" in turn.reply
    assert [one.reason for one in offline.escalations] == [ReasonCode.OUTCOME_UNKNOWN]
    assert called(turn) == [("book_meeting", "indeterminate")]


def test_a_booking_that_certainly_failed_is_said_to_be_so_and_a_person_is_told_because_it_is_critical(walked):
    unreachable = walked("calendar_failure").walks[2]
    turn = unreachable.turns[-1]
    assert turn.outcome == "failed"
    assert "nothing was changed" in turn.reply
    assert [one.reason for one in unreachable.escalations] == [ReasonCode.TOOL_FAILED]
    assert called(turn) == [("book_meeting", "failed")]


# --- the debug view -------------------------------------------------------------------------------------------------


def debugged(turn: TurnResult) -> str:
    console = Console(file=io.StringIO(), width=400, highlight=False)
    show(turn, console)
    return console.file.getvalue()


def test_the_debug_view_shows_decision_sources_and_every_factor(walked):
    shown = debugged(walked("pricing").walks[0].turns[1])
    for words in (
        "action normal",
        "intent: Is there a registration fee for new students?",
        "decision RETRIEVE: A question that documents may answer.",
        "source [1] prices.md § ",
        "confidence 0.8",
        "source_quality 1.0 gives 0.3 of 0.3: best of 5: prices.md",
        "query_complexity 0.0 gives 0.2 of 0.2: plain",
        "context_completeness 0.55 gives 0.165 of 0.3: ",
        "tool_success_rate 1.0 gives 0.2 of 0.2: no tool has run",
        "for the model only: ## Request analysis",
    ):
        assert words in shown, shown


def test_the_debug_view_shows_a_search_that_was_saved_and_tools_that_were_meant(walked):
    assert "answer, no search was needed: one saved" in debugged(walked("pricing").walks[0].turns[2])
    shown = debugged(walked("lead").walks[0].turns[0])
    assert "decision USE_TOOL with find_lead, update_lead, find_free_times: " in shown


def test_the_debug_view_shows_both_sides_of_a_conflict_and_what_it_cost(walked):
    shown = debugged(walked("conflict").walks[0].turns[0])
    assert "guide.md says 30 days: “If you decide to leave a group course" in shown
    assert "terms.md says 14 days: “You can leave a group course" in shown
    assert "(halved: the sources contradict each other)" in shown
    assert "[SOURCES_CONFLICT]" in shown


@pytest.mark.parametrize(("profile", "decides"), [("guided", False), ("service", True)])
def test_a_chat_can_be_had_with_either_profile(profile, decides, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CIRCUMSPECT_MODEL", raising=False)
    options = ["demo", "--understanding", profile, "--debug", "--database", ":memory:"]
    ran = CliRunner().invoke(cli, options, input="what is your return policy?\n")
    assert ran.exit_code == 0, ran.output
    assert "action normal" in ran.output
    assert ("decision RETRIEVE" in ran.output) is decides
    assert ("source_quality" in ran.output) is decides


# --- as programs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WALKS)
def test_each_says_which_model_speaks_and_what_happened_inside(walked, name):
    ran = walked(name)
    heads = [line for line in ran.shown.splitlines() if line.startswith("---")]
    assert len(heads) == len(ran.walks)
    for one, head in zip(ran.walks, heads, strict=True):
        assert head.startswith(OFFLINE if one.agent.model.name == "offline" else SCRIPTED)
    for words in (
        "decided: ",
        "confidence: ",
        "source_quality",
        "query_complexity",
        "context_completeness",
        "outcome: ",
    ):
        assert words in ran.shown
    for one in ran.walks:
        for turn in one.turns:
            assert f"outcome: {turn.outcome}" in ran.shown


def test_they_run_as_programs_too(tmp_path):
    unset = ("CIRCUMSPECT_", "OPENAI_", "ANTHROPIC_")
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith(unset)}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(SERVICE / "pricing.py")],
        capture_output=True, encoding="utf-8", timeout=2 * PATIENCE, cwd=tmp_path, env=surroundings | {"PYTHONUTF8": "1"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "New students pay ₪120 once. [1]" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_every_walkthrough_is_tested_and_listed():
    assert {path.stem for path in SERVICE.glob("*.py")} == {"school", *WALKS}
    listed = (SERVICE.parent / "README.md").read_text("utf-8")
    assert all(f"(service/{name}.py)" in listed for name in WALKS)
