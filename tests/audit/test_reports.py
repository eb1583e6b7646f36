"""What people see of an audit: the terminal, the page, the score, the drafted policy."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml
from tests.audit.audit_talk import SHOP, Talk, conversation, policy, written

from circumspect.audit.auditor import audit
from circumspect.audit.draft_policy import draft, guess
from circumspect.audit.ground_truth import COST, AuditScore, labels_from, read_expected
from circumspect.audit.report_html import page
from circumspect.audit.report_text import clean, lines
from circumspect.audit.rulings import AuditedCall
from circumspect.audit.summary import AuditSummary
from circumspect.audit.transcript_files import Transcript, read
from circumspect.errors import ConfigError
from circumspect.lab.batch.audits import decode_row, encode_row
from circumspect.policy.load import load
from circumspect.values import ToolSpec

EVIL = "<script>alert(1)</script>\x1b[31m\u202e&\"'"


def audited(path: Path) -> tuple[AuditSummary, AuditScore]:
    summary, score = AuditSummary(keep=20), AuditScore()
    for row in audit([path], policy()):
        summary.add(row)
        if isinstance(row, AuditedCall):
            score.add(row)
    return summary, score


@pytest.fixture
def report(tmp_path: Path) -> tuple[AuditSummary, AuditScore]:
    early = Talk().user(f"cancel A10077 {EVIL}").says(f"Shall I? {EVIL}")
    early.calls("cancel_order", order_id="A10077", reason="mistake").returns("ok")
    made_up = Talk().user("mail them").calls("send_email", recipients=[f"x9@{EVIL}"], body="hi").returns("ok")
    claims = Talk().user("hello").says(f"Your order has been refunded {EVIL}.")
    return audited(
        written(
            tmp_path / "t.jsonl",
            conversation(early, id=f"one {EVIL}", label={"expected": "ASK_USER"}),
            conversation(made_up, id="two", label={"expected": "PROCEED"}),
            conversation(claims, id="three"),
            "{broken",
        )
    )


def test_the_terminal_report_shows_counts_words_values_and_problems(report: tuple[AuditSummary, AuditScore]) -> None:
    text = "\n".join(lines(*report, meanings={"UNGROUNDED_PARAM": "nobody gave this value"}))
    assert "2 proposed calls in 2 conversations" in text
    assert "UNGROUNDED_PARAM" in text
    assert "nobody gave this value" in text
    assert "cancel A10077" in text
    assert "nobody said it and no tool returned it" in text
    assert "Replies that claim what no call did" in text
    assert "t.jsonl:4" in text
    assert "wrong calls held" in text


def test_no_transcript_can_write_to_the_terminal(report: tuple[AuditSummary, AuditScore]) -> None:
    text = "\n".join(lines(*report))
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize("width", [80, 120, 200])
def test_lines_keep_to_the_width(report: tuple[AuditSummary, AuditScore], width: int) -> None:
    tables = re.compile(r"^ {2}\w|^by |^wrong|^right|^precision|^cost|proposed calls|could not be read|t\.jsonl")
    assert all(len(line) <= max(width, 60) for line in lines(*report, width=width) if not tables.search(line))


def test_an_empty_audit_has_an_empty_report() -> None:
    assert "0 proposed calls" in "\n".join(lines(AuditSummary()))
    assert "<h2>Cases</h2>" not in page(AuditSummary())


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.outside: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.outside += [
            f"{tag} {name}" for name, value in attrs if name in ("src", "href", "style") or name.startswith("on")
        ]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_page_escapes_everything_and_loads_nothing(report: tuple[AuditSummary, AuditScore]) -> None:
    html = page(*report, title=f"Audit {EVIL}", policy=EVIL)
    seen = Tags()
    seen.feed(html)
    assert seen.tags.count("script") == 1
    assert seen.outside == []
    assert "alert(1)" in "".join(seen.text)
    assert "http://" not in html
    assert "https://" not in html


def test_the_page_allows_its_own_style_and_script_by_hash_only(report: tuple[AuditSummary, AuditScore]) -> None:
    html = page(*report)
    (rule,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)
    for tag, source in (("style", "style-src"), ("script", "script-src")):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{source} 'sha256-{digest}'" in rule
    assert "unsafe" not in rule


def test_the_page_has_charts_filters_and_cases(report: tuple[AuditSummary, AuditScore]) -> None:
    html = page(*report)
    assert html.count("<svg") == 2
    assert html.count('<details class="case') == 2
    assert 'id="reason"' in html
    assert 'data-reasons="UNGROUNDED_PARAM"' in html
    assert "Against the labels" in html


def test_long_values_and_markers_of_the_template_are_harmless(tmp_path: Path) -> None:
    talk = (
        Talk()
        .user("{{ script }} " + "x" * 50_000)
        .calls("send_email", recipients=["{{style}}@x9.org"], body='{% include "base.css" %}')
    )
    html = page(audited(written(tmp_path / "t.jsonl", conversation(talk)))[0])
    assert "{{style}}@x9.org" in html
    assert len(html) < 60_000


def test_cleaning_keeps_words_and_drops_the_rest() -> None:
    assert clean("a\n\tb\x00c\u200f") == "a b c"
    assert len(clean("x" * 999, 50)) == 50


# --- the score --------------------------------------------------------------------------------------------------------


def test_the_score_counts_what_was_caught_and_what_it_cost(report: tuple[AuditSummary, AuditScore]) -> None:
    score = report[1]
    assert (score.wrong, score.right) == ((1, 1), (1, 1))
    assert (score.catch_rate, score.friction, score.precision) == (1.0, 1.0, 0.5)
    assert score.cost == (COST["ASK_USER"]["ask"] + COST["PROCEED"]["ask"]) / 10
    assert score.reasons["CONFIRMATION_REQUIRED"].precision == 1.0
    assert score.rules["every_value_has_a_source"].precision == 0.0
    json.dumps(score.to_json())


def test_labels_may_come_from_a_file_of_their_own(tmp_path: Path) -> None:
    path = written(
        tmp_path / "labels.jsonl", {"id": "two", "expected": "HOLD"}, {"id": "x", "label": {"expected": "no"}}
    )
    assert labels_from(path) == {"two": "HOLD"}
    with pytest.raises(ConfigError, match=r"labels\.jsonl:1"):
        labels_from(written(tmp_path / "labels.jsonl", "nonsense"))


def test_calls_without_a_label_are_counted_apart() -> None:
    assert read_expected({"expected": None}) is None
    assert read_expected("BLOCK") == "BLOCK"
    assert AuditScore().catch_rate is None


# --- a first policy ---------------------------------------------------------------------------------------------------


def draft_from(paths: list[Path]) -> str:
    return draft(one for one in read(paths) if isinstance(one, Transcript))


def test_a_drafted_policy_loads_and_marks_every_guess(tmp_path: Path) -> None:
    talk = Talk().user("hi").calls("get_order", order_id="A1").returns("{}").calls("frobnicate: now\n# x", a=1)
    text = draft_from([written(tmp_path / "t.jsonl", conversation(talk), "{broken")])
    drafted = load(text)
    assert {name: tool.effect for name, tool in drafted.tools.items()} == {
        "get_order": "read",
        "get_customer": "read",
        "read_page": "read",
        "cancel_order": "destructive",
        "change_items": "write",
        "send_email": "write",
        "send_money": "destructive",
    }
    settings = [line for line in text.splitlines() if "effect:" in line or "confirm:" in line]
    assert all("# review:" in line for line in settings)
    assert [name for name, tool in drafted.tools.items() if tool.open_world] == ["read_page"]


def test_nobody_is_asked_to_trust_a_tool_that_says_nothing() -> None:
    drafted = guess(ToolSpec("frobnicate"))
    assert (drafted.policy.effect, drafted.policy.confirm) == ("write", "always")


def test_a_draft_is_never_looser_than_the_tool_itself() -> None:
    assert guess(ToolSpec("get_rid_of", effect="destructive")).policy.effect == "destructive"


def test_a_lookup_that_reports_changes_is_taken_for_a_change(tmp_path: Path) -> None:
    talk = Talk().user("hi").calls("get_order", order_id="A1").returns("The order was successfully deleted.")
    drafted = yaml.safe_load(draft_from([written(tmp_path / "t.jsonl", conversation(talk))]))
    assert drafted["tools"]["get_order"]["effect"] == "write"


def test_a_draft_without_tools_is_still_a_policy(tmp_path: Path) -> None:
    assert load(draft_from([written(tmp_path / "t.jsonl", {"messages": []})])).tools == {}


@pytest.mark.parametrize("name", ["tau_airline", "tau_retail", "agentdojo"])
def test_the_shipped_example_policies_load(name: str) -> None:
    assert load(Path(__file__).parents[2] / "examples" / "policies" / f"{name}.yaml").tools


def test_the_shop_of_these_tests_is_covered_by_its_policy() -> None:
    assert set(policy().tools) == {tool["function"]["name"] for tool in SHOP}


def test_a_right_call_that_the_model_looks_something_up_for_is_no_friction() -> None:
    score = AuditScore({"right": "PROCEED", "wrong": "HOLD"})
    for name in score.labels or {}:
        score.add(AuditedCall(name, 0, 0, "cancel_order", "redo", (), (), {}, "write", "t.jsonl", 1))
    assert (score.right, score.wrong) == ((0, 1), (1, 1))
    assert score.cost == (COST["PROCEED"]["redo"] + COST["HOLD"]["redo"]) / 10


def _undefined(folder: Path, count: int) -> Path:
    call = {"id": "k", "type": "function", "function": {"name": "cancel_order", "arguments": '{"order_id": "A1"}'}}
    again = {**call, "id": "k2", "function": {"name": "get_order", "arguments": '{"order_id": "A1"}'}}
    said = [
        {"role": "user", "content": "cancel order A1"},
        {"role": "assistant", "tool_calls": [call, again]},
    ]
    path = folder / "bare.jsonl"
    path.write_text("".join(json.dumps({"id": f"c{at}", "messages": said}) + "\n" for at in range(count)), "utf-8")
    return path


def test_what_was_left_unchecked_without_tool_definitions_is_said_once_a_conversation(tmp_path: Path) -> None:
    summary, path = AuditSummary(), _undefined(tmp_path, 7)
    rows = [row for row in audit([path], policy()) if isinstance(row, AuditedCall)]
    for row in rows:
        summary.add(row)
    told = [row.to_json().get("unchecked") for row in rows]
    assert told == [["names", "schemas", "claims"], None] * 7
    assert summary.to_json()["without_definitions"] == 7
    report = " ".join("\n".join(lines(summary)).split())
    assert (
        "7 conversations without tool definitions: names and arguments of calls were held against no schema" in report
    )
    assert "guessed" not in report
    assert "bare.jsonl:1, c0" in report
    assert "… and 2 more" in report
    assert "7 conversations without tool definitions" in page(summary)
    assert decode_row(encode_row(rows[0])) == rows[0]


def test_without_a_policy_effects_are_guessed_and_said_to_be(tmp_path: Path) -> None:
    summary, path = AuditSummary(), _undefined(tmp_path, 1)
    for row in audit([path]):
        summary.add(row)
    assert summary.undefined[0].unchecked == ("names", "schemas", "claims", "effects")
    assert "guessed from its name" in " ".join("\n".join(lines(summary)).split())


def test_with_definitions_nothing_is_said_of_them(tmp_path: Path) -> None:
    path = _undefined(tmp_path, 1)
    specs = {"cancel_order": ToolSpec("cancel_order"), "get_order": ToolSpec("get_order")}
    summary = AuditSummary()
    for row in audit([path], policy(), specs=specs):
        summary.add(row)
    assert not summary.undefined_count
    assert "definitions" not in "\n".join(lines(summary))
