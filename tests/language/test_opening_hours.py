"""Opening hours, said in another language than they were written in, or left as they are."""

from __future__ import annotations

import pytest

from circumspect.language.opening_hours import say_hours
from circumspect.language.pack import packs, split_pairs
from circumspect.policy.grounding.untrue import find_untrue


@pytest.mark.parametrize(
    ("hours", "language", "said"),
    [
        ("Monday to Friday 9:00–17:00 (Berlin)", "de", "Montag bis Freitag 9:00–17:00 (Berlin)"),
        ("Sun–Thu 9:00–19:00, Fri 9:00–14:00", "de", "Sonntag–Donnerstag 9:00–19:00, Freitag 9:00–14:00"),
        (
            "Thursday 8:00–14:00, closed on Fridays and holidays",
            "de",
            "Donnerstag 8:00–14:00, Ruhetage: Freitag und Feiertage",
        ),
        (
            "Thursday 8:00–14:00, closed on Fridays and holidays",
            "ru",
            "четверг 8:00–14:00, выходные: пятница и праздники",
        ),
        ("Monday 8:00–14:00, Saturday closed", "de", "Montag 8:00–14:00, Samstag Ruhetag"),
        ("Weekdays 9 to 17, by appointment", "ru", "будни 9 – 17, по записи"),
        ("С понедельника по пятницу 9:00–18:00", "en", "from Monday to Friday 9:00–18:00"),
        ("Montag bis Freitag 9:00–18:00", "he", "יום שני עד יום שישי 9:00–18:00"),
    ],
)
def test_days_are_said_in_the_language_of_the_reply(hours: str, language: str, said: str) -> None:
    assert say_hours(hours, language) == said


@pytest.mark.parametrize("hours", ["", "24/7", "Mondays, only when it rains", "Monday 9:00, ask for Dana", "x" * 600])
def test_hours_with_other_words_stay_as_they_are(hours: str) -> None:
    assert say_hours(hours, "de") == hours


def test_every_language_has_every_word() -> None:
    lists = [{key for key, _ in split_pairs(one.values.schedule)} for one in packs()]
    assert all(keys == lists[0] for keys in lists)
    assert all(len(one.values.weekday_names) == 7 for one in packs())


@pytest.mark.parametrize("language", ["de", "ru", "he"])
def test_hours_claim_nothing_that_was_done(language: str) -> None:
    said = say_hours("Monday to Friday 9:00–17:00, Saturday closed, closed on Sundays and holidays", language)
    assert not find_untrue(said, language, (), {}, (), "", "?")
