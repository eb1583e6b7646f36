"""The two sample desks: served from their files, answering in three languages, and stopped by a planted contradiction."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from circumspect.clock import FixedClock, RandomIds
from circumspect.demo.demo_data import MARK, remove_demo
from circumspect.demo.demo_desks import seed_desks
from circumspect.demo.samples.desks import NAMES, apply_desks
from circumspect.pipeline import run_turn
from circumspect.reasons import ReasonCode
from circumspect.server.config import Settings
from circumspect.server.directory import Directory
from circumspect.server.vault import open_vault
from circumspect.stores import SqlStore, knowledge
from circumspect.values import ConversationId, Incoming, TenantId, TurnId, TurnResult

NOW = datetime(2026, 11, 15, 7, 0, tzinfo=UTC)
"""A Sunday morning: the clinic is open, the vendor's engineers are back tomorrow."""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Of a server whose database has the desks."""
    made = Settings(database=f"sqlite:///{tmp_path_factory.mktemp('desks')}/demo.db")

    async def apply() -> None:
        store = await SqlStore.open(made.database)
        applied = await apply_desks(store, made, clock=FixedClock(NOW))
        assert [(one.tenant, one.warnings) for one in applied] == [(name, ()) for name in NAMES]
        assert await apply_desks(store, made, clock=FixedClock(NOW)) == ()
        await store.close()

    asyncio.run(apply())
    return made


@pytest.fixture
async def opened(settings: Settings) -> AsyncIterator[tuple[SqlStore, Settings, Directory]]:
    store = await SqlStore.open(settings.database)
    directory = Directory(store, settings, open_vault(settings), FixedClock(NOW), RandomIds())
    yield store, settings, directory
    await directory.close()
    await store.close()


@pytest.fixture
def say(opened: tuple[SqlStore, Settings, Directory]) -> Callable[..., Any]:
    ids = RandomIds()

    async def said(desk: str, *lines: str) -> TurnResult:
        setup, conversation = await opened[2].setup(TenantId(desk)), ConversationId(ids.new("talk"))
        for line in lines:
            incoming = Incoming(TenantId(desk), conversation, TurnId(ids.new("turn")), line, NOW)
            result = await run_turn(incoming, setup)
        return result

    return said


@pytest.mark.parametrize(
    ("desk", "question", "answer"),
    [
        ("clinic", "How much is a private visit?", "320 shekels"),
        ("clinic", "How long is a visit?", "20 minutes"),
        ("clinic", "How long does a visit last?", "20 minutes"),
        ("clinic", "כמה זמן נמשך ביקור?", "20 דקות"),
        ("clinic", "Сколько времени длится приём?", "20 минут"),
        ("clinic", "When are you open?", "Sunday to Wednesday 8:00–18:00"),
        ("clinic", "What are your opening hours on Sunday?", "Sunday to Wednesday 8:00–18:00"),
        ("clinic", "מתי אתם פתוחים?", "8:00–18:00"),
        (
            "clinic",
            "Когда вы открыты?",
            "Часы работы: воскресенье – среда 8:00–18:00, четверг 8:00–14:00, выходные: пятница",
        ),
        ("clinic", "מתי אתם פתוחים?", "יום ראשון עד יום רביעי 8:00–18:00"),
        ("clinic", "Wann haben Sie geöffnet?", "Unsere Öffnungszeiten: Sonntag bis Mittwoch 8:00–18:00, Donnerstag"),
        ("clinic", "Wie sind Ihre Öffnungszeiten?", "Sonntag bis Mittwoch 8:00–18:00"),
        ("clinic", "Um wie viel Uhr öffnen Sie am Sonntag?", "Sonntag bis Mittwoch 8:00–18:00"),
        ("vendor", "Wann haben Sie geöffnet?", "Unsere Öffnungszeiten: Montag bis Freitag 9:00–17:00 (Berlin)"),
        ("vendor", "Когда вы открыты?", "понедельник – пятница 9:00–17:00 (Berlin)"),
        ("clinic", "כמה עולה ביקור פרטי?", "320"),
        ("clinic", "Сколько стоит прививка от гриппа?", "75 шекелей"),
        ("vendor", "How long can deleted files be restored?", "90 days"),
        ("vendor", "כמה עולה Lantern Office למחשב?", "9"),
        ("vendor", "Сколько стоит Lantern Office за компьютер?", "9 евро"),
    ],
)
async def test_questions_are_answered_from_the_documents_of_their_language(say, desk, question, answer) -> None:
    result = await say(desk, question)
    assert result.outcome == "answered"
    assert answer in result.reply


@pytest.mark.parametrize(
    "question",
    [
        "Until when can I cancel a visit free of charge?",
        "עד מתי אפשר לבטל תור ללא תשלום?",
        "Можно ли отменить приём бесплатно, и до какого времени?",
        "Can I cancel?",
        "Can I cancel my visit?",
        "Can I still cancel my visit?",
        "Can I cancel my appointment 30 hours before?",
        "May I cancel a visit free of charge 30 hours before it begins?",
        "אפשר לבטל?",
        "אפשר לבטל את התור שלי?",
        "אפשר לבטל את התור שלי 30 שעות לפני?",
        "Можно отменить?",
        "Можно отменить мой приём?",
        "Можно отменить мою запись за 30 часов?",
    ],
)
async def test_what_two_documents_say_differently_is_for_a_person(say, question) -> None:
    result = await say("clinic", question)
    assert result.outcome == "escalated"
    assert ReasonCode.SOURCES_CONFLICT in result.reason_codes


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Was kostet Lantern Office am Tag?", "9 euros a month"),
        ("Was kostet Lantern Office im Monat?", "9 euros a month"),
        ("Was kostet Lantern Office pro Stunde?", "Das weiß ich leider nicht."),
        ("Was bedeutet Fehler L-204?", "Das weiß ich leider nicht."),
    ],
)
async def test_a_german_question_is_answered_in_german_or_by_an_english_passage(say, question, said) -> None:
    result = await say("vendor", question)
    assert result.reply.startswith("**So habe ich Ihre Anfrage verstanden**")
    assert said in result.reply
    assert ReasonCode.WRONG_LANGUAGE not in result.reason_codes


@pytest.mark.parametrize("order", ["Cancel booking 30", "Can I cancel booking 4711?"])
async def test_who_names_the_booking_is_asked_about_that_one(say, order) -> None:
    result = await say("clinic", order)
    assert (result.outcome, ReasonCode.DESTRUCTIVE_NO_CONFIRM in result.reason_codes) == ("asked", True)


async def test_who_wants_it_done_so_many_hours_before_is_asked_which_booking(say) -> None:
    result = await say("clinic", "Please cancel my appointment 30 hours before")
    assert "Which booking" in result.reply


@pytest.mark.parametrize(
    "question",
    ["How long are my archives kept after a subscription ends?", "How many days are archives kept when I cancel?"],
)
async def test_the_vendors_old_notes_against_its_licence_are_for_a_person(say, question) -> None:
    result = await say("vendor", question)
    assert result.outcome == "escalated"
    assert ReasonCode.SOURCES_CONFLICT in result.reason_codes
    assert "60" not in result.reply
    assert "30" not in result.reply


@pytest.mark.parametrize(
    "question", ["How long does support take to answer?", "What does Lantern Office cost?", "How do I restore a file?"]
)
async def test_what_the_vendors_documents_agree_on_is_answered(say, question) -> None:
    result = await say("vendor", question)
    assert ReasonCode.SOURCES_CONFLICT not in result.reason_codes
    assert result.outcome == "answered"


async def test_a_demand_that_is_the_doctors_goes_to_a_person(say) -> None:
    result = await say("clinic", "Give me a prescription for antibiotics, I insist")
    assert (result.outcome, ReasonCode.SENSITIVE_TOPIC in result.reason_codes) == ("escalated", True)


async def test_a_visit_is_booked_after_a_yes(say, opened) -> None:
    asked = "Book a visit on 2026-11-17 at 12:00 for Dana Levi, dana.levi@example.com"
    assert (await say("clinic", asked)).outcome == "asked"
    assert (await say("clinic", asked, "yes")).outcome == "acted"
    tools = (await opened[2].setup(TenantId("clinic"))).ports.tools
    free = await tools.call("find_free_times", {"date": "2026-11-17"}, "look")
    assert "12:00" not in {one["time"] for one in free["free"]}
    found = await tools.call("find_lead", {"email": "dana.levi@example.com"}, "look")
    assert found["lead"]["note"] == "Prefers mornings."


async def test_both_desks_have_documents_in_three_languages(opened) -> None:
    for name in NAMES:
        rows = await opened[0].tx(knowledge.list_documents, name)
        assert {row.language for row in rows} == {"en", "he", "ru"}
    profiles = {name: (await opened[2].settings(TenantId(name))).understanding.profile for name in NAMES}
    assert profiles == {"clinic": "service", "vendor": "guided"}


async def test_the_demos_conversations_book_nothing_and_are_taken_away_again(opened) -> None:
    store, settings, directory = opened
    tools = (await directory.setup(TenantId("vendor"))).ports.tools
    before = await tools.call("find_free_times", {"date": "2026-11-16", "days": 5}, "before")
    made = await seed_desks(store, settings, MARK, NOW, timedelta(days=21), random.Random(1))
    assert made == 20
    played = [one.id for name in NAMES for one in await store.conversations(TenantId(name)) if one.id.startswith(MARK)]
    assert len(played) == made
    assert await tools.call("find_free_times", {"date": "2026-11-16", "days": 5}, "after") == before
    assert await remove_demo(store) == made
