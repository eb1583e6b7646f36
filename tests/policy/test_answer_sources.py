"""Answers whose sources and sums nothing bears out."""

from __future__ import annotations

import pytest

from circumspect.policy.grounding.answer_sources import find_unsourced

PRICES = "Starter costs 9 euros a month. Team costs 29.50 euros. Delivery is €4.90."


@pytest.mark.parametrize(
    "reply",
    [
        "Starter costs 9 euros a month. [1]",
        "Team costs €29.50 [2].",
        "Both together cost 38.50 euros.",
        "Three seats of Starter cost 27 euros.",
        "It arrives within 5 days.",
        "See page [1] and [2].",
    ],
)
def test_what_the_texts_say_or_add_up_to_stands(reply: str) -> None:
    assert find_unsourced(reply, [1, 2], PRICES) == ()


@pytest.mark.parametrize(
    "reply",
    ["Starter costs 12 euros.", "Starter costs 9 euros a month. [9]", "Команда стоит 97 евро.", "המחיר 700 ש״ח."],
)
def test_what_they_do_not_is_found(reply: str) -> None:
    assert len(find_unsourced(f"Hello! {reply}", [1, 2], PRICES)) == 1


def test_without_anything_looked_up_only_sources_are_held_to_it() -> None:
    assert find_unsourced("It costs 12 euros.", [], None) == ()
    assert find_unsourced("It costs 12 euros [1].", [], None) == ("It costs 12 euros [1].",)
