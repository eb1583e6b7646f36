"""`bench.review`: the arms side by side on rules from a file, and what there is when it is broken off."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from bench.review import Judged, main, measure, tables
from bench.review_sets import read_rules

from circumspect.values import ModelReply, ModelRequest, ModelUsage, ToolCall

RULE = "A crate must weigh at most 20 kg."
RULES = [
    {"id": "A", "policy_text": f"## Weight\n\n{RULE}\n", "criterion": "The crate's weight is allowed.",
     "facts": {"crate": {"weight_kg": 25}}, "truth": "NOT_MET"},
    {"id": "B", "policy_text": f"## Weight\n\n{RULE} Members are exempt.\n", "criterion": "The crate's weight is allowed.",
     "facts": {"crate": {"weight_kg": 25}, "member": True}, "truth": "MET"},
]  # fmt: skip


class Careless:
    """Says MET with the rule where it has tools, and with a quote of its own making where it fills in a form."""

    name = "careless"
    closed = False

    async def complete(self, request: ModelRequest) -> ModelReply:
        usage = ModelUsage("careless", 10, 5)
        if not request.tools:
            said = {"status": "MET", "quote": "Crates of any weight are welcome.", "reason": "So it says."}
            return ModelReply(json.dumps(said), usage)
        if len(request.messages) == 1:
            return ModelReply("", usage, (ToolCall("facts_get", {"field": "crate.weight_kg"}, "1"),), "tool_calls")
        found = {"status": "MET", "confidence": 0.9, "rationale": "It is.", "citations": [{"quote": RULE}],
                 "evidence": [{"field": "crate.weight_kg", "value": 25}]}  # fmt: skip
        return ModelReply("", usage, (ToolCall("finish", found, "2"),), "tool_calls")

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        yield await self.complete(request)


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(RULES))
    return path


def test_each_arm_is_counted_with_its_wrong_verdicts_and_invented_quotes(rules: Path, tmp_path: Path) -> None:
    found: list[Judged] = []
    out = tmp_path / "out.jsonl"
    asyncio.run(measure({"mine": read_rules(rules)}, ["none", "ours", "plain"], Careless(), found, out=out))
    assert {json.loads(line)["name"] for line in out.read_text().splitlines()} == {"A", "B"}
    by_arm = {arm: [one for one in found if one.arm == arm] for arm in ("none", "ours", "plain")}
    assert sorted((one.name, one.status) for one in by_arm["none"]) == [("A", "NOT_MET"), ("B", "UNCERTAIN")]
    assert (sum(one.invented for one in by_arm["ours"]), sum(one.invented for one in by_arm["plain"])) == (0, 2)
    assert sum(one.decided and not one.right for one in by_arm["plain"]) == 1
    assert [
        line for line in tables(found) if line.startswith("| mine | plain prompt of the model | 2 | 50.0 % | 2 | 1 |")
    ]


def test_a_set_may_be_yaml_and_what_was_measured_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(json.dumps(RULES))
    main(["--rules", str(path), "--no-samples"])
    assert "| mine | no model | 2 |" in capsys.readouterr().out


def test_when_the_time_is_over_the_tables_hold_what_there_is(rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--rules", str(rules), "--no-samples", "--minutes", "0.0000001"])
    told = capsys.readouterr()
    assert "| set | arm |" in told.out
    assert "Stopped early" in told.err
