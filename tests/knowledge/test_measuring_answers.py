"""`bench.sourced_answers`: both arms are counted, and a server that answers rubbish ends no measurement."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from bench.sourced_answers import SETS, main
from tests.models.provider_server import ProviderServer, Raw, Status
from tests.models.wire_formats import Answer

SET = {
    "documents": [{"id": "fares", "title": "Fares", "text": "# Fares\n\nA bicycle costs 5 euros. Dogs travel free."}],
    "questions": [
        {"id": "A", "question": "What does a bicycle cost?", "language": "en", "answered": True, "answer_contains": ["5"]},
        {"id": "B", "question": "What is the captain's name?", "language": "en", "answered": False},
    ],
}  # fmt: skip


@pytest.fixture
def set_file(tmp_path: Path) -> Path:
    path = tmp_path / "set.json"
    path.write_text(json.dumps(SET))
    return path


async def in_a_thread(*arguments: str) -> None:
    await asyncio.to_thread(main, arguments)


async def test_rubbish_counts_against_whoever_said_it_and_the_rest_goes_on(
    set_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    async with ProviderServer() as server:
        server.plays(Raw(b"\xff\xfe no JSON"), Answer("[1, 2"), Status(400, "no"), Raw(b'{"choices": []}'))
        model = f"openai:m@{server.url}/v1;tools=json_schema"
        await in_a_thread("--set", str(set_file), "--model", model, "--plain", "--parallel", "1", "--out", str(out))
        assert len(server.requests) >= 4
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert sorted((row["arm"], row["id"]) for row in rows) == [
        ("plain", "A"), ("plain", "B"), ("service", "A"), ("service", "B"),
    ]  # fmt: skip
    assert not any(row["right"] for row in rows)
    table = capsys.readouterr().out
    assert "profile service" in table
    assert "plain prompt, same search" in table


async def test_an_answer_where_there_is_none_is_counted(
    set_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plain arm gets the passages, says what it likes, and is held to the same."""
    out = tmp_path / "out.jsonl"
    async with ProviderServer() as server:
        server.plays(*[Answer("That is 5 euros. [1]")] * 20)
        await in_a_thread("--set", str(set_file), "--model", f"openai:m@{server.url}/v1", "--plain", "--out", str(out))
        asked = [body for body in (one.body for one in server.requests) if "cite them by number" in json.dumps(body)]
        assert "A bicycle costs 5 euros." in json.dumps(asked[0])
    plain = {row["id"]: row for row in map(json.loads, out.read_text().splitlines()) if row["arm"] == "plain"}
    assert plain["A"]["right"]
    assert (plain["B"]["not_known"], plain["B"]["has_figure"]) == (False, True)


def test_when_the_time_is_over_the_table_holds_what_there_is(
    set_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--set", str(set_file), "--minutes", "0.0000001"])
    told = capsys.readouterr()
    assert "Answers with sources" in told.out
    assert "Stopped early" in told.err


def test_the_set_has_as_many_questions_without_an_answer_as_with_one() -> None:
    questions = json.loads((SETS / "ferry.json").read_text("utf-8"))["questions"]
    assert (sum(one["answered"] for one in questions), len(questions)) == (30, 60)
