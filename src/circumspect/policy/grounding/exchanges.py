"""The last exchange of a conversation, read from its words: what was put to the user, and was it agreed to?"""

from __future__ import annotations

from dataclasses import dataclass

from circumspect.language.consent import asks, asks_to_confirm, consent, is_plain
from circumspect.policy.facts import Facts
from circumspect.policy.grounding.actions import actions_of, commands
from circumspect.values import History, PastCall


@dataclass(frozen=True, slots=True)
class Exchange:
    """The last thing that was put to the user, and what they said to it."""

    question: str
    answer: str
    since: tuple[PastCall, ...]
    """What ran after the answer."""
    pending: bool
    """The assistant asked something after the user last spoke, so there is no answer yet."""
    asked: bool
    """What the assistant asked last was whether to go ahead."""


def exchange_of(session: History) -> Exchange:
    """Worked out once per session."""
    found = session.__dict__.get("exchange")
    if not isinstance(found, Exchange):
        found = session.__dict__["exchange"] = _exchange(session)
    return found


def _exchange(session: History) -> Exchange:
    question, answer = "", ""
    since: list[PastCall] = []
    after: list[str] = []
    for event in reversed(session.events):
        if isinstance(event, PastCall):
            if not answer:
                since.append(event)
        elif event.speaker == "user":
            if question:
                break
            answer = f"{event.text}\n{answer}" if answer else event.text
        elif answer:
            question = f"{event.text}\n{question}" if question else event.text
        else:
            after.append(event.text)
    pending = bool(after) and asks(after[0])
    asked = asks_to_confirm(after[0] if pending else question)
    return Exchange(question, answer, tuple(reversed(since)), pending, asked)


def has_user_agreed(facts: Facts) -> bool:
    """The user's newest words agree to what the assistant last put to them, and nothing was asked since."""
    exchange = exchange_of(facts.session)
    if exchange.pending:
        return False
    return consent(exchange.answer) == "yes" or _is_plain_order(facts.call.tool, exchange)


def _is_plain_order(tool: str, exchange: Exchange) -> bool:
    """A plain order to cancel or delete, in reply to the question which: it has no details left to agree on."""
    return (
        "delete" in actions_of(tool)
        and asks(exchange.question)
        and is_plain(exchange.answer)
        and any("delete" in command.actions for command in commands(exchange.answer))
    )
