"""The rules about where values and wishes come from. In come facts; held are calls that act on what nobody gave.

A state-changing call is held when an id or destination was made up, also where a tool that was asked about it merely
repeated it, and when it goes where a stranger's text says or
does what a stranger's text demands (strangers: whoever can write what a tool marked untrusted returns: web pages, mail,
reviews, files). Provenance is kept by field. An argument that says where something goes counts when the user typed it
or when it is a whole field of a result; a fragment of a stranger's prose does not, unless the user pointed at that very
source and the source states the value ("IBAN: ...", "my e-mail is ...") rather than telling the reader to use it.

What may surprise: nothing here looks for the marks of an attack. A command in somebody else's text is only held against
a call that obeys it: same action, and a value that the user never said or an object that the user never named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from circumspect.language.folding import fold
from circumspect.language.pack import join_words, packs
from circumspect.language.written_values import find_word, spellings
from circumspect.policy.facts import Facts
from circumspect.policy.grounding.actions import actions_of, commands, is_asked, objects_of
from circumspect.policy.grounding.contradicted import find_contradicted
from circumspect.policy.grounding.tracing import (
    OriginLedger,
    Traced,
    as_folded_text,
    is_said,
    ledger_of,
    list_values,
    needle,
    trace,
)
from circumspect.policy.judge import ALLOWED, Rule, rule
from circumspect.reasons import ReasonCode
from circumspect.values import Ask, Confirm, PastCall, Verdict

_EMBEDDED = re.compile(
    r"(?<![\w.+\-])[\w.+\-]+@[\w\-]+\.[\w.\-]+\w|(?:https?://|www\.)[^\s<>\"')]+[\w/]"
    r"|(?<!\w)[a-z]{2}\d{2}[a-z0-9]{10,30}(?!\w)"
)


@cache
def _delegated() -> re.Pattern[str]:
    return re.compile(join_words(one.requests.delegated for one in packs()))


# --- what strangers wrote -------------------------------------------------------------------------------------------


def is_stated_by_named_source(ledger: OriginLedger, value: str) -> bool:
    """The user pointed at the source (a file, a page, a sender), and it states the value instead of demanding it."""
    forms = spellings(value)
    return any(
        _states(text, forms)
        for event, result in ledger.strangers
        if _is_named_by_user(event, ledger)
        for text in result.prose or (str(event.result),)
    )


def _is_named_by_user(event: PastCall, ledger: OriginLedger) -> bool:
    """One of the values that the source was found by is the user's own word."""
    return any(
        isinstance(value, str) and len(value) >= 3 and _all_words(fold(value), ledger.user_text)
        for _, _, value in list_values(event.call)
    )


def _all_words(value: str, said: str) -> bool:
    return find_word(value, said) >= 0 or all(find_word(word, said) >= 0 for word in value.split())


def _states(text: str, forms: Sequence[str]) -> bool:
    demanded = " ".join(command.context for command in commands(text))
    return any(
        re.search(rf"[^\W\d][\w '\-]{{0,40}}(?:[:=]| is| are)\s*[\"'(<]?{re.escape(form)}(?![\w@])", fold(text))
        for form in forms
        if find_word(form, demanded) < 0
    )


def find_stranger_demand(facts: Facts, ledger: OriginLedger) -> str:
    """The sentence of a stranger that this call obeys, or nothing.

    A sentence is obeyed when it commands what the tool does, and either carries a value of the call that the user never
    said, or names the tool's object while the user's words do not ask for that.
    """
    actions = actions_of(facts.call.tool)
    nouns = objects_of(facts.call.tool)
    reads = facts.effect == "read"
    said = ledger.user_text
    delegated = _is_delegated(facts, said)
    asked = is_asked(facts.call.tool, said) and (
        not nouns
        or any(_noun(noun, said) for noun in nouns)
        or any(one.origin == "user" for one in trace(facts) if one.kind in ("destination", "id", "words", "text"))
    )
    for event, result in ledger.strangers:
        if delegated and _is_named_by_user(event, ledger):
            continue
        for text in result.prose:
            for command in commands(text):
                if not command.actions & actions:
                    continue
                if _carries(facts, command.context, said, destinations_only=reads):
                    return command.sentence
                if not reads and not asked and any(_noun(noun, command.sentence) for noun in nouns):
                    return command.sentence
    return ""


def _is_delegated(facts: Facts, said: str) -> bool:
    """The user said to do what some message says. That covers neither paying nor anything that destroys."""
    grave = facts.effect == "destructive" or actions_of(facts.call.tool) & {"delete", "pay"}
    return not grave and bool(_delegated().search(said))


def _noun(noun: str, text: str) -> bool:
    stem = noun[:-1] if noun.endswith("s") else noun
    return bool(re.search(rf"(?<!\w){re.escape(stem)}s?(?!\w)", text))


def _carries(facts: Facts, sentence: str, said: str, *, destinations_only: bool) -> bool:
    theirs, ours = as_folded_text(sentence), as_folded_text(said)
    for traced in trace(facts):
        if traced.kind == "choice" or (destinations_only and traced.kind != "destination"):
            continue
        if traced.kind == "text" or (isinstance(traced.value, str) and traced.value.count(" ") >= 2):
            text = fold(str(traced.value))
            pieces = [match.group() for match in _EMBEDDED.finditer(text)]
            words = re.findall(r"[\w']+", text)
            pieces += [" ".join(words[at : at + 3]) for at in range(len(words) - 2)]
            plain_theirs, plain_ours = " ".join(re.findall(r"[\w']+", sentence)), " ".join(re.findall(r"[\w']+", said))
            if any(
                (find_word(piece, sentence) >= 0 and find_word(piece, said) < 0)
                or (find_word(piece, plain_theirs) >= 0 and find_word(piece, plain_ours) < 0)
                for piece in pieces
            ):
                return True
        elif is_said(theirs, sought := needle(traced.kind, traced.value)) and not is_said(ours, sought):
            return True
    return False


# --- the rules ------------------------------------------------------------------------------------------------------


def _find_source_rule(facts: Facts, argument: str) -> str | None:
    """What the policy file says about this parameter: user, trusted or any; None when it says nothing."""
    if facts.policy is None or not facts.policy.params:
        return None
    param = facts.policy.params.get(re.split(r"[.\[]", argument)[0])
    return param.source if param else None


def _unseen(facts: Facts, traced: Traced) -> bool:
    match _find_source_rule(facts, traced.argument):
        case "any":
            return False
        case "user":
            return traced.origin not in ("user", "default", "choice")
        case "trusted":
            return traced.origin not in ("user", "field", "text", "default", "choice")
    return traced.origin in _FROM_NOWHERE


_FROM_NOWHERE = frozenset(("nowhere", "echo"))


def find_unseen(facts: Facts) -> list[Traced]:
    """The values of a state-changing call that came from nowhere the policy lets them come from."""
    if facts.effect in ("read", None) or facts.confirmed or facts.spec is None:
        return []
    traced = trace(facts)
    other = find_contradicted(facts, ledger_of(facts.session), traced)
    if facts.policy is None or not facts.policy.params:
        return [one for one in traced if one.origin in _FROM_NOWHERE or one in other]
    other = [one for one in other if _find_source_rule(facts, one.argument) != "any"]
    return [one for one in traced if one in other or _unseen(facts, one)]


def ask_for(unseen: Sequence[Traced]) -> Verdict:
    return Ask(invalid={one.argument: f"ungrounded:{one.value}" for one in unseen}) if unseen else ALLOWED


@rule(ReasonCode.UNGROUNDED_PARAM)
def every_value_has_a_source(facts: Facts) -> Verdict:
    """Ids and destinations of a state-changing call were said by the user or returned by a tool, not made up."""
    return ask_for(find_unseen(facts))


@rule(ReasonCode.UNTRUSTED_SOURCE)
def nothing_goes_where_strangers_say(facts: Facts) -> Verdict:
    """Where something goes was typed by the user or is a whole field of a result, not a piece of a stranger's text."""
    if facts.effect in ("read", None) or facts.confirmed:
        return ALLOWED
    ledger = ledger_of(facts.session)
    for one in trace(facts):
        if one.kind != "destination" or one.origin != "stranger" or _find_source_rule(facts, one.argument) == "any":
            continue
        if not (is_asked(facts.call.tool, ledger.user_text) and is_stated_by_named_source(ledger, str(one.value))):
            return Confirm()
    return ALLOWED


@rule(ReasonCode.UNTRUSTED_SOURCE)
def nobody_else_asked_for_it(facts: Facts) -> Verdict:
    """The call does what the user asked for, not what a text that somebody else wrote tells its reader to do."""
    if facts.effect is None or facts.confirmed:
        return ALLOWED
    ledger = ledger_of(facts.session)
    if not any(True for _ in ledger.strangers):
        return ALLOWED
    if find_stranger_demand(facts, ledger):
        return Confirm()
    # However a stranger words it: what nobody asked for is asked about once strangers have had a word.
    if (
        facts.effect != "read"
        and not is_asked(facts.call.tool, ledger.user_text)
        and not _is_delegated(facts, ledger.user_text)
    ):
        return Confirm()
    return ALLOWED


GROUNDING_RULES: tuple[Rule, ...] = (
    every_value_has_a_source,
    nothing_goes_where_strangers_say,
    nobody_else_asked_for_it,
)
