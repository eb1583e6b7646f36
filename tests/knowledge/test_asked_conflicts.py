"""Two documents that answer one question differently are found by the question; what it is not about is left in peace."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from circumspect import Agent
from circumspect.knowledge.asked_conflicts import find_asked_conflicts
from circumspect.knowledge.conflicts import _Piece
from circumspect.knowledge.passages import cut
from circumspect.knowledge.read_document import read_document
from circumspect.policy.understanding.understood import SERVICE
from circumspect.reasons import ReasonCode
from circumspect.values import Business

PAIRS = yaml.safe_load(Path(__file__).with_name("asked_pairs.yaml").read_text(encoding="utf-8"))
SOME = PAIRS[::5]

CONFLICTS = [
    ("When does registration for the language course open?", "# Registration\n\nRegistration for the language course opens on 3 April 2026.", "# Language course\n\nYou can register for the language course from 17 April 2026."),
    ("When does registration close?", "# Sign up\n\nRegistration closes on 1 March 2026.", "# FAQ\n\nThe registration closes on 15 March 2026."),
    ("When does the library open on weekdays?", "# Library\n\nThe library opens at 9:00 on weekdays.", "# Opening hours\n\nOn weekdays the library opens at 10 am."),
    ("What are the opening hours of the museum?", "# Museum\n\nOpening hours of the museum: 9:00 to 18:00.", "# Visit us\n\nOpening hours of the museum are from 9:00 to 17:00."),
    ("When does the concert start?", "# Concert\n\nThe concert starts at half past five.", "# Letter\n\nThe concert starts at 7 pm."),
    ("What is the cancellation fee?", "# Cancelling\n\nThe cancellation fee is 25 euros.", "# FAQ\n\nFor cancelling we charge a cancellation fee of 40 euros."),
    ("What discount do members get in the bookshop?", "# Members\n\nMembers get 10% off in the bookshop.", "# Bookshop\n\nIn the bookshop members receive a discount of 15 %."),
    ("How many people fit into the small hall?", "# Halls\n\nNo more than 80 people may be in the small hall.", "# Fire plan\n\nMaximum number of people in the small hall: 60."),
    ("How long is the warranty on a bicycle?", "# Bicycles\n\nThe warranty on a bicycle is two years.", "# Service\n\nEvery bicycle has a warranty of 12 months."),
    ("Is parking free for guests?", "# Parking\n\nParking is free for guests.", "# Guests\n\nParking is not free for guests."),
    ("May cats stay in the rooms?", "# Pets\n\nCats may stay in the rooms.", "# Rooms\n\nCats may not stay in the rooms."),
    ("Сколько стоит прокат лодки?", "# Лодки\n\nПрокат лодки стоит 500 рублей.", "# Цены\n\nСтоимость проката лодки: 700 рублей."),
    ("Когда открывается бассейн?", "# Бассейн\n\nБассейн открывается в 8:00.", "# Часы\n\nБассейн открывается в 9:30."),
    ("Можно ли с собакой в парк?", "# Парк\n\nС собакой в парк можно.", "# Правила\n\nС собакой в парк нельзя."),
    ("כמה עולה השכרת סירה?", "# סירות\n\nהשכרת סירה עולה 100 ₪.", "# מחירים\n\nהשכרת סירה: 140 ₪."),
    ("האם מותר להדליק מנגל בפארק?", "# הפארק\n\nמותר להדליק מנגל בפארק.", "# חוקים\n\nאסור להדליק מנגל בפארק."),
    ("Wann öffnet das Schwimmbad?", "# Schwimmbad\n\nDas Schwimmbad öffnet um 8:00.", "# Zeiten\n\nDas Schwimmbad öffnet um 9:30."),
    ("Wann schließt die Bücherei am Freitag?", "# Bücherei\n\nAm Freitag schließt die Bücherei um 18 Uhr.", "# Zeiten\n\nFreitags ist die Bücherei bis 19 Uhr 30 geöffnet."),
    ("When does the shuttle leave?", "# Shuttle\n\nThe shuttle leaves at 9 o'clock.", "# Travel\n\nThe shuttle leaves at 10 o’clock."),
    ("Can I cancel a stay free of charge?", "# Stays\n\nYou can cancel a stay free of charge up to 2 days before it begins.", "# Rules\n\nYou can cancel a stay free of charge up to 7 days before it begins."),
    ("Kann ich meinen Termin absagen?", "# Termine\n\nSie können einen Termin bis 24 Stunden vor Beginn kostenlos absagen.", "# Preise\n\nSie können einen Termin bis 48 Stunden vor Beginn kostenlos absagen."),
    ("Kann ich meinen Termin 30 Stunden vorher absagen?", "# Termine\n\nSie können einen Termin bis 24 Stunden vor Beginn kostenlos absagen.", "# Preise\n\nSie können einen Termin bis 48 Stunden vor Beginn kostenlos absagen."),
    ("Can I cancel my appointment?", "# Visits\n\n## Cancelling\nYou can cancel a visit up to 24 hours before it begins.", "# Fees\n\n## Cancelling\nYou can cancel a visit up to 48 hours before it begins."),
    ("How long before a visit can I cancel it?", "# Visits\n\nA visit lasts 20 minutes.\n\n## Cancelling a visit\nYou can cancel a visit up to 24 hours before it begins.", "# Fees\n\n## Cancelling a visit\nYou can cancel a visit up to 48 hours before it begins."),
    ("How long is a visit?", "# Visits\n\nA visit lasts 20 minutes.", "# Fees\n\nA visit lasts 30 minutes."),
    ("Was kostet der Verleih eines Bootes?", "# Boote\n\nDer Verleih eines Bootes kostet 20 Euro.", "# Preise\n\nVerleih eines Bootes: 25 Euro."),
    ("За сколько дней можно вернуть товар?", "# А\n\nТовар можно вернуть в течение 14 дней.", "# Б\n\nВернуть товар можно за 30 дней."),
    ("תוך כמה ימים אפשר להחזיר מוצר?", "# החזרות\n\nאפשר להחזיר מוצר תוך 14 ימים.", "# שאלות\n\nניתן להחזיר מוצר תוך 30 יום."),
    ("When does the summer fair begin?", "# News\n\nThe summer fair begins on 3 July 2027.", "# Calendar\n\nIn 2027 the summer fair begins on 5 July."),
]  # fmt: skip
NONE = [
    ("Wann schließt die Bücherei?", "# Bücherei\n\nDie Bücherei schließt um 18.30 Uhr.", "# Zeiten\n\nDie Bücherei ist bis 18:30 geöffnet."),
    ("What was the stall fee in 2025?", "# Festival 2025\n\nThe stall fee is 60 euros.", "# Festival 2026\n\nThe stall fee is 75 euros."),
    ("Until when is the youth club open?", "# Youth club Nordend\n\nThe youth club is open until 21:00.", "# Youth club Harbour\n\nThe youth club is open until 22:30."),
    ("How much is a ticket?", "# Tickets\n\nA ticket for students is 5 euros.", "# Tickets\n\nA ticket for adults is 9 euros."),
    ("How much is a ticket?", "# Tickets\n\nA ticket is 9 euros.", "# Students\n\nA ticket for students is 5 euros."),
    ("Do you sell umbrellas?", "# Cancelling\n\nThe cancellation fee is 25 euros.", "# FAQ\n\nThe cancellation fee is 40 euros."),
    ("Are dogs allowed in the garden?", "# Garden\n\nDogs are allowed in the garden.", "# Restaurant\n\nDogs are not allowed in the restaurant."),
    ("How long is the warranty?", "# Warranty\n\nThe warranty is two years.", "# FAQ\n\nThe warranty is 24 months."),
    ("When does the shop close?", "# Shop\n\nThe shop closes at 5:30 pm.", "# Hours\n\nThe shop closes at 17:30."),
    ("When is the deadline?", "# A\n\nThe deadline is 1 March 2026.", "# B\n\nThe deadline is March 1st."),
    ("What does delivery cost?", "# Delivery\n\nExpress delivery costs 9 euros.", "# FAQ\n\nStandard delivery costs 4 euros."),
    ("How many seats has the hall?", "# Hall\n\nThe hall has 300 seats.", "# Rent\n\nThe hall costs 250 euros an evening."),
    ("Сколько стоит билет?", "# Билеты\n\nБилет для студентов стоит 200 рублей.", "# Билеты\n\nБилет для пенсионеров стоит 150 рублей."),
    ("כמה עולה כרטיס?", "# כרטיסים\n\nכרטיס לילדים עולה 20 ₪.", "# כרטיסים\n\nכרטיס למבוגרים עולה 40 ₪."),
    ("Can I cancel my subscription?", "# Visits\n\n## Cancelling\nYou can cancel a visit up to 24 hours before it begins.", "# Fees\n\n## Cancelling\nYou can cancel a visit up to 48 hours before it begins."),
    ("Can I change my appointment?", "# Visits\n\n## Cancelling\nYou can cancel a visit up to 24 hours before it begins.", "# Fees\n\n## Cancelling\nYou can cancel a visit up to 48 hours before it begins."),
    ("How long is a visit?", "# Visits\n\nA visit lasts 20 minutes.\n\n## Cancelling a visit\nYou can cancel a visit up to 24 hours before it begins.", "# Fees\n\n## Cancelling a visit\nYou can cancel a visit up to 48 hours before it begins."),
    ("", "# A\n\nThe fee is 4 euros.", "# B\n\nThe fee is 5 euros."),
    ("When does the summer fair begin?", "# News\n\nThe summer fair begins on 3 July 2027.", "# Archive\n\nIn 2025 the summer fair began on 5 July."),
    ("What does the course cost?", "# Course\n\nThe course costs 90 euros.", "# Course for two\n\nTwo persons together pay 160 euros for the course."),
    ("За сколько дней можно вернуть товар?", "# А\n\nТовар можно вернуть в течение 14 дней.", "# Б\n\nДеньги за товар мы вернём в течение 7 дней."),
    ("תוך כמה ימים אפשר להחזיר מוצר?", "# החזרות\n\nאפשר להחזיר מוצר תוך 14 ימים.", "# זיכוי\n\nהכסף מוחזר תוך 7 ימי עסקים מקבלת המוצר."),
]  # fmt: skip


def pieces(*texts):
    for name, text in zip("ab", texts, strict=True):
        document = read_document(text.encode(), f"{name}.md")
        for one in cut(document):
            yield _Piece(document.id, one.section.id, one.section.path, one.span, document.quote(one.span))


@pytest.mark.parametrize(("question", "left", "right"), CONFLICTS)
def test_different_answers_to_one_question_are_a_conflict(question, left, right):
    (found,) = find_asked_conflicts(question, pieces(left, right))
    assert (found.left.document, found.right.document) == ("a.md", "b.md")
    assert found.left.quote in left
    assert found.right.quote in right


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("How many people fit into the small hall?", "people small hall"),
        ("Сколько стоит прокат лодки?", "Прокат лодки"),
        ("כמה עולה השכרת סירה?", "השכרת סירה"),
        ("Was kostet der Verleih eines Bootes?", "Verleih Bootes"),
    ],
)
def test_what_a_conflict_is_about_is_said_in_words_as_they_are_written(question, subject):
    left, right = next(row[1:] for row in CONFLICTS if row[0] == question)
    (found,) = find_asked_conflicts(question, pieces(left, right))
    assert found.subject == subject


@pytest.mark.parametrize(("question", "left", "right"), NONE)
def test_what_something_explains_or_nobody_asked_is_none(question, left, right):
    assert find_asked_conflicts(question, pieces(left, right)) == []


@pytest.mark.parametrize(("expected", "language", "kind", "question", "left", "right"), PAIRS)
def test_pairs_of_every_kind_are_judged_in_either_order(expected, language, kind, question, left, right):
    for texts in ((left, right), (right, left)):
        assert bool(find_asked_conflicts(question, pieces(*texts))) == (expected is True), (language, kind)


def test_there_are_pairs_enough_and_few_are_missed():
    expected = [row[0] for row in PAIRS]
    assert expected.count(True) >= 30
    assert expected.count(False) >= 40
    assert expected.count("missed") * 20 <= expected.count(True)
    assert len({(row[3], *row[4:]) for row in PAIRS}) == len(PAIRS)


async def test_among_other_documents_a_turn_finds_what_was_asked_and_nothing_else(tmp_path):
    """A fifth of the questions, over the documents of all of these."""
    documents = [
        read_document(text.encode(), f"{at}{side}.md")
        for at, row in enumerate(SOME)
        for side, text in zip("ab", row[4:], strict=True)
    ]
    agent = Agent(
        "desk",
        business=Business("The desk"),
        tools=[],
        policy=None,
        understanding=SERVICE,
        documents=documents,
        model="offline",
        database=f"sqlite:///{tmp_path}/desk.db",
    )
    judged = {}
    for row in SOME:
        result = await agent.turn(row[3], conversation=row[3])
        judged[row[3]] = ReasonCode.SOURCES_CONFLICT in result.reason_codes
    await agent.close()
    assert [row[3] for row in SOME if row[0] is False and judged[row[3]]] == []
    # A turn also misses where the search does not come upon both documents.
    missed = [row[3] for row in SOME if row[0] is True and not judged[row[3]]]
    assert len(missed) * 10 <= len([row for row in SOME if row[0] is True]), missed
