"""Notifications that were given up are seen by administrators, and sent again."""

from __future__ import annotations

import pytest
from tests.server.console.building import SAME, ConsoleHouse
from tests.server.test_outbox import give_up


def test_what_was_given_up_is_seen_and_sent_again(house: ConsoleHouse) -> None:
    for number in range(2):
        give_up(house, f"esc-console:{number}")
    with house.visitor("root") as visitor:
        shown = visitor.get("/notifications").text
        assert "https://hooks.example.com/x" in shown
        assert "private" not in shown
        again = visitor.post("/notifications/esc-console:0/redrive", headers=SAME)
        assert (again.status_code, again.headers["location"]) == (303, "/notifications")
        assert "esc-console%3A0/redrive" not in visitor.get("/notifications").text
        assert visitor.post("/notifications/redrive", headers=SAME).status_code == 303
        assert "https://hooks.example.com/x" not in visitor.get("/notifications").text
        waiting = visitor.get("/notifications?state=pending").text
        assert waiting.count("https://hooks.example.com/x") == 2


@pytest.mark.parametrize("language", ["en", "he", "ru"])
def test_the_page_is_there_in_every_language(house: ConsoleHouse, language: str) -> None:
    give_up(house, f"esc-{language}:0")
    with house.visitor("root") as visitor:
        visitor.post("/language", data={"language": language}, headers=SAME)
        shown = visitor.get("/notifications")
        assert (shown.status_code, f'lang="{language}"' in shown.text) == (200, True)
        assert f"/notifications/esc-{language}%3A0/redrive" in shown.text
