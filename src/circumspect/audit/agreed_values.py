"""What a yes covers: the values of a call against the words that were agreed to.

In come the call and the exchange that it rests on; out comes the first value that is not what stood there. A value is
compared where it stood in those words itself, or where another of its kind did: an id of the same thing, an address, an
amount of money. Of what those words do not mention nothing can be said here.

What may surprise: an amount need not be spelt out if it is what the shown ones come to, such as two prices together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations

from circumspect.language.folding import fold
from circumspect.language.written_values import amounts_in, find_word, looks_like_id, read_number, says_number
from circumspect.policy.facts import Facts
from circumspect.policy.grounding.actions import words_of
from circumspect.policy.grounding.described_records import (
    find_beside,
    is_another_meant,
    record_ids,
    shape_of,
    strip_markdown,
)
from circumspect.policy.grounding.exchanges import Exchange
from circumspect.policy.grounding.tracing import (
    as_folded_text,
    is_said,
    ledger_of,
    names_a_destination,
    names_an_id,
    needle,
    values,
)
from circumspect.policy.grounding.words import bag
from circumspect.values import History, Json

_GENERIC = bag("id ids number code token key ref reference uuid username password name list")
_AMOUNT = bag("amount sum price total cost fee payment refund charge money deposit value")
_MOST_SHOWN = 12
_NUMBER = r"\d[\d.,']*\d|\d"


def find_unagreed(facts: Facts, exchange: Exchange) -> str:
    """A value of the call in whose place another one stood in the question or the reply; "" when there is none."""
    words = strip_markdown(f"{exchange.answer}\n{exchange.question}")
    for name, record in record_ids(facts.call.arguments):
        if not is_named(record, fold(words)) and is_another_meant(facts, name, record, exchange):
            return record
    listed: list[tuple[str, str]] = []
    for path, name, value in values(facts.call.arguments):
        if _is_amount(name, value):
            if not _is_agreed_amount(facts, name, value, words):
                return str(value)
        elif not _is_comparable(name, str(value)):
            continue
        elif "[" in path:
            listed.append((name, str(value)))
        elif not _is_said(str(value), words) and _find_others(facts, name, str(value), words):
            return str(value)
    return _find_unlisted(listed, words) or (listed[0][1] if _are_others_listed(facts, listed, words) else "")


def is_named(value: str, words: str) -> bool:
    return find_word(fold(value).lstrip("#"), words) >= 0


# --- ids and addresses ----------------------------------------------------------------------------------------------


def _is_said(value: str, words: str) -> bool:
    return is_said(as_folded_text(words), needle("id", value))


def _is_comparable(name: str, value: str) -> bool:
    return looks_like_id(value) and (names_an_id(name) or names_a_destination(name))


def _find_unlisted(listed: Sequence[tuple[str, str]], words: str) -> str:
    """One that does not stand in the words although others of the same list do."""
    said = {name for name, value in listed if _is_said(value, words)}
    return next((value for name, value in listed if name in said and not _is_said(value, words)), "")


def _are_others_listed(facts: Facts, listed: Sequence[tuple[str, str]], words: str) -> bool:
    """None of these stood in the words that were agreed to, and as many others did. What is described in a list need
    not be numbered there, so words with more or fewer others say nothing."""
    if not listed or any(_is_said(value, words) for _, value in listed):
        return False
    for _, record in record_ids(facts.call.arguments):
        words = find_beside(record, words) or words
    others = {other for name, value in listed for other in _find_others(facts, name, value, words)}
    return len(others) == len(listed)


def _find_others(facts: Facts, name: str, value: str, words: str) -> set[str]:
    """Ids and addresses in the words that are the same kind of thing, and that the call does not use at all."""
    used = {_bare(str(one)) for _, _, one in values(facts.call.arguments)}
    stood = {_bare(one) for one in shape_of(value).findall(words)} - used
    alike = {one for one in stood if "@" in one or _is_a(one, name, facts.session)}
    return (
        alike
        | set(_find_called(name, fold(words))) - used
        | {one for one in stood if _is_bare_number(facts, one, words)}
    )


def _is_bare_number(facts: Facts, value: str, words: str) -> bool:
    """A number of which nothing says what else it could be: no amount, no year, and no tool knows it."""
    return (
        value.isdigit()
        and not re.fullmatch(r"(?:19|20)\d\d", value)
        and float(value) not in amounts_in(fold(words))
        and not any(result.holds(value) and result.field(value) for _, result in ledger_of(facts.session).results)
    )


def _bare(value: str) -> str:
    return fold(value).lstrip("#")


def _find_called(name: str, folded: str) -> Iterator[str]:
    """Ids that are said to be this: 12345 in "order number 12345", for `order_id`."""
    nouns = [word.removesuffix("s") for word in words_of(name) if word not in _GENERIC and len(word) > 3]
    return (match[1] for noun in nouns for match in _called(noun).finditer(folded))


@lru_cache(maxsize=512)
def _called(noun: str) -> re.Pattern[str]:
    said = rf"(?<!\w){re.escape(noun)}s?(?:[ _](?:ids?|numbers?|no|nr|code))?\W{{1,3}}(?:is )?"
    return re.compile(rf"{said}#?(?=[\w-]*\d)([\w-]{{3,}})(?!\w)")


def _is_a(value: str, name: str, session: History) -> bool:
    """A tool returned this value as the same kind of thing, or was given it as that: `M05KNL` under `reservations`, for
    `reservation_id`."""
    kinds = [word for word in words_of(name) if len(word) > 3]
    for event, result in ledger_of(session).results:
        if any(given == name and _bare(str(one)) == value for _, given, one in values(event.call.arguments)):
            return True
        if not result.holds(value):
            continue
        for form in (value, f"#{value}"):
            name_of = result.field(form)
            if any(kind in name_of.casefold() for kind in kinds):
                return True
            path = result.fields.get(form) if name_of else None
            if path and any(kind in part.casefold() for part in path for kind in kinds):
                return True
    return False


# --- amounts --------------------------------------------------------------------------------------------------------


def _is_amount(name: str, value: Json) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and bool(_AMOUNT.intersection(words_of(name)))


def _is_agreed_amount(facts: Facts, name: str, value: Json, words: str) -> bool:
    assert isinstance(value, int | float)
    folded = fold(words)
    if says_number(value, folded):
        return True
    shown = amounts_in(folded) or tuple(_find_bare_amounts(facts.call.tool, name, folded))
    return not shown or _is_derivable(float(value), shown[:_MOST_SHOWN], folded)


def _find_bare_amounts(tool: str, name: str, folded: str) -> Iterator[float]:
    """Numbers that are said to be the amount though no currency is: "refund 250", "amount: 250"."""
    before = "|".join(re.escape(word) for word in {*words_of(tool), *words_of(name), *_AMOUNT} if len(word) > 2)
    for match in re.finditer(rf"(?<!\w)(?:{before})(?:s|ing|ed)?\W{{1,3}}(?:of |is )?({_NUMBER})(?![\w%])", folded):
        yield read_number(match[1])


def _is_derivable(value: float, shown: Sequence[float], folded: str) -> bool:
    """It is the sum or the difference of some that were shown, or a shown one as many times as was said."""
    times = [many for many in range(2, 11) if says_number(many, folded)]
    parts = list(dict.fromkeys([*shown, *(one * many for one in shown for many in times)]))
    sums = (sum(some) for count in (1, 2, 3) for some in combinations(parts, count))
    differences = (abs(one - other) for one, other in combinations(parts, 2))
    return any(abs(abs(value) - found) < 0.005 for found in (*sums, *differences, sum(shown)))
