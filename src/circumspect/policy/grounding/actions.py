"""What kind of thing a tool does, and in which words people ask for it: en, he, ru.

`actions_of` reads a tool's name; `asked_for` reads a person's words; `commands` finds the sentences of a text that tell
the reader to do something. All three speak of the same few actions, so that "who asked for this call?" is a comparison
of sets.

What may surprise: this is a word list, not a parser. It errs towards seeing a request in the user's words and is strict
about what a command in somebody else's text looks like: an imperative at the head of a sentence, or "you must ...".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from circumspect.policy.grounding.normalise import fold

ToolAction = Literal["send", "pay", "create", "book", "delete", "change", "invite", "open"]

_VERBS: Mapping[ToolAction, str] = {
    # The imperative, in the form that stands at the head of a command.
    "send": "send|e-?mail|mail|message|text|dm|forward|notify|tell|inform|reply|respond|write|post|publish|tweet|share"
    "|submit|upload|announce|deliver|leak|report|contact|отправь(?:те)?|перешли(?:те)?|напиши(?:те)?|сообщи(?:те)?"
    "|опубликуй(?:те)?|ответь(?:те)?|пошли(?:те)?|שלח[יו]?|תשלח[יו]?|העבר|תעביר[יו]?|כתוב|תכתוב|פרסם|תפרסם",
    "pay": "pay|transfer|wire|send|refund|remit|reimburse|settle|buy|purchase|donate|charge|переведи(?:те)?"
    "|оплати(?:те)?|заплати(?:те)?|верни(?:те)?|שלם|תשלם|העבר|תעביר[יו]?|החזר|תחזיר",
    "create": "create|add|make|set up|schedule|register|put|write|append|insert|save|plan|draft|generate|start|remind"
    "|enter|log|place|build|выпиши(?:те)?|создай(?:те)?|добавь(?:те)?|запланируй(?:те)?|запиши(?:те)?|צור|תיצור|הוסף"
    "|תוסיף|קבע|תקבע|רשום",
    "book": "book|reserve|make|order|buy|purchase|get|place|забронируй(?:те)?|закажи(?:те)?|купи(?:те)?|הזמן|תזמין|קנה",
    "delete": "delete|remove|erase|drop|clear|trash|discard|cancel|kick|unsubscribe|wipe|purge|revoke|terminate|abort"
    "|close|удали(?:те)?|отмени(?:те)?|убери(?:те)?|сотри(?:те)?|מחק|תמחק|הסר|תסיר|בטל|תבטל",
    "change": "update|change|modify|adjust|edit|set|reset|reschedule|move|postpone|correct|fix|rename|switch|replace"
    "|alter|amend|upgrade|downgrade|increase|decrease|raise|lower|extend|swap|exchange|convert|return|mark"
    "|измени(?:те)?|обнови(?:те)?|поменяй(?:те)?|перенеси(?:те)?|исправь(?:те)?|установи(?:те)?|שנה|תשנה|עדכן|תעדכן"
    "|החלף|תחליף|הזז",
    "invite": "invite|add|share|grant|give|include|пригласи(?:те)?|добавь(?:те)?|поделись|הזמן|תזמין|הוסף|תוסיף|שתף",
    "open": "open|visit|read|get|go to|browse|look at|check out|check|fetch|see|view|click|follow|download|load|access"
    "|navigate|call|request|открой(?:те)?|зайди(?:те)?|посети(?:те)?|прочитай(?:те)?|перейди(?:те)?|скачай(?:те)?"
    "|פתח|תפתח|בקר|כנס|היכנס|קרא|תקרא|לחץ",
}
_WISHES: Mapping[ToolAction, str] = {
    # Other words in which a person asks for the same thing.
    "send": "sen[dt]\\w*|e-?mails?|e-?mailing|messag\\w*|texting|dms?|forward\\w*|notif\\w+|let \\w+ know|tell\\w*"
    "|inform\\w*"
    "|repl(?:y|ies)\\w*|respon[ds]\\w*|writ(?:e|ing)\\w*|post(?:s|ed|ing)?|publish\\w*|tweet\\w*|shar(?:e|ing)"
    "|submit\\w*|upload\\w*"
    "|announce\\w*|feedback|congratulate|thank|ask|contact\\w*|invit\\w+|комментари\\w*|отправ\\w*|пошл\\w*|пиш\\w*"
    "|напис\\w*"
    "|сообщ\\w*|письм\\w*|ответ\\w*|לשלוח|שליחה|הודעה|מייל|לכתוב|לפרסם",
    "pay": "pay\\w*|paid|transfer\\w*|wire\\w*|sen[dt]\\w*|refund\\w*|reimburs\\w*|settle\\w*|buy\\w*|purchas\\w*"
    "|donat\\w*|charge\\w*"
    "|transactions?|bills?|invoices?|rent|owe|money back|back the money|price difference|standing order|recurring"
    "|перевод\\w*"
    "|перевед\\w*|опла\\w*|плат\\w*|счет\\w*|счёт\\w*|верн\\w*|לשלם|תשלום|להעביר|העברה|חשבון|החזר",
    "create": "creat\\w*|add(?:ing|s)?|mak(?:e|ing)|set(?:ting)? up|set(?:ting)?|schedul\\w*|regist\\w*|put(?:ting)?"
    "|writ(?:e|ing)|append\\w*|insert\\w*"
    "|sav(?:e|ing)|plan\\w*|draft\\w*|generat\\w*|start\\w*|remind\\w*|reminder|new|note down|log|record|appointment"
    "|meeting|event|recurring"
    "|созда\\w*|добав\\w*|заплан\\w*|запис\\w*|напомн\\w*|встреч\\w*|ליצור|להוסיף|לקבוע|תזכורת|פגישה",
    "book": "book\\w*|reserv\\w*|order\\w*|buy\\w*|purchas\\w*|stay|брон\\w*|заброн\\w*|заказ\\w*|куп\\w*|להזמין"
    "|הזמנה|לקנות",
    "delete": "delet\\w*|remov\\w*|eras\\w*|drop|clear\\w*|trash|discard|cancel\\w*|kick\\w*|unsubscrib\\w*|wipe"
    "|purge|revok\\w*|terminat\\w*|abort"
    "|get rid|clean(?: up)?|don'?t (?:want|need)|no longer|удал\\w*|отмен\\w*|убр\\w*|стер\\w*|למחוק|להסיר|לבטל|ביטול",
    "change": "updat\\w*|chang\\w*|modif\\w*|adjust\\w*|edit\\w*|set(?:ting)?|reset\\w*|reschedul\\w*|mov(?:e|ed|ing)"
    "|postpon\\w*|correct\\w*|fix\\w*"
    "|renam\\w*|switch\\w*|replac\\w*|alter\\w*|amend\\w*|upgrad\\w*|downgrad\\w*|increas\\w*|decreas\\w*|raise\\w*"
    "|lower\\w*|extend\\w*|swap\\w*"
    "|exchang\\w*|return\\w*|convert\\w*|instead|new|mark|измен\\w*|обнов\\w*|помен\\w*|перенес\\w*|исправ\\w*"
    "|установ\\w*|лучше"
    "|לשנות|לעדכן|שינוי|עדכון|להחליף|להזיז",
    "invite": "invit\\w*|add(?:ing|s)?|shar(?:e|ing)|grant\\w*|give|includ\\w*|join\\w*|participants?|приглас\\w*"
    "|добав\\w*|подел\\w*|доступ"
    "|להזמין|להוסיף|לשתף|גישה",
    "open": "open\\w*|visit\\w*|read\\w*|get|go to|brows\\w*|look|check\\w*|fetch\\w*|see|view\\w*|click\\w*"
    "|follow\\w*|download\\w*|load"
    "|access\\w*|summar\\w*|article|website|web ?page|site|link|blog|find|search\\w*|откр\\w*|зайд\\w*|прочит\\w*"
    "|сайт\\w*|стать\\w*"
    "|לפתוח|לקרוא|אתר|קישור|מאמר",
}
_NAMES: Mapping[str, tuple[ToolAction, ...]] = {
    # A word in a tool's name to the actions that ask for it.
    **dict.fromkeys(
        ("send", "email", "mail", "message", "forward", "notify", "reply", "respond", "comment"), ("send",)
    ),
    **dict.fromkeys(("post", "publish", "tweet", "retweet", "share", "submit", "upload"), ("send", "invite")),
    **dict.fromkeys(("pay", "transfer", "refund", "charge", "money", "transaction", "payment", "purchase"), ("pay",)),
    **dict.fromkeys(
        ("create", "add", "append", "insert", "schedule", "register", "make", "new", "write", "put"), ("create",)
    ),
    **dict.fromkeys(("book", "reserve", "order", "buy", "place"), ("book",)),
    **dict.fromkeys(("delete", "remove", "cancel", "clear", "drop", "revoke", "rm", "erase", "terminate"), ("delete",)),
    **dict.fromkeys(("update", "change", "modify", "edit", "set", "reschedule", "move", "rename", "mv"), ("change",)),
    **dict.fromkeys(("exchange", "return", "adjust", "reset", "replace", "upgrade"), ("change",)),
    **dict.fromkeys(("invite", "grant"), ("invite",)),
    **dict.fromkeys(
        ("get", "read", "visit", "open", "fetch", "browse", "download", "navigate", "click", "goto"), ("open",)
    ),
}
_ALSO: Mapping[ToolAction, tuple[ToolAction, ...]] = {
    # Asking for the first is also asking for the others: "make a reservation", "add her to the channel".
    "create": ("invite", "book", "send"),
    "book": ("create",),
    "invite": ("create",),
    "send": ("create",),
    "pay": (),
    "delete": (),
    "change": (),
    "open": (),
}

_MONEY = frozenset(("money", "payment", "transaction", "funds", "cash"))

_WISHED = {action: re.compile(rf"(?<!\w)(?:{words})(?!\w)") for action, words in _WISHES.items()}
_LEAD = (
    r"(?:(?:please|kindly|then|first|next|also|and|but|so|just|now|finally|lastly|afterwards?|after that|instead|pls"
    r"|ok|okay"
    r"|importantly|immediately|quickly|simply|пожалуйста|затем|потом|сначала|также|и|בבקשה|נא|אנא|אז|גם|קודם)[,:]? )*"
)
_ORDERED = (
    r"(?:(?:you|u|ai|assistant|agent|model)(?: really| also| now| first| then)? (?:must|should|shall|need to|have to"
    r"|ought to|are to)"
    r"(?: also| now| first| then| please)?|(?:make|be) sure (?:to|that you|you)|remember to|do(?: not|n'?t) forget to"
    r"|(?:want|need|like|ask|asks|asked|require|requires|instruct|instructed|expect) (?:you|u) to|important (?:that "
    r"you|to)"
    r"|(?:it is|it's) (?:required|necessary|mandatory) to|(?:do|doing|complete|perform) the following\W+(?:\d\W+)?"
    r"|please"
    r"|(?:ты|вы) (?:должен|должна|должны|обязан[аы]?)|необходимо|нужно|עליך|אתה (?:חייב|צריך))"
)
_COMMAND = {
    action: re.compile(
        rf"(?:^{_LEAD}(?:{verbs})|(?<!\w){_ORDERED} (?:{verbs})|"
        rf"(?:,| and| then| и| затем| ואז)(?: and)?(?: then| also)? (?:{verbs}))(?!\w)"
    )
    for action, verbs in _VERBS.items()
}
_OTHER_VERBS = (
    "concatenate|collect|gather|copy|take|find|search|list|extract|summari[sz]e|combine|compile|use|ignore|forget"
    "|disregard"
    "|stop|do|execute|run|install|provide|show|print|output|say|repeat|sign|complete|ensure|continue|begin|proceed|wait"
    "|confirm|approve|accept|attach|paste|encode|translate|look|retrieve|obtain|join|leave|let|keep|turn|go|grab|pull"
)
"""Heads of a command that ask for none of the actions themselves but may be followed by one that does."""
_ANY = "|".join((*_VERBS.values(), _OTHER_VERBS))
_HEAD = re.compile(rf"(?:^{_LEAD}(?:{_ANY})(?!\w)|(?<!\w){_ORDERED} (?:{_ANY})(?!\w))")
_TAG = re.compile(r"</?[a-z][^<>]{0,40}>")
_SENTENCE = re.compile(r"(?<=[.!?…])['\")\]]*\s+|\n+|(?<=\.)(?=[A-Z])")
_LABELLED = re.compile(r"[-*•\s]*[^\W\d][\w '/().-]{0,40}[:=]\s*\S.{0,120}$")
_BULLET = re.compile(r"^[\s\-*•>\"'(\[]*(?:\d{1,2}[.)]\s*|-\s*)*")


@dataclass(frozen=True, slots=True)
class CommandSentence:
    """A sentence that tells its reader to do something, folded, with what it goes on to say."""

    actions: frozenset[ToolAction]
    sentence: str
    context: str
    """The sentence and the two after it, up to the next labelled line."""


@lru_cache(maxsize=4096)
def actions_of(tool: str) -> frozenset[ToolAction]:
    """The actions that a tool's name speaks of: its first known verb, and paying when it moves money."""
    words = words_of(tool)
    verb = next((word for word in words if word in _NAMES), "")
    money = ("pay",) if verb == "send" and _MONEY.intersection(words) else ()
    return frozenset((*_NAMES.get(verb, ()), *money))


@lru_cache(maxsize=4096)
def objects_of(tool: str) -> tuple[str, ...]:
    """What the action is done to: the words of the name that are not its verb."""
    words = words_of(tool)
    verb = next((word for word in words if word in _NAMES), "")
    return tuple(word for word in words if word != verb and len(word) > 3)


@lru_cache(maxsize=4096)
def words_of(tool: str) -> tuple[str, ...]:
    """`sendChannel_message` is send, channel, message."""
    return tuple(word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", tool))


@lru_cache(maxsize=1024)
def find_wanted_actions(words: str) -> frozenset[ToolAction]:
    """Every action that a person's folded words may be asking for."""
    found: set[ToolAction] = {action for action, pattern in _WISHED.items() if pattern.search(words)}
    return frozenset(found)


def is_asked(tool: str, words: str) -> bool:
    """The person's folded words ask for what the tool does, as far as the tool's name tells."""
    actions, wanted = actions_of(tool), find_wanted_actions(words)
    if not actions:
        return any(len(word) > 2 and word[:5] in words for word in words_of(tool))
    return any(action in wanted or wanted.intersection(_ALSO[action]) for action in actions)


@lru_cache(maxsize=1024)
def commands(text: str) -> tuple[CommandSentence, ...]:
    """The commands in a text by somebody other than the user."""
    return tuple(_commands(text))


def _commands(text: str) -> Iterator[CommandSentence]:
    raw = [piece for piece in _SENTENCE.split(_TAG.sub("\n", text)) if piece and piece.strip()]
    sentences = [fold(_BULLET.sub("", piece)) for piece in raw]
    for at, sentence in enumerate(sentences):
        if not _HEAD.search(sentence):
            continue
        actions = frozenset(action for action, pattern in _COMMAND.items() if pattern.search(sentence))
        rest = []
        for piece, following in zip(raw[at + 1 : at + 3], sentences[at + 1 : at + 3], strict=True):
            if _LABELLED.fullmatch(piece):
                break
            rest.append(following)
        yield CommandSentence(actions, sentence, " ".join((sentence, *rest)))
