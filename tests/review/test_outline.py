"""Tree search: the model picks from titles and summaries; a failing model leaves search by words."""

from __future__ import annotations

import json
from pathlib import Path

from tests.review.conftest import document

from circumspect.errors import ModelUnavailable
from circumspect.knowledge.read_document import read_document
from circumspect.models import ScriptedModel
from circumspect.review.outline import AT_ONCE, FileCache, MemoryCache, leading, pick, summarise
from circumspect.review.review_tools import ReviewTools, ToolAnswer
from circumspect.review.reviewing import Reviewing, prepare
from circumspect.review.shelf import Shelf
from circumspect.review.values import Field, ReviewCase
from circumspect.values import ModelReply, ModelRequest, ModelUsage, ToolCall

USAGE = ModelUsage("scripted", 10, 5)
CASE = ReviewCase("c", {"a": Field(1)})


def told(request: ModelRequest) -> ModelReply:
    ids = [line[1 : line.index("]")] for line in request.messages[0].text.splitlines() if line.startswith("[")]
    return ModelReply(json.dumps({"summaries": [{"id": id_, "summary": f"Sums up {id_}."} for id_ in ids]}), USAGE)


async def test_summaries_are_made_once_for_the_same_content(tmp_path: Path) -> None:
    for cache in (MemoryCache(), FileCache(tmp_path / "kept")):
        model = ScriptedModel(told)
        made, calls = await summarise(document(), model, cache)
        assert made["1.1.1"] == "Sums up s1.1.1."
        assert len(calls) == len(model.requests) == 1
        again, calls = await summarise(document(), model, cache)
        assert (again, calls) == (made, ())
        await summarise(document("# Other\n\n## One\n\nText."), model, cache)
        assert len(model.requests) == 2


async def test_only_documents_that_a_criterion_is_about_cost_an_outline() -> None:
    other = read_document(b"# Other\n\n## One\n\nText.", "other.md")
    shelf = Shelf([document(), other])
    for about, outlined in (({"other.md"}, {"other.md"}), ({"other.md", None}, {*shelf.documents}), (set(), set())):
        model = ScriptedModel(told)
        prepared = await prepare(shelf, Reviewing(model), about=about)
        assert (set(prepared.summaries), len(model.requests)) == (outlined, len(outlined))


async def test_a_damaged_cache_file_is_as_good_as_none(tmp_path: Path) -> None:
    cache = FileCache(tmp_path)
    await cache.put("k", {"1": "x"})
    assert await cache.get("k") == {"1": "x"}
    (tmp_path / "k.json").write_text("{not json")
    assert await cache.get("k") is None
    await FileCache(tmp_path / "k.json" / "below").put("k", {})


async def test_a_model_that_cannot_summarise_leaves_first_sentences_and_nothing_in_the_cache() -> None:
    cache = MemoryCache()
    for bad in (ModelUnavailable("no"), "not json", '{"summaries": [1]}'):
        made, _ = await summarise(document(), ScriptedModel([bad]), cache)
        assert made["1.1.1"].startswith("A claim for a trip shall be submitted")
    assert "Sums up" in (await summarise(document(), ScriptedModel(told), cache))[0]["1.1.1"]


def test_a_section_is_described_by_how_it_begins() -> None:
    one = document()
    section = one.section("1.2")
    assert section is not None
    assert leading(one, section) == "The price of a night shall not exceed 140.00 euro."


async def test_a_large_outline_is_shown_from_the_top() -> None:
    chapters = "".join(
        f"# Chapter {n}\n\n" + "".join(f"## Part {n}.{m}\n\nText {n} {m}.\n\n" for m in range(1, 10))
        for n in range(1, 10)
    )
    shelf = Shelf([document(chapters, "big.md")])
    replies = ['{"sections": ["s7"]}', '{"sections": ["s7.3", "s7.4"]}']
    model = ScriptedModel(replies)
    picked = await pick("something", shelf, {}, model)
    assert [section.title for _, section in picked.sections] == ["Part 7.3", "Part 7.4"]
    first, second = (request.messages[0].text for request in model.requests)
    assert first.count("\n") < AT_ONCE
    assert "Part 7.3" not in first
    assert "Part 7.3" in second
    assert "Part 6.3" not in second


async def test_when_the_model_cannot_search_words_do() -> None:
    shelf = Shelf([document()])
    for bad in (ModelUnavailable("no"), "nonsense", '{"sections": []}', '{"sections": ["9.9"]}', '{"other": 1}'):
        desk = ReviewTools(CASE, shelf, ScriptedModel([bad]), {"handbook.md": {"1.2": "hotels"}})
        answer = await desk.answer(ToolCall("policy_search", {"query": "hotel bill"}))
        assert isinstance(answer, ToolAnswer)
        assert "A hotel bill is required" in answer.text
        assert "searched by words" in answer.notice
    nothing = await ReviewTools(CASE, shelf).answer(ToolCall("policy_search", {"query": "zebra"}))
    assert "Nothing in the documents" in nothing.text
