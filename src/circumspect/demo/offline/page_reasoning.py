"""Where is the information, do the results answer, is everything there: ModelRequest in, the form filled in out.

What it can tell is what words tell: a thing that is named stands on the page, a value stands in the conversation, a
sentence of a document or a result shares the question's words, a form has a field that must be filled and is not. It
never fills a gap itself, and where it cannot tell it says so with a low confidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from circumspect.demo.offline.given_values import UserMessages, find_field_value, is_date, is_to_be_filled
from circumspect.demo.offline.lexicon import concepts, either, fold_letters, lexicons, mentions, read, say
from circumspect.demo.offline.page_task import ReasoningTask
from circumspect.demo.offline.page_view import (
    TYPED,
    USED,
    ElementLine,
    Screen,
    find_shared_keys,
    keys_of,
    measure_coverage,
    measure_overlap,
)
from circumspect.values import Json, ModelRequest

FORMS = ("source", "solved", "can_proceed")
"""A field that only one of the three forms has, each."""
_SURE, _LIKELY, _WEAK, _GUESS = 0.95, 0.8, 0.75, 0.4
_ANSWERS, _PARTLY = 0.75, 0.6
_NAMED, _MEANT = 0.6, 0.5
_QUERIES = re.compile(r"“([^“”]*)”")
_PRODUCT = re.compile(r"^(?:.* [-–—|] )?([\w .]{2,40})$")


def is_reasoning(request: ModelRequest) -> bool:
    """The request asks for one of the forms that are filled in here, or for a summary of what was searched."""
    asked = (request.schema or {}).get("properties")
    keys = {block.key for block in request.blocks}
    if isinstance(asked, Mapping):
        return "page" in keys and any(name in asked for name in FORMS) and "evidence" in asked
    return request.purpose == "summarise" and {"page", "results"} <= keys


def answer_request(request: ModelRequest) -> dict[str, Json] | str:
    task = ReasoningTask(request)
    match request.purpose:
        case "analyse":
            return _analysis(task)
        case "evaluate":
            return _judgement(task)
        case "verify":
            return _completeness(task)
    return say(task.request.language, "page_found", titles="; ".join(task.titles[:3]))


@dataclass(frozen=True)
class _Needs:
    """What a form or a text calls necessary: what was said of it, and what was not."""

    known: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


# --- step 1 ---------------------------------------------------------------------------------------------------------


def _analysis(task: ReasoningTask) -> dict[str, Json]:
    """In the order in which places are looked at; the first that has everything is the source."""
    needs = _form_needs(task)
    for found in (_look_in_memory(task), _look_on_screen(task, needs), _look_in_documents(task), _unknown(task)):
        if found is not None:
            return found
    return _fill_form(task, "WEB_SEARCH", _LIKELY, "It is a question that the web may answer.", ("question",))


def _look_in_memory(task: ReasoningTask) -> dict[str, Json] | None:
    utterance = read(task.text)
    if utterance.has("greeting", "thanks", "bye") and len(utterance.tokens) <= 4:
        return _fill_form(task, "MEMORY", _SURE, "Small talk needs no information.", ("chat_history",))
    earlier = [keys_of(text) for text in task.talk.messages[:-1]]
    if mentions(task.text, "remembering") and any(find_shared_keys(task.keys, keys) for keys in earlier):
        return _fill_form(task, "MEMORY", _SURE, "It was said earlier in the conversation.", ("chat_history",))
    return None


def _look_on_screen(task: ReasoningTask, needs: _Needs | None) -> dict[str, Json] | None:
    element = _element(task)
    if needs is not None and not (task.uses_screen and element):
        if not needs.missing:
            why = "Everything the form asks for was said in the conversation."
            return _fill_form(task, "MEMORY", _SURE, why, ("chat_history", "page_dom"), known=needs.known)
        why = "The form on the page asks for values that nobody has said."
        return _fill_form(task, "ASK_USER", 0.9, why, ("page_dom",), missing=needs.missing, known=needs.known)
    if element is not None and not task.asks:
        if (
            element.role in TYPED
            and not element.options
            and find_field_value(element, task.talk) is None
            and not task.uses_screen
        ):
            why = "The field is on the page, and nobody has said what to put into it."
            return _fill_form(task, "ASK_USER", 0.9, why, ("page_dom",), missing=(element.name,))
        return _fill_form(task, "PAGE", _SURE, "What the message names is on the page.", ("page_dom",))
    how = _best(task.keys, task.screen.sentences, _find_heading_keys(task.screen))
    return None if how < _PARTLY else _grade_source(task, "PAGE", how, "The page says it.", "page_dom")


def _look_in_documents(task: ReasoningTask) -> dict[str, Json] | None:
    how = _best(task.topic, task.documents)
    if how < _PARTLY:
        return None
    needs = _find_stated_needs(task, task.documents)
    if needs.missing:
        why = "The documents say what it takes, and nobody has said all of that."
        return _fill_form(task, "ASK_USER", 0.9, why, ("documents",), missing=needs.missing, known=needs.known)
    return _grade_source(task, "KNOWLEDGE", how, "The organisation's own documents say it.", "documents")


def _unknown(task: ReasoningTask) -> dict[str, Json] | None:
    """An order that nothing at hand explains: only the user can say more, or the web says how it is done."""
    if not task.keys or (not task.asks and len(task.topic) <= 1 and not read(task.text).has(*concepts().actions)):
        return _fill_form(task, "ASK_USER", _GUESS, "It does not say what is wanted.", ())
    if task.asks:
        return None
    number = any(key.startswith("#") for key in task.keys)
    if mentions(task.text, "trouble") and not number:
        why = "Which trouble it is, only the user can tell."
        return _fill_form(task, "ASK_USER", _LIKELY, why, (), missing=("error_details",))
    personal = read(task.text).has("personal")
    private = [key for key in ("phone", "email", "address", "password", "card", "coupon", "name") if key in task.keys]
    if personal and private and not number:
        why = "The value is the user's own, and it was not said."
        return _fill_form(task, "ASK_USER", _LIKELY, why, (), missing=tuple(private[:1]))
    why = "How it is done here is not known; it can be looked up."
    return _fill_form(task, "WEB_SEARCH", _WEAK, why, (), external=("procedure",))


def _element(task: ReasoningTask) -> ElementLine | None:
    """The thing on the page that is named; where several are, the one whose name says most of it."""
    best, most = None, 0.0
    for one in task.screen.elements:
        if one.role not in USED or one.disabled:
            continue
        for name in (one.name, *one.options):
            named, meant = measure_overlap(name, task.keys), measure_overlap(task.wish_text, keys_of(name))
            if named >= _NAMED and (task.uses_screen or meant >= _MEANT) and named + meant > most:
                best, most = one, named + meant
    return best


def _form_needs(task: ReasoningTask) -> _Needs | None:
    """None where no form on the page is about what is asked for."""
    if task.asks:
        return None
    for form in task.screen.forms:
        inside = task.screen.within(form.id)
        fields = [one for one in inside if one.role in TYPED]
        names = [form.name, *(one.name for one in inside if one.role == "button"), *_find_headings(task.screen)]
        names += [option for one in fields for option in one.options]
        if is_to_be_filled(fields, task.talk) and any(find_shared_keys(keys_of(name), task.keys) for name in names):
            return _needs_of(fields, task.talk)
    return None


def _needs_of(fields: Iterable[ElementLine], talk: UserMessages) -> _Needs:
    known: dict[str, str] = {}
    missing: list[str] = []
    dates = 0
    for one in fields:
        value = find_field_value(one, talk, dates)
        dates += is_date(one)
        if value is not None:
            known[one.name] = value
        elif one.required:
            missing.append(one.name)
    return _Needs(known, tuple(missing))


def _find_stated_needs(task: ReasoningTask, sentences: Iterable[str]) -> _Needs:
    """What a text calls necessary, where something is to be done: "required fields are name and date of birth"."""
    if task.asks:
        return _Needs()
    for sentence in sentences:
        if mentions(sentence, "necessary"):
            after = _compile_needs().split(sentence)
            named = [part.strip(" .,:") for part in _compile_list().split(after[-1])]
            wanted = [part for part in named if 1 <= len(part.split()) <= 4]
            if len(after) > 1 and wanted:
                return _needs_of([ElementLine("", "textbox", _bare(part), required=True) for part in wanted], task.talk)
    return _Needs()


def _bare(name: str) -> str:
    articles = either(word for lists in lexicons() for word in lists.grammar.get("articles", ()))
    return re.sub(rf"^(?:{articles}) ", "", name, flags=re.IGNORECASE)


@cache
def _compile_needs() -> re.Pattern[str]:
    """What stands between what needs something and what it needs."""
    listed = [word for lists in lexicons() for word in lists.pages["needs"]]
    whole, stems = (word for word in listed if word[-1] != "*"), (word[:-1] for word in listed if word[-1] == "*")
    return re.compile(rf"\b(?:{either(whole)})\b|[:–—]|(?:{either(stems)})\w*")


@cache
def _compile_list() -> re.Pattern[str]:
    """What stands between the things in a list: a mark, a word, or a letter that is glued to the next word."""
    listed = either(word for lists in lexicons() for kind in ("and", "or") for word in lists.pages[kind])
    glued = "".join(lists.grammar.get("and", "") for lists in lexicons())
    return re.compile(rf"[,;]|\b(?:{listed})\b|\s[{glued}](?=\S)")


# --- step 3 ---------------------------------------------------------------------------------------------------------


def _judgement(task: ReasoningTask) -> dict[str, Json]:
    how = _best(task.topic, task.results)
    queries = _QUERIES.findall(task.request.instructions)
    solved = how >= _PARTLY
    refined = "" if solved else _refine_query(task, queries)
    return {
        "reasoning": "A result shares the words of the question." if solved else "No result answers the question.",
        "evidence": _evidence(task.titles[:1] if solved else (), how),
        "solved": solved,
        "confidence": round(min(0.95, 0.3 + 0.65 * how), 2),
        "should_retry": bool(refined),
        "refined_query": refined,
        "should_ask_user": False,
    }


def _refine_query(task: ReasoningTask, queries: Iterable[str]) -> str:
    """With what the page is called, or without it: whichever was not tried yet."""
    tried = {frozenset(fold_letters(query).split()) for query in queries}
    for query in (_query(task, named=True), _query(task, named=False), " ".join(_telling(task.text)[:3])):
        if query and frozenset(fold_letters(query).split()) not in tried:
            return query
    return ""


def _query(task: ReasoningTask, *, named: bool) -> str:
    words = _telling(task.text)
    product = _PRODUCT.match(task.screen.title)
    if named and product:
        words += [word for word in product[1].split() if fold_letters(word) not in map(fold_letters, words)]
    return " ".join(words)


def _telling(text: str) -> list[str]:
    utterance = read(text)
    return [utterance.text[one.start : one.end] for one in utterance.telling]


# --- step 4 ---------------------------------------------------------------------------------------------------------


def _completeness(task: ReasoningTask) -> dict[str, Json]:
    needs = _form_needs(task) or _find_stated_needs(task, (*task.documents, *task.results))
    how = max(
        _best(task.topic, task.results),
        _best(task.topic, task.documents),
        _best(task.keys, task.screen.sentences, _find_heading_keys(task.screen)),
    )
    enough = how >= _PARTLY or (not task.asks and bool(needs.known)) or _element(task) is not None
    proceed = enough and not needs.missing
    question = ""
    if needs.missing:
        question = say(
            task.request.language, "page_ask_found" if task.results else "page_ask", fields=", ".join(needs.missing)
        )
    elif not proceed:
        question = say(task.request.language, "page_unclear")
    return {
        "reasoning": "Everything is there." if proceed else "Something that it takes was not found.",
        "evidence": _evidence(task.titles[:1], how),
        "missing_information": [_name(one) for one in needs.missing] or ([] if proceed else ["procedure"]),
        "can_proceed": proceed,
        "confidence": _sureness(needs, how) if proceed else 0.9 if needs.missing else 0.7,
        "user_question": question,
    }


def _sureness(needs: _Needs, how: float) -> float:
    """That everything is there: all that is called necessary was said, or a sentence answers well."""
    return 0.9 if needs.known else round(max(0.5, min(0.95, 0.3 + 0.65 * how)), 2)


# --- what is filled in ----------------------------------------------------------------------------------------------


def _grade_source(task: ReasoningTask, source: str, how: float, why: str, place: str) -> dict[str, Json]:
    return _fill_form(task, source, 0.92 if how >= _ANSWERS else _WEAK, why, (place,))


def _fill_form(
    task: ReasoningTask,
    source: str,
    confidence: float,
    why: str,
    places: Iterable[str],
    *,
    missing: tuple[str, ...] = (),
    external: tuple[str, ...] = (),
    known: Mapping[str, str] | None = None,
) -> dict[str, Json]:
    private: list[Json] = [{"field": _name(one), "type": "PRIVATE_DATA", "description": one} for one in missing]
    common: list[Json] = [{"field": one, "type": "EXTERNAL_KNOWLEDGE", "description": one} for one in external]
    question = ""
    if source == "ASK_USER":
        named = [one for one in missing if one != "error_details"]
        question = (
            say(task.request.language, "page_ask", fields=", ".join(named))
            if named
            else say(task.request.language, "page_which")
        )
    return {
        "reasoning": why,
        "evidence": {
            "sources": list(places),
            "quality": "high" if confidence >= 0.9 else "medium",
            "gaps": list(missing),
        },
        "known": [{"field": _name(name), "value": value} for name, value in (known or {}).items()],
        "missing_info": [*private, *common],
        "source": source,
        "confidence": confidence,
        "search_query": _query(task, named=True) if source != "ASK_USER" else "",
        "user_question": question,
        "changes_something": _changes(task),
    }


def _changes(task: ReasoningTask) -> bool:
    if task.asks:
        return False
    known = concepts()
    element = _element(task) if task.uses_screen else None
    said = read(element.name if element else task.text)
    return said.has(*known.write, *known.destructive) or not (task.uses_screen or task.asks)


def _evidence(sources: Iterable[str], how: float) -> dict[str, Json]:
    quality = "high" if how >= _ANSWERS else "medium" if how >= _PARTLY else "low"
    return {"sources": list(sources), "quality": quality, "gaps": []}


def _name(label: str) -> str:
    return "_".join(re.findall(r"\w+", fold_letters(label)))[:60]


# --- words ----------------------------------------------------------------------------------------------------------


def _best(asked: frozenset[str], sentences: Iterable[str], above: frozenset[str] = frozenset()) -> float:
    """How well the best sentence answers. What stands above all of them (`above`) need not be said in it again."""
    keys = [keys_of(sentence) for sentence in sentences]
    sought = frozenset(asked - find_shared_keys(asked, above)) or asked
    return max((measure_coverage(sought, one, keys) for one in keys), default=0.0) if sought else 0.0


def _find_heading_keys(screen: Screen) -> frozenset[str]:
    return frozenset(key for text in (screen.title, *_find_headings(screen)) for key in keys_of(text))


def _find_headings(screen: Screen) -> tuple[str, ...]:
    return tuple(one.name for one in screen.elements if one.role == "heading")
