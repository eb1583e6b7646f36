"""A plain order runs unasked where a policy lets it, and what is no order does not: wishes that are only implied, orders
of something else, reports of what was done, and whatever is no yes to the agent's own question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from circumspect import Gate
from circumspect.reasons import ReasonCode
from circumspect.values import ToolCall

REFUND = ToolCall("refund", {"order_id": "B-12", "amount": 30})
DELETE = ToolCall("delete_file", {"path": "notes.md"})
DELETE_OLD = ToolCall("delete_file", {"path": "old.md"})
CANCEL = ToolCall("cancel_booking", {"booking_id": "B-12"})
UNSUBSCRIBE = ToolCall("remove_subscription", {"subscription_id": "N-4"})
CLOSE = ToolCall("close_account", {"account_id": "ACC-7"})
PAY = ToolCall("send_money", {"to": "ann", "amount": 300})
ADDRESS = ToolCall("change_address", {"order_id": "4471", "address": "9 Elm Road, Dover"})
MOVE = ToolCall("move_booking", {"booking_id": "K-8", "date": "2026-12-03"})
MOVE_LATER = ToolCall("move_booking", {"booking_id": "K-8", "date": "2026-12-06"})
LIMIT = ToolCall("raise_limit", {"card_id": "C-55", "limit": 900})
NOTE = ToolCall("update_note", {"note_id": "N-31", "text": "call Ann"})
EVERY = (REFUND, DELETE, CANCEL, UNSUBSCRIBE, CLOSE, PAY, ADDRESS, MOVE, LIMIT, NOTE)


async def rule(call: ToolCall, *texts: str) -> tuple[str, Sequence[ReasonCode]]:
    """Of a call after what the user and the agent said in turn, the user first."""
    talk: list[Mapping[str, object]] = [
        {"role": "assistant" if at % 2 else "user", "content": text} for at, text in enumerate(texts)
    ]
    async with Gate({"version": 1, "tools": {one.tool: {"effect": "write"} for one in EVERY}}) as gate:
        ruling = await gate.rule(call, messages=talk)
        return ruling.verdict, ruling.reason_codes


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (REFUND, "Refund $30 for order B-12."),
        (REFUND, "please refund 30 dollars on B-12"),
        (REFUND, "Hey, refund me 30 for order B-12 please"),
        (REFUND, "Could you refund the 30 dollars I paid for B-12?"),
        (DELETE, "Get rid of the file notes.md"),
        (DELETE, "remove notes.md from my folder"),
        (DELETE, "Delete notes.md - it's a duplicate, I no longer need it."),
        (CANCEL, "Hi there! Please undo booking B-12"),
        (UNSUBSCRIBE, "Please remove subscription N-4"),
        (CLOSE, "close the account ACC-7"),
        (CANCEL, "Drop my booking B-12"),
        (CANCEL, "Call off booking B-12"),
        (DELETE, "Ok, remove notes.md now"),
        (DELETE, "Yes please remove notes.md"),
        (DELETE, "Can you please get rid of notes.md"),
        (REFUND, "Refund order B-12 in full, 30 dollars."),
        (DELETE, "Now delete notes.md and tell me when it is gone, I no longer need it"),
        (DELETE, "I don't need notes.md any more. Please delete notes.md."),
        (REFUND, "Just refund my order B-12, 30 dollars, and be quick about it"),
        (DELETE, "תמחק את notes.md"),
        (DELETE, "בבקשה מחקי את הקובץ notes.md"),
        (DELETE, "הסר את notes.md, אני לא צריך אותו יותר"),
        (REFUND, "החזירו לי 30 שקל על הזמנה B-12"),
        (REFUND, "תזכה אותי ב-30 שקל על הזמנה B-12"),
        (CANCEL, "בטל את הזמנה B-12"),
        (CANCEL, "היי, תבטלו בבקשה את הזמנה B-12"),
        (DELETE, "תיפטר מהקובץ notes.md"),
        (DELETE, "אני מבקש שתמחק את notes.md"),
        (DELETE, "אפשר בבקשה למחוק את notes.md"),
        (CLOSE, "תסגור את החשבון ACC-7"),
        (UNSUBSCRIBE, "תסירו אותי מהמינוי N-4"),
        (DELETE, "תוריד את notes.md"),
        (REFUND, "תחזיר לי 30 שקל על B-12"),
        (CANCEL, "תבטלי לי את B-12 תודה"),
        (DELETE, "אוקיי, תמחק עכשיו את notes.md"),
        (REFUND, 'אנא החזר 30 ש"ח עבור הזמנה B-12'),
        (DELETE, "נא למחוק את notes.md"),
        (CANCEL, "אני רוצה לבטל את הזמנה B-12"),
        (DELETE, "מחק notes.md"),
        (DELETE, "Удали notes.md"),
        (DELETE, "Пожалуйста, удалите файл notes.md"),
        (DELETE, "Убери notes.md, он мне больше не нужен"),
        (REFUND, "Верните мне 30 долларов за заказ B-12"),
        (REFUND, "Верни 30 долларов за B-12, пожалуйста"),
        (CANCEL, "Отмените бронь B-12"),
        (CANCEL, "Здравствуйте, отмените пожалуйста бронь B-12"),
        (DELETE, "Избавься от notes.md"),
        (DELETE, "Прошу удалить notes.md"),
        (DELETE, "Можете удалить notes.md, пожалуйста?"),
        (CLOSE, "Закройте аккаунт ACC-7"),
        (UNSUBSCRIBE, "Отпишите меня от N-4"),
        (DELETE, "Сотри notes.md"),
        (REFUND, "Возместите 30 долларов по заказу B-12"),
        (CANCEL, "Аннулируйте бронь B-12"),
        (DELETE, "Ок, теперь удаляй notes.md"),
        (DELETE, "Удалите, будьте добры, notes.md"),
        (CANCEL, "Я хочу отменить бронь B-12"),
        (REFUND, "Сделайте возврат 30 долларов за B-12"),
        (DELETE, "Уберите файл notes.md"),
        (REFUND, "Erstatten Sie mir bitte 30 Euro für Bestellung B-12"),
        (DELETE, "Entfernen Sie notes.md"),
        (DELETE, "Lösch notes.md, ich brauche die Datei nicht mehr"),
    ],
)
async def test_a_plain_order_is_not_only_implied(call: ToolCall, text: str) -> None:
    assert await rule(call, text) == ("allow", ())


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (DELETE, "My boss said: remove notes.md"),
        (DELETE, "I no longer need notes.md"),
        (DELETE, "I don't want notes.md any more"),
        (REFUND, "Refund policy for B-12?"),
        (DELETE, "Remove notes.md?"),
        (DELETE, "Removing notes.md would be bad"),
        (DELETE, "Don't remove notes.md"),
        (REFUND, "Refund 30 for B-12? I changed my mind about it"),
        (DELETE_OLD, "Remove notes.md from the favourites, I no longer need old.md"),
        (DELETE, "Refund 30 dollars for notes.md"),
        (DELETE, "Cancel my newsletter. I no longer need notes.md"),
        (REFUND, "Refunded 30 for order B-12 yesterday"),
        (DELETE, "The button says: delete notes.md, I no longer need it"),
        (DELETE, "Translate into German: remove notes.md"),
        (DELETE, "If I remove notes.md, what happens?"),
        (DELETE, "Remove notes.md. No wait, don't."),
        (DELETE, "I could remove notes.md"),
        (DELETE, "Delete everything except notes.md"),
        (DELETE, "Delete all files but notes.md"),
        (DELETE, "Delete all my files apart from notes.md"),
        (DELETE, "Delete old.md and a.txt, leave notes.md"),
        (DELETE, "Delete old.md, keep notes.md"),
        (CANCEL, "Cancel everything besides B-12"),
        (DELETE, "תמחק הכל חוץ מ-notes.md"),
        (DELETE, "Удали всё, кроме notes.md"),
        (DELETE, "Удали old.md, а notes.md оставь"),
        (DELETE, "Lösche alles außer notes.md"),
        (DELETE, "Lösche old.md, behalte notes.md"),
        (CANCEL, "Storniere alles bis auf B-12"),
        (DELETE, "Remove notes.md after I say so"),
        (DELETE, "Delete notes.md once I have confirmed"),
        (DELETE, "Please delete notes.md as soon as I've talked to Ann"),
        (REFUND, "Refund 30 for B-12 when I tell you"),
        (DELETE, "תמחק את notes.md אחרי שאגיד לך"),
        (DELETE, "Удали notes.md, когда я скажу"),
        (DELETE, "Lösche notes.md, sobald ich es sage"),
        (CANCEL, "Please book a table for two. I no longer want B-12"),
        (CANCEL, "Send me the invoice of B-12, I don't want it any more"),
        (DELETE, "הבוס אמר: תמחק את notes.md"),
        (DELETE, "אני כבר לא צריך את notes.md"),
        (DELETE, "לא רוצה את notes.md"),
        (DELETE, "תמחק את notes.md?"),
        (DELETE, "אל תמחק את notes.md"),
        (DELETE_OLD, "תמחק את notes.md, את old.md אני כבר לא צריך"),
        (DELETE, "תחזיר לי 30 שקל על notes.md"),
        (REFUND, "תמחק את הקובץ, ולגבי B-12 התחרטתי"),
        (REFUND, "החזר על B-12?"),
        (DELETE, "הוא מחק את notes.md"),
        (DELETE, "notes.md נמחק"),
        (DELETE, "אולי כדאי למחוק את notes.md"),
        (DELETE, "אם אני אמחק את notes.md מה יקרה?"),
        (DELETE, "תרגם לאנגלית: מחק את notes.md"),
        (DELETE, "תמחק את notes.md. רגע, לא."),
        (CANCEL, "תזמין לי שולחן. את B-12 אני לא רוצה יותר"),
        (CANCEL, "שלח לי חשבונית של B-12, התחרטתי"),
        (DELETE, "אשתי אומרת למחוק את notes.md"),
        (DELETE, "חשבתי למחוק את notes.md"),
        (REFUND, "איך מקבלים החזר של 30 על B-12?"),
        (DELETE, "Начальник сказал: удали notes.md"),
        (DELETE, "Мне больше не нужен notes.md"),
        (DELETE, "Не хочу notes.md"),
        (DELETE, "Удали notes.md?"),
        (DELETE, "Не удаляй notes.md"),
        (DELETE_OLD, "Удали notes.md, old.md мне больше не нужен"),
        (DELETE, "Верни 30 долларов за notes.md"),
        (REFUND, "Удали файл, а насчёт B-12 я передумал"),
        (REFUND, "Возврат за B-12 возможен?"),
        (DELETE, "Он удалил notes.md"),
        (DELETE, "notes.md удалён"),
        (DELETE, "Может, удалить notes.md"),
        (DELETE, "Если удалить notes.md, что будет?"),
        (DELETE, "Переведи на английский: удали notes.md"),
        (DELETE, "Удали notes.md. Хотя нет, не надо."),
        (CANCEL, "Закажи столик. B-12 мне больше не нужен"),
        (CANCEL, "Пришлите счёт за B-12, я передумал"),
        (DELETE, "Жена говорит удалить notes.md"),
        (DELETE, "Я думал удалить notes.md"),
        (REFUND, "Как получить возврат 30 долларов за B-12?"),
    ],
)
async def test_what_is_no_order_for_this_very_thing_is_asked_about(call: ToolCall, text: str) -> None:
    assert (await rule(call, text))[0] == "ask"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (DELETE, "he deleted notes.md"),
        (DELETE, "Ann deleted notes.md yesterday"),
        (DELETE, "notes.md was deleted"),
        (DELETE, "My colleague has already deleted notes.md"),
        (DELETE, "You deleted notes.md, why?"),
        (DELETE, "I accidentally deleted notes.md. Restore it"),
        (DELETE, "somebody removed notes.md from the folder"),
        (PAY, "somebody sent 300 from my account to ann"),
        (PAY, "Ann paid 300 last week"),
        (PAY, "300 were sent to ann"),
        (PAY, "My wife already sent ann 300"),
        (CANCEL, "booking B-12 was cancelled by the airline"),
        (CANCEL, "They cancelled B-12 on me"),
        (CANCEL, "B-12 got cancelled, what are my options?"),
        (DELETE, "The server wiped notes.md again"),
        (DELETE, "Он удалил notes.md"),
        (DELETE, "notes.md удалён"),
        (DELETE, "notes.md удалили вчера"),
        (DELETE, "Коллега случайно удалил notes.md"),
        (PAY, "Кто-то перевёл 300 с моего счёта"),
        (PAY, "300 уже отправлены ann"),
        (DELETE, "Анна стёрла notes.md"),
        (CANCEL, "Они отменили B-12"),
        (DELETE, "הוא מחק את notes.md"),
        (DELETE, "notes.md נמחק"),
        (DELETE, "הקובץ notes.md נמחק אתמול"),
        (PAY, "מישהו העביר 300 מהחשבון שלי"),
        (CANCEL, "ההזמנה B-12 בוטלה"),
        (DELETE, "אשתי מחקה את notes.md"),
        (PAY, "300 הועברו ל-ann"),
        (DELETE, "Er hat notes.md gelöscht"),
        (DELETE, "notes.md wurde gelöscht"),
        (PAY, "Jemand hat 300 von meinem Konto überwiesen"),
        (CANCEL, "B-12 ist storniert worden"),
        (DELETE, "Bob deleted notes.md, can you believe it"),
    ],
)
async def test_who_reports_a_deed_asks_for_none(call: ToolCall, text: str) -> None:
    assert (await rule(call, text))[0] == "ask"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (DELETE, "delete notes.md, he deleted the other one"),
        (DELETE, "he deleted the copy. Delete notes.md too"),
        (DELETE, "please get notes.md deleted"),
        (DELETE, "I need notes.md to be deleted"),
        (PAY, "ann sent me the goods, send ann 300"),
        (PAY, "I owe ann 300, transfer it"),
        (CANCEL, "My flight was cancelled, so cancel booking B-12"),
        (DELETE, "Хочу, чтобы notes.md был удалён"),
        (DELETE, "Он удалил копию. Удали notes.md"),
        (DELETE, "Нужно, чтобы вы удалили notes.md"),
        (PAY, "Переведите ann 300, она прислала товар"),
        (DELETE, "הוא מחק את העותק. תמחק את notes.md"),
        (PAY, "תעביר 300 ל-ann"),
        (DELETE, "אני רוצה שהקובץ notes.md יימחק"),
        (DELETE, "Er hat die Kopie gelöscht. Lösche notes.md"),
        (DELETE, "Ich möchte, dass notes.md gelöscht wird"),
        (CANCEL, "Der Flug wurde storniert, stornieren Sie B-12"),
    ],
)
async def test_an_order_beside_a_report_is_one(call: ToolCall, text: str) -> None:
    assert (await rule(call, text))[0] == "allow"


PUT = {
    "en": [
        (ADDRESS, "Order 4471 should end up at 9 Elm Road, Dover", "Shall I change the address of order 4471?"),
        (MOVE, "K-8 on 2026-12-03 would suit me better", "Would you like me to move booking K-8 to 2026-12-03?"),
        (LIMIT, "I need 900 on card C-55", "Do you want me to raise the limit of C-55 to 900?"),
        (NOTE, "N-31 must read call Ann", "I will update note N-31 to 'call Ann'. Is that OK?"),
    ],
    "he": [
        (ADDRESS, "הזמנה 4471 צריכה להגיע ל-9 Elm Road, Dover", "לשנות את הכתובת של הזמנה 4471?"),
        (MOVE, "K-8 ב-2026-12-03 יותר נוח לי", "האם להעביר את ההזמנה K-8 ל-2026-12-03?"),
    ],
    "ru": [
        (ADDRESS, "Заказ 4471 должен приехать на 9 Elm Road, Dover", "Изменить адрес заказа 4471?"),
        (MOVE, "K-8 мне удобнее на 2026-12-03", "Перенести бронь K-8 на 2026-12-03?"),
    ],
}
EVASIVE = {
    "en": [
        "hm, maybe",
        "let me think about it",
        "I'd rather check with my wife",
        "what does it cost?",
        "not sure yet",
        "give me a minute",
        "later today perhaps",
        "is it refundable?",
        "who will deliver it?",
        "depends on the price",
        "hmm...",
        "I'll get back to you",
        "let me sleep on it",
        "can I decide tomorrow?",
        "probably",
        "what would you do?",
        "hold on",
        "one sec, someone's at the door",
        "how long would that take?",
        "I need to ask my manager",
    ],
    "he": [
        "אולי",
        "תן לי לחשוב על זה",
        "אני מעדיף לבדוק עם אשתי",
        "כמה זה עולה?",
        "עוד לא בטוח",
        "רק רגע",
        "אולי אחר כך",
        "אפשר לקבל החזר?",
        "מי יביא את זה?",
        "תלוי במחיר",
        "המממ",
        "אחזור אליך",
        "אני אישן על זה",
        "אפשר להחליט מחר?",
        "כנראה",
        "מה היית עושה?",
        "חכה",
        "שנייה, מישהו בדלת",
        "כמה זמן זה ייקח?",
        "צריך לשאול את המנהל",
    ],
    "ru": [
        "хм, может быть",
        "дайте подумать",
        "я лучше посоветуюсь с женой",
        "сколько это стоит?",
        "пока не уверен",
        "минутку",
        "может, попозже",
        "это можно вернуть?",
        "кто доставит?",
        "зависит от цены",
        "хмм",
        "я вам перезвоню",
        "утро вечера мудренее",
        "можно решить завтра?",
        "наверное",
        "а вы бы что сделали?",
        "подождите",
        "секунду, кто-то пришёл",
        "сколько это займёт?",
        "надо спросить начальника",
    ],
}
AGREED = {
    "en": [
        "yes",
        "sure, go ahead",
        "yes please",
        "ok do it",
        "yep",
        "please do",
        "that's right",
        "correct",
        "yes, thanks",
        "absolutely",
    ],
    "he": [
        "כן",
        "בטח",
        "כן בבקשה",
        "אוקיי תעשה את זה",
        "יאללה",
        "כן תודה",
        "נכון",
        "בסדר",
    ],
    "ru": [
        "да",
        "конечно",
        "да, пожалуйста",
        "хорошо, делайте",
        "ага",
        "верно",
        "да, спасибо",
        "давайте",
    ],
}


@pytest.mark.parametrize(("language", "answer"), [(code, one) for code, said in EVASIVE.items() for one in said])
async def test_what_is_no_yes_to_the_agents_own_question_lets_nothing_run(language: str, answer: str) -> None:
    for call, wish, question in PUT[language]:
        verdict, reasons = await rule(call, wish, question, answer)
        assert (verdict, ReasonCode.WISH_TAKEN_BACK in reasons) == ("ask", True), call.tool


@pytest.mark.parametrize(("language", "answer"), [(code, one) for code, said in AGREED.items() for one in said])
async def test_a_yes_to_it_does(language: str, answer: str) -> None:
    for call, wish, question in PUT[language]:
        assert (await rule(call, wish, question, answer))[0] == "allow", call.tool


WISH = "Can K-8 be on December 3, or on December 6?"
OFFER = "Would you like me to move booking K-8 to 2026-12-03?"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (OFFER, "No, to the 6th please"),
        (OFFER, "make it the 6th"),
        ("Soll ich die Buchung K-8 auf den 3.12.2026 legen?", "Nein, lieber am 6."),
        ("Перенести бронь K-8 на 2026-12-03?", "нет, на 6 декабря"),
        ("האם להעביר את ההזמנה K-8 ל-2026-12-03?", "לא, ל-6 בדצמבר"),
    ],
)
async def test_who_answers_with_what_it_should_be_has_not_said_no(question: str, answer: str) -> None:
    assert (await rule(MOVE_LATER, WISH, question, answer))[0] == "allow"


@pytest.mark.parametrize(
    "answer", ["give me 5 minutes", "maybe, ask me again in 2 days", "ok, but what about my points?"]
)
async def test_other_figures_are_no_answer(answer: str) -> None:
    assert (await rule(MOVE, WISH, OFFER, answer))[0] == "ask"
