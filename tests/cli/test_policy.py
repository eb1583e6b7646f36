"""`circumspect policy`: check, explain, diff, schema, init."""

from __future__ import annotations

import json

import pytest
import yaml

GOOD = """
version: 1
tools:
  get_order: {effect: read}
  cancel_order: {effect: destructive, confirm: always, critical: true}
tenants:
  acme: {tools: {cancel_order: {deny: Not at acme.}}}
"""
BROKEN = """
version: 1
tools:
  cancel_order: {efect: destructive}
  refund: {confirm: allways}
"""
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": name,
            "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
        },
    }
    for name in ("get_order", "cancel_order")
]


@pytest.fixture(autouse=True)
def files(folder):
    (folder / "policy.yaml").write_text(GOOD, "utf-8")
    (folder / "broken.yaml").write_text(BROKEN, "utf-8")
    (folder / "tools.json").write_text(json.dumps(TOOLS), "utf-8")


def test_a_sound_file_is_said_to_be_sound(run):
    ran = run("policy", "check", "policy.yaml")
    assert (ran.code, ran.out) == (0, "policy.yaml is sound.\n")
    assert json.loads(run("policy", "check", "policy.yaml", "--json").out) == {"ok": True, "findings": []}


def test_a_file_that_says_nothing_is_said_to_say_nothing(run, folder):
    (folder / "silent.yaml").write_text("version: 1\n", "utf-8")
    ran = run("policy", "check", "silent.yaml")
    assert ran.code == 0
    assert "says nothing about any tool" in ran.out


def test_everything_that_is_wrong_is_told_at_once_with_its_line_and_what_to_do(run):
    ran = run("policy", "check", "broken.yaml")
    assert ran.code == 1
    assert "broken.yaml:4: unknown key 'efect'; did you mean 'effect'?" in ran.out
    assert "broken.yaml:5: 'confirm' cannot be 'allways'; did you mean 'always'?" in ran.out
    found = json.loads(run("policy", "check", "broken.yaml", "--json").out)
    assert found["ok"] is False
    assert [(one["level"], one["line"]) for one in found["findings"]] == [("error", 4), ("error", 5)]
    assert all(one["problem"] and one["fix"] for one in found["findings"])


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe\x00",
        b"",
        b"tools: [",
        b"- just\n- a list\n",
        b"tools: !!python/object:os.system {}\n",
        b"a: *b\n",
        b"\x00\x01",
    ],
)
def test_a_file_that_is_no_policy_is_a_finding_and_never_a_traceback(run, folder, content):
    (folder / "odd.yaml").write_bytes(content)
    ran = run("policy", "check", "odd.yaml")
    assert ran.code in (0, 1)
    assert ran.code == 1 or content == b""
    assert ran.err == ""
    assert "odd.yaml" in ran.out


def test_a_file_is_held_against_the_tools_it_is_for(run, folder):
    assert run("policy", "check", "policy.yaml", "--tools", "tools.json").code == 0
    (folder / "tools.json").write_text(json.dumps(TOOLS[:1]), "utf-8")
    ran = run("policy", "check", "policy.yaml", "--tools", "tools.json")
    assert ran.code == 1
    assert "cancel_order" in ran.out


@pytest.mark.parametrize("content", ["nonsense", "[1, 2]", '[{"type": "function"}]', ""])
def test_tools_that_are_none_are_refused(run, folder, content):
    (folder / "tools.json").write_text(content, "utf-8")
    run("policy", "check", "policy.yaml", "--tools", "tools.json").refused("tools.json", "OpenAI tool definitions")


def test_fields_that_never_came_back_are_found_in_transcripts(run, folder):
    (folder / "typo.yaml").write_text(
        "tools:\n  get_order: {effect: read}\n  cancel_order:\n    effect: destructive\n    deny_unless:\n"
        "      - {if: 'latest.get_order.statis == \"open\"', because: Only open orders.}\n"
    )
    call = {"id": "c1", "type": "function", "function": {"name": "get_order", "arguments": "{}"}}
    talk = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": json.dumps({"status": "open"})},
    ]
    (folder / "talks.jsonl").write_text(json.dumps({"id": "1", "messages": talk}) + "\n")
    assert "nowhere" not in run("policy", "check", "typo.yaml").out
    found = run("policy", "check", "typo.yaml", "--transcripts", "talks.jsonl").out
    assert "typo.yaml:6: latest.get_order.statis is nowhere" in found
    assert "did you mean 'status'?" in found


def test_explain_says_in_plain_words_what_will_happen(run):
    told = run("policy", "explain", "cancel_order").out
    assert "cannot be taken back" in told
    assert "asked to confirm" in told
    assert "a person is told" in told
    assert "denied" in run("policy", "explain", "cancel_order", "--tenant", "acme").out
    assert "Every call is denied" in run("policy", "explain", "wipe_disk").out
    lines = json.loads(run("policy", "explain", "cancel_order", "--json").out)
    assert lines["tool"] == "cancel_order"
    assert lines["explanation"] == told.splitlines()


def test_a_name_that_is_nearly_that_of_a_tool_is_not_explained(run):
    run("policy", "explain", "cancel_ordr").refused("cancel_ordr", "did you mean 'cancel_order'?")


def test_a_tool_that_no_line_covers_is_no_success(run):
    ran = run("policy", "explain", "wipe_disk")
    assert ran.code == 2
    assert "No line of the policy covers a tool 'wipe_disk'" in ran.err
    assert "did you mean" not in ran.err
    run("policy", "explain", "cancel").refused("did you mean 'cancel_order'?")
    near = run("policy", "explain", "void_order")
    assert near.code == 2
    assert "did you mean 'cancel_order'" in near.err or "did you mean 'get_order'" in near.err
    assert json.loads(run("policy", "explain", "wipe_disk", "--json").out)["explanation"]


def test_a_broken_file_explains_and_compares_nothing(run):
    for arguments in (
        ("policy", "explain", "cancel_order", "--policy", "broken.yaml"),
        ("policy", "diff", "policy.yaml", "broken.yaml"),
        ("policy", "diff", "broken.yaml", "policy.yaml"),
    ):
        run(*arguments).refused("broken.yaml:4", "did you mean 'effect'?")


def test_a_file_that_is_not_there_is_told(run, folder):
    for arguments in (("check", "no.yaml"), ("explain", "x", "--policy", "no.yaml"), ("diff", "no.yaml", "no.yaml")):
        run("policy", *arguments).refused("no.yaml", "does not exist")
    run("policy", "check", ".").refused("is a directory")


def test_diff_says_what_was_loosened(run, folder):
    (folder / "new.yaml").write_text(GOOD.replace("destructive, confirm: always", "write, confirm: never"), "utf-8")
    told = run("policy", "diff", "policy.yaml", "new.yaml").out
    assert "cancel_order" in told
    rows = json.loads(run("policy", "diff", "policy.yaml", "new.yaml", "--json").out)
    assert rows
    assert {"where", "what", "direction"} == set(rows[0])
    assert "loosened" in {row["direction"] for row in rows}
    assert run("policy", "diff", "policy.yaml", "policy.yaml").out == "Nothing that could change a verdict.\n"
    assert json.loads(run("policy", "diff", "policy.yaml", "policy.yaml", "--json").out) == []


def test_the_schema_accepts_what_check_accepts_and_refuses_what_it_refuses(run):
    import jsonschema_rs

    published = jsonschema_rs.validator_for(json.loads(run("policy", "schema").out))
    assert published.is_valid(yaml.safe_load(GOOD))
    assert not published.is_valid(yaml.safe_load(BROKEN))


# --- init: a first policy from transcripts ---------------------------------------------------------------------------

TRANSCRIPT = {"id": "t1", "tools": TOOLS, "messages": [{"role": "user", "content": "cancel order 7"}]}


@pytest.fixture
def transcripts(folder):
    (folder / "transcripts.jsonl").write_text(json.dumps(TRANSCRIPT) + "\n", "utf-8")


def test_init_drafts_a_policy_that_check_finds_sound(run, folder, transcripts):
    ran = run("policy", "init", "transcripts.jsonl", "--out", "new.yaml")
    assert (ran.code, ran.err) == (0, "")
    assert "review" in ran.out
    drafted = yaml.safe_load((folder / "new.yaml").read_text("utf-8"))
    assert {name: entry["effect"] for name, entry in drafted["tools"].items()} == {
        "get_order": "read",
        "cancel_order": "destructive",
    }
    assert run("policy", "check", "new.yaml", "--tools", "tools.json").code == 0
    assert run("policy", "init", "transcripts.jsonl").out == (folder / "new.yaml").read_text("utf-8")


def test_init_overwrites_nothing(run, folder, transcripts):
    run("policy", "init", "transcripts.jsonl", "--out", "policy.yaml").refused("policy.yaml exists already", "--out")
    assert (folder / "policy.yaml").read_text("utf-8") == GOOD


def test_init_of_a_file_that_is_not_there_is_told(run):
    run("policy", "init", "nowhere.jsonl").refused("nowhere.jsonl", "does not exist")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe nonsense\n", b"{}\n[1]\n"])
def test_init_of_something_that_is_no_transcript_is_told(run, folder, content):
    (folder / "odd.jsonl").write_bytes(content)
    run("policy", "init", "odd.jsonl").refused("odd.jsonl")
