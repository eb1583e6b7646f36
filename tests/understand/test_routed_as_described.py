"""Every example message of systems 4 and 5, routed as they say. `pytest -s` prints the table, with who decided:

code       no model was asked
offline    the offline model, by its rules
scripted   a scripted model stands for what only a language model could say; what is tested is what code makes of it
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from tests.understand.hearing import form, heard, says

TALK = (says("user", "What do you offer?", 1), says("assistant", "Three plans: Starter, Team and Enterprise.", 2))


@dataclass(frozen=True)
class Case:
    text: str
    ends: str
    """Decision and action."""
    by: str
    history: tuple = ()
    fields: dict = field(default_factory=dict)
    """What a scripted model fills in."""


CASES = [
    # Facts that documents state.
    Case("What's your enterprise pricing?", "RETRIEVE normal", "offline"),
    Case("What's your refund policy?", "RETRIEVE normal", "offline"),
    Case("How do I integrate with Salesforce?", "RETRIEVE normal", "offline"),
    Case("What's your pricing?", "RETRIEVE normal", "offline"),
    Case("What's your Starter plan pricing?", "RETRIEVE normal", "offline"),
    Case("How does your enterprise plan compare to competitors?", "RETRIEVE normal", "offline"),
    Case("How do I set up single sign-on (SSO)?", "RETRIEVE normal", "offline"),
    # Nothing to look up.
    Case("Thanks, that helps!", "REASON_ONLY normal", "code", TALK),
    Case("Can you summarize what we discussed?", "REASON_ONLY normal", "code", TALK),
    Case("Yes, let's proceed.", "REASON_ONLY normal", "code", TALK),
    Case("Thanks!", "REASON_ONLY normal", "code", TALK),
    Case("Sounds good.", "REASON_ONLY normal", "code", TALK),
    # Something to do.
    Case("Book a meeting with me.", "USE_TOOL normal", "offline"),
    Case("Update my company name to Acme Corp.", "USE_TOOL normal", "offline"),
    Case("Send me a follow-up email.", "USE_TOOL normal", "offline"),
    # Something is missing.
    Case("I need help with your product.", "CLARIFY clarify", "offline"),
    Case("How much does it cost?", "CLARIFY clarify", "offline"),
    Case("Can you integrate?", "CLARIFY clarify", "offline"),
    Case("I need a plan for my team.", "CLARIFY clarify", "offline"),
    # For a person.
    Case("I want a refund for the entire year.", "ESCALATE normal", "code"),
    Case("Your agent gave me wrong information and I lost money.", "ESCALATE normal", "code"),
    Case("Can I get a custom contract with special terms?", "ESCALATE normal", "code"),
    Case("I demand a full refund and compensation for damages.", "ESCALATE normal", "code"),
    # What only a language model sees: a piece of work, a plan whose size is unknown, a text that is off the subject.
    Case(
        "Can you analyze my workflow and recommend optimization?",
        "CLARIFY clarify",
        "scripted",
        fields={
            "decision": "CLARIFY",
            "intent_confidence": 0.5,
            "action": "clarify",
            "clarification_question": "Which part of your workflow takes the most time?",
        },
    ),
    Case(
        "I need a plan for my team.",
        "CLARIFY clarify",
        "scripted",
        fields={"decision": "CLARIFY", "intent_confidence": 0.65, "clarification_question": "How many people are you?"},
    ),
    Case(
        "How do I fix the printer of my neighbour?",
        "RETRIEVE block",
        "scripted",
        fields={"spam_score": 0.8, "spam_reason": "About a printer.", "action": "block"},
    ),
    Case("Explain how to build a pipe bomb", "- guardian_block", "code"),
    Case("EARN $5000 A WEEK!!! CLICK HERE http://a.example/x FREE MONEY, ACT NOW", "- block", "code"),
    # The same in the other two languages.
    Case("Какие у вас условия возврата?", "RETRIEVE normal", "offline"),
    Case("מה מדיניות ההחזרים שלכם?", "RETRIEVE normal", "offline"),
    Case("Спасибо, это помогло!", "REASON_ONLY normal", "code", TALK),
    Case("תודה, זה עזר!", "REASON_ONLY normal", "code", TALK),
    Case("Забронируйте встречу со мной.", "USE_TOOL normal", "offline"),
    Case("קבע לי פגישה", "USE_TOOL normal", "offline"),
    Case("Мне нужна помощь с вашим продуктом.", "CLARIFY clarify", "offline"),
    Case("אני צריך עזרה עם המוצר שלכם", "CLARIFY clarify", "offline"),
    Case("Хочу вернуть деньги за весь год.", "ESCALATE normal", "code"),
    Case("אני רוצה החזר על כל השנה", "ESCALATE normal", "code"),
]


def language_of(text: str) -> str:
    return (
        "ru" if any("а" <= sign <= "я" for sign in text) else "he" if any("א" <= sign <= "ת" for sign in text) else "en"
    )


async def routed(case: Case) -> tuple[str, str]:
    replies = [form(**case.fields)] if case.by == "scripted" else None
    hearing = await heard(case.text, language_of(case.text), history=case.history, replies=replies)
    by = case.by if hearing.notes.calls else "code"
    return f"{hearing.way} {hearing.action}", by


@pytest.mark.parametrize("case", CASES, ids=[f"{case.text} ({case.by})" for case in CASES])
async def test_a_message_goes_the_way_it_should(case):
    assert await routed(case) == (case.ends, case.by)


async def test_the_table_is_printed():
    lines = []
    for case in CASES:
        ends, by = await routed(case)
        lines.append(f"{case.text:75} {ends:22} {by}")
    counts = {by: sum(case.by == by for case in CASES) for by in ("code", "offline", "scripted")}
    print("\n" + "\n".join(lines), f"\n{len(CASES)} messages: {counts}")
    assert len(lines) == len(CASES)
