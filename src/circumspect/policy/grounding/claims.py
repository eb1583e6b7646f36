"""Replies that say something was done, against what was done. In come words and calls; out come unsupported claims.

A claim is a sentence in the first person ("I have cancelled") or in the passive ("has been refunded"), as `claims.txt`
of each language words them, whose verb is one of the actions that tools perform. It is supported when a call of
that kind succeeded in the conversation, or when a tool's result says the same (a status that is being reported).

What may surprise: offers, questions, conditions, plans, refusals and quotations are not claims, and a sentence that
cannot be told apart from one of those is given the benefit of the doubt. Reading ("I have found") claims nothing.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from circumspect.language.folding import fold
from circumspect.language.pack import (
    ClaimWords,
    LanguagePack,
    Lines,
    compile_words,
    join_patterns,
    join_words,
    packs,
    packs_read_with,
)
from circumspect.language.sentences import split_sentences
from circumspect.policy.grounding.actions import ToolAction, actions_of
from circumspect.policy.grounding.fields import result_of
from circumspect.values import Effect, Language, PastCall, ToolSpec


@dataclass(frozen=True, slots=True)
class ActionClaim:
    """A sentence that says something was done, and what."""

    sentence: str
    action: str
    verb: str
    language: Language = "en"


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
_VERB = re.compile(r"\{verb\}")
_ID = re.compile(r"(?<![\w$.,])(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{5,12}(?![\w.]*\d)")
_QUOTED = re.compile(r"[\"“«][^\"”»]{0,300}[\"”»]")


@dataclass(frozen=True, slots=True)
class _Frame:
    """A way to say that something was done: with any verb of the language, and with those of one action."""

    any_verb: re.Pattern[str]
    by_action: Mapping[str, re.Pattern[str]]


@dataclass(frozen=True, slots=True)
class _Claims:
    """How one language claims."""

    language: Language
    letters: re.Pattern[str]
    marks: tuple[str, ...]
    frames: tuple[_Frame, ...]
    on_page: tuple[_Frame, ...]
    no_claim: re.Pattern[str]
    speaker: re.Pattern[str] | None
    passive: re.Pattern[str] | None


@cache
def _claiming() -> tuple[_Claims, ...]:
    return tuple(map(_read_words, packs()))


def _read_words(one: LanguagePack) -> _Claims:
    words = one.claims
    return _Claims(
        one.code,
        one.script.letter,
        words.marks,
        frames=tuple(
            _frame(line, {action: words.done[action] for action in _SUPPORTS}, words) for line in words.frames
        ),
        on_page=tuple(_frame(line, words.on_page, words) for line in words.frames_on_page),
        no_claim=compile_words(other.claims.no_claim for other in packs_read_with(one.code)),
        speaker=re.compile(join_patterns(words.speaker)) if words.speaker else None,
        passive=re.compile(f"{join_patterns(words.passive)}$") if words.passive else None,
    )


def _frame(line: str, verbs: Mapping[str, Lines], words: ClaimWords) -> _Frame:
    line = line.replace("{adverbs}", rf"(?:{join_patterns(words.adverbs)}\s+)*").replace(
        "{notes}", f"(?!{join_patterns(words.notes)})"
    )

    def fill(lists: Iterable[Lines]) -> re.Pattern[str]:
        found = join_words(lists)
        places = itertools.count()
        return re.compile(_VERB.sub(lambda _: f"(?P<verb{next(places)}>{found})", line))

    return _Frame(fill(verbs.values()), {action: fill((lines,)) for action, lines in verbs.items()})


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


def is_own_deed(claim: ActionClaim) -> bool:
    """ "I have saved it", and not "it has been saved"."""
    words = next(one for one in _claiming() if one.language == claim.language)
    if words.speaker and not words.speaker.search(fold(claim.sentence)):
        return False
    return not (words.passive and words.passive.search(claim.verb))


def _does(event: PastCall, specs: Mapping[str, ToolSpec] | None) -> frozenset[ToolAction]:
    spec = specs.get(event.call.tool) if specs else None
    effect: Effect | None = spec.effect if spec else None
    actions = actions_of(event.call.tool)
    if effect == "read" or actions == {"open"}:
        return frozenset()
    # A tool that changes something in a way that its name does not tell may have done any of it.
    return actions or (frozenset(_SUPPORTS) if effect else frozenset())


def _is_supported(claim: ActionClaim, ran: Collection[PastCall], specs: Mapping[str, ToolSpec] | None) -> bool:
    """A call of that kind succeeded, on one of the records that the sentence names; or a result says the same."""
    action = next(name for name in _SUPPORTS if name == claim.action)
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
    return tuple(_read(reply, lambda words: words.frames))


def page_claims_in(reply: str) -> tuple[ActionClaim, ...]:
    """Those that say what was done on a web page: signed in, saved, filled in."""
    return tuple(_read(reply, lambda words: words.on_page))


def _read(reply: str, frames: Callable[[_Claims], tuple[_Frame, ...]]) -> Iterator[ActionClaim]:
    for piece in split_sentences(reply):
        if piece.endswith("?"):
            continue
        sentence = fold(_QUOTED.sub(" ", piece).replace("*", ""))
        found = next(filter(None, (_find_verb(sentence, one, frames(one)) for one in _claiming())), None)
        if found is None:
            continue
        action, verb, at, words = found
        # What stands before the verb decides: "if it has been cancelled", "it has not been cancelled".
        if words.no_claim.search(sentence[:at]):
            continue
        yield ActionClaim(piece, action, verb, words.language)


def _find_verb(sentence: str, words: _Claims, frames: Iterable[_Frame]) -> tuple[str, str, int, _Claims] | None:
    """The verb that a sentence claims with, and its action. One without the letters they need is not searched."""
    if words.marks and not any(mark in sentence for mark in words.marks):
        return None
    if not words.marks and not words.letters.search(sentence):
        return None
    for frame in frames:
        if not frame.any_verb.search(sentence):
            continue
        for action, pattern in frame.by_action.items():
            if (match := pattern.search(sentence)) and (group := match.lastgroup):
                return action, match[group], match.start(group), words
    return None
