"""Replies that are sorry, one after another: counted, and handed over where the profile says so."""

from dataclasses import replace

import pytest

from circumspect.models.scripted import says
from circumspect.profiles import PROFILES
from circumspect.reasons import ReasonCode

SORRY = (
    "I am sorry, the showroom's parking is not something I can help with.",
    "I apologise, but that is beyond me as well, as far as parking goes.",
    "Unfortunately there is nothing that I can say about parking.",
)


async def talk(chat, replies):
    return [
        await chat.agent.turn(f"what about the parking, part {n}?", conversation="c") for n, _ in enumerate(replies)
    ]


async def test_the_third_apology_in_a_row_is_counted_and_still_said(shop):
    turns = await talk(shop(replies=[says(text) for text in SORRY]), SORRY)
    assert [ReasonCode.APOLOGY_LOOP in turn.reason_codes for turn in turns] == [False, False, True]
    assert turns[2].outcome == "answered"


async def test_an_answer_in_between_begins_a_new_row(shop):
    replies = (SORRY[0], "Parking is free behind the showroom, on weekdays.", SORRY[1], SORRY[2])
    turns = await talk(shop(replies=[says(text) for text in replies]), replies)
    assert not any(ReasonCode.APOLOGY_LOOP in turn.reason_codes for turn in turns)


async def test_a_profile_can_have_a_person_take_it_from_there(shop):
    profiles = {mode: replace(one, hand_over_apologies=True) for mode, one in PROFILES.items()}
    chat = shop(replies=[says(text) for text in SORRY], profiles=profiles)
    turns = await talk(chat, SORRY)
    assert (turns[2].outcome, ReasonCode.APOLOGY_LOOP in turns[2].reason_codes) == ("escalated", True)


@pytest.mark.parametrize(
    "text", ["Es tut mir leid, das geht nicht.", "К сожалению, нет.", "אני מצטער, אין לי מידע.", "Sorry, no."]
)
def test_apologies_are_read_in_every_language(text):
    from circumspect.language.doubts import apologises

    assert apologises(text)
    assert not apologises("Order 12345 is on its way.")
