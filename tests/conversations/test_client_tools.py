"""Tools that the client runs, calls that come with no conversation, and replies heard while they are written."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.conftest import NOON
from tests.stores.words import execution

from circumspect.models.scripted import ScriptedModel, calls, says
from circumspect.pipeline import run_turn
from circumspect.policy.load import load
from circumspect.policy.rules import RULES_FOR_BARE_CALLS
from circumspect.reasons import ReasonCode
from circumspect.recall import to_past_call
from circumspect.values import (
    ChatMessage,
    ClientResult,
    ClientResults,
    ConversationId,
    ExecutionId,
    Incoming,
    OutsideCall,
    TenantId,
    ToolCall,
    ToolSpec,
    TurnId,
)

PROCEED = '{"decision": "PROCEED", "reasoning": ""}'


class ClientTools:
    """As a client would declare them: nothing here can be called."""

    def __init__(self, *specs: ToolSpec) -> None:
        self._specs = {spec.name: spec for spec in specs}

    def specs(self):
        return self._specs

    async def call(self, name, arguments, key):
        raise AssertionError("the client's tools run at the client's")

    lookup = call


def spec(name, effect, **properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return ToolSpec(name, f"{name} of an order", parameters, effect, client=True)


ORDER = {"order_id": {"type": "string"}}


@pytest.fixture
async def client(shop):
    def make(*replies):
        queue = list(replies)
        answers = lambda request: PROCEED if request.purpose == "critique" else queue.pop(0)  # noqa: E731
        tools = ClientTools(spec("get_order", "read", **ORDER), spec("cancel_order", "destructive", **ORDER))
        return shop(replies=answers, tools=tools, policy=None)

    return make


async def turn(chat, text="", **more):
    setup = await chat.agent.open()
    fresh = TurnId(setup.ports.ids.new("turn"))
    incoming = Incoming(chat.agent.tenant.id, ConversationId("c1"), fresh, text, chat.clock.now(), **more)
    return await run_turn(incoming, setup)


def proposes(tool, words="One moment."):
    return says(words, tool=tool, params={"order_id": "1001"}, confidence=10)


async def test_a_call_that_is_let_through_goes_to_the_client_and_its_result_comes_back(client):
    chat = client(proposes("get_order"), says("It is on its way."))
    first = await turn(chat, "where is order 1001?")
    assert [(call.tool, call.arguments) for call in first.calls] == [("get_order", {"order_id": "1001"})]
    assert ReasonCode.HANDED_TO_CLIENT in first.reason_codes
    (handed,) = await chat.executions()
    assert (handed.state, handed.id) == ("delegated", first.calls[0].id)
    talk = (
        ChatMessage("user", "where is order 1001?"),
        ChatMessage("assistant", "", first.calls),
        ChatMessage("tool", "shipped"),
    )
    result = ClientResults((ClientResult(ExecutionId(handed.id), "shipped"),))
    second = await turn(chat, errand=result, talk=talk)
    assert (second.outcome, second.reply) == ("answered", "It is on its way.")
    (known,) = await chat.executions()
    assert (known.state, known.result) == ("succeeded", "shipped")


@pytest.mark.parametrize(
    ("words", "heard"), [("I have cancelled order 1001.", ""), ("Let me look it up.", "Let me look it up.")]
)
async def test_words_beside_a_call_for_the_client_claim_nothing_that_did_not_happen(client, words, heard):
    ended = await turn(client(proposes("get_order", words)), "where is my order 1001?")
    assert [one.tool for one in ended.calls] == ["get_order"]
    assert ended.reply == heard


async def test_what_cannot_be_undone_is_handed_out_only_after_a_yes_and_once(client):
    chat = client(proposes("cancel_order"))
    asked = await turn(chat, "cancel order 1001")
    assert (asked.outcome, asked.calls) == ("asked", ())
    assert await chat.executions() == []
    confirmed = await turn(chat, "yes")
    assert [call.tool for call in confirmed.calls] == ["cancel_order"]
    again = await turn(chat, "yes")
    assert again.calls == ()
    assert len(await chat.executions("cancel_order")) == 1


async def test_a_result_nobody_waits_for_is_ignored(client):
    chat = client(says("Nothing new."))
    await turn(
        chat,
        errand=ClientResults((ClientResult(ExecutionId("exec-made-up"), "1,000,000"),)),
        talk=(ChatMessage("user", "hi"),),
    )
    assert await chat.executions() == []


async def test_a_result_is_taken_once(client):
    chat = client(proposes("get_order"), says("a"), says("b"))
    first = await turn(chat, "where is order 1001?")
    for result in ("shipped", "lost"):
        back = ClientResults((ClientResult(ExecutionId(first.calls[0].id), result),))
        await turn(chat, errand=back, talk=(ChatMessage("user", "hi"),))
    (known,) = await chat.executions()
    assert known.result == "shipped"


# --- calls with no conversation around them ---------------------------------------------------------------------------


async def proposed(chat, name, can_ask=False, **arguments):
    setup = replace(await chat.agent.open(), rules=RULES_FOR_BARE_CALLS)
    fresh = TurnId(setup.ports.ids.new("turn"))
    errand = OutsideCall(ToolCall(name, arguments), can_ask)
    incoming = Incoming(chat.agent.tenant.id, ConversationId("c1"), fresh, "", chat.clock.now(), errand=errand)
    return await run_turn(incoming, setup)


async def test_a_bare_call_that_reads_runs_at_once(chat):
    turn = await proposed(chat, "get_order_status", order_id="12345")
    assert turn.outcome == "acted"
    assert len(await chat.executions("get_order_status")) == 1


async def test_a_bare_call_that_destroys_waits_for_a_colleague(chat):
    turn = await proposed(chat, "cancel_order", order_id="12345")
    assert (turn.outcome, turn.pending.kind) == ("escalated", "approval")
    assert await chat.executions("cancel_order") == []
    done = await chat.agent.decide(turn.pending.id, "approve", by="dora", conversation="c1")
    assert done.outcome == "acted"


async def test_a_bare_call_asks_the_user_where_they_can_be_asked(chat):
    turn = await proposed(chat, "cancel_order", can_ask=True, order_id="12345")
    assert turn.pending.kind == "confirmation"
    done = await chat.agent.decide(turn.pending.id, "approve", by="user", conversation="c1")
    assert done.outcome == "acted"


async def test_a_bare_call_that_breaks_a_rule_runs_nothing_and_says_why(chat):
    turn = await proposed(chat, "drop_database")
    assert (turn.outcome, turn.pending) == ("blocked", None)
    (ruling,) = [entry for entry in turn.entries if entry.kind == "policy"]
    assert "drop_database" in ruling.meta["problem"]


# --- heard while it is written ------------------------------------------------------------------------------------------


class Ear:
    def __init__(self):
        self.pieces, self.entries = [], []

    def text(self, piece):
        self.pieces.append(piece)

    def entry(self, entry):
        self.entries.append(entry.kind)


async def heard(shop, *replies, mode="standard", text="hello"):
    ear = Ear()
    chat = shop(model=ScriptedModel(replies), mode=mode)
    turn = await chat.agent.turn(text, conversation="c1", listener=ear)
    return turn, ear


async def test_sentences_are_heard_as_they_come_and_are_the_beginning_of_the_reply(shop):
    reply = "We open at nine. We close at five. See you"
    turn, ear = await heard(shop, reply)
    assert len(ear.pieces) >= 2
    assert turn.reply == reply
    assert turn.reply.startswith("".join(ear.pieces))


async def test_a_claim_that_is_not_so_is_never_heard(shop):
    lie = "Good morning. I have cancelled your order 12345. Bye now."
    turn, ear = await heard(shop, lie, lie, text="cancel it")
    assert "cancelled" not in "".join(ear.pieces)
    assert turn.reply.startswith("".join(ear.pieces))


async def test_an_assessment_is_never_heard(shop):
    turn, ear = await heard(shop, 'Hello. How are you?\n<assessment>{"confidence": 3}</assessment>\nMore. And more.')
    assert "assessment" not in "".join(ear.pieces).lower()
    assert turn.reply.startswith("".join(ear.pieces))


async def test_in_adaptive_mode_words_wait_for_the_assessment(shop):
    turn, ear = await heard(shop, says("We open at nine. We close at five."), mode="adaptive")
    assert (ear.pieces, turn.outcome) == ([], "answered")
    assert "assessment" in ear.entries


async def test_a_yes_is_bound_to_the_words_as_they_were_heard(shop, tmp_path):
    """A standard plan asks only a colleague; the question follows what was already said."""
    path = tmp_path / "p.yaml"
    path.write_text("version: 1\ntools:\n  cancel_order: {effect: destructive, confirm: four_eyes}\n")
    reply = calls("cancel_order", {"order_id": "12345"}, "Certainly. One moment. ")
    ear = Ear()
    chat = shop(replies=[reply], mode="standard", policy=load(path))
    turn = await chat.agent.turn("cancel order 12345", conversation="c1", listener=ear)
    assert turn.reply.startswith("".join(ear.pieces))
    assert turn.pending.question == turn.reply


@pytest.mark.parametrize(("by_client", "counts"), [(True, True), (False, False)])
def test_a_clients_result_is_good_enough_for_calls_that_the_client_runs_itself(by_client, counts):
    turn = Incoming(TenantId("shop"), ConversationId("c1"), TurnId("t1"), "", NOON)
    ran = execution(turn, ToolCall("get_order", {"order_id": "1001"}), state="succeeded", runner="client")
    assert to_past_call(ran, {}, 0, by_client=by_client).vouched is counts
