"""What a message asks to have done: text -> a `Mention` for every act it speaks of, with its mood and its clause.

Only the mood `wish` asks for anything. A question ("can I cancel an order?"), a supposition ("what if I cancelled?"),
what somebody else is said to have said and what is denied are told apart by the words before the verb in its clause;
where these say nothing, the mood is `unclear` and nobody should build on it. The words are in `wanted.txt`.

`asks_for_person` finds the wish that always holds: to talk to a human being.

What may surprise: a text is read word by word first, which tells which of the lists can be found in it at all; the
others are not searched for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, get_args

from circumspect.language.folding import APOSTROPHES, DASHES
from circumspect.language.misspellings import mend_spelling
from circumspect.language.pack import Lines, WantedWords, join_patterns, join_words, packs
from circumspect.language.sentences import split_sentences
from circumspect.language.watched_words import TextWords, Watch, WordList, WordLists

WantedAct = Literal["away", "refund", "change", "send", "book", "exchange"]
ACTS: tuple[WantedAct, ...] = get_args(WantedAct)
Mood = Literal["wish", "asked", "supposed", "reported", "denied", "unclear"]
LONGEST = 4000
_SIGNS = str.maketrans({**dict.fromkeys(APOSTROPHES, "'"), **dict.fromkeys(DASHES, "-"), "\u00a0": " ", "\u05be": "-"})
_COLON = re.compile(r":[ \t]*\n\s*")
_LISTED = re.compile(r"(?<=: )\S[^\n:?!]*(?:\n[^\n:?!]+)+")
_PICTURES = re.compile("[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f\u200d]+")
_NUMBERED = re.compile(r"(?<!\w)(no|nr|num)\.\s*(?=[#\d])", re.IGNORECASE)
_VALUE = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w.-]+\w|[#№]?(?<!\w)(?:[^\W\d_]{1,8}-){0,2}\w*\d[\w-]*")
_NEAR_VALUE = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w.-]+\w|[#№]?(?<!\w)(?:[^\W\d_]{1,8}-){0,2}\w*\d[\w-]{0,80}+")
"""The same where something has to stand behind it: "1-1-1-…" is read from every 1, and not each time to its end."""
_FILE = re.compile(r"(?<![\w.-])[\w-]{1,64}(?:\.[^\W_][\w-]{0,15}){1,3}")
_RECORD = re.compile(r"\d{3}|\w@\w")
_HEAD = 15
"""So many letters tell one wish from another."""
_SENTENCE_END = re.compile(r"[.!?\n](?=\s|\Z)")
_AROUND = " ,;.!\n"
_DIGIT = re.compile(r"\d")
_SMALL = re.compile(r"[\s,.:;!\-–—()\"'«»#№]+")


@dataclass(frozen=True, slots=True)
class Mention:
    """An act that a message speaks of."""

    act: WantedAct
    verb: str
    """As it was written, in lower case."""
    mood: Mood
    clause: str
    """The part of the message that is about this act, as it was written."""
    rest: str
    """The same from the verb on."""
    things: frozenset[str]
    is_order: bool
    """A wish that is put as what to do, at the head of its sentence: "delete it", "could you delete it", and not "I no
    longer need it"."""


@lru_cache(maxsize=1024)
def find_mentions(text: str) -> tuple[Mention, ...]:
    """Every act that the message speaks of, in its order."""
    found: list[Mention] = []
    reported = False
    for sentence in _split(text[:LONGEST]):
        said = _leave_out_courtesies(sentence)
        if not (hits := _find_verbs(said)) and (mended := mend_spelling(said.text)) != said.text:
            said = _read(mended)
            hits = _find_verbs(said)
        low = said.text
        told = _lists().words["reported"].find(said)
        order = True
        ended = 0
        for hit, start, end, mood in _hear_moods(low, hits):
            if mood == "wish" and (reported or (told and told.start() < hit.start)):
                mood = "reported"
            first = 0 if hit is hits[0] else start
            written = sentence if len(low) == len(sentence) else low
            clause, rest = written[first:end], written[hit.start : end]
            verb, things = low[hit.start : hit.end], find_things(low[first:end])
            led = ended and ":" in low[ended : hit.start]  # "transfer this to German: delete …"
            order = order and not led and mood == "wish" and _is_order(low, hit, first)
            ended = hit.end
            found.append(Mention(hit.act, verb, mood, clause, rest, things, order))
        reported = reported or told is not None
    return tuple(found)


@lru_cache(maxsize=1024)
def find_moods(text: str, action: str) -> frozenset[Mood]:
    """The moods in which the message speaks of an action that is none of the acts: `pay`, in the words under
    `[wish pay]` of `requests.txt`. These are loose ones, so that naming a record with them is no wish yet."""
    found: set[Mood] = set()
    for sentence in _split(text[:LONGEST]):
        said = _leave_out_courtesies(sentence)
        low = said.text
        hits: list[_Hit] = []
        requested = _requested(action).finditer(low) if said.begins & _lists().requested[action] else ()
        for hit in requested:
            if not hits or _joins().search(low, hits[-1].end, hit.start()):  # else a second word for it: "pay the fee"
                hits.append(_Hit("away", "noun", hit.start(), hit.end()))
        found.update(mood for *_, mood in _hear_moods(low, hits))
    return frozenset(found)


@lru_cache(maxsize=1024)
def is_question(text: str) -> bool:
    """The message only asks: it has the form of a question, and in no part that of a request."""
    said = _read_message(text[:LONGEST])
    if _lists().words["please"].search(said):
        return False
    if "?" in said.text:
        return True
    return _lists().words["asks"].may_be_in(said) and _asks_first().match(said.text) is not None


def begins_as_question(text: str) -> bool:
    """ "What do I need to cancel an order?" says "I need to", and wishes nothing."""
    low = even_out(text)
    first = re.match(r"\W*(\w+)", low)
    asking = first is not None and first[1] in _asking_words()
    return asking and low.rstrip().endswith("?") and not _words("leave").match(low.lstrip())


@lru_cache(maxsize=1024)
def takes_back(text: str) -> bool:
    """The message says that something is not wanted any more: "no wait, forget it", "leave it as it is"."""
    return _lists().words["taken_back"].search(_read_message(text[:LONGEST]))


@lru_cache(maxsize=1024)
def find_words_after_taking_back(text: str) -> str | None:
    """What follows the last words that take something back: nothing in "delete it, no wait, forget it". None where
    there are no such words but of a mind that was changed: "cancel it, I changed my mind" says why."""
    said = _read_message(text[:LONGEST])
    hits = _lists().words["taken_back"].find_all(said)
    ends = [hit.end() for hit in hits if not _words("mind").search(hit[0])]
    return text[ends[-1] :] if ends else None


def leave_out_taken_back(text: str) -> str:
    """The message without the words that take something back: "no, skip it" speaks of nothing else."""
    low = even_out(text)
    return _words("taken_back").sub(" ", text if len(low) == len(text) else low)


@lru_cache(maxsize=1024)
def asks_for_person(text: str) -> bool:
    """The user wants to talk to a human being."""
    said = _read_message(text[:LONGEST])
    hits = _lists().words["person"].find_all(said)
    return any(not _denied().search(said.text[: hit.start()]) for hit in hits)


@lru_cache(maxsize=1024)
def talks_of(text: str, act: WantedAct) -> bool:
    """A word for the act is in the message, in any form."""
    return _lists().talk[act].search(_read_message(text[:LONGEST]))


def leave_out_reports(text: str) -> str:
    """The message without what it says was done: "he deleted alt.txt" asks for nothing. What stands behind a wish may
    be its object: "I want alt.txt deleted"."""
    low = even_out(text[:LONGEST])
    if not _words("told_deed").search(low):
        return text
    return "\n".join(map(_leave_out_told, split_sentences(low)))


def _leave_out_told(sentence: str) -> str:
    wish = _words("please").search(sentence)
    return _words("told_deed").sub(
        lambda hit: hit[0] if wish and wish.start() < hit.end() else " ",
        sentence,
    )


def goes_elsewhere(text: str) -> bool:
    """The message says that something should go to another place."""
    return _lists().words["elsewhere"].search(_read_message(text[:LONGEST]))


def find_things(low: str) -> frozenset[str]:
    """What a text in lower case speaks of: order, account."""
    said = _read(low)
    return frozenset(thing for thing, listed in _lists().things.items() if listed.search(said))


def adds_to(text: str) -> bool:
    """The message begins by saying that it is one more thing: and, also."""
    return _added().match(even_out(text[:LONGEST])) is not None


def leave_out_denied(clause: str) -> str:
    """The clause without the values that it says are not meant: "not order 12346"."""
    low = even_out(clause)
    # Only of these letters is it certain that a pattern which goes by no case means the words of the lower case.
    if low.isascii() and clause.isascii() and not _lists().denied_values.may_be_in(_read(low)):
        return clause
    return _denied_values().sub(" ", clause if len(low) == len(clause) else low)


@lru_cache(maxsize=1024)
def leave_out_forbidden(text: str) -> str:
    """The message without what it says must not be done, or not to whom: "email carol@…, not dave@…", "never make u-7
    an owner". A wish that is put like that ("don't ship order 12345") and questions stay."""
    low = even_out(text)
    if not _lists().forbidding.search(_read(low)):
        return text
    if len(low) != len(text):
        text = low
    spoken = [(even_out(one.rest)[:_HEAD], one.mood) for one in find_mentions(text)]
    head, anywhere, last = _forbids()
    starts = [0, *(hit.end() for hit in _turns().finditer(low))]
    kept = []
    for start, end in zip(starts, [*starts[1:], len(low)], strict=True):
        clause = low[start:end].strip(_AROUND)
        moods = {mood for words, mood in spoken if words in clause}
        forbids = anywhere.search(clause) or ("wish" not in moods and head.search(clause))
        if not (forbids or (moods & {"wish", "denied"} and last.search(clause))) or _ends_in_question(low, start):
            kept.append(_leave_out_excluded(text, start, end))
    return "".join(kept)


def _leave_out_excluded(text: str, start: int, end: int) -> str:
    """Of a part of the text; what stands before it ("all but") counts, too."""
    spans = [hit.span() for hit in _excluded().finditer(text, start, end)]
    cuts = [start, *(at for span in spans for at in span), end]
    return " ".join(text[left:right] for left, right in zip(cuts[::2], cuts[1::2], strict=True))


def _ends_in_question(low: str, start: int) -> bool:
    end = _SENTENCE_END.search(low, start)
    return end is not None and end[0] == "?"


def is_linking(text: str) -> bool:
    """The text between two values says nothing but "and"."""
    return _is_head(_joins().sub(" ", even_out(text)))


def find_place(clause: str) -> str:
    """Where something should go, as the clause writes it: what stands after "to", up to its end; else nothing."""
    low = even_out(clause)
    if len(low) != len(clause):
        clause = low
    if not _DIGIT.search(clause):
        return ""
    for hit in reversed([*_lists().to.find_all(_read(low))]):
        place = _tail().sub("", clause[hit.end() :]).strip(" ,.;:!?-–")
        if len(place) >= 8 and len(place.split()) >= 2 and _DIGIT.search(place):
            return place
    return ""


def even_out(text: str) -> str:
    """Lower case, one kind of dash and apostrophe, and every sign in its place."""
    return text.translate(_SIGNS).lower()


def _split(text: str) -> list[str]:
    """The sentences, where a smiley ends one, too. What stands on lines of its own after a colon belongs to it, and a
    number to its "no."."""
    text = _PICTURES.sub("\n", text)
    text = _LISTED.sub(lambda hit: hit[0].replace("\n", " "), _COLON.sub(": ", text))
    text = _NUMBERED.sub(r"\1 ", text)
    return split_sentences(text, "requested")


# --- verbs and clauses ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Hit:
    act: WantedAct
    kind: Literal["verb", "command", "noun"]
    start: int
    end: int


def _find_verbs(said: TextWords) -> list[_Hit]:
    """The longest word wins where two overlap, and a command over a verb."""
    every = [_Hit(act, kind, hit.start(), hit.end()) for (kind, act), hit in _lists().verbs.find_all(said)]
    every.sort(key=lambda one: (one.start - one.end, one.kind != "command", one.kind != "verb", one.start))
    kept: list[_Hit] = []
    for one in every:
        if all(one.end <= other.start or other.end <= one.start for other in kept):
            kept.append(one)
    return _drop_repeats(sorted(kept, key=lambda one: one.start), said.text)


def _drop_repeats(hits: Sequence[_Hit], low: str) -> list[_Hit]:
    """ "Make a refund and give me my money back" asks for one thing: the same act again with no value of its own."""
    kept: list[_Hit] = []
    for one in hits:
        before = kept[-1] if kept else None
        if before and one.kind == "noun" != before.kind and _is_done_to(low, before, one):
            continue
        if before and before.act == one.act and not _VALUE.search(low, before.end, one.start):
            kept[-1] = before if before.kind != "noun" else one
            continue
        kept.append(one)
    return kept


def _is_done_to(low: str, verb: _Hit, noun: _Hit) -> bool:
    """In "cancel my booking" the booking is what is cancelled."""
    named = any(pattern.fullmatch(low, noun.start, noun.end) for pattern in _things().values())
    return named and not _joins().search(low, verb.end, noun.start) and _is_head(low[verb.end : noun.start])


def _cut_into_clauses(low: str, hits: Sequence[_Hit]) -> list[int]:
    """Where the clause of each verb begins: at the last "and" or comma after the verb before it, or at itself."""
    starts = []
    for number, hit in enumerate(hits):
        since = hits[number - 1].end if number else 0
        cuts = [cut.end() for cut in _joins().finditer(low, since, hit.start)]
        starts.append(cuts[-1] if cuts else (hit.start if number else 0))
    return starts


def _leave_out_courtesies(sentence: str) -> TextWords:
    said = _read(even_out(sentence))
    courtesies = _lists().courtesies
    if not courtesies.may_be_in(said):
        return said
    return _read(courtesies.pattern.sub(lambda hit: " " * len(hit[0]), said.text))


def _hear_moods(low: str, hits: Sequence[_Hit]) -> Iterator[tuple[_Hit, int, int, Mood]]:
    """Each verb with where its clause begins and ends, and its mood."""
    if not hits:
        return
    starts, asking, waits = _cut_into_clauses(low, hits), begins_as_question(low), _depends_on_later(low, hits)
    since = 0
    for hit, start, end in zip(hits, starts, [*starts[1:], len(low)], strict=False):
        led = low[since : hit.start].rpartition(": ")[2].rstrip()
        mood = _mood(low, hit, start, end, led, asking=asking)
        since = hit.end
        if mood == "wish" and (waits or _words("awaits").search(low, hit.end, end)):
            mood = "supposed"
        yield hit, start, end, mood


def _mood(low: str, hit: _Hit, start: int, end: int, led: str, *, asking: bool) -> Mood:
    """`led` is all that was said since the verb before, or a colon: "I am thinking about it, to cancel" makes up no
    mind."""
    lists, after = _lists(), low[hit.end : end]
    words, before, led_by = lists.words, _read(low[start : hit.start]), _read(led)
    if lists.denied.search(led_by) or _forbids()[2].search(after.strip(_AROUND)):
        return "denied"
    if lists.beside.search(led_by):
        return "unclear"
    pleads, asks = _last("please", before), _last("asks", before)
    if _last("supposed", before) > pleads or _last("perhaps", led_by) >= max(_last("please", led_by), 0):
        return "supposed"
    if words["hearsay"].search(before):
        return "supposed"
    if _asks_leave(before, low[start:end]):
        return "wish"
    if asking:
        return "asked"
    if pleads > asks or (pleads >= 0 and pleads == asks):
        return "wish"
    if asks >= 0:
        return "asked"
    if hit.kind != "command" and _words("state").match(after.lstrip()):
        return "unclear"
    if low.rstrip().endswith("?"):
        return "unclear"
    if hit.kind == "command" or words["please"].search(_read(after)) or _is_head(before.text):
        return "wish"
    # Whoever names the record and what is done to such records wants it done; they are asked before it is.
    return "wish" if hit.kind == "verb" and _names_record(low[start:end]) else "unclear"


def _is_order(low: str, hit: _Hit, first: int) -> bool:
    """Nothing before the verb says who does it or that somebody feels like it, and no noun is meant."""
    before, after = _asked_for().sub(" ", low[first : hit.start]), low[hit.end :]
    if hit.kind == "noun" or _words("stated").match(low, hit.start) or _words("own").search(before):
        return False
    if _words("supposed").search(after) or _words("later").search(after):
        return False
    return _is_head(before) and (hit.kind == "command" or _begins_object().match(after) is not None)


def _depends_on_later(low: str, hits: Sequence[_Hit]) -> bool:
    """ "If it does not come by Friday, cancel it": nobody knows yet whether it will. What "if it has not shipped" asks
    for can be looked up, and is wished."""
    if not hits or not (condition := _conditional().match(low)):
        return False
    return _words("later").search(low, condition.end(), hits[-1].start) is not None


def _asks_leave(before: TextWords, clause: str) -> bool:
    """ "Can I cancel order 12345?" asks for it; "how can I …", "can I still …" and "can I cancel orders?" do not."""
    words = _lists().words
    if not words["leave"].search(before) or not _names_record(clause) or words["depends"].search(_read(clause)):
        return False
    return not words["asks"].search(_read(words["leave"].replace(before, " ")))


def _names_record(clause: str) -> bool:
    return bool(_RECORD.search(clause) or find_place(clause))


def _last(heading: str, said: TextWords) -> int:
    """Where the last of these words ends; -1 where there is none."""
    return max((hit.end() for hit in _lists().words[heading].find_all(said)), default=-1)


def _is_head(before: str) -> bool:
    """Nothing stands before the verb but small words, and the thing and the number that it is about."""
    rest = _read(_VALUE.sub(" ", before))
    for listed in (*_lists().things.values(), _lists().words["lead"]):
        if listed.may_be_in(rest):
            rest = _read(listed.replace(rest, " "))
    return not _SMALL.sub("", rest.text)


# --- patterns, of all languages at once: people mix them -----------------------------------------------------------


def _spoken() -> list[WantedWords]:
    return [one.wanted for one in packs()]


def _whole(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'])(?:{pattern})(?!\w)")


_HEADINGS = (
    "asks", "depends", "elsewhere", "hearsay", "leave", "lead", "perhaps", "person", "please", "reported", "supposed",
    "taken_back",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Lists:
    """What is looked for in the same texts, and the watch that tells which of it can be there."""

    watch: Watch
    words: Mapping[str, WordList]
    verbs: WordLists[tuple[Literal["verb", "command", "noun"], WantedAct]]
    requested: Mapping[str, int]
    """Their bits: most of them are never asked for."""
    talk: Mapping[WantedAct, WordList]
    things: Mapping[str, WordList]
    courtesies: WordList
    denied: WordList
    beside: WordList
    denied_values: WordList
    """It is only asked whether they may be there."""
    forbidding: WordList
    to: WordList


@cache
def _lists() -> _Lists:
    watch, spoken = Watch(), _spoken()

    def listed(pattern: re.Pattern[str], *begins: str) -> WordList:
        """`begins`: what is surely there wherever the pattern is, if not what the pattern itself begins with."""
        return WordList(pattern, watch.add(join_patterns(begins))) if begins else watch.place(pattern)

    actions = set.intersection(*(set(one.requests.wish) for one in packs()))
    return _Lists(
        watch,
        words={heading: listed(_words(heading)) for heading in _HEADINGS},
        verbs=WordLists({key: listed(pattern) for key, pattern in _verbs().items()}),
        requested={action: watch.add(_find_lines(action)) for action in sorted(actions)},
        talk={act: listed(_talk(act)) for act in ACTS},
        things={name: listed(pattern) for name, pattern in _things().items()},
        courtesies=listed(_courtesies(), _words("courtesy").pattern),
        denied=listed(_denied(), join_words(one.not_ for one in spoken)),
        beside=listed(_beside(), join_words(one.beside for one in spoken)),
        denied_values=listed(
            _denied_values(),
            join_words(one.not_this for one in spoken),
            rf"{join_words(one.stays for one in spoken)}(?!\w)",
        ),
        forbidding=listed(_forbidding()),
        to=listed(_to(), join_words(one.to for one in spoken)),
    )


def _read(low: str) -> TextWords:
    """A text in lower case with what can be found in it."""
    return _lists().watch.read(low)


@lru_cache(maxsize=256)
def _read_message(text: str) -> TextWords:
    """A message, for all who ask something of it. None is longer than `LONGEST`."""
    return _read(even_out(text))


@cache
def _asking_words() -> frozenset[str]:
    return frozenset(line for one in packs() for line in one.about.question_words)


@cache
def _added() -> re.Pattern[str]:
    return re.compile(rf"\s*{join_words(one.joins for one in _spoken())}(?!\w)")


@cache
def _words(heading: str) -> re.Pattern[str]:
    return _whole(join_words(getattr(one, heading) for one in _spoken()))


@cache
def _asks_first() -> re.Pattern[str]:
    return re.compile(rf"\s*(?:{_words('asks').pattern})")


@cache
def _requested(action: str) -> re.Pattern[str]:
    return _whole(_find_lines(action))


def _find_lines(action: str) -> str:
    return rf"{join_words(one.requests.wish[action] for one in packs())}(?!\w)"


@cache
def _verbs() -> Mapping[tuple[Literal["verb", "command", "noun"], WantedAct], re.Pattern[str]]:
    kinds: tuple[Literal["command", "verb", "noun"], ...] = ("command", "verb", "noun")
    return {
        (kind, act): _whole(join_words(map(_in_both_orders, (getattr(one, kind)[act] for one in _spoken()))))
        for kind in kinds
        for act in ACTS
    }


def _in_both_orders(lines: Lines) -> Lines:
    """ "money & back" is found as "money … back" and as "back … money", with a few words between them."""
    found = []
    for line in lines:
        one, both, other = line.partition(" & ")
        pairs = ((one, other), (other, one)) if both else ()
        found += [rf"(?:{first})(?!\w)(?:,? [^\s.;!?]+){{0,6}},? (?:{then})" for first, then in pairs] or [line]
    return tuple(found)


@cache
def _asked_for() -> re.Pattern[str]:
    """`please`, with who says so."""
    return _whole(rf"(?:{join_words(one.own for one in _spoken())} )?{join_words(one.please for one in _spoken())}")


@cache
def _begins_object() -> re.Pattern[str]:
    """What stands behind a verb: what it is done to, or the end of the clause."""
    named = r"[\w-]*[./@_\d][\w./@-]*\w|[#№$€£₪]"
    words = join_words(lines for one in _spoken() for lines in (one.object, *one.thing.values()))
    return re.compile(rf"\s*(?:[.,;:!]|\Z|{named}|{words}(?!\w))")


@cache
def _talk(act: WantedAct) -> re.Pattern[str]:
    return _whole(join_words(one.talk[act] for one in _spoken()))


@cache
def _things() -> Mapping[str, re.Pattern[str]]:
    names = dict.fromkeys(name for one in _spoken() for name in one.thing)
    return {name: _whole(join_words(one.thing.get(name, ()) for one in _spoken())) for name in names}


@cache
def _courtesies() -> re.Pattern[str]:
    """With the commas around them: they cut no clause in two."""
    return re.compile(rf"(?:,\s*)?{_words('courtesy').pattern}(?:\s*,)?")


@cache
def _conditional() -> re.Pattern[str]:
    lead = join_words((*one.lead, *one.joins, *one.but) for one in _spoken())
    return re.compile(rf"\W*(?:{lead}[ ,]+){{0,3}}(?:{_words('supposed').pattern})")


@cache
def _denied() -> re.Pattern[str]:
    return re.compile(rf"(?<![\w']){join_words(one.not_ for one in _spoken())} ?\Z")


@cache
def _beside() -> re.Pattern[str]:
    return re.compile(rf"(?<![\w']){join_words(one.beside for one in _spoken())} ?\Z")


@cache
def _denied_values() -> re.Pattern[str]:
    words = [*(one.lead for one in _spoken()), *(one.thing.get(name, ()) for one in _spoken() for name in one.thing)]
    between, denied = join_words(words), join_words(one.not_this for one in _spoken())
    before = rf"(?<![\w']){denied}\s+(?:{between}\s+){{0,3}}(?>{_VALUE.pattern})"
    after = rf"(?<!\w)(?>{_NEAR_VALUE.pattern})\s+(?:{join_words(one.stays for one in _spoken())})(?!\w)"
    return re.compile(f"{before}|{after}", re.IGNORECASE)


@cache
def _forbidding() -> re.Pattern[str]:
    lines = (line.strip("^$") for one in _spoken() for line in (*one.forbid, *one.exclude, *one.not_this))
    # Some only look back: "all files but " has its end before the next word.
    return re.compile(rf"(?<![\w'])(?:{join_patterns(lines)})(?:(?!\w)|(?<= ))")


@cache
def _forbids() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """At the head of a clause, unless that is how the wish is put; anywhere; and at the end of a clause that wishes."""
    lines = [line for one in _spoken() for line in one.forbid]
    lead = rf"\A(?:{join_words(one.lead for one in _spoken())}[ ,]+){{0,3}}"
    heads = join_patterns(line[1:] for line in lines if line.startswith("^"))
    anywhere = join_patterns(line for line in lines if line.strip("^$") == line)
    last = join_patterns(line[:-1] for line in lines if line.endswith("$"))
    excluded = join_words(one.exclude for one in _spoken())
    return (
        re.compile(rf"{lead}{heads}(?!\w)|\A{excluded}(?: [^\s,]+){{1,3}}\Z"),
        _whole(anywhere),
        re.compile(rf"(?<!\w){last}\Z"),
    )


@cache
def _excluded() -> re.Pattern[str]:
    words = [*(one.lead for one in _spoken()), *(one.thing.get(name, ()) for one in _spoken() for name in one.thing)]
    between, excluded = join_words(words), join_words(one.exclude for one in _spoken())
    # "Leave at 9" asks for something, "leave notes.md" does not.
    left = join_words(one.not_this for one in _spoken())
    value, file = rf"{excluded}\s*(?:{between}\s+){{0,3}}(?>{_VALUE.pattern}|{_FILE.pattern})", _FILE.pattern
    return re.compile(rf"(?<![\w'])(?:{value}|{left}\s+(?:{between}\s+){{0,3}}(?>{file}))", re.IGNORECASE)


@cache
def _turns() -> re.Pattern[str]:
    but = join_words(one.but for one in _spoken())
    return re.compile(rf"{_joins().pattern}|(?<![.!?\n])[.!?\n]+\s+|(?<!\w){but}(?!\w)\s*")


@cache
def _joins() -> re.Pattern[str]:
    return re.compile(rf"[,;:]\s+|(?<!\s)\s+-+\s+|(?<!\w){join_words(one.joins for one in _spoken())}(?!\w)\s*")


@cache
def _to() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){join_words(one.to for one in _spoken())}\s*(?=\S)")


@cache
def _tail() -> re.Pattern[str]:
    return re.compile(
        rf"(?<![\s,.!])(?:[\s,.!]++(?:{join_words(one.after_address for one in _spoken())})){{1,6}}[\s.!]*+\Z",
        re.IGNORECASE,
    )
