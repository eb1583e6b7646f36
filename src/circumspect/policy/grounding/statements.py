"""What a reply says about deeds: text -> statements, each with its kind, its action and the records it names.

A reply is read sentence by sentence and clause by clause, with the words of `statements.txt`. Whatever is asked,
supposed, reported of others or true in general states nothing about this case.

What may surprise: everything is a list of words and their order in a clause, not a parser; one scan per language over
each clause, so that a long reply costs what its length says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal

from circumspect.language.folding import fold
from circumspect.language.pack import LanguagePack, Lines, compile_words, join_patterns, pack, packs
from circumspect.language.registry import Language
from circumspect.language.sentences import split_sentences

StatementKind = Literal["done", "changed", "not_done", "promised", "asks_secret", "other"]
ANY = "any"


@dataclass(frozen=True, slots=True)
class Statement:
    """One clause of a reply that states something."""

    sentence: str
    clause: str
    """Folded, with the clauses beside it that only add to it."""
    kind: StatementKind
    action: str = ANY
    objects: frozenset[str] = frozenset()
    both: bool = False


@dataclass(frozen=True, slots=True)
class _Sign:
    kind: str
    action: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Words:
    language: Language
    letters: re.Pattern[str]
    signs: re.Pattern[str]
    names: tuple[tuple[str, str], ...]
    """Kind and action of each sign, by the number of its group."""
    attributive: re.Pattern[str]
    objects: re.Pattern[str]
    happened: re.Pattern[str]
    harmless: re.Pattern[str]
    condition: re.Pattern[str]
    linking: re.Pattern[str]
    clauses: re.Pattern[str]
    turns: re.Pattern[str]
    joins: re.Pattern[str]
    question: re.Pattern[str]
    tag: re.Pattern[str]
    secret: re.Pattern[str]
    asks: re.Pattern[str]
    no_ask: re.Pattern[str]
    that: re.Pattern[str] | None


_QUOTED = re.compile(r"(?<!\w)\"[^\"]{0,300}\"(?!\w)")
_MARKS = re.compile(r"[*_`#>|\u2022\u2705\u2714\ufe0f]+")
_GLUED = re.compile(r"(?<=[\u0590-\u05ff])-(?=\d)")
_LIST_ITEM = re.compile(r"^\s*(?:[-+]|\d{1,2}[.)])\s+")
_STOPS = r"[,;:()!?](?=\s|$)| - |\n"
_LONGEST = 400
_FULL_STOP = re.compile(r"[;]| - ")
_GAP = re.compile(r"\(\?:( ?)(\\[Sw]\+)( ?)\)(?=\{)")
_NUMBER = re.compile(r"\d{4}")
_TOPIC = 4
"""A question of so many words that only names something is what the next sentence is about: "The refund? Issued."."""


@cache
def _spoken() -> tuple[_Words, ...]:
    return tuple(map(_read_words, packs()))


def _read_words(one: LanguagePack) -> _Words:
    words = one.statements
    joined = f"(?:{join_patterns(one.about.glued_and)})?" if one.about.glued_and else ""
    glued = f"{join_patterns(one.about.glued)}?" if one.about.glued else ""
    adverbs = rf"(?:{join_patterns(words.adverbs)} ){{0,3}}"
    frames = join_patterns(line.replace("{adverbs}", adverbs) for line in words.frames)
    denied = join_patterns(line.replace("{adverbs}", adverbs) for line in words.denied_frames)
    doing = join_patterns(line.replace("{adverbs}", adverbs) for line in words.ongoing)
    patterns: list[str] = []
    names: list[tuple[str, str]] = []
    # Words that a pattern leaves open are not those that turn its sense.
    turned = rf"{join_patterns((*words.negation, *words.condition))}(?!\w)"

    def guard(line: str) -> str:
        return _GAP.sub(lambda gap: f"(?:{gap[1]}(?!{turned}){gap[2]}{gap[3]})", line)

    def add(kind: str, lines: Lines, action: str = "", *, before: str = "") -> None:
        add_all(kind, {action: lines}, before=before)

    def add_all(kind: str, lists: Mapping[str, Lines], *, before: str = "") -> None:
        # The engine skips an alternative at once that begins with another letter: each line is one of its own.
        found: list[str] = []
        for action, lines in lists.items():
            for line in lines if before else (f"{head}{line}" for head in ("", *one.about.glued_and) for line in lines):
                found.append(rf"{guard(line)}(?!\w)()")
                names.append((kind, action))
        patterns.extend((f"{before}(?:{'|'.join(found)})",) if before and found else found)

    # Of two that begin at the same place the first counts: what is special stands before what is plain.
    add("general", words.general)
    add("reported", words.reported)
    add_all("undone", words.undone)
    add_all("state", words.state)
    add("promise", words.promise)
    add("failed", words.failed)
    add("unable", words.unable)
    add_all("promised", words.promised)
    add_all("doing", words.doing, before=doing if words.ongoing else "")
    add_all("done", words.done)
    add_all("denied", words.framed, before=denied)
    add_all("framed", words.framed, before=frames if words.frames else "")
    add("under_way", words.under_way)
    add("modal", words.modal)
    add("future", words.future)
    add("condition", words.condition)
    add("managed", words.managed)
    add_all("do", words.do)
    add_all("deed", words.deed, before=glued)
    add("finished", words.finished)
    add("ended", words.ended)
    add("someone_else", words.someone_else, before=glued)
    add("both", words.both, before=glued)
    add("negation", words.negation)
    add("yet", words.yet)
    happened = tuple(line.replace("{adverbs}", adverbs) for line in words.happened)
    objects = "|".join(rf"(?P<{name}>{glued}{join_patterns(lines)})(?!\w)" for name, lines in words.object.items())
    begins = [*words.joins, *words.turns]
    if one.about.glued_and:
        nouns = [line for lists in (words.object, words.deed) for lines in lists.values() for line in lines]
        begins.append(rf"{join_patterns(one.about.glued_and)}{glued}{join_patterns(nouns)}")
    announced = rf"(?<!\w)({join_patterns(words.announced)}) \u05e9(?=\w{{3}})"
    return _Words(
        one.code,
        one.script.letter,
        signs=re.compile(rf"(?:(?<!\w)|(?='))(?:{'|'.join(patterns)})"),
        names=tuple(names),
        attributive=re.compile(rf"(?<!\w){join_patterns(words.attributive)} $"),
        objects=re.compile(rf"(?<!\w)(?:{objects or '(?!)'})"),
        happened=compile_words((happened,)),
        harmless=re.compile(rf"(?<!\w){join_patterns(words.harmless)}"),
        condition=re.compile(rf"(?<!\w){joined}{join_patterns(words.condition)}(?!\w)"),
        linking=re.compile(rf",(?= {join_patterns(words.linking)}(?!\w))"),
        clauses=re.compile(rf"{_STOPS}|(?<!\w)(?=(?:{'|'.join(begins)})(?!\w))"),
        turns=re.compile(rf"\s*{join_patterns(words.turns)}(?!\w)"),
        joins=re.compile(join_patterns(words.joins)),
        question=re.compile(rf"\W*{join_patterns(words.question)}(?!\w)"),
        tag=re.compile(rf"(?<!\w){join_patterns(words.tag)}\W*$"),
        secret=re.compile(rf"(?<!\w){glued}{join_patterns(words.secret)}(?!\w)"),
        asks=compile_words((words.asks,)),
        no_ask=compile_words((words.no_ask,)),
        that=re.compile(announced) if words.announced else None,
    )


def _is_read(one: Language, language: Language) -> bool:
    return one in ("en", language) or pack(one).script is not pack(language).script


@lru_cache(maxsize=256)
def read_statements(reply: str, language: Language | None = None) -> tuple[Statement, ...]:
    """What the sentences of a reply state, in their order. Of several languages with the same letters the
    conversation's is read, and English, into which models fall."""
    spoken = [words for words in _spoken() if language is None or _is_read(words.language, language)]
    found: list[Statement] = []
    topic = ""
    for piece in split_sentences(reply):
        text = _QUOTED.sub(" ", fold(_LIST_ITEM.sub("", piece)).replace("\u0451", "\u0435"))
        text = " ".join(_GLUED.sub(" ", _MARKS.sub(" ", text)).split())
        here = [words for words in spoken if words.letters.search(text)]
        for words in here:
            found.extend(_read_sentence(piece, f"{topic}{text}", words))
        topic = f"{text.rstrip('? ')}: " if any(_is_topic(text, words) for words in here) else ""
    return tuple(found)


def _is_topic(text: str, words: _Words) -> bool:
    if not text.endswith("?") or text.count(" ") >= _TOPIC or words.question.match(text):
        return False
    signs = _scan(text, words)
    named = bool(signs) or bool(words.objects.search(text)) or bool(_NUMBER.search(text))
    return named and all(sign.kind == "deed" for sign in signs)


def denies_deed(text: str, language: Language | None = None) -> bool:
    """It says that something was not done: whether that is so, only the whole conversation tells."""
    return any(one.kind == "not_done" for one in read_statements(text, language))


def states_deed(text: str) -> bool:
    """Something in it has to be checked against what ran."""
    return any(one.kind != "other" for one in read_statements(text))


@dataclass(frozen=True, slots=True)
class _Clause:
    text: str
    alone: bool
    """What was supposed or reported before it does not reach it."""


def _split(text: str, words: _Words) -> list[_Clause]:
    found: list[_Clause] = []
    at, mark = 0, ""
    ends = [(hit.start(), hit.end(), hit.group()) for hit in words.clauses.finditer(text)]
    for start, end, next_mark in (*ends, (len(text), len(text), "")):
        # Nobody says so much in one clause; what is longer is read in pieces.
        for begin in range(at, start, _LONGEST):
            if piece := text[begin : min(start, begin + _LONGEST)].strip():
                found.append(_Clause(piece, bool(_FULL_STOP.fullmatch(mark)) or bool(words.turns.match(piece))))
                mark = ""
        at, mark = end, next_mark or mark
    return found


def _read_sentence(sentence: str, text: str, words: _Words) -> Iterator[Statement]:
    if _asks_secret(text, words):
        yield Statement(sentence, text, "asks_secret")
    if words.that:
        text = words.that.sub(r"\1 ", text)
    text = words.linking.sub("", text)
    asked = text.rstrip(" \"')").endswith("?")
    clauses = _split(text, words)
    if asked:
        if words.question.match(text) or words.tag.search(text.rstrip("?! ")):
            return
        clauses = clauses[:-1]
    signs = [_scan(clause.text, words) for clause in clauses]
    supposed = bool(words.condition.search(text))
    others = any(sign.kind == "someone_else" for one in signs for sign in one)
    exempt, noun, denied = False, "", False
    lead: list[_Sign] = []
    waiting: frozenset[str] = frozenset()
    read: list[Statement] = []
    for clause, one in zip(clauses, signs, strict=True):
        exempt = exempt and not clause.alone
        # "I have not charged, refunded or cancelled": the next of a list, without a subject of its own.
        goes_on = denied and bool(one) and one[0].kind == "done" and _is_bare(clause.text[: one[0].start], words)
        if lead and one and one[0].kind == "do" and _is_bare(clause.text[: one[0].start], words):
            one = [*lead, *one]
        lead = [sign for sign in one if sign.kind in ("future", "unable", "managed")]
        made, exempt, noun = _read_clause(one, exempt, noun, goes_on)
        if not made and not exempt and _is_changed(clause.text, one, words):
            made = [("changed", ANY)]
        denied = goes_on or any(sign.kind == "denied" or (sign.kind == "negation" and sign.start) for sign in one)
        if asked or supposed:
            made = [(kind, action) for kind, action in made if kind in ("done", "changed")]
        if others:
            made = [(kind, action) for kind, action in made if kind not in ("promised", "changed")]
        # "Your account, too, is deleted": what was named and still waits for its verb.
        objects = frozenset(hit.lastgroup or "" for hit in words.objects.finditer(clause.text)) or waiting
        waiting = frozenset() if made else objects
        both = any(sign.kind == "both" for sign in one)
        if made:
            read += (Statement(sentence, clause.text, kind, action, objects, both) for kind, action in made)
        elif read and read[-1].kind != "other" and not clause.alone and len(read[-1].clause) < _LONGEST:
            read[-1] = replace(read[-1], clause=f"{read[-1].clause}, {clause.text}", both=read[-1].both or both)
        elif not exempt and not asked:
            read.append(Statement(sentence, clause.text, "other", ANY, objects))
    yield from _join_leading(read)


def _is_bare(before: str, words: _Words) -> bool:
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
            yield replace(one, clause=f"{before} {one.clause}".strip())
            before = ""


def _scan(text: str, words: _Words) -> list[_Sign]:
    found = []
    for hit in words.signs.finditer(text):
        kind, action = words.names[(hit.lastindex or 1) - 1]
        if kind == "done" and words.attributive.search(text, 0, hit.start()):
            continue
        found.append(_Sign(kind, action, hit.start(), hit.end()))
    return found


def _read_clause(
    signs: list[_Sign], exempt: bool, noun: str, goes_on: bool
) -> tuple[list[tuple[StatementKind, str]], bool, str]:
    """What a clause states; whether the next ones are exempt; and the noun that still waits for its predicate."""
    kinds = {sign.kind for sign in signs}
    made: list[tuple[StatementKind, str]] = []
    if "general" in kinds:
        return [], exempt or bool(kinds & {"condition", "reported"}), ""
    named = False
    # "Perform the refund" is refunding.
    performed = next((sign.action for sign in signs if sign.kind in ("deed", "do") and sign.action != "create"), "")
    signs = [replace(one, action=performed) if performed and one.action == "create" else one for one in signs]
    before: set[str] = set()
    last: _Sign | None = None
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
    return list(dict.fromkeys(made)), exempt, "" if made else noun


def _is_changed(text: str, signs: list[_Sign], words: _Words) -> bool:
    """Some other verb says that something was done to what the clause names."""
    if any(sign.kind in ("negation", "unable", "modal", "future", "general", "failed") for sign in signs):
        return False
    named = bool(words.objects.search(text)) or any(sign.kind in ("deed", "do") for sign in signs)
    if not named and not _NUMBER.search(text):
        return False
    return any(not words.harmless.search(hit.group()) for hit in words.happened.finditer(text))


def _asks_secret(text: str, words: _Words) -> bool:
    hit = words.secret.search(text)
    if not hit or words.no_ask.search(text):
        return False
    return "?" in text or bool(words.asks.search(text))
