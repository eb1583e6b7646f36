"""`circumspect evaluate`: a verdict per criterion, exit codes for CI, mistakes told with what to do."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from circumspect.cli import VERBS

POLICY = """\
# Claims

## 1 Time

A claim for a trip shall be submitted within 30 days after the last day of the trip.
"""
FACTS = ["claim.kind", "claim.submitted", "trip.last_day"]


@pytest.fixture(autouse=True)
def files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(VERBS, "evaluate", ("evaluate:evaluate", "Check cases against the criteria of a policy."))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    (folder / "policy.md").write_text(POLICY)
    (folder / "criteria.yaml").write_text(
        "criteria:\n"
        f"  - {{id: K-1, text: The claim was submitted in time., facts: {json.dumps(FACTS)}}}\n"
        "  - {id: K-2, text: The receipts are signed.}\n"
    )
    for name, day in (("early", "2026-04-05"), ("late", "2026-04-06")):
        facts = {"claim": {"kind": "trip", "submitted": day}, "trip": {"last_day": "2026-03-06"}}
        (folder / f"{name}.json").write_text(json.dumps({"id": name, "facts": facts}))
    return folder


@pytest.mark.parametrize(
    ("case", "only", "code"), [("early", "K-1", 0), ("late", "K-1", 1), ("early", "K-2", 3)], ids=["met", "not", "open"]
)
def test_the_exit_code_says_how_it_went(run: Run, case: str, only: str, code: int) -> None:
    ran = run("evaluate", f"{case}.json", "policy.md", "--criteria", "criteria.yaml", "--only", only)
    assert ran.code == code, ran.err
    assert f"{only}" in ran.out


def test_not_met_weighs_more_than_uncertain_and_the_quote_is_shown(run: Run) -> None:
    ran = run("evaluate", "late.json", "policy.md", "--criteria", "criteria.yaml")
    assert ran.code == 1
    assert "✗ NOT_MET" in ran.out
    assert "? UNCERTAIN" in ran.out
    assert "within 30 days after the last day" in ran.out
    assert "No model was asked" in ran.err


def test_json_has_a_line_for_each_result_and_a_summary(run: Run) -> None:
    ran = run("evaluate", "early.json", "policy.md", "--criteria", "criteria.yaml", "--json", "--trace")
    first, _, summary = ran.turns
    assert (first["criterion"], first["status"], first["controller"]) == ("K-1", "MET", "heuristic")
    quote = first["citations"][0]
    assert POLICY[quote["start"] : quote["end"]] == quote["quote"]
    assert first["trace"]
    assert summary["summary"] == {"results": 2, "MET": 1, "NOT_MET": 0, "UNCERTAIN": 1, "tokens": 0, "cost_usd": 0.0}


def test_a_byte_order_mark_and_the_line_ends_of_windows_change_nothing(run: Run, files: Path) -> None:
    for name in ("early.json", "criteria.yaml"):
        text = (files / name).read_text().replace("\n", "\r\n")
        (files / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert run("evaluate", "early.json", "policy.md", "--criteria", "criteria.yaml", "--only", "K-1").code == 0


def test_a_criterion_has_the_time_it_is_given(run: Run) -> None:
    given = ("evaluate", "early.json", "policy.md", "--criteria", "criteria.yaml", "--only", "K-1", "--no-fallback")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"openai:x@http://127.0.0.1:{silent.getsockname()[1]}/v1;timeout=1.5"
        ran = run(*given, "--model", url, "--seconds", "1", "--json")
    assert ran.code == 3
    assert "No verdict within 1 seconds." in ran.out


def test_a_model_that_fails_is_told_and_nobody_answers_in_its_name(run: Run) -> None:
    given = ("evaluate", "early.json", "policy.md", "--criteria", "criteria.yaml", "--only", "K-1")
    ran = run(*given, "--model", "openai:x@http://127.0.0.1:1/v1")
    assert ran.code == 3
    assert "? UNCERTAIN 0.00  K-1  MODEL_FAILED" in ran.out
    assert "within 30 days after the last day" in ran.out
    assert "The model failed on 1 of 1" in ran.err
    assert "did not answer" in ran.err


def test_the_page_has_the_quote_marked(run: Run, files: Path) -> None:
    ran = run("evaluate", "early.json", "policy.md", "--criteria", "criteria.yaml", "--html", "page.html")
    assert "Wrote page.html" in ran.err
    assert "<mark>A claim for a trip" in (files / "page.html").read_text()


def test_a_batch_fills_a_file_and_goes_on_where_it_was(run: Run, files: Path) -> None:
    (files / "cases").mkdir()
    for name in ("early", "late"):
        (files / "cases" / f"{name}.json").write_text((files / f"{name}.json").read_text())
    arguments = ("evaluate", "cases", "policy.md", "--criteria", "criteria.yaml", "--out", "results.db")
    ran = run(*arguments)
    assert ran.code == 0, ran.err
    assert "4 of 4 results in results.db" in ran.out
    again = run(*arguments, "--json")
    assert again.turns[-1]["summary"]["made"] == 0
    assert again.turns[-1]["summary"]["NOT_MET"] == 1


def test_mistakes_are_told_with_what_to_do(run: Run, files: Path) -> None:
    given = ("evaluate", "early.json", "policy.md", "--criteria", "criteria.yaml")
    run(*given, "--only", "K-9").refused("no criterion 'K-9'")
    run(*given, "--controller", "react").refused("needs a model", "--model")
    run(*given, "--budget-tokens", "5").refused("--out")
    run(*given, "--out", "r.db", "--html", "p.html").refused("--html")
    run(*given, "--model", "nonsense", "--controller", "react").refused("provider:model")
    run("evaluate", "early.json", "policy.md", "policy.md", "--criteria", "criteria.yaml").refused("policy.md")
    (files / "broken.json").write_text('{"id": "x", "fact": {}}')
    run("evaluate", "broken.json", "policy.md", "--criteria", "criteria.yaml").refused("broken.json", "'fact'")
    (files / "latin.json").write_bytes('{"id": "café"}'.encode("latin-1"))
    run("evaluate", "latin.json", "policy.md", "--criteria", "criteria.yaml").refused("latin.json is not UTF-8 text")
    (files / "none.jsonl").write_text("\n")
    run("evaluate", "none.jsonl", "policy.md", "--criteria", "criteria.yaml").refused("none.jsonl has no cases")
    (files / "deep.yaml").write_text("[" * 5000)
    run("evaluate", "early.json", "policy.md", "--criteria", "deep.yaml").refused("deep.yaml is nested too deeply")
    (files / "prompt.md").write_text(" \n")
    run(*given, "--prompt", "prompt.md").refused("prompt.md is empty")
    run(*given, "--html", "nowhere/page.html").refused("nowhere/page.html: No such file or directory")
    (files / "scan.pdf").write_bytes(b"\x89PNG")
    run("evaluate", "early.json", "scan.pdf", "--criteria", "criteria.yaml").refused("scan.pdf")
    (files / "other.yaml").write_text("criteria:\n  - {id: A, text: t, policy: another}\n")
    (files / "named.json").write_text(json.dumps({"id": "n", "policy": "mine", "facts": {"a": 1}}))
    run("evaluate", "named.json", "policy.md", "--criteria", "other.yaml").refused("No criterion")
