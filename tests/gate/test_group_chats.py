"""Several users in one conversation, told apart by the `name` of their messages: a yes is the asked one's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.gate.talks import Talk

from circumspect import Gate


def speak(talk: Talk, text: str, name: str, parts: bool = False) -> None:
    content: Any = [{"type": "text", "text": text}] if parts else text
    talk.messages.append({"role": "user", "content": content, **({"name": name} if name else {})})


CASES = [
    # who wishes, who answers, the person of the ruling, does the yes count
    ("alice", "alice", None, True),
    ("alice", "bob", None, False),
    ("alice", "", None, True),
    ("alice", "alice", "p1", True),
    ("alice", "bob", "p1", False),
    ("alice", "bob", "alice", False),
    ("bob", "bob", "alice", False),
    ("", "alice", "alice", True),
    ("", "bob", "alice", False),
    ("", "", "alice", True),
]


@pytest.mark.parametrize(("wishes", "answers", "person", "counts"), CASES)
@pytest.mark.parametrize("parts", [False, True])
async def test_a_yes_is_the_askeds(
    policy: Path, wishes: str, answers: str, person: str | None, counts: bool, parts: bool
) -> None:
    gate, talk = Gate(policy), Talk()
    if person == "alice" and wishes == "bob":
        speak(talk, "hello", "alice")
    speak(talk, "please cancel order 12345", wishes, parts)
    talk.looked_up("12345")
    asked = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages, person=person)
    assert asked.verdict == "ask"
    talk.agent(asked.ask_user)
    speak(talk, "yes", answers, parts)
    again = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages, person=person)
    assert again.allowed is counts
    assert counts or (again.intent and asked.intent and again.intent.id == asked.intent.id), (
        "it still waits for whoever was asked"
    )


async def test_whoever_chats_beside_it_neither_answers_nor_is_asked(gate: Gate) -> None:
    talk = Talk()
    speak(talk, "please cancel order 12345", "alice")
    talk.looked_up("12345")
    speak(talk, "lol", "bob")
    asked = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    talk.agent(asked.ask_user)
    for name in ("bob", ""):
        speak(talk, "yes", name)
        assert not (await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)).allowed
    talk.agent(asked.ask_user)
    speak(talk, "yes", "alice")
    assert (await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)).allowed
