"""The words of `statements.txt` as patterns: a language pack -> what a clause is scanned with.

One scan finds every sign of a clause. Each line of a list is an alternative of its own, and at each word only those
are tried that can begin with its letter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from circumspect.language.pack import LanguagePack, Lines, compile_words, join_patterns, pack, packs
from circumspect.language.registry import Language
from circumspect.policy.grounding.first_letters import sort_by_first_letter

TICK = "\u2713"
_STOPS = r"[,;:()!?](?=\s|$)| - |\n"
_GAP = re.compile(r"\(\?:( ?)(\\[Sw]\+)( ?)\)(?=\{)")


@dataclass(frozen=True, slots=True)
class StatementPatterns:
    language: Language
    letters: re.Pattern[str]
    small: re.Pattern[str]
    """Words that tell the language from others with the same letters."""
    signs: re.Pattern[str]
    names: tuple[tuple[str, str], ...]
    """Kind and action of each sign, by the number of its group."""
    attributive: re.Pattern[str]
    objects: re.Pattern[str]
    subject: re.Pattern[str]
    dated: re.Pattern[str]
    anchor: re.Pattern[str]
    definite: re.Pattern[str]
    own: re.Pattern[str]
    ceased: re.Pattern[str]
    aside: re.Pattern[str]
    regret: re.Pattern[str]
    unsure: re.Pattern[str]
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


def _bound_words(pattern: str) -> str:
    """No word is longer than this; what has no blanks in it at all would be tried from each of its letters."""
    return pattern.replace(r"\S*", r"\S{0,40}").replace(r"\S+", r"\S{1,40}")


_SignPattern = tuple[str, tuple[tuple[str, str], ...]]
"""A pattern and the kind and action of each of its groups."""


def _join_signs(signs: Sequence[_SignPattern]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """One pattern for all, tried by the letter that stands there, and the names of its groups."""
    branches: list[str] = []
    names: list[tuple[str, str]] = []
    by_letter = sort_by_first_letter([pattern for pattern, _ in signs])
    letters = "".join(by_letter)
    others = f"(?![{re.escape(letters)}])" if letters else ""
    for letter, places in by_letter.items():
        if places:
            here = f"(?={re.escape(letter)})" if letter else others
            branches.append(f"{here}(?:{'|'.join(signs[place][0] for place in places)})")
            names += (name for place in places for name in signs[place][1])
    return rf"(?:(?<!\w)|(?='))(?:{'|'.join(branches)})", tuple(names)


@cache
def _read_all() -> tuple[StatementPatterns, ...]:
    return tuple(map(_read_patterns, packs()))


def _read_patterns(one: LanguagePack) -> StatementPatterns:
    words = one.statements
    joined = f"(?:{join_patterns(one.about.glued_and)})?" if one.about.glued_and else ""
    glued = f"{join_patterns(one.about.glued)}?" if one.about.glued else ""
    adverbs = rf"(?:{join_patterns(words.adverbs)} ){{0,3}}"
    frames = join_patterns(line.replace("{adverbs}", adverbs) for line in words.frames)
    denied = join_patterns(line.replace("{adverbs}", adverbs) for line in words.denied_frames)
    doing = join_patterns(line.replace("{adverbs}", adverbs) for line in words.ongoing)
    signs: list[_SignPattern] = []
    # Words that a pattern leaves open are not those that turn its sense.
    turned = rf"{join_patterns((*words.negation, *words.condition))}(?!\w)"

    def guard(line: str) -> str:
        return _GAP.sub(lambda gap: f"(?:{gap[1]}(?!{turned}){gap[2]}{gap[3]})", line)

    def add(kind: str, lines: Lines, action: str = "", *, before: str = "") -> None:
        add_all(kind, {action: lines}, before=before)

    def add_all(kind: str, lists: Mapping[str, Lines], *, before: str = "") -> None:
        found: list[_SignPattern] = []
        for action, lines in lists.items():
            for line in lines if before else (f"{head}{line}" for head in ("", *one.about.glued_and) for line in lines):
                found.append((_bound_words(rf"{guard(line)}(?!\w)()"), ((kind, action),)))
        if before and found:
            joined = _bound_words(f"{before}(?:{'|'.join(pattern for pattern, _ in found)})")
            found = [(joined, tuple(name for _, names in found for name in names))]
        signs.extend(found)

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
    add("finished", (*words.finished, TICK))
    add("ended", words.ended)
    add("someone_else", words.someone_else, before=glued)
    add("both", words.both, before=glued)
    add("negation", words.negation)
    add("yet", words.yet)
    own = tuple(line.replace("{adverbs}", adverbs) for line in words.own)
    objects = "|".join(rf"(?P<{name}>{glued}{join_patterns(lines)})(?!\w)" for name, lines in words.object.items())
    begins = [*words.joins, *words.turns]
    if one.about.glued_and:
        nouns = [line for lists in (words.object, words.deed) for lines in lists.values() for line in lines]
        begins.append(rf"{join_patterns(one.about.glued_and)}{glued}{join_patterns(nouns)}")
    announced = rf"(?<!\w)({join_patterns(words.announced)}) \u05e9(?=\w{{3}})"
    scanned, names = _join_signs(signs)
    return StatementPatterns(
        one.code,
        one.script.letter,
        small=compile_words((one.about.plain_words,)),
        signs=re.compile(scanned),
        names=names,
        attributive=re.compile(rf"(?<!\w){join_patterns(words.attributive)} $"),
        objects=re.compile(rf"(?<!\w)(?:{objects or '(?!)'})"),
        subject=re.compile(rf"(?<!\w){glued}{join_patterns(words.subject)}(?!\w)"),
        dated=re.compile(rf"\d\W{{1,3}}{join_patterns(one.values.month_stems)}(?!\w)"),
        anchor=compile_words((words.anchor,)),
        definite=compile_words((words.definite,)),
        own=compile_words((own,)),
        ceased=compile_words((words.ceased,)),
        aside=re.compile(rf"(?<!\w){join_patterns(words.aside)}(?!\w|\W*\?)"),
        regret=compile_words((words.regret,)),
        unsure=compile_words((words.unsure,)),
        harmless=compile_words((words.harmless,)),
        condition=re.compile(rf"(?<!\w){joined}{join_patterns(words.condition)}(?!\w)"),
        linking=re.compile(rf",(?= {join_patterns(words.linking)}(?!\w))"),
        clauses=re.compile(rf"{_STOPS}|(?<!\w)(?=(?:{'|'.join(begins)})(?!\w))"),
        turns=re.compile(rf"\s{{0,8}}{join_patterns(words.turns)}(?!\w)"),
        joins=re.compile(join_patterns(words.joins)),
        question=re.compile(rf"\W{{0,12}}{join_patterns(words.question)}(?!\w)"),
        tag=re.compile(rf"(?<!\w){join_patterns(words.tag)}\W*$"),
        secret=re.compile(rf"(?<!\w){glued}{join_patterns(words.secret)}(?!\w)"),
        asks=compile_words((words.asks,)),
        no_ask=compile_words((words.no_ask,)),
        that=re.compile(announced) if words.announced else None,
    )


def find_patterns(language: Language | None) -> list[StatementPatterns]:
    """Of several languages with the same letters the conversation's, and English, into which models fall."""
    return [one for one in _read_all() if language is None or _is_read(one.language, language)]


def _is_read(one: Language, language: Language) -> bool:
    return one in ("en", language) or pack(one).script is not pack(language).script
