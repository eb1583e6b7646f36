"""What the user only asked about, and what they took back, is no order: whatever the model makes of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.gate.talks import Talk

from circumspect import Gate, Ruling
from circumspect.clock import FixedClock
from circumspect.policy.understanding.wish_standing import find_standing, is_refused
from circumspect.reasons import ReasonCode
from circumspect.values import ToolCall, Utterance

POLICY = """
version: 1
tools:
  get_order: {effect: read}
  cancel_order: {effect: destructive}
  update_address: {effect: write, confirm: when_implied}
  delete_draft: {effect: write}
  close_ticket: {effect: write, confirm: never}
"""
MOVE = "5 Main Street, Boston 02110"
MOVED = ToolCall("move_booking", {"booking_id": "B-77", "date": "2026-03-05"})


@pytest.fixture
def gate(open_gate: Callable[..., Gate], clock: FixedClock) -> Gate:
    return open_gate(policy=POLICY, clock=clock)


@pytest.mark.parametrize(
    ("said", "tool", "standing"),
    [
        (["what would happen if you cancelled order 123?"], "cancel_order", "asked"),
        (["How do I change my address?"], "update_address", "asked"),
        (["How do I change my address?", "to 5 Main Street"], "update_address", "unknown"),
        (["How do I change my address?", "How long does that take?"], "update_address", "asked"),
        (["change my address", "how long does a change take?"], "update_address", "wished"),
        (["Can I cancel order 123?"], "cancel_order", "wished"),
        (["cancel order 123", "no wait, forget it"], "cancel_order", "taken back"),
        (["cancel order 123", "never mind", "ok, cancel it after all"], "cancel_order", "wished"),
        (["cancel order 123", "leave it at the door please"], "cancel_order", "wished"),
        (["cancel order 123", "No thanks."], "cancel_order", "wished"),
        (["cancel order 123", "forget order 124, cancel 123"], "cancel_order", "wished"),
        (["please don't cancel my order"], "cancel_order", "taken back"),
        (["send it", "actually, I changed my mind"], "send_parcel", "taken back"),
        (["בטל הזמנה 123", "עזוב, התחרטתי"], "cancel_order", "taken back"),
        (["отмените заказ 123", "нет, я передумал"], "cancel_order", "taken back"),
        (["Bitte stornieren Sie Bestellung 123", "nein, vergessen Sie es"], "cancel_order", "taken back"),
        (["I might want to cancel order 123"], "cancel_order", "asked"),
        (["Maybe I should cancel order 123"], "cancel_order", "asked"),
        (["I'm not sure whether to cancel order 123"], "cancel_order", "asked"),
        (["I was thinking about it and please cancel order 123"], "cancel_order", "wished"),
        (["Maybe you could cancel order 123 please"], "cancel_order", "wished"),
        (["Vielleicht sollte ich Bestellung 123 stornieren"], "cancel_order", "asked"),
        (["Lässt sich Bestellung 123 stornieren?"], "cancel_order", "asked"),
        (["Может, мне отменить заказ 123"], "cancel_order", "asked"),
        (["אולי כדאי לבטל את הזמנה 123"], "cancel_order", "asked"),
        (["My wife says to cancel order 123"], "cancel_order", "asked"),
        (["Mein Mann sagt, ich soll Bestellung 123 stornieren"], "cancel_order", "asked"),
        (["Жена говорит отменить заказ 123"], "cancel_order", "asked"),
        (["My wife wants to cancel order 123"], "cancel_order", "wished"),
        (["I heard you can do it, please cancel order 123"], "cancel_order", "wished"),
        (["cancel order 123", "no need"], "cancel_order", "taken back"),
        (["cancel order 123", "wait, no"], "cancel_order", "taken back"),
        (["cancel order 123", "let's skip it"], "cancel_order", "taken back"),
        (["cancel order 123", "no longer needed"], "cancel_order", "wished"),
        (["no wait, cancel order 124 instead"], "cancel_order", "wished"),
        (["Stornieren Sie Bestellung 123", "doch nicht nötig"], "cancel_order", "taken back"),
        (["отмените заказ 123", "хотя нет"], "cancel_order", "taken back"),
        (["בטלו את הזמנה 123", "בעצם לא"], "cancel_order", "taken back"),
        (["If it doesn't arrive by Friday, cancel order 123"], "cancel_order", "asked"),
        (["Wenn es bis Freitag nicht kommt, stornieren Sie Bestellung 123"], "cancel_order", "asked"),
        (["Если не придёт до пятницы, отмените заказ 123"], "cancel_order", "asked"),
        (["אם זה לא יגיע עד יום שישי, בטלו את הזמנה 123"], "cancel_order", "asked"),
        (["If it has not shipped, please cancel order 123"], "cancel_order", "wished"),
        (["If possible, cancel order 123 by tomorrow"], "cancel_order", "wished"),
        (["ship order 5 without changing the address"], "update_address", "unknown"),
        (["Delete order 771. No wait, forget it."], "delete_order", "taken back"),
        (["Delete order 771, I changed my mind about going"], "delete_order", "wished"),
        (["I don't know if I want to delete order 771"], "delete_order", "asked"),
        (["I never asked you to delete order 771"], "delete_order", "taken back"),
        (["My boss wants me to delete order 771, but I disagree"], "delete_order", "asked"),
        (["Ich bin nicht sicher, ob ich Bestellung 771 löschen soll"], "delete_order", "asked"),
        (["Make sure nobody deletes order 771"], "delete_order", "taken back"),
        (["I have already cancelled order 771 myself"], "cancel_order", "asked"),
        (["Mein Chef will, dass ich Bestellung 771 lösche."], "delete_order", "asked"),
        (["I'd hate to cancel order 771"], "cancel_order", "asked"),
        (["Я уже оплатил 20"], "pay_fee", "asked"),
        (["Cancel order 771. Or rather, let it stand."], "cancel_order", "taken back"),
        (["Storniere Bestellung 771, nein, lieber behalten."], "cancel_order", "taken back"),
        (["I could really use your help: cancel order 123"], "cancel_order", "wished"),
        (["Отмените уже заказ 123"], "cancel_order", "wished"),
        ([], "cancel_order", "unknown"),
    ],
)
def test_how_a_wish_stands(said: list[str], tool: str, standing: str) -> None:
    assert find_standing([Utterance("user", text, at) for at, text in enumerate(said)], tool) == standing


@pytest.mark.parametrize(
    ("talk", "tool", "standing"),
    [
        (("delete booking 771", "Are you sure?", "no"), "delete_booking", "taken back"),
        (("delete booking 771", "Shall I delete booking 771?", "No."), "delete_booking", "taken back"),
        (("delete booking 771", "One moment.", "nah"), "delete_booking", "taken back"),
        (("pay fee 20", "One moment.", "Actually don't."), "pay_fee", "taken back"),
        (("pay fee 20", "It is 12.50. Anything else?", "no, and don't pay it after all"), "pay_fee", "taken back"),
        (("Lösche die Buchung 771", "Sind Sie sicher?", "nein"), "delete_booking", "taken back"),
        (("Удали бронь 771", "Вы уверены?", "нет"), "delete_booking", "taken back"),
        (("מחק את הזמנה 771", "האם אתה בטוח?", "לא"), "delete_order", "taken back"),
        (("delete booking 771", "Anything else?", "no"), "delete_booking", "wished"),
        (("don't delete booking 771", "Shall I send you a receipt?", "yes, please"), "delete_booking", "taken back"),
        (("delete booking 771", "Would you like a receipt?", "no, thanks"), "delete_booking", "wished"),
        (
            ("don't delete booking 771", "Shall I delete it after all?", "yes, and thank you"),
            "delete_booking",
            "wished",
        ),
    ],
)
def test_a_no_is_held_against_what_was_said_before_it(talk: tuple[str, ...], tool: str, standing: str) -> None:
    said = [Utterance("assistant" if at % 2 else "user", text, at) for at, text in enumerate(talk)]
    assert find_standing(said, tool) == standing


@pytest.mark.parametrize(
    ("text", "standing"),
    [
        ("Maybe I should pay fee 20", "asked"),
        ("My wife says to pay fee 20", "asked"),
        ("I am not sure whether to pay fee 20", "asked"),
        ("How do I pay fee 20?", "asked"),
        ("Do I have to pay fee 20?", "asked"),
        ("I refuse to pay fee 20", "taken back"),
        ("I will not pay fee 20", "taken back"),
        ("Ich zahle die Gebühr 20 nicht", "taken back"),
        ("Я не буду платить за 20", "taken back"),
        ("Pay fee 20. No wait, forget it.", "taken back"),
        ("Pay fee 20", "wished"),
        ("Can you pay fee 20 for me?", "wished"),
        ("Never mind the other one. Please pay fee 20", "wished"),
        ("Zahl bitte die Gebühr 20", "wished"),
        ("Оплатите 20, пожалуйста", "wished"),
    ],
)
def test_paying_is_no_order_where_it_is_only_talked_about(text: str, standing: str) -> None:
    assert find_standing([Utterance("user", text, 0)], "pay_fee") == standing


SPOKEN = {"u": "user", "a": "assistant"}


@pytest.mark.parametrize(
    ("said", "call", "refused"),
    [
        (["u Move booking B-77 to March 5", "a Shall I move booking B-77 to March 5?", "u no"], MOVED, True),
        (["u Move booking B-77 to March 5", "a Shall I move booking B-77 to March 5?", "u not now"], MOVED, True),
        (["u Move booking B-77 to March 5", "a Done. Shall I?", "u No, thanks."], MOVED, True),
        (["u B-77 auf den 5. März bitte", "a Soll ich B-77 auf den 5. März legen?", "u lieber nicht"], MOVED, True),
        (["u B-77 на 5 марта", "a Перенести B-77 на 5 марта? Подтвердите, пожалуйста.", "u не надо"], MOVED, True),
        (["a Shall I move booking B-77 to March 5?", "u no", "a All right.", "u thanks"], MOVED, True),
        (["a Shall I move booking B-77 to March 5?", "u no", "a What then?", "u B-77 to the 6th"], MOVED, False),
        (["a Shall I move booking B-77 to March 5?", "u no", "a Shall I move it after all?", "u yes"], MOVED, False),
        (["a Shall I move booking B-77 to March 5?", "u yes"], MOVED, False),
        (["u Move B-77", "a I can do that. Is there anything else I can help you with today?", "u no"], MOVED, False),
        (["u Move B-77", "a B-77 it is. Do you need a parking space on that day?", "u no"], MOVED, False),
        (["u no"], MOVED, False),
    ],
)
def test_a_plain_no_is_one_whatever_the_deed_is_called(said: list[str], call: ToolCall, refused: bool) -> None:
    talk = [Utterance(SPOKEN[one[0]], one[2:], at) for at, one in enumerate(said)]
    assert is_refused(talk, call) is refused


async def test_a_no_to_a_deed_without_words_of_its_own_is_asked_about(gate: Gate) -> None:
    talk = Talk(f"I want order 12345 to go to {MOVE}").looked_up("12345")
    talk.agent(f"Shall I change the address of order 12345 to {MOVE}?").user("no")
    ruling = await gate.rule(talk.call("update_address", order_id="12345", address=MOVE), messages=talk.messages)
    assert (ruling.verdict, ruling.reason_codes) == ("ask", (ReasonCode.WISH_TAKEN_BACK,))


async def test_a_question_is_no_order(gate: Gate) -> None:
    talk = Talk(f"how do I change the address of order 123 to {MOVE}?").looked_up("123")
    ruling = await gate.rule(talk.call("update_address", order_id="123", address=MOVE), messages=talk.messages)
    assert (ruling.verdict, ruling.reason_codes) == ("ask", (ReasonCode.ONLY_ASKED,))
    talk.agent(ruling.ask_user).user("yes")
    again = talk.call("update_address", order_id="123", address=MOVE)
    assert (await gate.rule(again, messages=talk.messages)).allowed
    plain = Talk(f"change the address of order 123 to {MOVE}").looked_up("123")
    call = plain.call("update_address", order_id="123", address=MOVE)
    assert (await gate.rule(call, messages=plain.messages, conversation="plain")).allowed


@pytest.mark.parametrize("words", ["no wait, forget it", "leave it", "actually, leave it as it is"])
@pytest.mark.parametrize("tool", ["cancel_order", "delete_draft", "update_address"])
async def test_what_was_taken_back_is_asked_about(gate: Gate, tool: str, words: str) -> None:
    talk = Talk("cancel order 123, delete the draft, and change its address").looked_up("123").user(words)
    ruling = await gate.rule(talk.call(tool, order_id="123"), messages=talk.messages)
    assert ruling.verdict == "ask"
    assert ReasonCode.WISH_TAKEN_BACK in ruling.reason_codes


async def test_a_policy_that_never_asks_does_not(gate: Gate) -> None:
    talk = Talk("close ticket 7").user("no wait, forget it")
    assert (await gate.rule(talk.call("close_ticket", number="7"), messages=talk.messages)).allowed


async def let_through(gate: Gate, talk: Talk) -> Ruling:
    ruling = await gate.rule(talk.call("cancel_order", order_id="123"), messages=talk.messages, person="p1")
    talk.agent(ruling.ask_user).user("yes")
    let = await gate.rule(talk.call("cancel_order", order_id="123"), messages=talk.messages, person="p1")
    assert let.allowed
    return let


@pytest.mark.parametrize("another_first", [False, True])
async def test_an_earlier_yes_is_void_once_it_was_taken_back(
    gate: Gate, clock: FixedClock, another_first: bool
) -> None:
    talk = Talk("cancel order 123").looked_up("123")
    let = await let_through(gate, talk)
    clock.advance(seconds=5)
    talk.agent("One moment.").user("no wait, forget it")
    if another_first:  # the words were heard with another call, perhaps by another process
        await gate.rule(talk.call("get_order", order_id="123"), messages=talk.messages, person="p1")
        gate._talks.clear()
    for _ in range(2):
        again = await gate.rule(talk.call("cancel_order", order_id="123"), messages=talk.messages, person="p1")
        assert (again.verdict, again.reason_codes) == ("deny", (ReasonCode.WISH_TAKEN_BACK,))
        assert "forget it" in again.tell_model
    await gate.ran(let, not_run=True)
    talk.agent("All right.").user("ok, do cancel order 123")
    asked = await gate.rule(talk.call("cancel_order", order_id="123"), messages=talk.messages, person="p1")
    assert asked.verdict == "ask"
    assert asked.intent


async def test_small_talk_after_a_yes_takes_nothing_back(gate: Gate, clock: FixedClock) -> None:
    talk = Talk("cancel order 123").looked_up("123")
    let = await let_through(gate, talk)
    clock.advance(seconds=5)
    talk.agent("Done soon. Anything else?").user("no, thanks")
    again = await gate.rule(talk.call("cancel_order", order_id="123"), messages=talk.messages, person="p1")
    assert again.allowed
    assert again.execution == let.execution


async def test_a_no_stays_a_no_though_the_model_insists(gate: Gate) -> None:
    talk = Talk("cancel order 123").looked_up("123")
    asked = await gate.rule(talk.call("cancel_order", order_id="123"), messages=talk.messages)
    talk.agent(asked.ask_user).user("no")
    for _ in range(3):
        again = await gate.rule(talk.call("cancel_order", order_id="123"), messages=talk.messages)
        assert (again.verdict, again.reason_codes) == ("deny", (ReasonCode.DENIED_BY_USER,))


@pytest.mark.parametrize(
    "question", ["Shall I delete draft A-771?", "Are you sure? I would delete A-771 now.", "Sure?"]
)
@pytest.mark.parametrize(
    "answer",
    [
        "let me think",
        "I need to ask my wife first",
        "I'm not sure",
        "maybe later",
        "no",
        "תני לי לחשוב",
        "дайте подумать",
    ],
)
async def test_asked_whether_to_go_ahead_only_a_yes_is_one(gate: Gate, question: str, answer: str) -> None:
    talk = Talk("Delete draft A-771 please").agent(question).user(answer)
    ruling = await gate.rule(talk.call("delete_draft", draft_id="A-771"), messages=talk.messages)
    assert (ruling.verdict, ReasonCode.WISH_TAKEN_BACK in ruling.reason_codes) == ("ask", True)


@pytest.mark.parametrize(
    "answer",
    ["yes", "ok", "Yes please, go ahead", "I am", "can't see why not", "positive", "delete it", "כן", "да, удаляйте"],
)
async def test_a_yes_or_the_order_again_is_one(gate: Gate, answer: str) -> None:
    talk = Talk("Delete draft A-771 please").agent("Shall I delete draft A-771?").user(answer)
    ruling = await gate.rule(talk.call("delete_draft", draft_id="A-771"), messages=talk.messages)
    assert ReasonCode.WISH_TAKEN_BACK not in ruling.reason_codes


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Draft A-771 has two readers. Really delete it?", "uhh"),
        ("It cannot be had back afterwards. OK to delete it?", "ok, then I gotta save a copy first"),
        ("Three people share it. Do you want me to go through with it?", "lemme run it by my boss"),
        ("Delete it now?", "yeah no, not today"),
        ("Want me to delete A-771?", "yes it is a lot of work, isn't it. I'll sleep on it"),
        ("Shall I delete the draft?", "ok so what happens to the pictures in it?"),
        ("Shall I delete the draft?", "will that delete the pictures in it, too?"),
        ("Entwurf jetzt löschen?", "Ja, aber erst wenn ich eine Kopie habe"),
        ("Удалить черновик?", "щас, минутку, гляну что там"),
        ("למחוק את הטיוטה?", "שניה, אני שואל את אשתי"),
    ],
)
async def test_whoever_waits_for_something_has_not_said_yes(gate: Gate, question: str, answer: str) -> None:
    talk = Talk("Delete draft A-771 please").agent(question).user(answer)
    ruling = await gate.rule(talk.call("delete_draft", draft_id="A-771"), messages=talk.messages)
    assert (ruling.verdict, ReasonCode.WISH_TAKEN_BACK in ruling.reason_codes) == ("ask", True)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("May I have your e-mail to delete the draft?", "dana@example.com"),
        ("Which draft shall I delete?", "the one about the fair"),
        ("I can delete it for you. What is the number of the draft?", "A-771"),
        ("Shall I delete the draft? To confirm, what are the last digits of your number?", "4711"),
        ("Would you like me to send you a receipt?", "whatever"),
    ],
)
async def test_another_question_is_not_whether_to_go_ahead(gate: Gate, question: str, answer: str) -> None:
    talk = Talk("Delete draft A-771 please").agent(question).user(answer)
    ruling = await gate.rule(talk.call("delete_draft", draft_id="A-771"), messages=talk.messages)
    assert ReasonCode.WISH_TAKEN_BACK not in ruling.reason_codes


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("תמחק את הקובץ alt.txt", "allow"),
        ("Удалите, пожалуйста, alt.txt", "allow"),
        ("היא תמחק את הקובץ alt.txt", "ask"),
        ("Коллега сказал: удали alt.txt", "ask"),
    ],
)
async def test_an_imperative_is_no_implication_in_any_language(
    open_gate: Callable[..., Gate], clock: FixedClock, said: str, verdict: str
) -> None:
    gate = open_gate(policy="version: 1\ntools:\n  delete_file: {effect: write}\n", clock=clock)
    call = ToolCall("delete_file", {"path": "alt.txt"})
    assert (await gate.rule(call, messages=[{"role": "user", "content": said}])).verdict == verdict
