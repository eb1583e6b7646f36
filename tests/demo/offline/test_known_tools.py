"""The offline model remembers the tools it has read, no client can fill its memory with them, and it can name them."""

from __future__ import annotations

import pytest

from circumspect.demo.offline import request_view
from circumspect.demo.offline.request_view import tool_by_name
from circumspect.demo.offline.tool_names import tool_list

BUSINESS = ("find_lead", "update_lead", "find_free_times", "book_meeting", "cancel_meeting", "send_email")


def test_many_tools_do_not_grow_what_is_remembered():
    kept = request_view._known_tools
    for number in range(2 * kept.most):
        tool_by_name(f"book_table_{number}")
    assert len(kept) == kept.most
    assert tool_by_name(f"book_table_{2 * kept.most - 1}") is tool_by_name(f"book_table_{2 * kept.most - 1}")


def test_large_tools_do_not_either():
    kept = request_view._known_tools
    for number in range(12):
        tool_by_name(f"book_{number}_" + "x" * (kept.heaviest // 8))
    assert kept.weight <= kept.heaviest
    assert len(kept) <= 8


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "look up a customer; update a customer's details; look for free appointments; book an appointment"),
        ("ru", "найти клиента; изменить данные клиента; найти свободное время; записать вас на приём; отменить запись"),
        ("he", "לחפש לקוח; לעדכן פרטי לקוח; לחפש תורים פנויים; לקבוע תור; לבטל תור; לשלוח אימייל"),
    ],
)
def test_what_a_service_business_has_is_said_in_words(language, said):
    assert tool_list(tuple(map(tool_by_name, BUSINESS)), language).startswith(said)
