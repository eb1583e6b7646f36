"""What kind of thing a tool does, and in which words people ask for it.

`actions_of` reads a tool's name; `find_wanted_actions` reads a person's words; `commands` finds the sentences of a text
that tell the reader to do something. All three speak of the same few actions, so that "who asked for this call?" is a
comparison of sets.

What may surprise: this is a word list (`requests.txt` of each language), not a parser. It errs towards seeing a request
in the user's words and is strict about what a command in somebody else's text looks like: an imperative at the head of
a sentence, or "you must ...".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, get_args

from circumspect.language.folding import fold
from circumspect.language.pack import compile_words, join_patterns, join_words, packs
from circumspect.language.sentences import split_sentences
from circumspect.policy.grounding.words import bag

ToolAction = Literal["send", "pay", "create", "book", "delete", "change", "invite", "open"]
_ACTIONS: tuple[ToolAction, ...] = get_args(ToolAction)

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
READING = bag("get list check find search show look lookup read view fetch query")
_ONLY_LOOKS = READING | bag(
    "browse preview simulate dry validate verify estimate quote draft prepare plan calculate compute test try count "
    "ask propose suggest compare can is has think request"
)
_PAST = {
    "begin": "began begun", "break": "broke broken", "bring": "brought", "build": "built", "buy": "bought",
    "choose": "chose chosen", "cut": "cut", "do": "did done", "draw": "drew drawn", "freeze": "froze frozen",
    "get": "got", "give": "gave given", "hide": "hid hidden", "hold": "held", "keep": "kept", "lend": "lent",
    "let": "let", "make": "made", "pay": "paid", "put": "put", "rebuild": "rebuilt", "reset": "reset", "run": "ran run",
    "sell": "sold", "send": "sent", "set": "set", "shut": "shut", "split": "split", "spend": "spent",
    "take": "took taken", "undo": "undid undone", "unfreeze": "unfroze unfrozen", "withdraw": "withdrew withdrawn",
    "write": "wrote written",
}  # fmt: skip
_DOUBLED = re.compile(r"[^aeiou][aeiou][bdglmnprt]$")


@dataclass(frozen=True, slots=True)
class _Patterns:
    """What the request words of all languages are found by."""

    wishes: Mapping[ToolAction, re.Pattern[str]]
    commands: Mapping[ToolAction, re.Pattern[str]]
    head: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    spoken = [one.requests for one in packs()]
    lead = rf"(?:{join_words(one.lead for one in spoken)}[,:]? )*"
    ordered = join_words(one.ordered for one in spoken)
    then = join_words(one.then for one in spoken)
    also = join_words((*one.then, *one.also) for one in spoken)
    verbs = {action: join_words(one.command[action] for one in spoken) for action in _ACTIONS}
    anything = join_patterns((*verbs.values(), join_words(one.other_verbs for one in spoken)))
    return _Patterns(
        wishes={action: compile_words(one.wish[action] for one in spoken) for action in _ACTIONS},
        commands={
            action: re.compile(
                rf"(?:^{lead}{verb}|(?<!\w){ordered} {verb}|(?:,| {then})(?: {also}){{0,2}} {verb})(?!\w)"
            )
            for action, verb in verbs.items()
        },
        head=re.compile(rf"(?:^{lead}{anything}(?!\w)|(?<!\w){ordered} {anything}(?!\w))"),
    )


_TAG = re.compile(r"</?[a-z][^<>]{0,40}>")
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


def only_looks(tool: str) -> bool:
    """A word of the name says that it looks, tries or asks, and changes nothing."""
    return not _ONLY_LOOKS.isdisjoint(words_of(tool))


@lru_cache(maxsize=4096)
def past_forms_of(tool: str) -> frozenset[str]:
    """What is said of it once it ran, by the words of its name: `extend_loan` extended."""
    words = words_of(tool)
    return frozenset(form for one in (words[:1] if only_looks(tool) else words) for form in _past_forms(one))


def _past_forms(word: str) -> Iterator[str]:
    if word in _PAST:
        yield from _PAST[word].split()
    elif word.endswith("e"):
        yield f"{word}d"
    elif word.endswith("y") and word[-2:-1] not in "aeiou":
        yield f"{word[:-1]}ied"
    else:
        yield f"{word}ed"
        if _DOUBLED.search(word):
            yield f"{word}{word[-1]}ed"


@lru_cache(maxsize=1024)
def find_wanted_actions(words: str) -> frozenset[ToolAction]:
    """Every action that a person's folded words may be asking for."""
    found: set[ToolAction] = {action for action, pattern in _patterns().wishes.items() if pattern.search(words)}
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
    raw = split_sentences(_TAG.sub("\n", text), "closed")
    sentences = [fold(_BULLET.sub("", piece)) for piece in raw]
    for at, sentence in enumerate(sentences):
        if not _patterns().head.search(sentence):
            continue
        actions = frozenset(action for action, pattern in _patterns().commands.items() if pattern.search(sentence))
        rest = []
        for piece, following in zip(raw[at + 1 : at + 3], sentences[at + 1 : at + 3], strict=True):
            if _LABELLED.fullmatch(piece):
                break
            rest.append(following)
        yield CommandSentence(actions, sentence, " ".join((sentence, *rest)))
