"""Replies that say something was done, against what was done. In come words and calls; out come unsupported claims.

A claim is a sentence in the first person ("I have cancelled", "отменил", "ביטלתי") or in the passive ("has been
refunded", "возвращены", "בוטלה") whose verb is one of the actions that tools perform. It is supported when a call of
that kind succeeded in the conversation, or when a tool's result says the same (a status that is being reported).

What may surprise: offers, questions, conditions, plans, refusals and quotations are not claims, and a sentence that
cannot be told apart from one of those is given the benefit of the doubt. Reading ("I have found") claims nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from circumspect.policy.grounding.actions import ToolAction, actions_of
from circumspect.policy.grounding.fields import result_of
from circumspect.policy.grounding.normalise import fold
from circumspect.values import Effect, Language, PastCall, ToolSpec


@dataclass(frozen=True, slots=True)
class ActionClaim:
    """A sentence that says something was done, and what."""

    sentence: str
    action: str
    verb: str


VERBS: Mapping[ToolAction, str] = {
    "delete": "cancell?ed|deleted|removed|voided|terminated|deactivated|unsubscribed|revoked",
    "pay": "refunded|reimbursed|credited|charged|paid|transferred|compensated|issued",
    "send": "sent|e-?mailed|forwarded|notified|posted|published|messaged",
    "book": "booked|reserved|ordered|purchased",
    "change": "updated|changed|modified|rescheduled|moved|upgraded|downgraded|exchanged|swapped|replaced|adjusted"
    "|corrected"
    "|returned|switched|edited|renamed|reset|extended",
    "create": "created|added|scheduled|registered|opened|set up|placed|submitted|initiated|processed|completed|filed",
    "invite": "invited|granted|shared",
}
MARKS = ("ed", "sent", "paid", "set up", "reset")
"""Each of the verbs above has one of these in it."""
_SPEAKER = ("i ", "i'", "we ", "we'")
_DONE_RU: Mapping[ToolAction, str] = {
    "delete": r"отмен(?:ил[аи]?|[её]н[аоы]?)|удал(?:ил[аи]?|[её]н[аоы]?)|аннулирован[аоы]?",
    "pay": r"вернул[аи]?|возвращен[аоы]?|оплатил[аи]?|оплачен[аоы]?|перев(?:ел[аи]?|еден[аоы]?)|зачислен[аоы]?"
    r"|списан[аоы]?",
    "send": r"отправил[аи]?|отправлен[аоы]?|выслал[аи]?|выслан[аоы]?|опубликовал[аи]?|опубликован[аоы]?",
    "book": r"забронировал[аи]?|забронирован[аоы]?|заказал[аи]?|купил[аи]?",
    "change": r"измен(?:ил[аи]?|[её]н[аоы]?)|обновил[аи]?|обновлен[аоы]?|перен[её]с(?:л[аи])?|перенесен[аоы]?"
    r"|заменил[аи]?"
    r"|заменен[аоы]?|исправил[аи]?|исправлен[аоы]?",
    "create": r"создал[аи]?|создан[аоы]?|добавил[аи]?|добавлен[аоы]?|оформил[аи]?|оформлен[аоы]?|записал[аи]?",
    "invite": r"пригласил[аи]?|приглашен[аоы]?",
}
_DONE_HE: Mapping[ToolAction, str] = {
    "delete": "ביטלתי|ביטלנו|בוטלה|בוטל|בוטלו|מחקתי|נמחק|נמחקה|הסרתי|הוסר|הוסרה",
    "pay": "החזרתי|החזרנו|הוחזר|הוחזרה|זיכיתי|זוכה|זוכית|שילמתי|שולם|העברתי|הועבר|חויב|חויבה",
    "send": "שלחתי|שלחנו|נשלח|נשלחה|נשלחו|פרסמתי|פורסם|פורסמה",
    "book": "הזמנתי|הזמנו|הוזמן|הוזמנה|שריינתי|רכשתי",
    "change": "שיניתי|שינינו|שונה|שונתה|עדכנתי|עדכנו|עודכן|עודכנה|החלפתי|הוחלף|תיקנתי|תוקן|דחיתי|נדחה",
    "create": "יצרתי|נוצר|נוצרה|הוספתי|נוסף|נוספה|קבעתי|נקבע|נקבעה|רשמתי|נרשם|פתחתי",
    "invite": "הזמנתי|שיתפתי|שותף",
}
_SUPPORTS: Mapping[ToolAction, frozenset[ToolAction]] = {
    # A call of one of these kinds makes the claim true: cancelling refunds, exchanging changes, booking charges.
    "delete": frozenset(("delete",)),
    "pay": frozenset(("pay", "delete", "change", "book", "create", "send")),
    "send": frozenset(("send", "invite", "create", "delete", "change", "book", "pay")),
    "book": frozenset(("book", "create", "change")),
    "change": frozenset(("change", "create", "delete", "book")),
    "create": frozenset(("create", "book", "change", "delete", "pay", "send", "invite")),
    "invite": frozenset(("invite", "create", "send")),
}
_ADVERB = r"(?:(?:now|just|already|also|successfully|fully|now successfully|gone ahead and|hereby|both|all|since)\s+)*"
_OWN_NOTES = (
    r"(?: the| your| my| our)* (?:request|requested|summary|plan|list|notes?|draft|details|understanding|information)"
)
"""What an assistant keeps in its head: updating that changes nothing."""
_FIRST = {
    action: re.compile(
        rf"\b(?:i|we)(?:'ve| have)\s+{_ADVERB}(?P<verb>{verbs})\b(?!{_OWN_NOTES})"
        rf"|\b(?:i|we)\s+{_ADVERB}(?P<past>{verbs})\s+(?:the|your|an?|both|all|it|them|that|this)\b(?!{_OWN_NOTES})"
    )
    for action, verbs in VERBS.items()
}
_PASSIVE = {
    action: re.compile(
        rf"\b(?:has been|have been|is now|are now|has now been|have now been)\s+{_ADVERB}(?P<verb>{verbs})\b"
    )
    for action, verbs in VERBS.items()
}
_SHORT = {
    action: re.compile(rf"^(?:done|all done|great news)?[!,.:\s]*(?:successfully )(?P<verb>{verbs})\b")
    for action, verbs in VERBS.items()
}
_OTHERS = {action: re.compile(rf"(?<!\w)(?P<verb>{_DONE_RU[action]}|{_DONE_HE[action]})(?!\w)") for action in VERBS}
_ON_PAGES: Mapping[str, str] = {
    # What an action on a page brings about, by the action that does it.
    "submit": r"(?:signed|logged) (?:(?:you|us) )?(?:in|out|up|on|off)|saved|confirmed(?! that)|uploaded"
    r"|subscribed|accepted"
    r"|вош[её]л|вошл[аи]|авторизовал\w+|залогинил\w+|сохранил[аи]?|сохран[её]н[аоы]?|подтвердил[аи]?|подтвержд[её]н[аоы]?"
    r"|загрузил[аи]?|загружен[аоы]?|התחברתי|נכנסתי|התנתקתי|שמרתי|נשמר|נשמרה|אישרתי|אושר|אושרה|העליתי",
    "type": r"filled(?: (?:in|out))?|entered|typed|selected|chosen|ticked"
    r"|заполнил[аи]?|заполнен[аоы]?|в[вн][её]л|ввел[аи]|внесл[аи]|выбрал[аи]?|выбран[аоы]?|отметил[аи]?"
    r"|מילאתי|הזנתי|הקלדתי|בחרתי|סימנתי",
}
_FILLING = frozenset(("type", "select", "click", "press", "submit"))
_SAID_ON_PAGES = {
    action: re.compile(
        rf"(?:\b(?:i|we)(?:'ve| have)?\s+{_ADVERB}|\b(?:has|have) (?:now )?been\s+{_ADVERB}|\b(?:you are|you're) now\s+"
        rf"|(?<!\w)(?=[^\x00-\x7f]))(?P<verb>{verbs})(?!\w)"
    )
    for action, verbs in _ON_PAGES.items()
}
_WE = re.compile(r"\b(?:i|we)\b")
_BY_SOMEBODY = re.compile(r"(?:[еёа]н[аоы]?|נשמרה?|אושרה?)$")
_NOT_A_CLAIM = re.compile(
    r"\b(?:if|once|when|whenever|until|unless|before|whether|would|could|should|might|may|will|won't|shall|can|cannot"
    r"|can't|to be|please"
    r"|not|n't|never|unable|no|neither|hasn't|haven't|wasn't|weren't|isn't|aren't|didn't|couldn't|only|cannot|let me"
    r"|going to|as soon as"
    r"|after|must|need|needs|want|wish|plan|sorry|unfortunately|appears?|seems?|looks like|noticed|see that|shows?"
    r"|according to|you (?:have )?(?:already )?"
    r"(?:mentioned|said|told)|originally|previously|earlier|recently|policy|eligible|example"
    r"|если|когда|после|будет|будут|можно|нельзя|не|хотите|пожалуйста|могу|был бы|чтобы|ранее"
    r"|אם|כאשר|כש\w+|לאחר|אחרי|יהיה|תהיה|יכול|יכולה|לא|האם|בבקשה|ברצונך)\b"
)
_ID = re.compile(r"(?<![\w$.,])(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{5,12}(?![\w.]*\d)")
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")
_QUOTED = re.compile(r"[\"“«][^\"”»]{0,300}[\"”»]")


def find_unsupported_claims(
    reply: str,
    language: Language | None,
    ran: Collection[PastCall],
    specs: Mapping[str, ToolSpec] | None = None,
) -> tuple[ActionClaim, ...]:
    """The claims in a reply that nothing backs. `ran` is what the conversation has done so far, results included.

    With `specs`, a tool whose declared effect is `read` backs no claim; without, a tool's name decides.
    """
    claims = claims_in(reply)
    if not claims:
        return ()
    return tuple(claim for claim in claims if not _is_supported(claim, ran, specs))


def find_unsupported_on_page(
    reply: str,
    language: Language | None,
    ran: Collection[PastCall],
    specs: Mapping[str, ToolSpec] | None = None,
    *,
    shown: str = "",
) -> tuple[ActionClaim, ...]:
    """The same of actions on a web page, where only what was sent off changes anything: opening and filling in does
    not. To have signed in or filled in is a claim here, too, unless it is what the page says (`shown`) of others."""
    sent = [one for one in ran if one.call.tool == "submit"]
    did = {"submit": any(one.ok for one in sent), "type": any(one.ok and one.call.tool in _FILLING for one in ran)}
    more = [claim for claim in _read(reply, _on_page) if not did[claim.action]]
    read = fold(shown) if more else ""
    more = [claim for claim in more if _is_ours(claim) or claim.verb[:6] not in read]
    return (*find_unsupported_claims(reply, language, sent, specs), *more)


def _is_ours(claim: ActionClaim) -> bool:
    """ "I have saved it", and not "it has been saved"."""
    if claim.verb.isascii():
        return _WE.search(fold(claim.sentence)) is not None
    return _BY_SOMEBODY.search(claim.verb) is None


def _does(event: PastCall, specs: Mapping[str, ToolSpec] | None) -> frozenset[ToolAction]:
    spec = specs.get(event.call.tool) if specs else None
    effect: Effect | None = spec.effect if spec else None
    actions = actions_of(event.call.tool)
    if effect == "read" or actions == {"open"}:
        return frozenset()
    # A tool that changes something in a way that its name does not tell may have done any of it.
    return actions or (frozenset(VERBS) if effect else frozenset())


def _is_supported(claim: ActionClaim, ran: Collection[PastCall], specs: Mapping[str, ToolSpec] | None) -> bool:
    """A call of that kind succeeded, on one of the records that the sentence names; or a result says the same."""
    action = next(name for name in VERBS if name == claim.action)
    ids = {match.group().lower() for match in _ID.finditer(claim.sentence)} if action in ("delete", "change") else set()
    for event in ran:
        if event.ok and _does(event, specs) & _SUPPORTS[action] and (not ids or _touches(event, ids)):
            return True
    stem = claim.verb[:6]
    return any(
        stem in text and (not ids or any(one in text for one in ids))
        for text in (result_of(event.result).reading.text for event in ran if event.ok)
    )


def _touches(event: PastCall, ids: Collection[str]) -> bool:
    text = f"{event.call.arguments} {event.result}".lower()
    return any(one in text for one in ids)


@lru_cache(maxsize=512)
def claims_in(reply: str) -> tuple[ActionClaim, ...]:
    """The sentences of a reply that say something was done."""
    return tuple(_read(reply, _find_action_verb))


def _read(reply: str, find: Callable[[str], tuple[str, str, int] | None]) -> Iterator[ActionClaim]:
    for piece in _SENTENCE.split(reply):
        if not piece.strip() or piece.rstrip().endswith("?"):
            continue
        sentence = fold(_QUOTED.sub(" ", piece).replace("*", ""))
        found = find(sentence)
        if found is None:
            continue
        action, verb, at = found
        # What stands before the verb decides: "if it has been cancelled", "it has not been cancelled".
        if _NOT_A_CLAIM.search(sentence[:at]):
            continue
        yield ActionClaim(piece.strip(), action, verb)


def _find_action_verb(sentence: str) -> tuple[str, str, int] | None:
    return _english(sentence) or (None if sentence.isascii() else _first(sentence, _OTHERS))


def _on_page(sentence: str) -> tuple[str, str, int] | None:
    for action, pattern in _SAID_ON_PAGES.items():
        if match := pattern.search(sentence):
            return action, match["verb"], match.start("verb")
    return None


def _english(sentence: str) -> tuple[ToolAction, str, int] | None:
    """Most sentences are told by a word that is not in them, without trying every pattern."""
    if "ed" not in sentence and not any(mark in sentence for mark in MARKS):
        return None
    first = _first(sentence, _FIRST) if any(word in sentence for word in _SPEAKER) else None
    short = _first(sentence, _SHORT) if first is None and "successfully " in sentence else None
    return first or short or (_first(sentence, _PASSIVE) if "been" in sentence or "now" in sentence else None)


def _first(sentence: str, patterns: Mapping[ToolAction, re.Pattern[str]]) -> tuple[ToolAction, str, int] | None:
    for action, pattern in patterns.items():
        if match := pattern.search(sentence):
            group = "verb" if match["verb"] else "past"
            return action, match[group], match.start(group)
    return None
