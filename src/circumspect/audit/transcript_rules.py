"""Rules over a conversation that was only written down: what was agreed to is read from the words.

In a live turn the yes is bound to a stored intent and none of this is needed. Here the question that the assistant
asked, the reply, and the calls that ran since then are all there is. Each rule reads the least that decides it.

What may surprise: in an audit a call that failed and is proposed again unchanged is denied, too. Nothing happened in
between that could make it succeed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from circumspect.language.consent import asks, asks_to_confirm, consent, is_plain
from circumspect.language.folding import fold
from circumspect.language.written_values import find_word
from circumspect.policy import arguments
from circumspect.policy.arguments import is_misbuilt
from circumspect.policy.facts import Facts
from circumspect.policy.grounding.actions import actions_of, commands, words_of
from circumspect.policy.grounding.fields import IndexedResult
from circumspect.policy.grounding.tracing import ledger_of, names_a_destination, names_an_id
from circumspect.policy.judge import Rule, rule
from circumspect.policy.preconditions import examine
from circumspect.reasons import ReasonCode
from circumspect.values import Allow, Ask, Confirm, Deny, History, Json, PastCall, ToolSpec, Verdict


@dataclass(frozen=True, slots=True)
class Exchange:
    """The last thing that was put to the user, and what they said to it."""

    question: str
    answer: str
    since: tuple[PastCall, ...]
    """What ran after the answer."""
    pending: bool
    """The assistant asked something after the user last spoke, so there is no answer yet."""
    asked: bool
    """What the assistant asked last was whether to go ahead."""


def exchange_of(session: History) -> Exchange:
    """Worked out once per session."""
    found = session.__dict__.get("exchange")
    if not isinstance(found, Exchange):
        found = session.__dict__["exchange"] = _exchange(session)
    return found


def _exchange(session: History) -> Exchange:
    question, answer = "", ""
    since: list[PastCall] = []
    after: list[str] = []
    for event in reversed(session.events):
        if isinstance(event, PastCall):
            if not answer:
                since.append(event)
        elif event.speaker == "user":
            if question:
                break
            answer = f"{event.text}\n{answer}" if answer else event.text
        elif answer:
            question = f"{event.text}\n{question}" if question else event.text
        else:
            after.append(event.text)
    pending = bool(after) and asks(after[0])
    asked = asks_to_confirm(after[0] if pending else question)
    return Exchange(question, answer, tuple(reversed(since)), pending, asked)


def has_user_agreed(facts: Facts) -> bool:
    """The user's newest words agree to what the assistant last put to them, and nothing was asked since."""
    exchange = exchange_of(facts.session)
    if exchange.pending:
        return False
    return consent(exchange.answer) == "yes" or _is_plain_order(facts.call.tool, exchange)


def _is_plain_order(tool: str, exchange: Exchange) -> bool:
    """A plain order to cancel or delete, in reply to the question which: it has no details left to agree on."""
    return (
        "delete" in actions_of(tool)
        and asks(exchange.question)
        and is_plain(exchange.answer)
        and any("delete" in command.actions for command in commands(exchange.answer))
    )


def _wants_a_yes(facts: Facts) -> bool:
    """The policy wants one; or it does not say, and the assistant itself asked for one."""
    confirm = facts.policy.confirm if facts.policy else None
    if facts.effect == "destructive" or confirm == "always":
        return True
    return confirm is None and _changes(facts) and exchange_of(facts.session).asked


def _changes(facts: Facts) -> bool:
    return facts.effect in ("write", "destructive")


@rule(ReasonCode.CONFIRMATION_REQUIRED)
def the_user_said_yes_to_it(facts: Facts) -> Verdict:
    """Where a confirmation is wanted, the user's last words agree to what was put to them, plainly."""
    return Allow() if not _wants_a_yes(facts) or has_user_agreed(facts) else Confirm()


@rule(ReasonCode.CONFIRMATION_REQUIRED)
def the_user_said_yes_to_what_is_special(facts: Facts) -> Verdict:
    """Where a condition in the policy file wants a confirmation, the user's last words agree, plainly."""
    wanted = any(one.then == "confirm" for one in examine(facts).special)
    return Confirm() if wanted and not has_user_agreed(facts) else Allow()


@rule(ReasonCode.CONFIRMATION_REUSED)
def one_yes_is_for_what_was_listed(facts: Facts) -> Verdict:
    """After a yes was used, a further call is only covered when the question or the reply named what it acts on."""
    if not _wants_a_yes(facts) or not has_user_agreed(facts):
        return Allow()
    exchange = exchange_of(facts.session)
    used = [one for one in exchange.since if one.ok and one.call.tool == facts.call.tool]
    if not used:
        return Allow()
    mine = dict(_record_ids(facts.call.arguments))
    words = fold(f"{exchange.question}\n{exchange.answer}")
    for name, value in mine.items():
        theirs = {str(one.call.arguments.get(name)) for one in used}
        # The earlier call was named in the question and this one was not: the yes was for the other.
        if (
            value not in theirs
            and _is_named(value, words) is False
            and any(_is_named(other, words) for other in theirs)
        ):
            return Confirm()
    return Allow()


@rule(ReasonCode.CONFLICTS_WITH_CONFIRMED)
def it_is_what_was_agreed_to(facts: Facts) -> Verdict:
    """The ids of the call are the ones that stood in the question or the reply, where such ids stood there."""
    if not _wants_a_yes(facts) or not has_user_agreed(facts):
        return Allow()
    ids = tuple(_record_ids(facts.call.arguments))
    if not ids:
        return Allow()
    exchange = exchange_of(facts.session)
    words = _strip_markdown(f"{exchange.answer}\n{exchange.question}")
    for name, value in ids:
        if value.lstrip("#") in words:
            continue
        stood = set(_shape(value).findall(words))
        marks = _siblings(facts.session, value)
        if any(_is_a(one, name, facts.session) for one in stood) or (
            len(marks) > 1
            and (_other_is_meant(marks, value, exchange) or _departs(facts, marks, name, value, exchange))
        ):
            return Deny(f"'{value}' is not what the user agreed to. Propose what was agreed, or ask again.")
    if _is_listed_otherwise(facts, ids, words):
        return Deny("Another choice was agreed to for this one. Propose what was agreed, or ask again.")
    return Allow()


@rule(ReasonCode.REPEATED_CALL)
def nothing_is_done_twice(facts: Facts) -> Verdict:
    """The very same call did not already succeed in this conversation, nor fail with nothing changed since."""
    if not _changes(facts) or (facts.policy is not None and getattr(facts.policy, "idempotent", False)):
        return Allow()
    changed = False
    for event, _ in reversed(ledger_of(facts.session).results):
        if event.call.tool == facts.call.tool and event.call.arguments == facts.call.arguments:
            if event.ok:
                return Deny("This exact call already succeeded in this conversation; its result is above.")
            if not changed:
                return Deny("This exact call already failed, and nothing has changed since. Do something else.")
        changed = changed or (event.ok and event.call.tool == facts.call.tool)
    return Allow()


@rule(ReasonCode.MISSING_PARAM)
def what_the_schema_requires_is_there(facts: Facts) -> Verdict:
    """Everything the tool's schema requires was given; a blank counts as given where it names nothing."""
    if facts.spec is None:
        return Allow()
    given = facts.call.arguments
    if "" not in given.values() and _fits(facts.spec, facts):
        return Allow()
    blank = {name for name in given if given[name] == "" and not names_an_id(name) and not names_a_destination(name)}
    missing = tuple(name for name in arguments.find_missing(facts.spec, given) if name not in blank)
    return Ask(missing=missing) if missing else Allow()


@rule(ReasonCode.INVALID_PARAM)
def arguments_fit_the_schema(facts: Facts) -> Verdict:
    """Every argument has the form that the schema asks for; a wrong build is the model's to mend, not the user's."""
    if facts.spec is None or _fits(facts.spec, facts):
        return Allow()
    given = facts.call.arguments
    invalid = arguments.find_problems(facts.spec, given)
    malformed = [
        name for name, problem in invalid.items() if problem == "unknown" or is_misbuilt(problem, given.get(name))
    ]
    if malformed:
        return Deny(f"The tool '{facts.call.tool}' does not take this: {', '.join(malformed)}. Follow its schema.")
    return Ask(invalid=invalid) if invalid else Allow()


def _fits(spec: ToolSpec, facts: Facts) -> bool:
    """Remembered with the session: two rules ask."""
    known = facts.session.__dict__.get("fits")
    if known is None or known[0] is not facts.call:
        known = facts.session.__dict__["fits"] = (facts.call, arguments.validator(spec).is_valid(facts.call.arguments))
    return bool(known[1])


# --- ids and what they are called -----------------------------------------------------------------------------------


def _record_ids(call_arguments: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """The arguments that each name one record: a single id, not a list of them."""
    for name, value in call_arguments.items():
        if isinstance(value, str) and names_an_id(name) and any(map(str.isdigit, value)) and len(value) >= 4:
            yield name, value


def _is_a(value: str, name: str, session: History) -> bool:
    """A tool returned this value as the same kind of thing: `M05KNL` under `reservations`, for `reservation_id`."""
    kinds = [word for word in words_of(name) if len(word) > 3]
    bare = value.lstrip("#").casefold()
    for _, result in ledger_of(session).results:
        if not result.holds(bare):
            continue
        for form in (bare, f"#{bare}"):
            name_of = result.field(form)
            if any(kind in name_of.casefold() for kind in kinds):
                return True
            path = result.fields.get(form) if name_of else None
            if path and any(kind in part.casefold() for part in path for kind in kinds):
                return True
    return False


def _is_named(value: str, words: str) -> bool:
    return find_word(fold(value).lstrip("#"), words) >= 0


@lru_cache(maxsize=512)
def _shape(value: str) -> re.Pattern[str]:
    """Whatever is built like this id: `#W1234567`, `AB12C3`, `gift_card_77`."""
    if re.fullmatch(r"((?:[a-z]+_)+)\w*\d\w*", value):
        return re.compile(r"(?<![\w])(?:[a-z]+_)+\d{3,}(?!\w)")
    if re.fullmatch(r"#?[A-Z0-9]+", value):
        bare = value.lstrip("#")
        return re.compile(rf"(?<![\w#])#?(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{{{len(bare)}}}(?!\w)")
    pattern = re.sub(r"\d+", lambda run: rf"\d{{{len(run.group())}}}", re.escape(value))
    return re.compile(rf"(?<!\w){pattern}(?!\w)")


def _other_is_meant(marks: Mapping[str, frozenset[str]], value: str, exchange: Exchange) -> bool:
    """Another record than this one was described: "the card ending in 8484", "my gift card"."""
    for text in (exchange.answer, exchange.question):
        words = _fold_words(text)
        said = {
            key: {mark for mark in own if mark in words and find_word(mark, words) >= 0} for key, own in marks.items()
        }
        mentioned = {key for key, own in said.items() if own - _common(said, key)}
        if mentioned:
            return value not in mentioned and not said[value]
    return False


def _common(said: Mapping[str, set[str]], key: str) -> set[str]:
    """What does not tell this one apart from the others."""
    return {mark for mark in said[key] if all(mark in own for own in said.values())}


def _departs(facts: Facts, marks: Mapping[str, frozenset[str]], name: str, value: str, exchange: Exchange) -> bool:
    """The record has a value of its own here, this is another one of the choices, and nobody asked for that.

    An order knows what it was paid with: "the same payment method" is that one, and so is silence.
    """
    own = _own(facts, value)
    if own is None or own.holds(value.lower()) or not any(own.holds(key.lower()) for key in marks if key != value):
        return False
    kind = next((word for word in words_of(name) if len(word) > 3), "")
    words = _fold_words(f"{exchange.answer}\n{exchange.question}")
    if kind and re.search(rf"\b(?:same|original|initial) (?:[a-z]+ )?{re.escape(kind)}", words):
        return True
    mine = (*marks[value], value.lower().replace("_", " "))
    return not any(mark in _fold_words(one.text) for one in facts.session.utterances for mark in mine)


def _own(facts: Facts, value: str) -> IndexedResult | None:
    """The newest result of looking up another record that the call names."""
    others = {other for _, other in _record_ids(facts.call.arguments) if other != value}
    for event, result in reversed(ledger_of(facts.session).results):
        if (
            event.ok
            and event.trusted
            and any(one in others for one in event.call.arguments.values() if isinstance(one, str))
        ):
            return result
    return None


def _is_listed_otherwise(facts: Facts, ids: Sequence[tuple[str, str]], words: str) -> bool:
    """In the list that was agreed to, another choice stands beside this id than the one in the call."""
    if facts.spec is None:
        return False
    for name, chosen in facts.call.arguments.items():
        choices = facts.spec.properties.get(name, {}).get("enum")
        if not isinstance(choices, Sequence) or isinstance(choices, str) or not isinstance(chosen, str):
            continue
        for _, value in ids:
            beside = fold(_beside(value, words))
            if not beside:
                continue
            others = [one for one in choices if isinstance(one, str) and one != chosen]
            if find_word(fold(chosen), beside) < 0 and any(find_word(fold(one), beside) >= 0 for one in others):
                return True
    return False


def _beside(value: str, words: str) -> str:
    """What is said of an id: from each place where it stands to the next id of its kind."""
    places = [(match.start(), match.group().lstrip("#")) for match in _shape(value).finditer(words)]
    if len({one for _, one in places}) < 2:
        return ""  # With one id there is no list: what is offered there is offered, not agreed.
    ends = [*(at for at, _ in places[1:]), len(words)]
    return " ".join(words[at:end] for (at, one), end in zip(places, ends, strict=True) if one == value.lstrip("#"))


@lru_cache(maxsize=1024)
def _fold_words(text: str) -> str:
    return fold(_strip_markdown(text).replace("_", " "))


@lru_cache(maxsize=256)
def _strip_markdown(text: str) -> str:
    """Without the signs of Markdown, which stand inside ids."""
    return text.replace("\\_", "_").replace("*", "").replace("`", "")


def _siblings(session: History, value: str) -> Mapping[str, frozenset[str]]:
    """The records among which this id is one choice, each with what it is called: of the newest result that has it."""
    for event, result in reversed(ledger_of(session).results):
        if event.ok and event.trusted and result.holds(value.lower()) and value in result.choices:
            return result.marks(value)
    return {}


TRANSCRIPT_RULES: tuple[Rule, ...] = (
    what_the_schema_requires_is_there,
    arguments_fit_the_schema,
    nothing_is_done_twice,
    the_user_said_yes_to_it,
    the_user_said_yes_to_what_is_special,
    one_yes_is_for_what_was_listed,
    it_is_what_was_agreed_to,
)
"""In place of the rules of a live turn that ask for a stored intent or an assessment."""
