"""What a language is: one folder of data files, read into these values.

`about.txt` says which language it is. `messages.ftl` and `reasons.ftl` are the words that we say; `phrases.txt`,
`guardian.txt`, `sensitive.txt` and `understanding.txt` are phrases that people say (`word_lists` tells how they are
written). The other files hold patterns: regular expressions, one a line, against folded text, always of whole words
unless the line itself says otherwise. A field below is the heading of that name; a mapping is all headings that begin
with its name ("[done delete]"). A heading that a language has no use for stands there empty; a missing or unknown one
is refused with file and heading, so that a translator hears what to write.

Grammar that lists cannot say is a module `grammar.py` in the folder (`Grammar`). Everything is read on first use.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache, cached_property
from importlib import import_module
from typing import Any, Protocol, TypeVar, cast

from circumspect.errors import ConfigError
from circumspect.language.files import read_lists
from circumspect.language.registry import LANGUAGES, Language
from circumspect.language.scripts import SCRIPTS, Script

Lines = tuple[str, ...]
_Part = TypeVar("_Part")


class Grammar(Protocol):
    """A module `grammar.py` in the language's folder, where no Snowball stemmer knows the language."""

    def stem(self, word: str) -> str:
        """The part of a lower-case word that its inflected forms share."""


@dataclass(frozen=True, slots=True)
class About:
    """about.txt: what the language is called and how it is written."""

    name: Lines
    """In English, as prompts spell it."""
    script: Lines
    """A name from `scripts.SCRIPTS`."""
    stemmer: Lines
    """The name of a Snowball stemmer; empty where `grammar.py` stems."""
    plain_words: Lines
    """Small everyday words that no other language of the same script has: they tell the language of a short message."""
    glued: Lines
    """Patterns of small words that are written together with the next one ("and", "the", "to" in Hebrew)."""
    glued_and: Lines
    """Those of them that mean "and": an answer may begin with one."""
    quote_inside_words: Lines
    """A sign that is a quotation mark elsewhere and a letter's mark here, between two letters."""
    question_words: Lines
    """A message that begins with one of them asks something, also where the question mark is left out."""
    quotation_marks: Lines
    """The opening and the closing one."""
    thousands: Lines
    """The sign between groups of three digits; `_` is a blank."""
    same_letters: Lines
    """`a = b`: a letter that people also write as another."""
    final_letters: Lines
    """The same of letters with a form of their own at a word's end."""
    keyboard: Lines
    """The rows of letters, to tell words from keys that were mashed."""
    vowels: Lines
    consonants: Lines
    """Letters without which, or of which five in a row, no word is. Empty where vowels are not written."""
    one_sound: Lines
    """Several of those that are counted as one, because words are joined at them: "Angstschweiß"."""
    abbreviations: Lines
    """With their full stops: these end no sentence."""
    short_forms: Lines
    """`pattern = words`: what is read instead of a form with an apostrophe; `_` is a blank."""


@dataclass(frozen=True, slots=True)
class WishWords:
    """wishes.txt: how a wish is taken back or ordered; in the spelling of `phrases.txt`."""

    denied: Lines
    """Before a phrase, these say that it is not wished."""
    denied_gap: Lines
    """What may stand between the two."""
    topic_denied: Lines
    """Before the words of a sensitive topic, these say that it is none."""
    topic_denied_gap: Lines
    """What may stand between the two, any number of times."""
    denied_inside: Lines
    """Inside a phrase, where `...` stands, these deny it: in a language that says "I want no order cancelled"."""
    ordered: Lines
    """What a clause may begin with before a command, where commands have no form of their own; else empty."""


@dataclass(frozen=True, slots=True)
class WantedWords:
    """wanted.txt: how a user says what they want done, and how they only talk about it; by `WantedAct` and by thing."""

    verb: Mapping[str, Lines]
    """Asks for the act at the head of a clause, or after one of `please`."""
    command: Mapping[str, Lines]
    """Asks for it wherever it stands: an imperative, in a language whose imperative has a form of its own."""
    noun: Mapping[str, Lines]
    """The act as a thing ("a refund"): asks for it like a verb, unless a state is said of it."""
    talk: Mapping[str, Lines]
    """Any form of a word for the act: somebody talks about it."""
    thing: Mapping[str, Lines]
    """What an act is done to."""
    object: Lines
    """After a verb at the head of a sentence, one of these begins what it is done to: the verb is no noun there."""
    stated: Lines
    """A verb that begins with one of these says how somebody feels about the thing, and not what to do with it."""
    own: Lines
    """Before a verb, and no part of `please`: it is what the user does themselves."""
    please: Lines
    """Before a verb, these make it a wish, also in a question: please, could you, I want to."""
    asks: Lines
    """Before a verb, these make it a question: can I, how, when."""
    leave: Lines
    """Questions that politely ask for the act where they name what it should be done to: can I, is it possible to."""
    depends: Lines
    """Beside one of `leave`, these make it a question after all: after, still, if."""
    supposed: Lines
    """Before a verb, these make it a supposition: if, what if."""
    awaits: Lines
    """Behind a verb: it waits for a word of the user's own that has not come ("delete it once I have confirmed")."""
    later: Lines
    """After one of `supposed` at the head of a sentence, these say that nobody knows yet: by Friday, tomorrow."""
    perhaps: Lines
    """Before a verb, these say that nobody has made up their mind: maybe I should, I am thinking about."""
    hearsay: Lines
    """In the clause of a verb, these say that somebody else would have it done: my friend says, I read that."""
    reported: Lines
    """What follows is what somebody else said or is said to have said."""
    told_deed: Lines
    """Says that something was done, whoever did it: nobody asks for it ("he deleted it", "it was deleted")."""
    state: Lines
    """Right after a verb or noun, these say what became of it: nobody asks for it ("my refund has not …")."""
    beside: Lines
    """Right before a verb, these say that it is no part of something else that is wanted: without."""
    not_: Lines
    """Right before a verb, these deny it."""
    not_this: Lines
    """Before a value, these say that it is not the one: not, instead of."""
    forbid: Lines
    """Somebody says what must not be done: never, under no circumstances. Those with ^ only at the head of a clause,
    those with $ only at the end of one that asks for something."""
    exclude: Lines
    """Before a value, these say that it must not be used: not to, instead of."""
    but: Lines
    """Begin a clause of its own: but."""
    stays: Lines
    """After a value, these say the same: stays as it is."""
    taken_back: Lines
    """Says that what was asked for is not wanted any more, whatever it was. A plain no is none of these."""
    mind: Lines
    """Those of `taken_back` that also say why something is not wanted: changed my mind."""
    lead: Lines
    """What may stand before a verb that is still at the head of its clause."""
    joins: Lines
    """Between two wishes: and, then."""
    to: Lines
    """Before where something should go."""
    after_address: Lines
    """At the end of a clause with an address, and no part of it."""
    person: Lines
    """Asks for a person."""
    elsewhere: Lines
    """Where something should go instead, though no address says it: to my office."""
    courtesy: Lines
    """Sounds like a condition and is none: if possible."""
    misspelt: Lines
    """Words that are mended where one letter of them is wrong."""
    real_words: Lines
    """Words that are one letter apart from one of those, and meant."""


@dataclass(frozen=True, slots=True)
class RequestWords:
    """requests.txt: the words in which something is asked for or ordered, by the kind of action (`ToolAction`)."""

    command: Mapping[str, Lines]
    """The imperative, in the form that stands at the head of a command."""
    wish: Mapping[str, Lines]
    """Other words in which a person asks for the same thing."""
    lead: Lines
    """What may stand before the imperative: please, then, first."""
    ordered: Lines
    """What turns the verb after it into an order: you must, make sure to."""
    then: Lines
    """What joins a second order to the first: and, then."""
    also: Lines
    """What may follow one of those: also."""
    other_verbs: Lines
    """Heads of a command that ask for none of the actions themselves but may be followed by one that does."""
    delegated: Lines
    """The user says to do what some message says."""
    whole: Lines
    """All of a thing is meant, whatever parts of it are named: the entire order."""
    other: Lines
    """Not the one that was spoken of: the other one."""
    others: Lines
    """Beside a thing with a name, what has none may be meant: another one, both, the copy of it."""
    same: Lines
    """As it was before: the same size."""
    cheapest: Lines
    """Of several, the one with the lowest price."""
    dearest: Lines
    """Of several, the one with the highest price."""


@dataclass(frozen=True, slots=True)
class ClaimWords:
    """claims.txt: how a reply says that something was done."""

    done: Mapping[str, Lines]
    """Verbs of what was done, by the kind of action."""
    frames: Lines
    """How one of them stands in a claim, `{verb}` for the verb: "i have {verb}". The first that fits counts."""
    adverbs: Lines
    """Between the two: now, already. `{adverbs}` in a frame stands for any number of them."""
    notes: Lines
    """What an assistant keeps in its head: updating that changes nothing. `{notes}` in a frame forbids it there."""
    on_page: Mapping[str, Lines]
    """Verbs of what was done on a web page: `submit` (sent off) and `type` (filled in)."""
    frames_on_page: Lines
    marks: Lines
    """Letters of which at least one is in every verb, so that most sentences need no pattern. Empty: all are tried."""
    speaker: Lines
    """What a sentence of our own doing must have ("i", "we"); empty where the verb tells."""
    passive: Lines
    """Ends of verbs that say that somebody did it, not who."""
    no_claim: Lines
    """Before the verb, these make it an offer, a condition, a plan, a refusal, a report: no claim."""


@dataclass(frozen=True, slots=True)
class StatementWords:
    """statements.txt: how a sentence of a reply says what was done, was not done, or will be done. A mapping is by the
    kind of action; `charge` is paying that the customer does, `any` a deed that is not named."""

    done: Mapping[str, Lines]
    """Forms of a verb that say it happened, wherever they stand."""
    attributive: Lines
    """Save behind these, which make them an attribute: the updated list."""
    framed: Mapping[str, Lines]
    """Those that say so only behind one of `frames`."""
    frames: Lines
    denied_frames: Lines
    """Behind these they say that it did not happen. `{adverbs}` in a frame stands for up to three of the next."""
    adverbs: Lines
    deed: Mapping[str, Lines]
    """The noun: a cancellation. It claims something together with `finished`, `failed` or `under_way`."""
    do: Mapping[str, Lines]
    """The bare verb, which `managed`, `unable` or `future` turns into a statement."""
    doing: Mapping[str, Lines]
    """It happens right now, behind one of `ongoing` where there are any."""
    ongoing: Lines
    promised: Mapping[str, Lines]
    """One word or phrase that says it will happen."""
    promise: Lines
    """The same where the deed is not named: I'll take care of it."""
    state: Mapping[str, Lines]
    """What is only so after the deed: the order is gone, see you on Monday, all set."""
    undone: Mapping[str, Lines]
    """What is only so where the deed was not done: still active."""
    status: Mapping[str, Lines]
    """What a result may say instead of the deed."""
    finished: Lines
    ended: Lines
    """Says of a deed that is named that it is finished, and nothing by itself: returned, made."""
    anchor: Lines
    """What ties a clause to this case and not to how things are done in general: your, now, a past tense."""
    definite: Lines
    """What may do so, and may not: the."""
    own: Lines
    """What we did ourselves, whatever it was. `{adverbs}` as in `frames`."""
    ceased: Lines
    """Negations that say that something has come to an end: no longer."""
    subject: Lines
    """Other nouns of the world that the deeds are done in: the courier, the card."""
    aside: Lines
    """What is said around a statement and adds nothing to it: don't worry, happy to tell you that."""
    unsure: Lines
    """Admits that nobody knows what became of a deed."""
    regret: Lines
    """Together with a negation, these break bad news: unfortunately."""
    harmless: Lines
    """How the verbs begin that say, see, feel or ask, and so claim no deed."""
    failed: Lines
    under_way: Lines
    managed: Lines
    unable: Lines
    future: Lines
    modal: Lines
    """Right before a form of `done`, these make it a possibility: can be cancelled."""
    negation: Lines
    yet: Lines
    """With a negation before a deed, these deny that it happened: no refund yet."""
    condition: Lines
    """From here on the sentence supposes."""
    reported: Lines
    """From here on it repeats what somebody else said."""
    general: Lines
    """The clause speaks of how things are done, not of this case."""
    someone_else: Lines
    """A promise of what these will do is not ours."""
    turns: Lines
    """Begins a clause that stands for itself: but."""
    joins: Lines
    """Begins the next clause: and."""
    linking: Lines
    """A comma before these ends no clause: I see, that."""
    question: Lines
    """A question that begins with one of these is one from its beginning."""
    tag: Lines
    """So is one that ends with one of these: right?"""
    both: Lines
    object: Mapping[str, Lines]
    """What the deed is done to, by the word in names of tools."""
    secret: Lines
    """What no user should be asked for."""
    asks: Lines
    no_ask: Lines
    announced: Lines
    """Behind these a glued "that" begins no relative clause."""


@dataclass(frozen=True, slots=True)
class StateWords:
    """states.txt: in what state an order or a booking is, as a reply and as the field of a record say it."""

    state: Mapping[str, Lines]
    """How a reply says that something is in the state, or not yet in it."""
    value: Mapping[str, Lines]
    """What the field says."""
    record: Lines
    """Of what a state is said."""
    booking: Lines
    """Those of it that are confirmed by somebody."""
    pronoun: Lines
    """Stands for one of them, right before what is said of it."""
    adverbs: Lines
    not_of: Lines
    """In a clause with one of these something else is in that state, or only a part."""
    clause: Lines
    """Begins another clause: that, because."""


@dataclass(frozen=True, slots=True)
class ConsentWords:
    """consent.txt: agreeing and asking in transcripts."""

    yes: Lines
    no: Lines
    """At the beginning of a sentence."""
    refuses: Lines
    """Anywhere in it."""
    takes_back: Lines
    negates: Lines
    harmless: Lines
    """Contains a negation, and denies nothing: "no problem"."""
    depends: Lines
    hesitates: Lines
    """Anywhere, and whatever else is said: no yes yet. "Ok, I have to ask my wife first"."""
    question: Lines
    """The assistant waits for an answer."""
    confirm: Lines
    """The assistant asks for a yes."""
    rhetorical: Lines
    """Before a question mark these are still a yes: "yes, why not?"."""


@dataclass(frozen=True, slots=True)
class ValueWords:
    """values.txt: numbers, dates, times, money and measures in words."""

    numbers: Lines
    """`2 = two`: every form, the value first."""
    both: Lines
    """Says two of things that were named: `2 = both`."""
    months: Lines
    """Twelve lines, all written forms of one month each."""
    month_stems: Lines
    """Twelve lines: a pattern for any form of the month in a document."""
    ordinals: Lines
    """What may follow the number of a day: st, nd, rd, th."""
    day_range: Lines
    """Between two days: to, until, and."""
    of: Lines
    """Between day and month, or month and year."""
    the: Lines
    """Before the number of a day."""
    before_month: Lines
    """A small word that is written together with a month."""
    bare_day: Lines
    """A day of a month that is not named; `(\\d{1,2})` for the number."""
    am: Lines
    pm: Lines
    oclock: Lines
    """What makes an hour of a number: "18 Uhr"."""
    spoken_hours: Lines
    """`9 = half past nine`: an hour of the clock in words, by the dial."""
    currency: Mapping[str, Lines]
    """By ISO code."""
    unit: Mapping[str, Lines]
    """minutes, hours, days, working_days, weeks, months, years."""
    duals: Lines
    """`half a year = 6 months`, and two days where they are one word: durations that are said without a number."""
    percent: Lines
    weekdays: Lines
    """Seven lines from Monday on, against text as it is written: capitals tell short forms from other words."""
    weekday_names: Lines
    """Seven lines from Monday on, as opening hours say them."""
    schedule: Lines
    """`closed on = Ruhetage:`: the other words of opening hours; the first for each is the one that is said."""
    day_groups: Lines
    """`1-5 = weekdays`: several of them in one word."""
    ordinal_days: Lines
    """`1 = first`: the day of a month in words."""
    measure: Mapping[str, Lines]
    """Weights, lengths and the like, by the names in `knowledge.stated_facts`."""


@dataclass(frozen=True, slots=True)
class DocumentWords:
    """documents.txt: what a tenant's documents are searched and compared by."""

    stop_words: Lines
    """Words that say nothing about what is asked for."""
    general: Lines
    """Too general to tell one subject from another."""
    telling: Lines
    """Who, which kind, where: a rule with such a word is not the rule without it."""
    subjects: Lines
    """Behind one of these stands what somebody does: "may I barbecue"."""
    auxiliaries: Lines
    determiners: Lines
    """Behind one of these stands a thing: "the café", "how many canoes"."""
    opposites: Lines
    """`with = without`: what is said of one is not said of the other."""
    parts_of_the_day: Lines
    units: Lines
    """The words for measures of time."""
    chapter: Lines
    """What a heading of the highest level begins with."""
    section: Lines
    number: Lines
    """How a heading is numbered in letters."""
    page: Lines
    page_of: Lines
    clause: Lines
    """Words between two clauses."""
    at_least: Lines
    at_least_after: Lines
    at_most: Lines
    before: Lines
    after: Lines
    condition: Lines
    example: Lines
    rates: Lines
    """Of `telling`, those that say how often."""
    asks_amount: Lines
    """By which a question asks for an amount."""
    free: Lines
    """By which it is answered without one."""


@dataclass(frozen=True, slots=True)
class ConflictWords:
    """conflicts.txt: by which two documents are found to answer a question differently."""

    wants: Mapping[str, Lines]
    """How a question asks for a kind of thing (price, amount, count, age, duration, when, hours, day, name, place,
    phone, mail), for a yes, or for the begin or the end of a time."""
    begins: Lines
    """Before a time or a date: it is the beginning of something."""
    ends: Lines
    range: Lines
    """Between two numbers: from 6 to 10."""
    asking: Lines
    """Words of a question that say what kind of thing is asked for, not of what."""
    cases: Lines
    """Whom or which of several things something is said of: a statement with such a word is of a case of its own."""
    periods: Lines
    """The same of parts of a year."""
    title_words: Lines
    """What a title calls the document: rules, prices, questions."""
    numbered: Lines
    """What has a number or a letter as its name: room, line, hall."""
    street: Lines
    """A street with its number."""
    before_name: Lines
    """What a person's name follows, where it is one word, or the script has no capitals."""
    roles: Lines
    """Words that say what a person does for something: leads, teaches, answers for it."""
    honorific: Lines
    opening: Lines
    """Words of a question for the hours of a business, whose own text may have none of them."""
    per: Lines
    """Between an amount and what it is for: 5 euros per person."""
    whole: Lines
    """Before a unit of time: the whole day, one hour."""
    nights: Lines
    per_what: Lines
    each: Lines
    """Before that, where it stands before the amount: one visit, 9 euros."""
    negation: Lines
    without: Lines
    """Denies what stands behind it, and no more: "without a lead"."""
    opposite: Lines
    """Words that deny by themselves: forbidden, closed."""
    exceptions: Lines
    no_charge: Lines
    pronouns: Lines
    """A sentence that begins or ends with one goes on about what the last one was about."""
    kind_stands: Lines
    """On which side of a noun its kind is told: before, after, or both."""
    verb_ends: Lines
    """What stands there and is no kind."""
    inserted: Lines
    """What a form of a verb has inside or before it, behind a group `kept`: opened ("geöffnet"), to be handed in."""


@dataclass(frozen=True, slots=True)
class AssessmentWords:
    """assessment.txt: the keys of a model's self-assessment where it translated them."""

    field: Mapping[str, Lines]
    """Spellings of a key, in letters only."""
    nothing: Lines
    false: Lines
    out_of: Lines
    """Between two numbers: 8 out of 10."""
    high: Lines
    """How sure, where a word stands for the number."""
    medium: Lines
    low: Lines
    doubt: Lines
    """Patterns by which a reply itself says that it is not sure, or does not know."""
    not_known: Lines
    """Patterns by which it says that there is no answer to be had."""
    says_not_met: Lines
    """Patterns by which a reviewer's reason says that a criterion is not fulfilled."""
    says_met: Lines
    apology: Lines
    """Patterns by which it says that it is sorry."""
    asks_more: Lines
    """By which a question asks for more than a yes."""


@dataclass(frozen=True, slots=True)
class PageWords:
    """pages.txt: what buttons, links and messages of web pages say; phrases, but for the last three (patterns)."""

    says: Mapping[str, Lines]
    joined: Lines
    """Says that a button does two things."""
    command: Lines
    """How a text tells its reader to use a button."""
    private: Lines
    """Names of fields whose value only the user has."""


class LanguagePack:
    """One language. Each part is read from its file when it is first asked for, and kept."""

    def __init__(self, code: Language) -> None:
        self.code = code

    @cached_property
    def about(self) -> About:
        return _load(About, self.code, "about")

    @cached_property
    def wishes(self) -> WishWords:
        return _load(WishWords, self.code, "wishes")

    @cached_property
    def wanted(self) -> WantedWords:
        return _load(WantedWords, self.code, "wanted")

    @cached_property
    def requests(self) -> RequestWords:
        return _load(RequestWords, self.code, "requests")

    @cached_property
    def claims(self) -> ClaimWords:
        return _load(ClaimWords, self.code, "claims")

    @cached_property
    def statements(self) -> StatementWords:
        return _load(StatementWords, self.code, "statements")

    @cached_property
    def states(self) -> StateWords:
        return _load(StateWords, self.code, "states")

    @cached_property
    def consent(self) -> ConsentWords:
        return _load(ConsentWords, self.code, "consent")

    @cached_property
    def values(self) -> ValueWords:
        return _load(ValueWords, self.code, "values")

    @cached_property
    def documents(self) -> DocumentWords:
        return _load(DocumentWords, self.code, "documents")

    @cached_property
    def conflicts(self) -> ConflictWords:
        return _load(ConflictWords, self.code, "conflicts")

    @cached_property
    def assessment(self) -> AssessmentWords:
        return _load(AssessmentWords, self.code, "assessment")

    @cached_property
    def pages(self) -> PageWords:
        return _load(PageWords, self.code, "pages")

    @cached_property
    def phrases(self) -> Mapping[str, Lines]:
        """phrases.txt by heading: yes, no, wishes; in the letters that `fold_words` leaves."""
        letters = str.maketrans(dict(split_pairs(self.about.same_letters)))
        lists = read_lists(self.code, "phrases").items()
        return {heading: tuple(line.translate(letters) for line in lines) for heading, lines in lists}

    @cached_property
    def name(self) -> str:
        return self.about.name[0]

    @cached_property
    def script(self) -> Script:
        return SCRIPTS[self.about.script[0]]

    @property
    def thousands(self) -> str:
        return self.about.thousands[0].replace("_", "\N{NO-BREAK SPACE}")

    @property
    def right_to_left(self) -> bool:
        return self.script.right_to_left

    @cached_property
    def stem(self) -> Callable[[str], str]:
        """A lower-case word -> the part of it that its inflected forms share."""
        if not self.about.stemmer:
            return cast("Grammar", import_module(f"circumspect.language.{self.code}.grammar")).stem
        return _Stemmer(self.about.stemmer[0])


class _Stemmer(threading.local):
    """The library's stemmers keep the word that they work on, so each thread has its own."""

    def __init__(self, name: str) -> None:
        import snowballstemmer  # type: ignore[import-untyped]

        self._stem: Callable[[str], str] = snowballstemmer.stemmer(name).stemWord

    def __call__(self, word: str) -> str:
        return self._stem(word)


@cache
def pack(language: Language) -> LanguagePack:
    """The pack of a registered language."""
    if language not in LANGUAGES:
        raise ConfigError(f"There is no language '{language}'.", fix=f"Use {', '.join(LANGUAGES)}.")
    return LanguagePack(language)


@cache
def packs() -> tuple[LanguagePack, ...]:
    """All languages, in the order of the registry."""
    return tuple(pack(code) for code in LANGUAGES)


@cache
def packs_read_with(language: Language) -> tuple[LanguagePack, ...]:
    """The language, and every one of another script: people mix those, and no word of one is a word of the other."""
    chosen = pack(language)
    return tuple(one for one in packs() if one is chosen or one.script is not chosen.script)


def join_patterns(patterns: Iterable[str]) -> str:
    """One pattern for any of several, to be put into another; of none, one that matches nothing."""
    return f"(?:{'|'.join(dict.fromkeys(patterns)) or '(?!)'})"


def join_words(lists: Iterable[Lines]) -> str:
    """One pattern for any of the lines: `join_words(one.consent.yes for one in packs())`."""
    return join_patterns(line for lines in lists for line in lines)


def join_glued_and() -> str:
    """A pattern for an "and" that is written together with the word after it, which may not be there."""
    return rf"(?:{join_words(one.about.glued_and for one in packs())})?"


def compile_words(lists: Iterable[Lines]) -> re.Pattern[str]:
    """Finds any of the lines as whole words."""
    return re.compile(rf"(?<!\w){join_words(lists)}(?!\w)")


def split_pairs(lines: Iterable[str]) -> list[tuple[str, str]]:
    """`left = right` of each line."""
    return [(left, right) for left, _, right in (line.partition(" = ") for line in lines)]


def _load(part: type[_Part], language: Language, name: str) -> _Part:
    found = dict(read_lists(language, name))
    file = f"language/{language}/{name}.txt"
    values: dict[str, Any] = {}
    for field in fields(cast("Any", part)):
        heading = field.name.rstrip("_").replace("_", " ")
        if str(field.type).startswith("Mapping"):
            values[field.name] = {
                key[len(heading) + 1 :]: found.pop(key) for key in [*found] if key.startswith(f"{heading} ")
            }
        elif heading in found:
            values[field.name] = found.pop(heading)
        else:
            raise ConfigError(f"{file} has no heading [{heading}].", fix="Add it; leave it empty where nothing fits.")
    if found:
        raise ConfigError(f"{file} has an unknown heading [{next(iter(found))}].", fix="See language/pack.py.")
    return part(**values)
