"""The words of `statements.txt` as patterns: a language pack -> what a clause is scanned with.

One look at the words of a text tells which lists, of all languages with its letters, can be found in it at all; the
others are never searched for. Each line of a list of signs is an alternative of its own, and at each word only those
are tried that can begin with it. They are compiled when a text has such a word, and the lists of a language are read
when a text has its letters: in most processes most never are.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from circumspect.language.first_words import TOKEN, WordIndex, find_first_words, find_needed_words
from circumspect.language.pack import LanguagePack, Lines, compile_words, join_patterns, pack, packs
from circumspect.language.registry import Language
from circumspect.language.scripts import Script
from circumspect.language.watched_words import KNOWN_TOKENS, TextWords, Watch, WordList

TICK = "\u2713"
STOPS = r"[,;:()!?](?=\s|$)| - |\n"
_ENDS_A_WORD = re.compile(r"(?:^|\^| )(?:\(\?:[^()]* \)\?)*$")
"""A frame behind which a word begins."""
_GAP = re.compile(r"\(\?:( ?)(\\[Sw]\+)( ?)\)(?=\{)")


ANY_TEXT = -1
_FEW = 3


class FoundSign(NamedTuple):
    kind: str
    action: str
    start: int
    end: int


class SignIndex:
    """The signs of a language by the words that they can begin with."""

    def __init__(self, lines: Sequence[SignLine], bit: int) -> None:
        self.bit = bit
        self._lines = lines
        self._index = WordIndex(find_first_words(one.pattern) for one in lines)
        self._needs = functools.reduce(operator.or_, (one.needs for one in lines if one.needs != ANY_TEXT), 0)
        self._any = bit | self._needs
        self._openings: dict[int, dict[str, Sequence[_Opening]]] = {}
        self._compiled: dict[tuple[int, ...], _Opening] = {}

    def begins_with(self, token: str) -> bool:
        return any(self._lines[place].needs == ANY_TEXT for place in self._index.look_up(token))

    def may_be_in(self, words: TextWords) -> bool:
        return words.begins & self._any != 0

    def find(self, words: TextWords) -> list[FoundSign]:
        """Every sign of the text, one behind the other. Of two at the same place the first counts."""
        found: list[FoundSign] = []
        text, begins = words
        if not begins & self._any:
            return found
        read = 0
        known = self._openings.setdefault(begins & self._needs, {})
        for token in TOKEN.finditer(text):
            openings = known.get(token[0])
            if openings is None:
                openings = self._read_openings(token[0], begins, known)
            if not openings or (start := token.start()) < read:
                continue
            for pattern, names, leads in openings:
                if not (leads and start) and (hit := pattern.match(text, start)):
                    kind, action = names[(hit.lastindex or 1) - 1]
                    read = hit.end()
                    found.append(FoundSign(kind, action, start, read))
                    break
        return found

    def _read_openings(self, token: str, begins: int, known: dict[str, Sequence[_Opening]]) -> Sequence[_Opening]:
        groups: list[list[int]] = []
        for place in self._index.look_up(token):
            line = self._lines[place]
            if not line.needs & (begins | self.bit):
                continue
            # What has lists of verbs in it, or begins with any word, is a pattern of its own, shared by all words.
            if groups and line.is_joined and self._lines[groups[-1][-1]].is_joined:
                groups[-1].append(place)
            else:
                groups.append([place])
        if len(known) >= KNOWN_TOKENS:
            known.clear()
        # So are a few lines: each is compiled once, whichever of them a word has.
        split = (part for one in groups for part in ([one] if len(one) > _FEW else [[place] for place in one]))
        found = known[token] = tuple(self._compile(tuple(part)) for part in split)
        return found

    def _compile(self, places: tuple[int, ...]) -> _Opening:
        if (known := self._compiled.get(places)) is None:
            lines = [self._lines[place] for place in places]
            known = self._compiled[places] = _Opening(
                re.compile("|".join(one.pattern for one in lines)),
                tuple(name for one in lines for name in one.names),
                lines[0].leads,
            )
        return known


class SignLine(NamedTuple):
    """A pattern, and the kind and action of each of its groups."""

    pattern: str
    names: tuple[tuple[str, str], ...]
    framed: bool = False
    """Lists of verbs behind a frame."""
    leads: bool = False
    """Found at the beginning of a text only."""
    needs: int = ANY_TEXT
    """Found in texts only that have this bit."""

    @property
    def is_joined(self) -> bool:
        """Compiled together with the other lines of a word."""
        return not self.framed and self.needs == ANY_TEXT


class _Opening(NamedTuple):
    pattern: re.Pattern[str]
    names: tuple[tuple[str, str], ...]
    leads: bool


@dataclass(frozen=True, slots=True, eq=False)
class StatementPatterns:
    language: Language
    watch: Watch
    """What is looked for in a text: the same for all languages of a script."""
    signs: SignIndex
    small: WordList
    """Words that tell the language from others with the same letters."""
    attributive: re.Pattern[str]
    objects: WordList
    subject: WordList
    dated: WordList
    anchor: WordList
    definite: WordList
    own: WordList
    ceased: WordList
    aside: WordList
    regret: WordList
    harmless: WordList
    condition: WordList
    linking: WordList
    clauses: WordList
    turns: WordList
    joins: re.Pattern[str]
    question: WordList
    tag: WordList
    secret: WordList
    asks: WordList
    no_ask: WordList
    that: re.Pattern[str] | None

    def read(self, text: str) -> TextWords:
        """A folded text with what can be found in it."""
        return self.watch.read(text)

    def has_words_in(self, words: TextWords) -> bool:
        """Not so, the language says nothing in the text, and divides it nowhere but at its marks."""
        lists = (self.secret, self.linking, self.aside, self.clauses, self.question, self.tag, self.objects)
        return self.that is not None or self.signs.may_be_in(words) or any(one.may_be_in(words) for one in lists)


def _bound_words(pattern: str) -> str:
    """No word is longer than this; what has no blanks in it at all would be tried from each of its letters."""
    return pattern.replace(r"\S*", r"\S{0,40}").replace(r"\S+", r"\S{1,40}")


@cache
def _read_script(script: Script) -> Mapping[Language, StatementPatterns]:
    """The languages of one script: nobody can tell from its letters which of them a text is in."""
    watch = Watch()
    found = {one.code: _read_patterns(one, watch) for one in packs() if one.script is script}
    watch.signs += (one.signs for one in found.values())
    return found


def _read_patterns(one: LanguagePack, watch: Watch) -> StatementPatterns:
    words = one.statements
    joined = f"(?:{join_patterns(one.about.glued_and)})?" if one.about.glued_and else ""
    glued = f"{join_patterns(one.about.glued)}?" if one.about.glued else ""
    adverbs = rf"(?:{join_patterns(words.adverbs)} ){{0,3}}"
    frames = [line.replace("{adverbs}", adverbs) for line in words.frames]
    denied = [line.replace("{adverbs}", adverbs) for line in words.denied_frames]
    doing = [line.replace("{adverbs}", adverbs) for line in words.ongoing]
    signs: list[SignLine] = []
    # Words that a pattern leaves open are not those that turn its sense.
    turned = rf"{join_patterns((*words.negation, *words.condition))}(?!\w)"

    def guard(line: str) -> str:
        return _GAP.sub(lambda gap: f"(?:{gap[1]}(?!{turned}){gap[2]}{gap[3]})", line)

    def need(line: SignLine) -> SignLine:
        if find_first_words(line.pattern) is None and find_needed_words(line.pattern) is not None:
            return line._replace(needs=watch.add(line.pattern))
        return line

    def add(kind: str, lines: Lines, action: str = "", *, before: Sequence[str] = ()) -> None:
        add_all(kind, {action: lines}, before=before)

    def add_all(kind: str, lists: Mapping[str, Lines], *, before: Sequence[str] = ()) -> None:
        heads = [""] if before else ["", *one.about.glued_and]
        found = [
            need(SignLine(_bound_words(rf"{head}{guard(line)}(?!\w)()"), ((kind, action),)))
            for action, lines in lists.items()
            for head in heads
            for line in lines
        ]
        if not (before and found):
            signs.extend(found)
            return
        verbs = f"(?:{'|'.join(line.pattern for line in found)})"
        names = tuple(name for line in found for name in line.names)
        bit = watch.add(verbs)
        for frame in before:
            needs = bit if _ENDS_A_WORD.search(frame.removesuffix(adverbs)) else ANY_TEXT
            signs.append(SignLine(f"{_bound_words(frame)}{verbs}", names, True, frame.startswith("^"), needs))

    def listed(pattern: str | re.Pattern[str], begins: str = "") -> WordList:
        compiled = re.compile(pattern) if isinstance(pattern, str) else pattern
        return WordList(compiled, watch.add(begins or compiled.pattern))

    # Of two that begin at the same place the first counts: what is special stands before what is plain.
    add("general", words.general)
    add("reported", words.reported)
    add_all("undone", words.undone)
    add_all("state", words.state)
    add("promise", words.promise)
    add("failed", words.failed)
    add("unable", words.unable)
    add_all("promised", words.promised)
    add_all("doing", words.doing, before=doing)
    add_all("done", words.done)
    if denied:
        add_all("denied", words.framed, before=denied)
    add_all("framed", words.framed, before=frames)
    add("under_way", words.under_way)
    add("modal", words.modal)
    add("future", words.future)
    add("condition", words.condition)
    add("managed", words.managed)
    add_all("do", words.do)
    add_all("deed", words.deed, before=[glued] if glued else ())
    add("finished", (*words.finished, TICK))
    add("ended", words.ended)
    add("someone_else", words.someone_else, before=[glued] if glued else ())
    add("both", words.both, before=[glued] if glued else ())
    add("negation", words.negation)
    add("yet", words.yet)
    own = tuple(line.replace("{adverbs}", adverbs) for line in words.own)
    months, linking = join_patterns(one.values.month_stems), join_patterns(words.linking)
    turns, question = join_patterns(words.turns), join_patterns(words.question)
    objects = "|".join(rf"(?P<{name}>{glued}{join_patterns(lines)})(?!\w)" for name, lines in words.object.items())
    begins = [*words.joins, *words.turns]
    if one.about.glued_and:
        nouns = [line for lists in (words.object, words.deed) for lines in lists.values() for line in lines]
        begins.append(rf"{join_patterns(one.about.glued_and)}{glued}{join_patterns(nouns)}")
    announced = rf"(?<!\w)({join_patterns(words.announced)}) \u05e9(?=\w{{3}})"
    return StatementPatterns(
        one.code,
        watch,
        signs=SignIndex(signs, watch.add("(?!)")),
        small=listed(compile_words((one.about.plain_words,))),
        attributive=re.compile(rf"(?<!\w){join_patterns(words.attributive)} $"),
        objects=listed(rf"(?<!\w)(?:{objects or '(?!)'})"),
        subject=listed(rf"(?<!\w){glued}{join_patterns(words.subject)}(?!\w)"),
        dated=listed(rf"\d\W{{1,3}}{months}(?!\w)", months),
        anchor=listed(compile_words((words.anchor,))),
        definite=listed(compile_words((words.definite,))),
        own=listed(compile_words((own,))),
        ceased=listed(compile_words((words.ceased,))),
        aside=listed(rf"(?<!\w){join_patterns(words.aside)}(?!\w|\W*\?)"),
        regret=listed(compile_words((words.regret,))),
        harmless=listed(compile_words((words.harmless,))),
        condition=listed(rf"(?<!\w){joined}{join_patterns(words.condition)}(?!\w)"),
        linking=listed(rf",(?= {linking}(?!\w))", linking),
        clauses=listed(rf"{STOPS}|(?<!\w)(?=(?:{'|'.join(begins)})(?!\w))", rf"(?:{'|'.join(begins)})(?!\w)"),
        turns=listed(rf"\s{{0,8}}{turns}(?!\w)", rf"{turns}(?!\w)"),
        joins=re.compile(join_patterns(words.joins)),
        question=listed(rf"\W{{0,12}}{question}(?!\w)", rf"{question}(?!\w)"),
        tag=listed(rf"(?<!\w){join_patterns(words.tag)}\W*$"),
        secret=listed(rf"(?<!\w){glued}{join_patterns(words.secret)}(?!\w)"),
        asks=listed(compile_words((words.asks,))),
        no_ask=listed(compile_words((words.no_ask,))),
        that=re.compile(announced) if words.announced else None,
    )


@cache
def find_patterns(language: Language) -> StatementPatterns:
    return _read_script(pack(language).script)[language]


@cache
def find_doubts(language: Language) -> re.Pattern[str]:
    """Words that admit that nobody knows what became of a deed."""
    return compile_words((pack(language).statements.unsure,))


@cache
def pick_read(language: Language | None) -> tuple[LanguagePack, ...]:
    """Of several languages with the same letters the conversation's, and English, into which models fall."""
    return tuple(one for one in packs() if language is None or _is_read(one.code, language))


def _is_read(one: Language, language: Language) -> bool:
    return one in ("en", language) or pack(one).script is not pack(language).script
