"""Values that are told in free words: products, names, reasons, addresses, choices from a list.

Each is a piece of what was said, letter by letter; where no piece stands out there is no value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from circumspect.demo.offline.lexicon import (
    Mention,
    ParsedText,
    Token,
    concepts,
    fold_letters,
    is_stop,
    lexicons,
    lexicons_of,
    read,
    stem,
)
from circumspect.demo.offline.request_view import OfferedTool, Param, meanings, pieces
from circumspect.demo.offline.slot_kinds import aliases, choices
from circumspect.demo.offline.slot_values import MessageValues
from circumspect.values import Json

_LONGEST = 200
_ENDS = re.compile(r"[.!?](?:\s|$)|[\n;]")
_STRIP = " \t\n.,;:!?-–—\"'“”«»()"


def wares_in(utterance: ParsedText, values: MessageValues, tool: OfferedTool) -> str | None:
    """A product or the like: what was quoted, or the longest run of words that are about nothing else."""
    if values.quoted:
        return values.quoted[0][0].strip()
    runs = list(_runs(utterance, values, tool))
    if not runs:
        return None
    first, last, _ = max(runs, key=lambda run: run[2])
    return utterance.text[utterance.tokens[first].start : utterance.tokens[last].end].strip(_STRIP)[:_LONGEST] or None


def _runs(utterance: ParsedText, values: MessageValues, tool: OfferedTool) -> Iterator[tuple[int, int, int]]:
    """First and last token of each run, and how many telling words it has."""
    first = last = -1
    telling = 0
    typed = _find_value_spans(values)
    for at, token in enumerate(utterance.tokens):
        breaks = at > 0 and _is_break(utterance.text[utterance.tokens[at - 1].end : token.start])
        if first >= 0 and breaks:
            yield first, last, telling
            first, telling = -1, 0
        if _tells(token, at, utterance, tool) and not _within(token, typed):
            first, last, telling = (at if first < 0 else first), at, telling + 1
        elif first >= 0 and not (_fits_inside(token) and not _within(token, typed)):
            yield first, last, telling
            first, telling = -1, 0
        elif token.text.isdigit() and first >= 0:
            last = at
    if first >= 0:
        yield first, last, telling


def _tells(token: Token, at: int, utterance: ParsedText, tool: OfferedTool) -> bool:
    if token.text.isdigit() or is_stop(token.text):
        return False
    mention = next((each for each in utterance.mentions if each.first <= at <= each.last), None)
    return mention is None or not _is_spent(mention, tool)


def _is_spent(mention: Mention, tool: OfferedTool) -> bool:
    """The words say what to do, or with what kind of thing; they do not name the thing."""
    known = concepts()
    own = {*tool.objects, tool.action, "product", "stock", "availability", "status", "quantity", "price", "order"}
    return bool(mention.concepts & (known.actions | known.marks | own)) or mention.concepts <= known.topics


def _fits_inside(token: Token) -> bool:
    return token.text.isdigit() or any(token.text in lists.inside for lists in lexicons_of(token.text))


def _is_break(between: str) -> bool:
    return any(letter in between for letter in ".,;:!?()\n")


def _find_value_spans(values: MessageValues) -> list[tuple[int, int]]:
    codes = {code.span for code in values.codes if not code.about and code.text.isdigit()}
    return [span for span in values.spans if span not in codes]


def _within(token: Token, spans: list[tuple[int, int]]) -> bool:
    return any(start <= token.start < end for start, end in spans)


def person_in(
    utterance: ParsedText, values: MessageValues, *, bare: bool, spent: frozenset[str] = frozenset()
) -> str | None:
    """A name after "my name is"; with `bare`, an answer that is nothing but a name. `spent` words meant a choice."""
    for start in _after(utterance, "name"):
        taken = _name_from(utterance, start, values)
        if taken:
            return taken
    if not bare:
        return None
    typed = list(values.spans)
    free = [
        (at, token)
        for at, token in enumerate(utterance.tokens)
        if not token.text.isdigit()
        and not _within(token, typed)
        and not is_stop(token.text)
        and len(token.text) > 1
        and stem(token.text) not in spent
        and not any(each.first <= at <= each.last for each in utterance.mentions)
    ]
    if not 1 <= len(free) <= 4 or free[-1][0] - free[0][0] != len(free) - 1:
        return None
    text = utterance.text[free[0][1].start : free[-1][1].end]
    # Beside other values a word is a name only when it looks like one; alone it may be written anyhow.
    looks_right = not typed or _may_be_name(text)
    return text if looks_right and "?" not in utterance.text and not _is_break(text) else None


def _name_from(utterance: ParsedText, start: int, values: MessageValues) -> str | None:
    taken: list[Token] = []
    typed = list(values.spans)
    for token in utterance.tokens:
        if token.start < start:
            continue
        stops = token.text.isdigit() or is_stop(token.text) or _within(token, typed)
        stops |= any(token.text in lists.until for lists in lexicons_of(token.text))
        gap = utterance.text[(taken[-1].end if taken else start) : token.start]
        if stops or (taken and _is_break(gap)) or len(taken) == 3:
            break
        taken.append(token)
    if not taken:
        return None
    text = utterance.text[taken[0].start : taken[-1].end]
    return text if _may_be_name(text) else None


def _may_be_name(text: str) -> bool:
    """ "I'm waiting" has the form of "I'm Dana"; where letters have no capitals, any word may be a name."""
    return text[0].isupper() or not lexicons_of(text)[0].has_capitals


def reason_in(utterance: ParsedText, *, bare: bool) -> str | None:
    for start in _after(utterance, "reason"):
        text = _to_sentence_end(utterance.text, start)
        if text:
            return text
    return utterance.text.strip(_STRIP)[:_LONGEST] or None if bare and "?" not in utterance.text else None


def address_in(utterance: ParsedText, values: MessageValues, *, bare: bool) -> str | None:
    """What follows "deliver to" and has the looks of an address; with `bare`, what is left of the answer."""
    for start in (*_after(utterance, "address"), *_behind_codes(utterance, values)):
        text = _without(utterance.text, start, values)
        if _looks_like_address(text):
            return text
    text = _without(utterance.text, 0, values)
    return text if bare and _looks_like_address(text) and "?" not in utterance.text else None


def _behind_codes(utterance: ParsedText, values: MessageValues) -> Iterator[int]:
    """Some languages say "order 12345 to-Herzl street 5" with the "to" as a letter of the next word."""
    towards = {f" {lists.grammar['towards']}" for lists in lexicons() if "towards" in lists.grammar}
    for code in values.codes:
        rest = utterance.text[code.span[1] :]
        if code.about and rest[:2] in towards and rest[2:4].isalpha():
            yield code.span[1] + 2


def _without(text: str, start: int, values: MessageValues) -> str:
    """The rest of the text from `start`, up to its end or to a value that belongs elsewhere."""
    ends = [code.span[0] for code in values.codes if code.about and code.span[0] >= start]
    leads = [code.span[1] for code in values.codes if code.about and start <= code.span[0] <= start + 20]
    ends += [span[0] for _, span in (*values.emails, *values.phones) if span[0] >= start]
    if leads and start == 0:
        start, ends = leads[0], [end for end in ends if end > leads[0]]
    return text[start : min(ends, default=len(text))].split("\n")[0].strip(_STRIP)[:_LONGEST]


def _looks_like_address(text: str) -> bool:
    said = read(text)
    letters = [token for token in said.tokens if not token.text.isdigit()]
    has_place = any(token.text[0].isdigit() for token in said.tokens) or "," in text
    return has_place and bool(letters) and len(said.tokens) >= 2 and not said.has("cancel", "order", "refund")


def _to_sentence_end(text: str, start: int) -> str:
    end = _ENDS.search(text, start)
    return text[start : end.start() if end else len(text)].strip(_STRIP)[:_LONGEST]


def _after(utterance: ParsedText, what: str) -> Iterator[int]:
    """Where a value may begin: behind each listed phrase that stands in the text, longest phrases first."""
    lowered = fold_letters(utterance.text)
    listed = sorted({phrase for lists in lexicons() for phrase in lists.after[what]}, key=len, reverse=True)
    for phrase in listed:
        at = lowered.rfind(phrase)
        free_before = at == 0 or (at > 0 and not lowered[at - 1].isalnum())
        end = at + len(phrase)
        if at >= 0 and free_before and (end >= len(lowered) or not lowered[end].isalnum()):
            yield end


def choice_in(utterance: ParsedText, param: Param, tool: OfferedTool) -> Json:
    """The one listed choice that the words point at; None when none or several do."""
    said = keys_in(utterance)
    own = {*tool.objects, tool.action, *(concept for piece in pieces(param.name) for concept in meanings(piece))}
    lowered = f" {fold_letters(utterance.text)} "
    known = aliases(param)
    scored: list[tuple[float, Json]] = []
    for choice in choices(param.schema):
        texts = [fold_letters(name).replace("_", " ") for name in (str(choice), known.get(str(choice), "")) if name]
        if any(re.search(rf"(?<!\w){re.escape(text)}(?!\w)", lowered) for text in texts):
            scored.append((2.0, choice))
            continue
        keysets = [keys_in(read(text)) - own or keys_in(read(text)) for text in texts]
        share = max((len(keys & said) / len(keys) for keys in keysets if keys), default=0.0)
        if share >= (0.5 if param.required else 1.0) and (param.required or len(keysets[0]) > 1):
            scored.append((share, choice))
    best = max((score for score, _ in scored), default=0.0)
    chosen = [choice for score, choice in scored if score == best]
    return chosen[0] if len(chosen) == 1 else None


def keys_in(utterance: ParsedText) -> set[str]:
    """Concepts where words have one, stems where they do not; "get" and "show" tell nothing."""
    return set[str]().union(*find_meanings(utterance))


def find_meanings(utterance: ParsedText) -> Iterator[frozenset[str]]:
    """What each telling word or phrase may mean: several concepts where it has several meanings, else its stem."""
    known = concepts()
    spoken: set[int] = set()
    for mention in utterance.mentions:
        if telling := mention.concepts - known.marks - known.read:
            yield telling
        spoken |= {*range(mention.first, mention.last + 1)}
    for at, token in enumerate(utterance.tokens):
        if at not in spoken and not is_stop(token.text) and not token.text.isdigit():
            yield frozenset((stem(token.text),))
