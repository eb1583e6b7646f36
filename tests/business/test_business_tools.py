"""All six tools together: what they declare, and one conversation's worth of calls."""

from __future__ import annotations

from circumspect.values import LANGUAGES
from circumspect.wording import ask_for, label


def test_every_tool_declares_its_effect_and_recovery(embedded):
    declared = {name: (spec.effect, spec.recovery) for name, spec in embedded().tools.specs().items()}
    assert declared == {
        "find_lead": ("read", "blind"),
        "update_lead": ("write", "keyed"),
        "find_free_times": ("read", "blind"),
        "book_meeting": ("write", "keyed"),
        "cancel_meeting": ("destructive", "keyed"),
        "send_email": ("write", "keyed"),
    }


def test_every_tool_can_be_said_in_every_language_and_described_to_a_model(embedded):
    for spec in embedded().tools.specs().values():
        assert set(spec.phrases) == set(LANGUAGES)
        assert spec.description
        assert "key" not in spec.properties


def test_every_value_that_has_to_be_given_is_asked_for_in_words(embedded):
    needed = {name for spec in embedded().tools.specs().values() for name in spec.required}
    for language in LANGUAGES:
        named = {name: label(name, language) for name in needed}
        assert len(set(named.values())) == len(needed)
        assert named["to"] != "to"
        assert all(ask_for(name, language).endswith(("?", ".")) for name in needed)


async def test_a_lead_is_qualified_booked_and_written_to(embedded):
    shop = embedded()
    await shop.call("update_lead", "k1", email="dana@example.com", name="Dana", status="qualified")
    time = (await shop.free("2026-11-17"))[0]
    booked = await shop.book("2026-11-17", time, key="k2")
    sent = await shop.call(
        "send_email", "k3", to="dana@example.com", subject="Your meeting", body=f"{booked['date']} {booked['time']}"
    )
    assert sent["to"] == "dana@example.com"
    assert (await shop.call("find_lead", email="dana@example.com"))["lead"]["status"] == "qualified"
