"""What a reply says about deeds: text -> statements, each with its kind, its action and the records it names.

A reply is read sentence by sentence and clause by clause, with the words of `statements.txt`. Whatever is asked,
supposed, reported of others or true in general states nothing about this case.

What may surprise: everything is a list of words and their order in a clause, not a parser; one scan per language over
each clause, so that a long reply costs what its length says. What a clause says by itself is remembered: a third of the
clauses of new replies were read before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

from circumspect.language.folding import fold
from circumspect.language.pack import pack
from circumspect.language.registry import Language
from circumspect.language.sentences import split_sentences
from circumspect.language.watched_words import TextWords, Watch
from circumspect.policy.grounding.statement_patterns import (
    STOPS,
    TICK,
    FoundSign,
    StatementPatterns,
    find_doubts,
    find_patterns,
    pick_read,
)

StatementKind = Literal[
    "done", "own", "asserted", "hinted", "promised", "not_done", "bad_news", "negated", "asks_secret", "other"
]
"""`own`, `asserted` and `hinted` say how things stand with a verb that nobody listed: of ourselves or of something that
has ended; of what deeds are done to; of something else. `bad_news` says that it did not work; `negated` is any other
denial."""
ANY = "any"


class Statement(NamedTuple):
    """One clause of a reply that states something."""

    sentence: str
    clause: str
    """Folded, with the clauses beside it that only add to it."""
    kind: StatementKind
    action: str = ANY
    objects: frozenset[str] = frozenset()
    both: bool = False
    touches: bool = False
    """It speaks of what deeds are done to."""


_QUOTED = re.compile(r"(?<!\w)\"[^\"]{0,300}\"(?!\w)")
_MARKS = re.compile(r"[*_`#>|\u2022\ufe0f]+")
_TICKS = re.compile(r"[\u2705\u2714\u2611\u2713]")
_GLUED = re.compile(r"(?<=[\u0590-\u05ff])-(?=\d)")
_LIST_ITEM = re.compile(r"^\s*(?:[-+]|\d{1,2}[.)])\s+")
_NO_MORE = re.compile(r"(\w{2,9}) \w+(?:,| -) \1(?: \w+){1,3}\W*$")
"""No order, no bill."""
_BULLET = re.compile(r"\s*[*\u2022\u2705\u2714\u2611\u2713]")
_LONGEST = 400
_FULL_STOPS = frozenset((";", " - "))
_NUMBER = re.compile(r"\d{4}|\w@\w|\d:\d\d|\d[.,]\d\d(?!\d)|(?<![\w-])[a-z]-\d{1,3}(?![\w-])")
_FIGURE = re.compile(r"[^\W\d]\W+\d|\d\W+[^\W\d]")
_STOPS = re.compile(STOPS)
_KNOWN_CLAUSES = 4096
_TOPIC = 4
"""A question of so many words that only names something is what the next sentence is about: "The refund? Issued."."""


class _Setting(NamedTuple):
    """What the sentences before leave open."""

    topic: str = ""
    listed: bool = False
    """A list of what is possible has begun."""


@lru_cache(maxsize=256)
def read_statements(reply: str, language: Language | None = None) -> tuple[Statement, ...]:
    """What the sentences of a reply state, in their order. Of several languages with the same letters the
    conversation's is read, and English, into which models fall."""
    found: list[Statement] = []
    setting = _Setting()
    for piece in split_sentences(reply):
        statements, setting = _read_piece(piece, setting, language)
        found += statements
    return tuple(found)


@lru_cache(maxsize=4096)
def _read_piece(piece: str, setting: _Setting, language: Language | None) -> tuple[Sequence[Statement], _Setting]:
    """The statements of one sentence of a reply. The same ones come again: greetings, offers, lists, whole replies."""
    is_item = bool(_LIST_ITEM.match(piece) or _BULLET.match(piece))
    text = fold(_LIST_ITEM.sub("", piece)).replace("\u0451", "\u0435")
    if '"' in text:
        text = _QUOTED.sub(" ", text)
    listed = setting.listed
    if text.isascii():
        text = _MARKS.sub(" ", text)
    else:
        # A tick says "done" of what stands behind it, unless it only decks out a list of what is possible.
        text = _TICKS.sub(" " if listed else f"; {TICK} ", text)
        text = _GLUED.sub(" ", _MARKS.sub(" ", text))
    text = " ".join(text.split()).removeprefix("; ")
    spoken = pick_read(language)
    there = [one for one in spoken if one.script.letter.search(text)] or (spoken[:1] if _NUMBER.search(text) else ())
    if not there:
        return (), setting
    here = [find_patterns(one.code) for one in there]
    said = _read_words(text, here)
    main = _find_main(here, said)
    listed = listed and is_item
    told = _read_words(setting.topic + text, here) if setting.topic else said
    found: list[Statement] = []
    for words in here:
        if words is main or words.has_words_in(told[words.watch]):
            found.extend(_read_sentence(piece, told[words.watch], words, plain=words is main and not listed))
        elif not _is_asked(whole := told[words.watch].text):
            # Another language with the same letters: it says nothing of any deed.
            found.extend(Statement(piece, clause, "other") for clause, _ in _split_text(whole.strip(), _STOPS))
    topic = f"{text.rstrip('? ')}: " if any(_is_topic(said[words.watch], words) for words in here) else ""
    # "I can:" and a list of what.
    listed = listed or (text.endswith(":") and any(one.kind == "modal" for one in _scan(said[main.watch], main)))
    return tuple(found), _Setting(topic, listed)


def _read_words(text: str, here: Sequence[StatementPatterns]) -> Mapping[Watch, TextWords]:
    return {watch: watch.read(text) for watch in {words.watch for words in here}}


def _find_main(here: Sequence[StatementPatterns], said: Mapping[Watch, TextWords]) -> StatementPatterns:
    """The language with the most letters, and of those with the same letters the one with the most of its words."""
    if len(here) == 1:
        return here[0]
    if len(said) == 1:
        (one,) = said.values()
        if not any(words.small.may_be_in(one) for words in here[1:]):
            return here[0]
        return max(here, key=lambda words: words.small.count(one))
    letters = {words.watch: pack(words.language).script.count(said[words.watch].text) for words in here}
    return max(here, key=lambda words: (letters[words.watch], words.small.count(said[words.watch])))


def _is_topic(said: TextWords, words: StatementPatterns) -> bool:
    text = said.text
    if not text.endswith("?") or text.count(" ") >= _TOPIC or words.question.match(said):
        return False
    signs = _scan(said, words)
    named = bool(signs) or words.objects.search(said) or bool(_NUMBER.search(text))
    return named and all(sign.kind == "deed" for sign in signs)


def denies_deed(text: str, language: Language | None = None) -> bool:
    """It says that something was not done: whether that is so, only the whole conversation tells."""
    return any(one.kind == "not_done" for one in read_statements(text, language))


def admits_doubt(reply: str, language: Language | None = None) -> bool:
    """The reply says itself that nobody knows what became of the deed."""
    text = fold(reply).replace("\u0451", "\u0435")
    return any(find_doubts(one.code).search(text) for one in pick_read(language))


def states_deed(text: str) -> bool:
    """Something in it has to be checked against what ran."""
    return any(one.kind != "other" for one in read_statements(text))


class _Clause:
    """What a clause says by itself, whatever stands around it."""

    def __init__(self, text: str, words: StatementPatterns) -> None:
        self.text, self._words = text, words
        self.said = words.read(text)
        self.turns = words.turns.match(self.said)
        self.signs = _scan(self.said, words)
        self.objects = _find_objects(self.said, words)

    @cached_property
    def names_thing(self) -> bool:
        """Something that deeds are done to."""
        return bool(self.objects) or _names_thing(self.said, self._words)

    @cached_property
    def is_tied(self) -> bool:
        """To this case."""
        said, words = self.said, self._words
        return bool(_NUMBER.search(said.text)) or words.dated.search(said) or words.anchor.search(said)

    @cached_property
    def may_be_tied(self) -> bool:
        return self.is_tied or bool(_FIGURE.search(self.text)) or self._words.definite.search(self.said)

    @cached_property
    def owns(self) -> bool:
        """It says what we did ourselves."""
        return self._words.own.search(self.said)

    @cached_property
    def ceases(self) -> bool:
        return self._words.ceased.search(self.said)

    @cached_property
    def is_harmless(self) -> bool:
        return self._words.harmless.search(self.said)

    @cached_property
    def asks(self) -> bool:
        return self._words.question.match(self.said)


@lru_cache(maxsize=_KNOWN_CLAUSES)
def _read_clause_alone(text: str, words: StatementPatterns) -> _Clause:
    return _Clause(text, words)


def _split(said: TextWords, words: StatementPatterns) -> list[tuple[str, str]]:
    """Each clause with the mark before it."""
    return _split_text(said.text, words.clauses.pattern if words.clauses.may_be_in(said) else _STOPS)


def _split_text(text: str, marks: re.Pattern[str]) -> list[tuple[str, str]]:
    """Each clause with the mark before it."""
    found: list[tuple[str, str]] = []
    at, mark = 0, ""
    for hit in (*marks.finditer(text), None):
        start = hit.start() if hit else len(text)
        if start - at <= _LONGEST:
            if piece := text[at:start].strip():
                found.append((piece, mark))
                mark = ""
        else:
            # Nobody says so much in one clause; what is longer is read in pieces.
            for begin in range(at, start, _LONGEST):
                if piece := text[begin : min(start, begin + _LONGEST)].strip():
                    found.append((piece, mark))
                    mark = ""
        if hit:
            at, mark = hit.end(), hit[0] or mark
    return found


def _is_asked(text: str) -> bool:
    return text.rstrip(" \"')").endswith("?")


def _leave_out(said: TextWords, words: StatementPatterns) -> TextWords:
    """Without what is said around a statement."""
    text = said.text
    if words.that:
        text = words.that.sub(r"\1 ", text)
    if words.linking.may_be_in(said):
        text = words.linking.pattern.sub("", text)
    if words.aside.may_be_in(said):
        text = words.aside.pattern.sub(" ", text)
    text = text.strip()
    return said if text == said.text else words.read(text)


def _read_sentence(sentence: str, said: TextWords, words: StatementPatterns, *, plain: bool) -> Iterator[Statement]:
    """`plain`: also what is said with verbs that nobody listed."""
    if _asks_secret(said, words):
        yield Statement(sentence, said.text, "asks_secret")
    said = _leave_out(said, words)
    text = said.text
    if (
        plain
        and (hit := _NO_MORE.match(text))
        and [one.kind for one in _scan(words.read(hit[1]), words)] == ["negation"]
    ):
        yield Statement(sentence, text, "own", touches=True)
        return
    asked = _is_asked(text)
    pieces = _split(said, words)
    if asked:
        if words.question.match(said) or words.tag.pattern.search(text.rstrip("?! ")):
            return
        pieces = pieces[:-1]
    clauses = [_read_clause_alone(piece, words) for piece, _ in pieces]
    if not (plain or any(clause.signs for clause in clauses)):
        # Another language with the same letters: it says nothing of any deed.
        yield from () if asked else _read_without_signs(sentence, clauses)
        return
    whole = _Whole(said, words, clauses)
    exempt, possible, noun, denied = False, False, "", False
    lead: list[FoundSign] = []
    waiting: frozenset[str] = frozenset()
    read: list[Statement] = []
    for clause, (_, mark) in zip(clauses, pieces, strict=True):
        one = clause.signs
        # What was supposed or reported before it does not reach it.
        alone = clause.turns or mark in _FULL_STOPS
        exempt = exempt and not alone
        goes_on = False
        if one:
            first = one[0]
            if (denied and first.kind == "done") or (lead and first.kind == "do"):
                bare = _is_bare(clause.text[: first.start], words)
                # "I have not charged, refunded or cancelled": the next of a list, without a subject of its own.
                goes_on = bare and denied and first.kind == "done"
                if bare and lead and first.kind == "do":
                    one = [*lead, *one]
        kinds = {sign.kind for sign in one}
        possible = (possible and not alone) or any(sign.kind in _POSSIBLE for sign in clause.signs)
        lead = [] if kinds.isdisjoint(_LEADS) else [sign for sign in one if sign.kind in _LEADS]
        # "The address stayed, because the parcel is on its way": what is on its way is the parcel.
        named = clause.objects
        noun = "" if named else noun
        made: list[tuple[StatementKind, str]] = []
        if one:
            made, exempt, noun = _read_clause(one, kinds, exempt, noun, goes_on)
        if plain and not (made or exempt) and (kind := _find_assertion(clause, whole, kinds, possible)):
            made = [(kind, next((sign.action for sign in one if sign.kind == "deed"), ANY))]
        denied = (
            goes_on
            or "denied" in kinds
            or ("negation" in kinds and any(sign.kind == "negation" and sign.start for sign in one))
        )
        if made and (asked or whole.supposes):
            made = [(kind, action) for kind, action in made if kind in ("done", "own")]
        if made and whole.names_others:
            made = [(kind, action) for kind, action in made if kind not in ("promised", "asserted", "hinted", "own")]
        # "Your account, too, is deleted": what was named and still waits for its verb.
        objects = named or waiting
        waiting = frozenset() if made and made[0][0] not in _UNLISTED else objects
        both = "both" in kinds
        if made:
            touches = _touches(clause, kinds) or clause.owns
            read += [Statement(sentence, clause.text, kind, action, objects, both, touches) for kind, action in made]
        elif read and read[-1].kind != "other" and not alone and len(read[-1].clause) < _LONGEST:
            read[-1] = read[-1]._replace(clause=f"{read[-1].clause}, {clause.text}", both=read[-1].both or both)
        elif not exempt and not asked:
            read.append(Statement(sentence, clause.text, "other", ANY, objects))
    if any(one.kind in ("not_done", "bad_news") or (one.kind == "negated" and one.touches) for one in read):
        # The rest of the sentence says why.
        read = [one._replace(kind="other") if one.kind in ("asserted", "hinted") else one for one in read]
    yield from _join_leading(read)


def _read_without_signs(sentence: str, clauses: list[_Clause]) -> Iterator[Statement]:
    objects = frozenset[str]()
    for clause in clauses:
        objects = clause.objects or objects
        yield Statement(sentence, clause.text, "other", ANY, objects)


def _find_objects(said: TextWords, words: StatementPatterns) -> frozenset[str]:
    if not words.objects.may_be_in(said):
        return frozenset()
    return frozenset([hit.lastgroup or "" for hit in words.objects.pattern.finditer(said.text)])


@lru_cache(maxsize=1024)
def find_objects(words: str, language: Language = "en") -> frozenset[str]:
    """The kinds of things that words name: those of a tool, say."""
    patterns = find_patterns(language)
    return _find_objects(patterns.read(words), patterns)


def _is_bare(before: str, words: StatementPatterns) -> bool:
    """Nothing but an "and" stands before the verb: its subject is the one of the clause before."""
    return not before.strip() or bool(words.joins.fullmatch(before.strip()))


def _join_leading(read: list[Statement]) -> Iterator[Statement]:
    """What stands before the first statement of a sentence belongs to it: "12345 and 12351: both cancelled"."""
    before = ""
    for one in read:
        if one.kind == "other":
            before = f"{before} {one.clause},"[-_LONGEST:]
            yield one
        else:
            yield one._replace(clause=f"{before} {one.clause}".strip()) if before else one
            before = ""


_DONE_TO = frozenset(("delete", "close", "pay", "charge", "book"))


def _scan(said: TextWords, words: StatementPatterns) -> list[FoundSign]:
    found = words.signs.find(said)
    if not found:
        return found
    signs = [sign for sign in found if not (sign.kind == "done" and words.attributive.search(said.text, 0, sign.start))]
    if any(sign.kind == "general" for sign in signs) and (own := words.own.pattern.search(said.text)):
        # "I have cancelled the orders": what we say that we took away, paid or booked is this case, whatever its noun.
        deeds = (one for one in signs if one.kind in ("done", "framed") and one.action in _DONE_TO)
        if any(own.start() <= one.start and one.end <= own.end() for one in deeds):
            signs = [one for one in signs if one.kind != "general" or one.start < own.start()]
    return signs


def _read_clause(
    signs: list[FoundSign], kinds: Set[str], exempt: bool, noun: str, goes_on: bool
) -> tuple[list[tuple[StatementKind, str]], bool, str]:
    """What a clause states; whether the next ones are exempt; and the noun that still waits for its predicate."""
    made: list[tuple[StatementKind, str]] = []
    if "general" in kinds:
        return [], exempt or bool(kinds & {"condition", "reported"}), ""
    named = False
    # "Perform the refund" is refunding.
    performed = next((sign.action for sign in signs if sign.kind in ("deed", "do") and sign.action != "create"), "")
    signs = [one._replace(action=performed) if performed and one.action == "create" else one for one in signs]
    before: set[str] = set()
    last: FoundSign | None = None
    for sign in signs:
        if last:
            before.add(last.kind)
        near = last is not None and last.kind == "modal" and sign.start - last.end <= 14
        last = sign
        if sign.kind in ("condition", "reported"):
            exempt = True
        if exempt:
            break
        denied = goes_on or "negation" in before
        match sign.kind:
            case "done" | "framed":
                named = True
                if "unable" in kinds:
                    made.append(("not_done", sign.action))
                elif near or "future" in before:
                    if "future" in before and not denied and "someone_else" not in kinds:
                        made.append(("promised", sign.action))
                else:
                    made.append(("not_done" if denied else "done", sign.action))
            case "undone" | "denied":
                named = True
                made.append(("not_done", sign.action))
            case "state":
                named = True
                if not denied:
                    made.append(("done", sign.action))
            case "promised" | "doing":
                named = True
                if not denied and "someone_else" not in kinds and not near:
                    made.append(("promised", sign.action))
            case "promise" if not named and "someone_else" not in kinds and not denied:
                named = True
                made.append(("promised", ANY))
            case "do":
                if "unable" in kinds:
                    named = True
                    made.append(("not_done", sign.action))
                elif "managed" in before:
                    named = True
                    made.append(("not_done" if denied else "done", sign.action))
                elif "future" in before and not denied and "someone_else" not in kinds:
                    named = True
                    made.append(("promised", sign.action))
                else:
                    noun = sign.action
            case "deed":
                noun = sign.action
                if "managed" in before and not named:
                    named = True
                    made.append(("not_done" if denied or "unable" in kinds else "done", noun))
            case "ended" if not (noun or performed):
                pass
            case "finished" | "ended" | "failed" | "under_way" if not named and not near:
                action = noun or performed or ANY
                if action == ANY and "someone_else" in kinds:
                    # It is handed on to them.
                    continue
                if sign.kind == "failed":
                    made.append(("not_done", action))
                elif "future" in before or sign.kind == "under_way":
                    if not denied and (noun or performed) and "someone_else" not in kinds:
                        made.append(("promised", action))
                else:
                    made.append(("not_done" if denied or "unable" in kinds else "done", action))
                named = True
            case _:
                pass
    if not made and not exempt and noun and "negation" in kinds and kinds & {"yet", "finished", "ended"}:
        made.append(("not_done", noun))
    # What was denied has nothing to do with what the next clause says of something else.
    return list(dict.fromkeys(made)), exempt, "" if made or kinds & {"negation", "unable", "failed"} else noun


_POSSIBLE = frozenset(("modal", "unable", "general"))
_LEADS = frozenset(("future", "unable", "managed"))
_ASSERTS_NOTHING = frozenset(("modal", "undone", "condition", "reported"))
_UNLISTED = frozenset(("own", "asserted", "hinted", "bad_news", "negated"))
_BAD = frozenset(("unable", "failed", "denied"))


class _Whole:
    """The sentence that clauses stand in. It is searched once, however many clauses it has."""

    def __init__(self, said: TextWords, words: StatementPatterns, clauses: Sequence[_Clause]) -> None:
        self._said, self._words, self._clauses = said, words, clauses

    @cached_property
    def supposes(self) -> bool:
        return self._words.condition.search(self._said)

    @cached_property
    def names_others(self) -> bool:
        return any(sign.kind == "someone_else" for one in self._clauses for sign in one.signs)

    @cached_property
    def is_sorry(self) -> bool:
        return self._words.regret.search(self._said)

    @cached_property
    def touches(self) -> bool:
        return self._words.objects.search(self._said) or _names_thing(self._said, self._words)


def _find_assertion(clause: _Clause, whole: _Whole, kinds: Set[str], possible: bool) -> StatementKind | None:
    """What a clause whose verb nobody listed says of how things stand in this case: one that is tied to the case, and
    is none of the kinds of clauses that assert nothing."""
    if "general" in kinds or clause.asks:
        return None
    if not clause.ceases:
        sorry = whole.is_sorry
        named = bool(kinds & {"deed", "do", "done"})
        if kinds & _BAD or ("negation" in kinds and (sorry or named or "future" not in kinds)):
            strong = "failed" in kinds or sorry or (named and "future" not in kinds)
            return "bad_news" if strong and _touches(clause, kinds) else "negated"
        if sorry:
            return "negated"
        if possible or kinds & _ASSERTS_NOTHING or clause.is_harmless:
            return None
    touches = _touches(clause, kinds) or (clause.owns and whole.touches)
    if touches and (clause.owns or clause.ceases):
        return "own"
    if touches and clause.is_tied:
        return "asserted"
    return "hinted" if clause.may_be_tied else None


def _touches(clause: _Clause, kinds: Set[str]) -> bool:
    return "deed" in kinds or "do" in kinds or clause.names_thing


def _names_thing(said: TextWords, words: StatementPatterns) -> bool:
    """Something that deeds are done to, besides those that are told apart."""
    return bool(_NUMBER.search(said.text)) or words.dated.search(said) or words.subject.search(said)


def _asks_secret(said: TextWords, words: StatementPatterns) -> bool:
    if not words.secret.search(said) or words.no_ask.search(said):
        return False
    return "?" in said.text or words.asks.search(said)
