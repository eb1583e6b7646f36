"""What is tried only where it can begin is found as if it were tried everywhere."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from circumspect.language import sentences, wanted
from circumspect.language.pack import packs
from circumspect.language.watched_words import Watch, WordList, WordLists

REPLIES = [one["reply"] for one in json.loads((Path(__file__).parents[1] / "policy/reply_claims.json").read_text("utf-8"))]  # fmt: skip
WISHES = [
    "Please cancel order 12345, and give me my money back", "don't ship it, not to dave@example.com", "no wait, forget it",
    "can I still change the address?", "I'd like it sent to 5 Main St. instead", "my friend says you may have it refunded",
    "'cancel' it", "uncancel it_now cancel", "wegen Bestellung 12345: bitte nicht stornieren, sondern umleiten",
    "верните деньги за заказ 12345, а не отменяйте", "לא לבטל את הזמנה 12345, רק לשנות כתובת", "-and cancel- , supposed to go",
]  # fmt: skip
WORDS = sorted({word for text in (*REPLIES, *WISHES) for word in text.split()})
texts = st.lists(st.sampled_from((*WORDS, *WISHES, ",", "'", "  ", "- ", "\n", "no", "a_b")), max_size=12).map(" ".join)


def _placed(lists: WordLists[str]) -> dict[str, re.Pattern[str]]:
    return dict(lists._placed.values())


@given(texts)
@example(" ".join(WISHES))
def test_every_list_of_wishes_finds_what_its_pattern_finds(text: str) -> None:
    low = wanted.even_out(text)
    said, lists = wanted._read(low), wanted._lists()
    for one in fields(lists):
        value = getattr(lists, one.name)
        for listed in value.values() if isinstance(value, dict) else [value]:
            if isinstance(listed, WordList):
                spans = [hit.span() for hit in listed.pattern.finditer(low)]
                assert [hit.span() for hit in listed.find_all(said)] == spans
                assert listed.search(said) == bool(spans)


@given(texts)
@example(" ".join(WISHES))
def test_lists_that_are_looked_for_together_find_what_each_finds_alone(text: str) -> None:
    low = wanted.even_out(text)
    found = sorted((name, hit.span()) for name, hit in wanted._lists().verbs.find_all(wanted._read(low)))
    assert found == sorted((name, hit.span()) for name, one in wanted._verbs().items() for hit in one.finditer(low))


def test_what_one_list_finds_does_not_keep_another_from_its_own() -> None:
    watch = Watch()
    patterns = {"long": r"(?<!\w)a b c(?!\w)", "short": r"(?<!\w)b(?!\w)", "any": r"(?<!\w)\w+ c(?!\w)"}
    lists = WordLists({name: watch.place(re.compile(pattern)) for name, pattern in patterns.items()})
    assert set(_placed(lists)) == {"long", "short"}
    found = {(name, hit[0]) for name, hit in lists.find_all(watch.read("x a b c, b"))}
    assert found == {("long", "a b c"), ("short", "b"), ("any", "b c")}


def test_a_long_word_is_not_kept() -> None:
    watch = Watch()
    watch.place(re.compile(r"(?<!\w)cancel\w*"))
    assert watch.read("cancel" + "x" * 10_000).begins
    assert sum(map(len, (*watch._words, *watch._pieces))) < 100


@given(st.lists(st.sampled_from((
    *(line for one in packs() for line in one.about.abbreviations), *WORDS, "12.", "12.März", "3. мая", "x3.", "März", " ", "\n", "…", "?",
)), max_size=8), st.sampled_from(("", " ")))  # fmt: skip
def test_a_stop_within_a_sentence_is_looked_for_wherever_there_is_one(parts: list[str], between: str) -> None:
    text = between.join(parts)
    assert bool(sentences._first_stop().search(text)) >= bool(sentences._stopped().search(text))


@given(st.text("a .!;…\n\t\r", max_size=30))
def test_a_sentence_ends_behind_its_mark_and_at_a_new_line(text: str) -> None:
    marks: dict[sentences.SentenceEnd, str] = {"plain": ".!?…", "requested": ".!?…;"}
    for ends, signs in marks.items():
        spans = [hit.span() for hit in re.finditer(rf"(?<=[{signs}])\s+|\n+", text)]
        assert [hit.span() for hit in sentences._ENDS[ends].finditer(text)] == spans
