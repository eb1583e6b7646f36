"""Words in, concepts out: `read("where is my order")` mentions `status`, `personal` and `order`.

The word lists are data, one file a language (`words/*.yaml`), and so is how its words are built. The script of each
word decides which lists it is looked up in, so a message may mix languages. A language without a file is served in
English.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib import resources
from operator import itemgetter
from typing import Any

from circumspect.language import catalogue
from circumspect.language.folding import APOSTROPHES, HIDDEN, POINTS
from circumspect.language.pack import pack, packs, split_pairs
from circumspect.language.scripts import Script
from circumspect.values import LANGUAGES, Language

_TOKEN = re.compile(r"[^\W\d_]+(?:[.'\"-](?=[^\W\d_])[^\W\d_]+)*|\d+|[^\W_]+")
_UNSEEN = re.compile(f"[{POINTS}{HIDDEN}\u05be]")  # with the hyphen that glues small words to numbers
_LONGEST = 2000
"""Characters of a message that are read; what a person wants is said well before that."""


def fold_letters(text: str) -> str:
    """Lower case, one spelling for each letter. Same length as the text, so that positions stay valid."""
    lowered = text.lower()
    return (lowered if len(lowered) == len(text) else text).translate(_letters_alike())


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Mention:
    """Tokens `first` to `last` (inclusive) mean one of these concepts."""

    concepts: frozenset[str]
    first: int
    last: int
    negated: bool = False


@dataclass(frozen=True)
class ParsedText:
    text: str
    tokens: tuple[Token, ...]
    mentions: tuple[Mention, ...]

    def has(self, *concepts: str) -> bool:
        return any(not mention.concepts.isdisjoint(concepts) for mention in self.mentions)

    @property
    def says_little(self) -> bool:
        """A yes, a no or a sorry with next to nothing else, or nothing at all."""
        return not self.telling or (len(self.telling) <= 2 and self.has("yes", "no", "correction"))

    @cached_property
    def telling(self) -> tuple[Token, ...]:
        """The words that carry a meaning of their own."""
        return tuple(token for token in self.tokens if not is_stop(token.text))

    @property
    def asks(self) -> bool:
        """It has the form of a question: a question mark, a question word, or "is" and the like at the beginning."""
        return "?" in self.text or any(
            mention.concepts & {"question", "howto"} or ("maybe_question" in mention.concepts and self._begins(mention))
            for mention in self.mentions
        )

    def _begins(self, mention: Mention) -> bool:
        if mention.first == 0:
            return True
        between = self.text[self.tokens[mention.first - 1].end : self.tokens[mention.first].start]
        return any(mark in between for mark in ",.!;:")


@dataclass(frozen=True)
class WordForms:
    """How a language builds its words."""

    endings: int
    """Letters that may follow a listed stem. None where words are listed whole."""
    are_inflected: bool
    """Listed words stand for their regular English forms."""
    suffixes: tuple[str, ...]
    root: tuple[int, int] | None
    """Letters that are a word's root: of words of up to seven letters, and of longer ones."""
    proclitics: frozenset[str]
    conjugations: frozenset[str]

    def find_patterns(self, word: str, patterns: _Patterns) -> set[str]:
        """The listed patterns that a folded word of this language matches."""
        found = {f"!{word}"} & patterns.exact
        for size in range(4 if self.conjugations else 1):
            prefix, rest = word[:size], word[size:]
            if len(rest) < 2:
                break
            if self.proclitics.issuperset(prefix):
                found |= {f"={rest}"} & patterns.exact
            if self.conjugations.issuperset(prefix):
                found |= {rest[:end] for end in range(max(2, len(rest) - self.endings), len(rest) + 1)} & patterns.stems
        return found

    def find_root(self, word: str) -> str:
        for suffix in self.suffixes:
            if word.endswith(suffix) and len(word) - len(suffix) >= 3:
                return word[: -len(suffix)]
        if len(word) > 3 and word[0] in self.proclitics:
            word = word[1:]
        return word[: self.root[len(word) > 7]] if self.root else word


@dataclass(frozen=True)
class LanguageLexicon:
    """One language's file."""

    language: Language
    script: Script
    forms: WordForms
    grammar: Mapping[str, Any]
    names: Mapping[str, Any]
    pairs: Mapping[str, str]
    done: Mapping[str, str]
    values: Mapping[str, str]
    sentences: Mapping[str, str]
    fields: Mapping[str, tuple[str, ...]]
    pages: Mapping[str, Any]
    stop: frozenset[str]
    inside: frozenset[str]
    after: Mapping[str, tuple[str, ...]]
    until: frozenset[str]
    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    days: Mapping[str, int]
    clock: Mapping[str, tuple[str, ...]]
    numbers: Mapping[str, int]
    currencies: Mapping[str, str]

    @cached_property
    def has_capitals(self) -> bool:
        return any(word != word.upper() for word in self.stop)


@dataclass(frozen=True)
class Concepts:
    destructive: frozenset[str]
    write: frozenset[str]
    read: frozenset[str]
    things: frozenset[str]
    marks: frozenset[str]
    topics: frozenset[str]
    hollow: frozenset[str]
    keys: Mapping[str, list[str]]

    @cached_property
    def actions(self) -> frozenset[str]:
        return self.destructive | self.write | self.read


@dataclass(frozen=True, slots=True)
class _Phrase:
    parts: tuple[str, ...]
    concept: str
    size: int
    """Letters, by which the more telling of two readings is known."""


@dataclass(frozen=True)
class _Patterns:
    """`stems` match a word's beginning, `exact` a whole word. Phrases are found by their first word, or first two."""

    stems: frozenset[str]
    exact: frozenset[str]
    phrases: Mapping[tuple[str, ...], tuple[_Phrase, ...]]


@cache
def _file(name: str) -> Mapping[str, Any]:
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # plain strings: "no" and "on" are words here
    text = resources.files(__package__).joinpath("words", f"{name}.yaml").read_text("utf-8")
    loaded: Mapping[str, Any] = yaml.load(text, Loader=loader)  # noqa: S506
    return loaded


@cache
def concepts() -> Concepts:
    data = _file("concepts")
    kinds = ("destructive", "write", "read", "things", "marks", "topics", "hollow")
    return Concepts(**{kind: frozenset(data[kind]) for kind in kinds}, keys=data["keys"])


@cache
def words(language: Language) -> LanguageLexicon:
    """The language's lists; the English ones where it has none."""
    return next((lists for lists in lexicons() if lists.language == language), lexicons()[0])


def has_words(language: Language) -> bool:
    """It has a file of its own, and is not answered in English."""
    return language in _listed_languages()


@cache
def lexicons() -> tuple[LanguageLexicon, ...]:
    """Every language that has a file, English first."""
    return tuple(_load_lexicon(language) for language in _listed_languages())


@cache
def _listed_languages() -> tuple[Language, ...]:
    folder = resources.files(__package__).joinpath("words")
    return tuple(language for language in LANGUAGES if folder.joinpath(f"{language}.yaml").is_file())


@cache
def _letters_alike() -> dict[int, str]:
    alike = dict.fromkeys(APOSTROPHES, "'") | {"\u05f4": '"'}
    for one in packs():
        alike |= split_pairs((*one.about.same_letters, *one.about.final_letters))
    # Only what keeps every position in the text where it is.
    return str.maketrans({letter: same for letter, same in alike.items() if len(same) == 1})


def _load_lexicon(language: Language) -> LanguageLexicon:
    data = _file(language)
    grammar = data["grammar"]
    proclitics = frozenset(grammar.get("proclitics", ""))
    short, long = grammar.get("root", (0, 0))
    return LanguageLexicon(
        language=language,
        script=pack(language).script,
        forms=WordForms(
            endings=int(grammar.get("endings", 0)),
            are_inflected=grammar.get("forms") == "english",
            suffixes=tuple(grammar.get("suffixes", ())),
            root=(int(short), int(long)) if short else None,
            proclitics=proclitics,
            conjugations=proclitics | frozenset(grammar.get("conjugations", "")),
        ),
        grammar=grammar,
        names=data["names"],
        pairs=data["pairs"],
        done=data["done"],
        values=data["values"],
        sentences=data["sentences"],
        fields={kind: tuple(map(fold_letters, listed)) for kind, listed in data["fields"].items()},
        pages=data["pages"],
        stop=frozenset(map(fold_letters, data["stop"])),
        inside=frozenset(map(fold_letters, data["inside"])),
        after={kind: tuple(map(fold_letters, phrases)) for kind, phrases in data["after"].items()},
        until=frozenset(map(fold_letters, data["until"])),
        months=_number_words(data["months"], 1),
        weekdays=_number_words(data["weekdays"], 0),
        days={fold_letters(word): int(ahead) for ahead, listed in data["days"].items() for word in listed},
        clock={kind: tuple(map(fold_letters, listed)) for kind, listed in data["clock"].items()},
        numbers={fold_letters(word): int(value) for word, value in data["numbers"].items()},
        currencies={fold_letters(word): code for code, listed in data["currencies"].items() for word in listed},
    )


def _number_words(lists: Iterable[Iterable[str]], first: int) -> Mapping[str, int]:
    return {fold_letters(word): number for number, listed in enumerate(lists, first) for word in listed}


def say(language: Language, key: str, /, **values: str) -> str:
    return words(language).sentences[key].format_map(values)


def say_anywhere(language: Language, key: str, /, **values: str) -> str:
    """A sentence of the catalogue, for languages of which this model has no words."""
    return catalogue.say(language if language in LANGUAGES else lexicons()[0].language, key, **values)


# --- reading --------------------------------------------------------------------------------------------------------


def read(text: str) -> ParsedText:
    """Everything the text mentions, longest phrase first; what lies inside a longer mention is not mentioned again."""
    text = _UNSEEN.sub("", text[:_LONGEST])
    tokens = tuple(Token(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(fold_letters(text)))
    matched = [matches(token.text) for token in tokens]
    found: dict[tuple[int, int], dict[str, int]] = {}
    for start in range(len(tokens)):
        for phrase in _phrases_at(start, matched):
            sizes = found.setdefault((start, start + len(phrase.parts) - 1), {})
            sizes[phrase.concept] = max(sizes.get(phrase.concept, 0), phrase.size)
    mentions = [Mention(_longest(sizes), *span) for span, sizes in _outermost(found)]
    return ParsedText(text, tokens, tuple(_with_negation(mentions, tokens)))


def _phrases_at(start: int, matched: list[frozenset[tuple[Language, str]]]) -> Iterator[_Phrase]:
    following = matched[start + 1] if start + 1 < len(matched) else frozenset()
    for language, pattern in matched[start]:
        phrases = _patterns(language).phrases
        yield from phrases.get((pattern,), ())
        for _, second in following:
            for phrase in phrases.get((pattern, second), ()):
                rest = range(2, len(phrase.parts))
                if start + len(phrase.parts) <= len(matched) and all(
                    (language, phrase.parts[ahead]) in matched[start + ahead] for ahead in rest
                ):
                    yield phrase


def _outermost(found: Mapping[tuple[int, int], dict[str, int]]) -> Iterator[tuple[tuple[int, int], dict[str, int]]]:
    reached = -1
    for span in sorted(found, key=lambda span: (span[0], -span[1])):
        if span[1] > reached:
            reached = span[1]
            yield span, found[span]


def _longest(sizes: Mapping[str, int]) -> frozenset[str]:
    """Of the meanings of one word those with the longest stem; marks of speech stand beside any of them."""
    marks = concepts().marks
    longest = max((size for concept, size in sizes.items() if concept not in marks), default=0)
    return frozenset(concept for concept, size in sizes.items() if concept in marks or size == longest)


def _with_negation(mentions: list[Mention], tokens: tuple[Token, ...]) -> Iterator[Mention]:
    """`don't cancel`, `I don't want to cancel`: an action shortly after a negation is one that is not wanted."""
    actions = concepts().actions
    said_no = -9
    for mention in mentions:
        near = mention.first - said_no <= 3 and not _breaks(tokens, said_no, mention.first)
        if near and mention.concepts & actions and "implied" not in mention.concepts:
            yield Mention(mention.concepts, mention.first, mention.last, negated=True)
            continue
        if mention.concepts & {"negation", "implied"}:
            said_no = mention.last
        yield mention


def _breaks(tokens: tuple[Token, ...], first: int, last: int) -> bool:
    """Something stands between two tokens that is not a space: a comma ends what a negation covers."""
    return any(tokens[at + 1].start - tokens[at].end > 1 for at in range(max(first, 0), last))


def lexicons_of(text: str) -> tuple[LanguageLexicon, ...]:
    """The language in whose letters the text is mostly written, and those that share them; English for no letters."""
    counts = {lists.script: lists.script.count(text) for lists in lexicons()}
    script, most = max(counts.items(), key=itemgetter(1))
    return tuple(lists for lists in lexicons() if lists.script is script) if most else lexicons()[:1]


def is_written_in(text: str, language: Language) -> bool:
    return words(language) in lexicons_of(text)


@lru_cache(maxsize=8192)
def matches(word: str) -> frozenset[tuple[Language, str]]:
    """The listed patterns that a folded word matches, each with its language."""
    return frozenset(
        (lists.language, pattern)
        for lists in lexicons_of(word)
        for pattern in lists.forms.find_patterns(word, _patterns(lists.language))
    )


@cache
def _patterns(language: Language) -> _Patterns:
    parts: set[str] = set()
    phrases: dict[tuple[str, ...], list[_Phrase]] = {}
    forms = words(language).forms
    for concept, listed in _file(language)["words"].items():
        for entry in listed:
            for spelled in _expand_entry(forms, fold_letters(entry)):
                parts.update(spelled)
                size = sum(len(part.lstrip("=!")) for part in spelled)
                phrases.setdefault(spelled[:2], []).append(_Phrase(spelled, concept, size))
    exact = frozenset(part for part in parts if part[0] in "=!")
    return _Patterns(frozenset(parts - exact), exact, {first: tuple(rest) for first, rest in phrases.items()})


def _expand_entry(forms: WordForms, entry: str) -> Iterator[tuple[str, ...]]:
    """A listed entry as the token patterns it stands for: a stem, `=word` (small words may precede it), `!word`."""
    mark = entry[0] if entry[0] in "=!" else ""
    parts = [match.group() for match in _TOKEN.finditer(entry)]
    if forms.are_inflected:
        last = {parts[-1]} if mark else inflect(parts[-1])
        yield from (tuple(f"!{part}" for part in (*parts[:-1], form)) for form in sorted(last))
        return
    if not forms.proclitics and mark:
        mark = "!"
    # Words of one or two letters are too common as beginnings of others.
    yield tuple(f"{mark or ('!' if len(part) < 3 else '')}{part}" for part in parts)


def inflect(word: str) -> set[str]:
    """The regular forms of an English word."""
    forms = {word, f"{word}s", f"{word}es", f"{word}ed", f"{word}ing", f"{word}'s"}
    if word.endswith("e"):
        forms |= {f"{word}d", f"{word[:-1]}ing"}
    elif word.endswith("y"):
        forms |= {f"{word[:-1]}ies", f"{word[:-1]}ied"}
    elif len(word) < 6:
        forms |= {f"{word}{word[-1]}ed", f"{word}{word[-1]}ing"}
    return forms


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A crude root of a folded word, good enough to see that two words are of one family."""
    return lexicons_of(word)[0].forms.find_root(word)


@lru_cache(maxsize=8192)
def is_stop(word: str) -> bool:
    return any(word in lists.stop for lists in lexicons_of(word))


@cache
def merge_words(kind: str) -> Mapping[str, Any]:
    """What the words of every language stand for, in lists such as `months` or `currencies`."""
    return {word: value for lists in lexicons() for word, value in getattr(lists, kind).items()}


# --- patterns from the lists ------------------------------------------------------------------------------------------


def either(listed: Iterable[str]) -> str:
    """A pattern for any of the words, the longest first."""
    return "|".join(re.escape(word) for word in sorted(set(listed), key=lambda word: (-len(word), word)))


@cache
def field_pattern(kind: str) -> re.Pattern[str]:
    """Finds a word of this kind in the folded name of a field."""
    listed = [word for lists in lexicons() for word in lists.fields[kind]]
    whole = [word[1:] for word in listed if word[0] == "="]
    return re.compile(either(word for word in listed if word[0] != "=") + rf"|\b(?:{either(whole)})\b" * bool(whole))


@cache
def _page_pattern(kind: str, language: Language) -> re.Pattern[str]:
    lists = words(language)
    particle = f"[{lists.grammar['particles']}]?" if "particles" in lists.grammar else ""
    ways = [
        re.escape(entry[:-1]) if entry.endswith("*") else f"{particle}{re.escape(entry)} "
        for entry in map(fold_letters, lists.pages[kind])
    ]
    return re.compile(f" (?:{'|'.join(ways)})")


def mentions(text: str, kind: str, among: tuple[LanguageLexicon, ...] | None = None) -> bool:
    """Whether the text has a word of this kind of a list under `pages`, in any language or in one of these."""
    said = f" {' '.join(token.text for token in read(text).tokens)} "
    return any(_page_pattern(kind, lists.language).search(said) for lists in among or lexicons())
