"""Where is the information, do the results answer, is everything there: ModelRequest in, the form filled in out.

What it can tell is what words tell: a thing that is named stands on the page, a value stands in the conversation, a
sentence of a document or a result shares the question's words, a form has a field that must be filled and is not. It
never fills a gap itself, and where it cannot tell it says so with a low confidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from circumspect.models.offline.given import Talk, given, is_date
from circumspect.models.offline.lexicon import _file, concepts, folded, is_stop, read, script, stem
from circumspect.models.offline.pages import TYPED, USED, Listed, Screen, covered, keys_of, screen_of, share, shared
from circumspect.turn import Json, ModelRequest

FORMS = ("source", "solved", "can_proceed")
"""A field that only one of the three forms has, each."""
_SURE, _LIKELY, _WEAK, _GUESS = 0.95, 0.8, 0.75, 0.4
_ANSWERS, _PARTLY = 0.75, 0.6
_NAMED, _MEANT = 0.6, 0.5
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")
_RESULT = re.compile(r"^\[(\d{1,2})\] (.*)$")
_QUERIES = re.compile(r"“([^“”]*)”")
_LIST = re.compile(r",|\band\b|\bor\b|;|(?<=\s)и\s|\sו(?=\S)")
_TITLE_CASE = re.compile(r"(?<=\S )[A-Z][a-z]{2,}\b")
_PRODUCT = re.compile(r"^(?:.* [-–—|] )?([\w .]{2,40})$")


def is_reasoning(request: ModelRequest) -> bool:
    """The request asks for one of the forms that are filled in here, or for a summary of what was searched."""
    asked = (request.schema or {}).get("properties")
    keys = {block.key for block in request.blocks}
    if isinstance(asked, Mapping):
        return "page" in keys and any(name in asked for name in FORMS) and "evidence" in asked
    return request.purpose == "summarise" and {"page", "results"} <= keys


def reasoned(request: ModelRequest) -> dict[str, Json] | str:
    case = _Case(request)
    match request.purpose:
        case "analyse":
            return _analysis(case)
        case "evaluate":
            return _judgement(case)
        case "verify":
            return _completeness(case)
    return _say(case, "found", titles="; ".join(case.titles[:3]))


@dataclass(frozen=True)
class _Case:
    """The request, read."""

    request: ModelRequest

    @cached_property
    def screen(self) -> Screen:
        return screen_of(self.request)

    @cached_property
    def talk(self) -> Talk:
        return Talk(tuple(said.text for said in self.request.messages if said.role == "user"))

    @property
    def text(self) -> str:
        return self.talk.messages[-1] if self.talk.messages else ""

    @cached_property
    def keys(self) -> frozenset[str]:
        """What the newest message is about. Words that ask for a measure or tell to click are not part of that."""
        return keys_of(self.wanted) or keys_of(self.text)

    @cached_property
    def wanted(self) -> str:
        spare = {*_words("measures"), *_words("screen_verbs")}
        utterance = read(self.text)
        return " ".join(utterance.text[one.start : one.end] for one in utterance.tokens if one.text not in spare)

    @cached_property
    def topic(self) -> frozenset[str]:
        """The same without names: a manual does not know who the new patient is."""
        if self.asks:
            return self.keys
        names = {stem(folded(hit[0])) for hit in _TITLE_CASE.finditer(self.text) if not read(hit[0]).mentions}
        return frozenset(key for key in self.keys if key not in names and not key.startswith("#")) or self.keys

    @cached_property
    def asks(self) -> bool:
        utterance = read(self.text)
        return utterance.asks and not (utterance.has("request") and "?" not in self.text)

    @cached_property
    def uses_screen(self) -> bool:
        return _mentions(self.text, "screen_verbs")

    @cached_property
    def documents(self) -> tuple[str, ...]:
        return _sentences(self._block("documents"))

    @cached_property
    def results(self) -> tuple[str, ...]:
        """The sentences of all results, each with its title, which says what the sentence is about."""
        found: list[str] = []
        title = ""
        for line in self._block("results").splitlines():
            if headed := _RESULT.match(line):
                title = headed[2].rpartition(" (")[0]
            else:
                found += [f"{title}: {sentence}" for sentence in _sentences(line)]
        return tuple(found)

    @cached_property
    def titles(self) -> tuple[str, ...]:
        lines = (_RESULT.match(line) for line in self._block("results").splitlines())
        return tuple(found[2].rpartition(" (")[0] for found in lines if found)

    def _block(self, key: str) -> str:
        return next((block.text for block in self.request.blocks if block.key == key), "")


@dataclass(frozen=True)
class _Needs:
    """What a form or a text calls necessary: what was said of it, and what was not."""

    known: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


# --- step 1 ---------------------------------------------------------------------------------------------------------


def _analysis(case: _Case) -> dict[str, Json]:
    """In the order in which places are looked at; the first that has everything is the source."""
    needs = _form_needs(case)
    for found in (_remembered(case), _on_screen(case, needs), _written_down(case), _unknown(case)):
        if found is not None:
            return found
    return _filled(case, "WEB_SEARCH", _LIKELY, "It is a question that the web may answer.", ("question",))


def _remembered(case: _Case) -> dict[str, Json] | None:
    utterance = read(case.text)
    if utterance.has("greeting", "thanks", "bye") and len(utterance.tokens) <= 4:
        return _filled(case, "MEMORY", _SURE, "Small talk needs no information.", ("chat_history",))
    earlier = [keys_of(text) for text in case.talk.messages[:-1]]
    if _mentions(case.text, "remembering") and any(shared(case.keys, keys) for keys in earlier):
        return _filled(case, "MEMORY", _SURE, "It was said earlier in the conversation.", ("chat_history",))
    return None


def _on_screen(case: _Case, needs: _Needs | None) -> dict[str, Json] | None:
    element = _element(case)
    if needs is not None and not (case.uses_screen and element):
        if not needs.missing:
            why = "Everything the form asks for was said in the conversation."
            return _filled(case, "MEMORY", _SURE, why, ("chat_history", "page_dom"), known=needs.known)
        why = "The form on the page asks for values that nobody has said."
        return _filled(case, "ASK_USER", 0.9, why, ("page_dom",), missing=needs.missing, known=needs.known)
    if element is not None and not case.asks:
        if element.role in TYPED and not element.options and given(element, case.talk) is None and not case.uses_screen:
            why = "The field is on the page, and nobody has said what to put into it."
            return _filled(case, "ASK_USER", 0.9, why, ("page_dom",), missing=(element.name,))
        return _filled(case, "PAGE", _SURE, "What the message names is on the page.", ("page_dom",))
    how = _best(case.keys, case.screen.sentences, _said_above(case.screen))
    return None if how < _PARTLY else _graded(case, "PAGE", how, "The page says it.", "page_dom")


def _written_down(case: _Case) -> dict[str, Json] | None:
    how = _best(case.topic, case.documents)
    if how < _PARTLY:
        return None
    needs = _stated_needs(case, case.documents)
    if needs.missing:
        why = "The documents say what it takes, and nobody has said all of that."
        return _filled(case, "ASK_USER", 0.9, why, ("documents",), missing=needs.missing, known=needs.known)
    return _graded(case, "KNOWLEDGE", how, "The organisation's own documents say it.", "documents")


def _unknown(case: _Case) -> dict[str, Json] | None:
    """An order that nothing at hand explains: only the user can say more, or the web says how it is done."""
    if not case.keys or (not case.asks and len(case.topic) <= 1 and not read(case.text).has(*concepts().actions)):
        return _filled(case, "ASK_USER", _GUESS, "It does not say what is wanted.", ())
    if case.asks:
        return None
    number = any(key.startswith("#") for key in case.keys)
    if _mentions(case.text, "trouble") and not number:
        why = "Which trouble it is, only the user can tell."
        return _filled(case, "ASK_USER", _LIKELY, why, (), missing=("error_details",))
    personal = read(case.text).has("personal")
    private = [key for key in ("phone", "email", "address", "password", "card", "coupon", "name") if key in case.keys]
    if personal and private and not number:
        why = "The value is the user's own, and it was not said."
        return _filled(case, "ASK_USER", _LIKELY, why, (), missing=tuple(private[:1]))
    why = "How it is done here is not known; it can be looked up."
    return _filled(case, "WEB_SEARCH", _WEAK, why, (), external=("procedure",))


def _element(case: _Case) -> Listed | None:
    """The thing on the page that is named; where several are, the one whose name says most of it."""
    best, most = None, 0.0
    for one in case.screen.elements:
        if one.role not in USED or one.disabled:
            continue
        for name in (one.name, *one.options):
            named, meant = share(name, case.keys), share(case.wanted, keys_of(name))
            if named >= _NAMED and (case.uses_screen or meant >= _MEANT) and named + meant > most:
                best, most = one, named + meant
    return best


def _form_needs(case: _Case) -> _Needs | None:
    """None where no form on the page is about what is asked for."""
    if case.asks:
        return None
    for form in case.screen.forms:
        inside = case.screen.within(form.id)
        fields = [one for one in inside if one.role in TYPED]
        names = [form.name, *(one.name for one in inside if one.role == "button")]
        names += [option for one in fields for option in one.options]
        if any(one.required for one in fields) and any(shared(keys_of(name), case.keys) for name in names):
            return _needs_of(fields, case.talk)
    return None


def _needs_of(fields: Iterable[Listed], talk: Talk) -> _Needs:
    known: dict[str, str] = {}
    missing: list[str] = []
    dates = 0
    for one in fields:
        value = given(one, talk, dates)
        dates += is_date(one)
        if value is not None:
            known[one.name] = value
        elif one.required:
            missing.append(one.name)
    return _Needs(known, tuple(missing))


def _stated_needs(case: _Case, sentences: Iterable[str]) -> _Needs:
    """What a text calls necessary, where something is to be done: "required fields are name and date of birth"."""
    if case.asks:
        return _Needs()
    for sentence in sentences:
        if _mentions(sentence, "necessary"):
            after = re.split(
                r"\b(?:are|is|requires?|needs?|need)\b|[:–—]|нужн\w*|требу\w*|необходим\w*|נדרש\w*", sentence
            )
            named = [part.strip(" .,:") for part in _LIST.split(after[-1])]
            wanted = [part for part in named if 1 <= len(part.split()) <= 4]
            if len(after) > 1 and wanted:
                return _needs_of([Listed("", "textbox", _bare(part), required=True) for part in wanted], case.talk)
    return _Needs()


def _bare(name: str) -> str:
    return re.sub(r"^(?:an?|the|your|its) ", "", name, flags=re.IGNORECASE)


# --- step 3 ---------------------------------------------------------------------------------------------------------


def _judgement(case: _Case) -> dict[str, Json]:
    how = _best(case.topic, case.results)
    queries = _QUERIES.findall(case.request.instructions)
    solved = how >= _PARTLY
    refined = "" if solved else _refined(case, queries)
    return {
        "reasoning": "A result shares the words of the question." if solved else "No result answers the question.",
        "evidence": _evidence(case.titles[:1] if solved else (), how),
        "solved": solved,
        "confidence": round(min(0.95, 0.3 + 0.65 * how), 2),
        "should_retry": bool(refined),
        "refined_query": refined,
        "should_ask_user": False,
    }


def _refined(case: _Case, queries: Iterable[str]) -> str:
    """With what the page is called, or without it: whichever was not tried yet."""
    tried = {frozenset(folded(query).split()) for query in queries}
    for query in (_query(case, named=True), _query(case, named=False), " ".join(_telling(case.text)[:3])):
        if query and frozenset(folded(query).split()) not in tried:
            return query
    return ""


def _query(case: _Case, *, named: bool) -> str:
    words = _telling(case.text)
    product = _PRODUCT.match(case.screen.title)
    if named and product:
        words += [word for word in product[1].split() if folded(word) not in map(folded, words)]
    return " ".join(words)


def _telling(text: str) -> list[str]:
    utterance = read(text)
    return [utterance.text[one.start : one.end] for one in utterance.tokens if not is_stop(one.text)]


# --- step 4 ---------------------------------------------------------------------------------------------------------


def _completeness(case: _Case) -> dict[str, Json]:
    needs = _form_needs(case) or _stated_needs(case, (*case.documents, *case.results))
    how = max(
        _best(case.topic, case.results),
        _best(case.topic, case.documents),
        _best(case.keys, case.screen.sentences, _said_above(case.screen)),
    )
    enough = how >= _PARTLY or (not case.asks and bool(needs.known)) or _element(case) is not None
    proceed = enough and not needs.missing
    question = ""
    if needs.missing:
        question = _say(case, "ask_found" if case.results else "ask", fields=", ".join(needs.missing))
    elif not proceed:
        question = _say(case, "unclear")
    return {
        "reasoning": "Everything is there." if proceed else "Something that it takes was not found.",
        "evidence": _evidence(case.titles[:1], how),
        "missing_information": [_name(one) for one in needs.missing] or ([] if proceed else ["procedure"]),
        "can_proceed": proceed,
        "confidence": 0.9 if needs.missing else round(max(0.5, min(0.95, 0.3 + 0.65 * how)), 2) if proceed else 0.7,
        "user_question": question,
    }


# --- what is filled in ----------------------------------------------------------------------------------------------


def _graded(case: _Case, source: str, how: float, why: str, place: str) -> dict[str, Json]:
    return _filled(case, source, 0.92 if how >= _ANSWERS else _WEAK, why, (place,))


def _filled(
    case: _Case,
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
        question = _say(case, "ask", fields=", ".join(named)) if named else _say(case, "which")
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
        "search_query": _query(case, named=True) if source != "ASK_USER" else "",
        "user_question": question,
        "changes_something": _changes(case),
    }


def _changes(case: _Case) -> bool:
    if case.asks:
        return False
    known = concepts()
    element = _element(case) if case.uses_screen else None
    said = read(element.name if element else case.text)
    return said.has(*known.write, *known.destructive) or not (case.uses_screen or case.asks)


def _evidence(sources: Iterable[str], how: float) -> dict[str, Json]:
    quality = "high" if how >= _ANSWERS else "medium" if how >= _PARTLY else "low"
    return {"sources": list(sources), "quality": quality, "gaps": []}


def _name(label: str) -> str:
    return "_".join(re.findall(r"\w+", folded(label)))[:60]


def _say(case: _Case, key: str, **values: str) -> str:
    sentences = _file("reasoning")["sentences"]
    return str(sentences[case.request.language][key]).format_map(values)


# --- words ----------------------------------------------------------------------------------------------------------


def _best(asked: frozenset[str], sentences: Iterable[str], above: frozenset[str] = frozenset()) -> float:
    """How well the best sentence answers. What stands above all of them (`above`) need not be said in it again."""
    keys = [keys_of(sentence) for sentence in sentences]
    sought = frozenset(asked - shared(asked, above)) or asked
    return max((covered(sought, one, keys) for one in keys), default=0.0) if sought else 0.0


def _said_above(screen: Screen) -> frozenset[str]:
    headings = (one.name for one in screen.elements if one.role == "heading")
    return frozenset(key for text in (screen.title, *headings) for key in keys_of(text))


def _sentences(text: str) -> tuple[str, ...]:
    lines = "\n".join(line.removeprefix(">").strip() for line in text.splitlines())
    return tuple(one.strip() for one in _SENTENCE.split(lines) if one.strip() and not one.startswith("("))


def _words(kind: str) -> tuple[str, ...]:
    return tuple(folded(word) for listed in _file("reasoning")[kind].values() for word in listed)


def _mentions(text: str, kind: str) -> bool:
    """English words whole, Hebrew ones with prefixes, Russian ones with any ending."""
    said = f" {' '.join(one.text for one in read(text).tokens)} "
    for language, listed in _file("reasoning")[kind].items():
        for word in map(folded, listed):
            if script(word) == language and (f" {word} " in said or (language == "ru" and f" {word}" in said)):
                return True
            if language == "he" and any(f" {prefix}{word} " in said for prefix in "והש"):
                return True
    return False
