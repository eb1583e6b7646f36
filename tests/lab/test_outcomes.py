"""What people said and how things turned out, as labels: each on the turn that decided, as sure as it was then."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa
from tests.conftest import NOON

from circumspect import tool
from circumspect.errors import ToolError
from circumspect.lab.learning.outcome_stories import story_of
from circumspect.lab.learning.outcomes import DecisionLabel, gather, handing_over, observations
from circumspect.models.scripted import says
from circumspect.pipeline import run_turn
from circumspect.server.stores import privacy
from circumspect.stores import labels as stored_labels
from circumspect.stores import people
from circumspect.stores.codec import epoch
from circumspect.stores.labels import LabelRow, split_of
from circumspect.stores.tables import conversations, escalations
from circumspect.values import ConversationId, Incoming, PersonDecision, TenantId, TurnId

SHOP, TALK = TenantId("shop"), "c1"
FOUR_EYES = """\
version: 1
tools:
  get_order_status: {effect: read}
  cancel_order: {effect: destructive, confirm: four_eyes}
"""


async def labels(chat, since=None, **more) -> list[DecisionLabel]:
    setup = await chat.agent.open()
    return await setup.ports.store.tx(lambda connection: list(gather(connection, SHOP, since, **more)))


async def write(chat, turn: str, kind: str, **more) -> None:
    setup = await chat.agent.open()
    values = {"tool": None, "decision": None, "confidence": None, "value": None, "by": "key:k"} | more
    row = LabelRow(
        tenant=SHOP, id=f"{turn}:{values['by']}", conversation=TALK, turn=turn, kind=kind,
        split=split_of(SHOP, TALK), at=epoch(chat.clock.now()), **values,
    )  # fmt: skip
    await setup.ports.store.tx(stored_labels.put, row)


async def escalation(chat, turn: str, *, said: str = "", suggestion: str = "", resolved: bool = True, **more) -> None:
    """One that the turn made, or that an operator made of it, and what came of it."""
    setup = await chat.agent.open()
    store, now = setup.ports.store, chat.clock.now()

    def body(connection: sa.Connection) -> None:
        row = {"reason_code": "UNSURE_OF_ANSWER", "state": "open", "summary": "", "suggestion": suggestion} | more
        connection.execute(
            sa.insert(escalations).values(
                id="esc", tenant=SHOP, conversation=TALK, turn=turn, created_at=epoch(now), **row
            )
        )
        people.take_over(connection, None, "esc", "noa", now)
        if said:
            talk = ConversationId(TALK)
            people.person_says(connection, None, SHOP, talk, "noa", said, TurnId("by-hand"), now + timedelta(seconds=5))
        if resolved:
            people.resolve(connection, None, "esc", "noa", now + timedelta(seconds=9))

    await store.tx(body)


def shapes(found: list[DecisionLabel]) -> list[tuple]:
    return [(one.kind, one.right, one.decision, one.tool, one.by) for one in found]


# --- read off what is stored ------------------------------------------------------------------------------------------


async def test_a_yes_and_how_the_call_ended_judge_the_turn_that_proposed_it(chat):
    asked = await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    await chat.user("yes").runs("cancel_order")

    found = await labels(chat)

    assert sorted(shapes(found)) == [
        ("approve", True, "act", "cancel_order", "user"),
        ("outcome", True, "act", "cancel_order", "ledger"),
    ]
    assert {one.turn for one in found} == {asked.turn}


async def test_the_confidence_is_the_stated_one_and_not_the_capped_one(shop):
    agreed = '{"decision": "PROCEED", "reasoning": "", "message": ""}'
    chat = shop(replies=[says("", tool="cancel_order", params={"order_id": "12345"}, confidence=9), agreed])
    await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    await chat.user("no")

    [refused] = await labels(chat)

    assert shapes([refused]) == [("deny", False, "act", "cancel_order", "user")]
    assert refused.confidence == 0.9


async def test_a_yes_that_came_too_late_and_was_given_again_judges_the_first_proposal(chat):
    first = await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    chat.wait(minutes=6)
    await chat.user("yes").is_asked_to_confirm(order_id="12345")
    await chat.user("yes").runs("cancel_order")

    found = await labels(chat)

    assert {(one.kind, one.turn) for one in found} == {("approve", first.turn), ("outcome", first.turn)}


async def test_a_call_that_failed_was_not_right(shop, tmp_path):
    @tool(effect="read")
    async def get_order_status(order_id: str) -> str:
        raise ToolError("The warehouse does not answer.")

    proposal = says("", tool="get_order_status", params={"order_id": "12345"})
    (tmp_path / "reads.yaml").write_text("version: 1\ntools:\n  get_order_status: {effect: read}\n")
    replies, policy = [proposal, says("I could not find out.")], tmp_path / "reads.yaml"
    chat = shop(replies=replies, tools=[get_order_status], policy=policy)
    await chat.user("where is order 12345?")

    found = await labels(chat)

    assert shapes(found) == [("outcome", False, "act", "get_order_status", "ledger")]


async def decide(chat, decision: str, intent, **arguments):
    setup = await chat.agent.open()
    incoming = Incoming(
        SHOP, ConversationId(TALK), TurnId(setup.ports.ids.new("turn")), "", chat.clock.now(), principal="noa",
        errand=PersonDecision(intent.id, decision, "noa", arguments),
    )  # fmt: skip
    return await run_turn(incoming, setup)


@pytest.mark.parametrize(("decision", "right"), [("approve", True), ("deny", False), ("edit", False)])
async def test_what_a_colleague_decides_is_a_label(shop, tmp_path, decision, right):
    (tmp_path / "eyes.yaml").write_text(FOUR_EYES)
    chat = shop(policy=tmp_path / "eyes.yaml")
    asked = await chat.user("cancel order 12345")
    arguments = {"order_id": "12346", "reason": ""} if decision == "edit" else {}
    await decide(chat, decision, asked.pending, **arguments)

    found = [one for one in await labels(chat) if one.kind != "outcome"]

    assert shapes(found) == [(decision, right, "act", "cancel_order", "colleague")]
    assert found[0].turn == asked.turn


async def test_what_a_person_wrote_into_a_call_is_not_held_against_the_model(shop, tmp_path):
    (tmp_path / "eyes.yaml").write_text(FOUR_EYES)
    chat = shop(policy=tmp_path / "eyes.yaml")
    asked = await chat.user("cancel order 12345")
    edited = await decide(chat, "edit", asked.pending, order_id="12346", reason="")
    await decide(chat, "approve", edited.pending)

    found = await labels(chat)

    assert [one.kind for one in found if one.confidence is not None] == ["edit"]
    [only] = observations(found)
    assert not only.right


# --- what people said -------------------------------------------------------------------------------------------------


async def test_a_thumb_on_an_answer_takes_its_confidence_from_the_journal(shop):
    chat = shop(replies=[says("We open at nine.", confidence=8)])
    turn = await chat.user("when do you open?").is_answered()
    await write(chat, turn.turn, "thumbs_down")

    [label] = await labels(chat)

    assert shapes([label]) == [("thumbs_down", False, "answer", "", "key:k")]
    assert label.confidence == 0.8
    [seen] = observations([label])
    assert (seen.key, seen.right, seen.confidence) == (("", "answer"), False, 0.8)


async def test_a_thumb_on_the_turn_that_ran_a_call_judges_the_turn_that_proposed_it(chat):
    asked = await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    ran = await chat.user("yes").runs("cancel_order")
    await write(chat, ran.turn, "thumbs_down")

    found = await labels(chat)

    [thumb] = [one for one in found if one.kind == "thumbs_down"]
    assert (thumb.turn, thumb.decision, thumb.tool) == (asked.turn, "act", "cancel_order")
    [only] = observations(found)
    assert not only.right


async def test_in_the_service_profile_the_confidence_of_an_answer_is_the_computed_one(shop):
    from circumspect.policy.understanding.understood import SERVICE

    chat = shop(understanding=SERVICE)
    turn = await chat.user("what are your opening hours?")
    await write(chat, turn.turn, "thumbs_up")
    [label] = [one for one in await labels(chat) if one.kind == "thumbs_up"]
    computed = [
        message.meta["confidence"]["value"]
        for message in await chat.messages(internal=True)
        if message.kind == "understanding" and isinstance(message.meta.get("confidence"), dict)
    ]
    assert computed
    assert label.confidence == computed[0]


async def test_people_change_their_minds(chat):
    turn = await chat.user("what are your opening hours?").is_answered()
    await write(chat, turn.turn, "thumbs_up")
    await write(chat, turn.turn, "correct", value={"correction": "We are closed on Fridays."})

    [label] = await labels(chat)

    assert (label.kind, label.right, label.value["correction"]) == ("correct", False, "We are closed on Fridays.")


async def test_labels_brought_in_from_elsewhere_stand_for_themselves(chat):
    await chat.user("hello")
    setup = await chat.agent.open()
    row = LabelRow(
        SHOP, "crm-1", "case-77", "t", "outcome", "refund", "act", 0.7, {"right": True}, "train", "crm", epoch(NOON)
    )
    await setup.ports.store.tx(stored_labels.put, row)

    [label] = await labels(chat)

    assert (label.tool, label.decision, label.confidence, label.right) == ("refund", "act", 0.7, True)


# --- escalations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "suggestion", "needed", "why"),
    [
        ("", "", False, "resolved without a word"),
        ("Returns are  FREE.", "Our policy: returns are free. See the site.", False, "answered as was suggested"),
        ("I have sent you a new one.", "Returns are free.", True, "a person answered"),
        ("I have sent you a new one.", "", True, "a person answered"),
    ],
)
async def test_how_an_escalation_was_resolved_says_whether_it_was_needed(chat, said, suggestion, needed, why):
    turn = await chat.user("what are your opening hours?")
    await escalation(chat, turn.turn, said=said, suggestion=suggestion)

    [label] = await labels(chat)
    found = handing_over([label])

    assert (label.decision, label.right, label.why) == ("escalate", needed, why)
    assert (len(found.unnecessary), found.escalations) == (0 if needed else 1, 1)


async def test_what_somebody_said_about_an_escalation_counts_more_than_how_it_was_resolved(chat):
    turn = await chat.user("what are your opening hours?")
    await write(chat, turn.turn, "thumbs_up", decision="escalate")
    await escalation(chat, turn.turn)

    [label] = await labels(chat)

    assert (label.kind, label.right) == ("thumbs_up", True)


async def test_where_only_colleagues_count_a_visitors_thumb_neither_judges_nor_silences(chat):
    """D11: anybody can open a widget."""
    answer = await chat.user("what are your opening hours?").is_answered()
    handed = await chat.user("what is your phone number?")
    await write(chat, answer.turn, "thumbs_up", decision="answer", confidence=0.9)
    await write(chat, answer.turn, "thumbs_down", decision="answer", confidence=0.9, by="noa")
    await write(chat, handed.turn, "thumbs_up", decision="escalate")
    await escalation(chat, handed.turn)
    asked = await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    await chat.user("no")

    everyone, colleagues = await labels(chat), await labels(chat, whose="colleagues")

    refused = ("deny", asked.turn, "users")
    assert {(one.kind, one.turn, one.group) for one in everyone} == {
        ("thumbs_up", answer.turn, "users"), ("thumbs_down", answer.turn, "colleagues"),
        ("thumbs_up", handed.turn, "users"), refused,
    }  # fmt: skip
    assert {(one.kind, one.turn, one.group) for one in colleagues} == {
        ("thumbs_down", answer.turn, "colleagues"), ("outcome", handed.turn, "outcomes"), refused,
    }  # fmt: skip


async def test_an_open_escalation_and_one_about_a_call_say_nothing(chat):
    turn = await chat.user("what are your opening hours?")
    await escalation(chat, turn.turn, resolved=False, execution="exec-1")
    assert await labels(chat) == []


async def test_an_answer_that_a_person_took_over_from_should_have_been_escalated(chat):
    turn = await chat.user("what are your opening hours?").is_answered()
    await escalation(chat, turn.turn, said="We are closed today.", reason_code="WITH_A_PERSON")

    found = handing_over(await labels(chat))

    [missed] = found.missed
    assert (missed.turn, missed.why) == (turn.turn, "a person took over and answered")
    assert found.unnecessary == ()


async def test_answers_that_were_corrected_are_listed_and_those_that_were_liked_are_not(chat):
    good = await chat.user("what are your opening hours?").is_answered()
    bad = await chat.user("what is your phone number?").is_answered()
    await write(chat, good.turn, "thumbs_up")
    await write(chat, bad.turn, "correct", value={"correction": "It has changed."})

    found = handing_over(await labels(chat))

    assert [one.turn for one in found.missed] == [bad.turn]
    assert found.answers == 2


# --- since, splits, and what is forgotten -----------------------------------------------------------------------------


async def test_only_what_was_said_since_then_even_about_an_old_conversation(chat):
    turn = await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    await chat.user("no")
    chat.wait(hours=48)
    since = chat.clock.now()
    chat.wait(minutes=1)
    assert await labels(chat, since) == []

    await write(chat, turn.turn, "thumbs_down")

    assert [one.kind for one in await labels(chat, since)] == ["thumbs_down"]
    assert len(await labels(chat)) == 2


async def test_all_labels_of_a_conversation_are_on_the_same_side_of_the_split(chat):
    turn = await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    await chat.user("no")
    await write(chat, turn.turn, "thumbs_down")
    assert {one.split for one in await labels(chat)} == {split_of(SHOP, TALK)}


def test_about_three_of_ten_conversations_are_held_out():
    held = sum(split_of("shop", f"c{number}") == "held" for number in range(2000))
    assert 520 < held < 680


async def test_another_tenants_labels_are_not_ours(chat):
    turn = await chat.user("what are your opening hours?")
    await write(chat, turn.turn, "thumbs_up")
    setup = await chat.agent.open()
    theirs = await setup.ports.store.tx(lambda connection: list(gather(connection, TenantId("other"))))
    assert theirs == []


async def said_by_a_person(chat):
    turn = await chat.user("what are your opening hours?")
    setup = await chat.agent.open()
    named = sa.update(conversations).values(person="p1")
    await setup.ports.store.tx(lambda connection: connection.execute(named))
    return turn


@pytest.mark.parametrize("how", ["conversation", "person", "age"])
async def test_what_is_forgotten_takes_its_labels_along(chat, how):
    turn = await said_by_a_person(chat)
    await write(chat, turn.turn, "correct", value={"correction": "Dana lives in Haifa."})
    setup = await chat.agent.open()

    def forget(connection: sa.Connection) -> int:
        if how == "conversation":
            privacy.forget(connection, SHOP, ConversationId(TALK))
        elif how == "person":
            privacy.delete_person(connection, SHOP, "p1")
        else:
            privacy.forget_older(connection, SHOP, epoch(NOON) + 1e6)
        return int(connection.execute(sa.text("SELECT count(*) FROM labels")).scalar_one())

    assert await setup.ports.store.tx(forget) == 0
    assert await labels(chat) == []


async def test_a_persons_labels_are_in_what_is_exported_about_them(chat):
    turn = await said_by_a_person(chat)
    await write(chat, turn.turn, "correct", value={"correction": "We moved."})
    setup = await chat.agent.open()
    exported = await setup.ports.store.tx(privacy.export_person, SHOP, "p1")
    assert exported["conversations"][0]["labels"][0]["value"] == {"correction": "We moved."}


async def test_there_is_no_story_of_what_is_not_there(chat):
    setup = await chat.agent.open()
    assert await setup.ports.store.tx(story_of, SHOP, "nowhere") is None
