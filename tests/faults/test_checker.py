"""The checker itself: it reads every sentence that we can say about a call, and finds every kind of harm."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.faults.back_end import Effect
from tests.faults.checker import Stored, StoredCall, StoredEscalation, StoredTurn, check
from tests.faults.history import History, Said, Told
from tests.faults.sayings import CLAIMS, NOTICES, STATES, Saying, read

from circumspect.language import catalogue
from circumspect.language.registry import LANGUAGES

WISH = Said("shop", "c1", "cancel order 12345", "k1", "12345")
YES = Said("shop", "c1", "yes", "k2", "12345", agrees=True)
DONE = Effect("shop", "12345", "call", 10.0)

SILENT_GROUPS = (
    "ask-",
    "chat-",
    "field-",
    "invalid-",
    "notify-",
    "page-",
    "reason-",
    "understood-",
    "wanted-",
    "which-",
)
"""Groups of sentences that say nothing about what became of a call of ours."""
SILENT = {
    "busy", "choose-one", "confirm-clearly", "do-not-know", "failed-handed-over", "failed-internal", "failed-model",
    "message-empty", "message-too-long", "not-known", "not-quite-sure", "offer-person", "opening-hours",
    "person-declined", "question-first", "quota-reached", "said-before", "tool-denied", "tool-unavailable",
    "what-i-can-do", "whole-amount", "whole-amount-of", "with-person", "you-are-welcome",
}  # fmt: skip
"""Sentences that say nothing about it; where one ends a turn that failed, the outcome does."""


def tell(said: Said, reply: str, at: float, outcome: str = "answered", **more: object) -> Told:
    return Told(said, at - 1, at, **{"status": 200, "final": True, **more}, reply=reply, outcome=outcome)  # type: ignore[arg-type]


def remember(*told: Told) -> History:
    history = History()
    for one in told:
        history.sent.setdefault(one.said, one.sent)
    history.told += told
    return history


def find(history: History, *effects: Effect, stored: Stored | None = None) -> list[str]:
    return [one.kind for one in check(history, effects, stored or Stored()).harms]


def test_every_sentence_of_the_catalogue_is_read_or_says_nothing_about_a_call() -> None:
    known = {*CLAIMS, *NOTICES, *STATES, *SILENT}
    every = {one for one in catalogue.keys("messages", "en") if not one.startswith(SILENT_GROUPS)}
    assert every - known == set(), "say in sayings.py what it claims, or here that it claims nothing"
    assert known - every == set()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("key", CLAIMS)
def test_a_sentence_is_about_the_order_that_it_names(language: str, key: str) -> None:
    text = catalogue.say(language, key, action="cancel order 67890", problem="not now")  # type: ignore[arg-type]
    order = "67890" if "67890" in text else "12345"
    assert {Saying(claim, order) for claim in CLAIMS[key]} == read(tell(YES, f"Well. {text} Bye.", 1.0))


def test_what_is_so_is_no_harm() -> None:
    asked = tell(WISH, "Just to confirm: you want me to cancel order 12345? This cannot be undone.", 5.0, "asked")
    report = check(remember(asked, tell(YES, "Done: cancel order 12345.", 11.0, "acted")), [DONE], Stored())
    assert report.harms == []
    assert report.claims["done"] == 1


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("There is nothing waiting for your confirmation right now. What would you like me to do?", "asked"),
        (catalogue.say("en", "escalated"), "answered"),
        (catalogue.say("en", "failed-store"), "answered"),
        ("Anything at all.", "failed"),
        (catalogue.say("he", "interrupted-notice", action="12345", state=catalogue.say("he", "state-failed")), "asked"),
    ],
)
def test_told_that_it_is_not_done_although_it_is(reply: str, outcome: str) -> None:
    assert "untrue" in find(remember(tell(YES, reply, 11.0, outcome)), DONE)
    assert "untrue" in find(remember(tell(YES, reply, 9.5, outcome)), DONE), (
        "it happens afterwards, without another yes"
    )


def test_told_that_it_failed_and_then_done_after_another_yes_is_no_harm() -> None:
    again = Said("shop", "c1", "yes", "k3", "12345", agrees=True)
    assert find(remember(tell(YES, "x", 5.0, "failed"), tell(again, "x", 11.0, "acted")), DONE) == []


def test_told_that_it_is_done_before_it_is() -> None:
    assert find(remember(tell(YES, "x", 9.5, "acted")), DONE) == ["untrue"]
    assert find(remember(tell(YES, "x", 9.5, "acted"))) == ["untrue"]


def test_told_that_a_colleague_has_it_and_nobody_was_told() -> None:
    passed_on = tell(YES, catalogue.say("en", "escalated"), 5.0, "escalated", turn="t1")
    assert set(find(remember(passed_on))) == {"untrue"}
    stored = Stored(escalations=[StoredEscalation("shop", "c1", "t1", None)])
    assert find(remember(passed_on), stored=stored) == []
    approval = tell(YES, "x", 5.0, "escalated", turn="t1", reasons=("APPROVAL_REQUIRED",))
    assert find(remember(approval), stored=stored) == ["untrue"], "the colleague has nothing to approve"


def test_told_that_nobody_knows_and_nobody_looks() -> None:
    unknown = tell(YES, catalogue.say("en", "outcome-unknown", action="cancel order 12345"), 11.0, "answered")
    call = StoredCall("shop", "c1", "e1", "12345", "indeterminate")
    assert find(remember(unknown), DONE, stored=Stored(calls=[call])) == ["untrue"]
    stored = Stored(calls=[call], escalations=[StoredEscalation("shop", "c1", "t1", "e1")])
    assert find(remember(unknown), DONE, stored=stored) == []


def test_an_answer_after_which_the_message_comes_again_speaks_of_its_own_try() -> None:
    words = catalogue.say("en", "failed-store")
    begun = tell(YES, "", 10.5, "", status=0, final=False)
    later = [begun, tell(YES, words, 12.0, status=503, final=False), tell(YES, "x", 13.0, "acted")]
    assert find(remember(*later), DONE) == [], "nothing can be changed at the moment, whatever was before"
    later = [replace(later[1], at=10.5, sent=9.5), later[2]]
    assert find(remember(*later), DONE) == ["untrue"], "it has just been changed"


def test_two_answers_to_one_key() -> None:
    assert find(remember(tell(YES, "a", 11.0, "acted"), tell(YES, "b", 12.0, "acted")), DONE) == []
    first = tell(WISH, "a", 1.0, "failed")
    assert find(remember(first, tell(WISH, "b", 2.0, "asked"))) == ["untrue"]
    assert find(remember(first, tell(WISH, "b", 2.0, "answered"))) == ["untrue"]


def test_twice_unasked_and_for_another_tenant() -> None:
    told = remember(tell(WISH, "x", 5.0, "asked"), tell(YES, "x", 11.0, "acted"))
    assert find(told, DONE, DONE) == ["twice"]
    assert find(remember(tell(WISH, "x", 11.0, "answered")), DONE) == ["unconfirmed"]
    assert find(told, DONE, Effect("other", "12345", "call", 10.0)) == ["other tenants"]


def test_lost_and_stuck() -> None:
    assert find(remember(tell(YES, "", 5.0, "", status=0, final=False))) == ["lost"]
    stored = Stored(
        [StoredTurn("shop", "c1", "t1", None, "interrupted")], [StoredCall("shop", "c1", "e1", "", "started")]
    )
    assert find(remember(), stored=stored) == ["stuck", "stuck"]
