"""Values and texts in one spelling."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.language.folding import fold
from circumspect.language.written_values import (
    FoldedText,
    clocks_in,
    days_in,
    find_word,
    is_phone,
    leave_out_measured,
    looks_like_id,
    phone_digits,
    phones_in,
    says_number,
    spellings,
)


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("Order  #W12\n", "order #w12"),
        ("٤٢ и ４２", "42 и 42"),
        ("“Don’t”", '"don\'t"'),
        ("a\u200fb\u200dc", "abc"),
        ("STRASSE", "straße"),
        ("A\u00a0B — C", "a b - c"),
    ],
)
def test_texts_that_look_alike_fold_alike(written: str, same: str) -> None:
    assert fold(written) == fold(same)


@given(st.text())
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


def test_a_value_is_found_whole_or_not_at_all() -> None:
    assert find_word("12345", "order 12345, please") == 6
    assert find_word("12345", "order 123456") == -1
    assert find_word("w12345", "#w12345") == 1
    assert find_word("ann", "anna and ann.") == 9


@pytest.mark.parametrize("text", ["it costs 1,234.50", "1 234,50 euro", "1234.5 exactly", "$1,234.50!", "(1234,50)"])
def test_an_amount_is_known_however_it_is_grouped(text: str) -> None:
    assert says_number(1234.5, fold(text))


@pytest.mark.parametrize("text", ["1234.56", "11234.5", "x1234.5", "1234", "12,34.5", "1234.5.6"])
def test_another_amount_is_not(text: str) -> None:
    assert not says_number(1234.5, fold(text))


@pytest.mark.parametrize("text", ["two bags", "2 bags", "две сумки", "שתי מזוודות", "2.0", "٢ bags"])
def test_small_numbers_may_be_words(text: str) -> None:
    assert says_number(2, fold(text))


@pytest.mark.parametrize("text", ["12", "2024-05-02", "a2", "2.5", "0.2"])
def test_a_digit_inside_another_number_does_not_count(text: str) -> None:
    assert not says_number(2, fold(text))


@pytest.mark.parametrize(
    "text",
    [
        "on May 26",
        "26th of May 2024",
        "the 26th",
        "26 мая",
        "ב-26 במאי",
        "26.05.2024",
        "5/26",
        "May 24 to 26",
        "2024-05-26T10:00",
        "from the 24th to the 26th of May",
    ],
)
def test_a_day_is_known_however_it_is_written(text: str) -> None:
    assert FoldedText(text).names_day(date(2024, 5, 26))


@pytest.mark.parametrize("text", ["May 27", "26 June", "2023-05-26", "room 26", "on May 26, 2023"])
def test_another_day_is_not(text: str) -> None:
    assert not FoldedText(text).names_day(date(2024, 5, 26))


def test_a_date_that_reads_both_ways_is_both() -> None:
    assert {(None, 5, 6), (None, 6, 5)} <= days_in("on 05/06")


def test_times_of_day() -> None:
    assert (16, 0) in clocks_in("at 4 pm")
    assert (16, 30) in clocks_in("16:30")
    assert (16, 0) in clocks_in("at 4")
    assert (16, 0) not in clocks_in("at 4 am")


def test_a_telephone_number_is_the_same_with_and_without_country_code() -> None:
    assert is_phone("+972 (50) 123-4567")
    assert phone_digits("+972501234567") == phone_digits("050-123-4567")
    assert phone_digits("0501234567") in phones_in("call me at 050 123 4567 tonight")
    assert not is_phone("2024")


@pytest.mark.parametrize("value", ["#W1234", "a.b@c.org", "credit_card_77", "HAT123"])
def test_ids_are_told_from_words(value: str) -> None:
    assert looks_like_id(value)


@pytest.mark.parametrize("value", ["Anna", "new york", "red", "a1"])
def test_words_are_not_ids(value: str) -> None:
    assert not looks_like_id(value)


def test_an_id_may_lose_its_sign_and_an_address_its_scheme() -> None:
    assert "w12" in spellings("#W12")
    assert "gift card 7" in spellings("gift_card_7")
    assert "example.org/a" in spellings("https://example.org/a/")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("cancel my visit 30 hours before", "cancel my visit hours before"),
        ("a 30-day trial of 2.5 weeks", "a -day trial of weeks"),
        ("לבטל תור 30 שעות לפני", "לבטל תור שעות לפני"),
        ("отменить приём за 30 часов", "отменить приём за часов"),
        ("den Termin 30 Stunden vorher absagen", "den termin stunden vorher absagen"),
        ("pay 5000 euros, ₪ for 200 kg", "pay euros, ₪ for kg"),
        ("cancel booking 30, 24 hours before", "cancel booking 30, hours before"),
    ],
)
def test_a_number_that_says_how_much_is_left_out(text: str, left: str) -> None:
    assert " ".join(leave_out_measured(fold(text)).split()) == left


@pytest.mark.parametrize(
    "text",
    [
        "cancel booking 30",
        "i placed order 12345 weeks ago",
        "refund order 123 $20",
        "item 12345 m instead of l",
        "order 123 t-shirts",
        "order w-30 hours",
        "booking 30 in may",
    ],
)
def test_a_number_that_names_something_stays(text: str) -> None:
    assert leave_out_measured(text) == text


@pytest.mark.parametrize(
    ("people", "text"),
    [
        (3, "Столик на троих в пятницу"),
        (2, "Нас двое, и обоих зовут Иван"),
        (4, "Мы придём вчетвером"),
        (2, "Поедем вдвоём"),
        (5, "Забронируйте на пятерых"),
        (3, "שלושתנו נגיע בשמונה"),
        (3, "שולחן לשלושה בבקשה"),
        (2, "רק שנינו"),
        (4, "ארבעתנו באים"),
        (2, "שולחן לשניים"),
        (3, "Wir kommen zu dritt"),
        (4, "Ein Tisch, wir sind zu viert"),
        (2, "Zu zweit bitte"),
        (5, "Wir wären zu fünft"),
        (4, "Einen Vierertisch am Fenster"),
        (3, "A table for the three of us"),
        (4, "We are a foursome"),
        (2, "The two of us are coming"),
        (6, "A party of six"),
        (2, "Table for two"),
    ],
)
def test_how_many_people_there_are_is_a_number(people: int, text: str) -> None:
    assert says_number(people, fold(text))


@pytest.mark.parametrize(
    ("people", "text"),
    [
        (3, "Столик на третьем этаже"),
        (2, "Двойной номер на втором этаже"),
        (3, "Столик на двоих"),
        (4, "В четверг, пожалуйста"),
        (3, "Тройка приехала"),
        (3, "ביום שלישי בבקשה"),
        (2, "שולחן בקומה שנייה"),
        (4, "ביום רביעי, שולחן לשלושה"),
        (2, "השנה הבאה"),
        (8, "שמינית הגמר"),
        (3, "Im dritten Stock"),
        (2, "Zum zweiten Mal"),
        (4, "Ein Viertel Wein, zu dritt"),
        (8, "Zu achten ist auf das Wetter"),
        (5, "Am fünften März"),
        (2, "On the second floor"),
        (3, "The third table"),
        (4, "A fourth of it"),
        (2, "Twofold"),
        (3, "A table for two"),
    ],
)
def test_what_only_sounds_like_so_many_people_is_none(people: int, text: str) -> None:
    assert not says_number(people, fold(text))
