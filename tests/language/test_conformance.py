"""What every registered language can do. A test that fails says what the language's folder lacks.

The suite tries the sentences of `samples/<code>.yaml`; a new language answers the keys that `en.yaml` has.
"""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from circumspect import Agent, tool
from circumspect.guardian.spam import signs
from circumspect.knowledge.stated_values import values
from circumspect.language import catalogue
from circumspect.language.consent import asks_to_confirm, consent
from circumspect.language.detection import detect
from circumspect.language.files import read_lists
from circumspect.language.folding import fold
from circumspect.language.pack import LanguagePack, pack
from circumspect.language.sentences import split_sentences
from circumspect.language.wishes import asks_outright, implies_destruction
from circumspect.language.written_values import FoldedText, says_number
from circumspect.language.yes_no import classify
from circumspect.models.scripted import ScriptedModel, says
from circumspect.policy.facts import Facts
from circumspect.policy.grounding.actions import find_wanted_actions
from circumspect.policy.grounding.claims import claims_in, find_unsupported_claims
from circumspect.policy.grounding.grounding_rules import GROUNDING_RULES
from circumspect.policy.judge import judge
from circumspect.policy.understanding.small_talk import small_talk
from circumspect.policy.understanding.topics import topics
from circumspect.reasons import ReasonCode
from circumspect.values import LANGUAGES, History, Language, PastCall, ToolCall, ToolSpec, Utterance

NOW = datetime(2026, 1, 5, tzinfo=UTC)
PARTS = ("about", "wishes", "requests", "claims", "consent", "values", "documents", "conflicts", "assessment", "pages")
PHRASES = ("phrases", "guardian", "sensitive", "understanding")
CANCEL = ("cancel_order", "12345")

pytestmark = pytest.mark.parametrize("language", LANGUAGES)


@cache
def samples(language: Language) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "samples" / f"{language}.yaml").read_text("utf-8"))
    return found


# --- the folder -------------------------------------------------------------------------------------------------------


def test_the_samples_answer_every_key(language: Language) -> None:
    assert samples(language).keys() == samples("en").keys()
    for key, value in samples("en").items():
        if key in ("asks_for", "claims"):
            assert samples(language)[key].keys() == value.keys(), key
    assert len(samples(language)["ordinary"]) >= 10


@pytest.mark.parametrize("part", PARTS)
def test_every_part_is_there_with_all_its_headings(language: Language, part: str) -> None:
    """Loading a part refuses a missing or unknown heading; those of a mapping are compared with English."""
    mine, english = getattr(pack(language), part), getattr(pack("en"), part)
    for field in fields(mine):
        if isinstance(getattr(english, field.name), dict) and field.name != "currency":
            assert getattr(mine, field.name).keys() == getattr(english, field.name).keys(), field.name


@pytest.mark.parametrize("name", PHRASES)
def test_every_list_of_phrases_has_all_its_headings(language: Language, name: str) -> None:
    needed = {heading for heading in read_lists("en", name) if not heading.startswith("=")}
    assert needed <= read_lists(language, name).keys()


@pytest.mark.parametrize("part", [part for part in PARTS if part != "about"])
def test_every_line_is_a_sound_pattern(language: Language, part: str) -> None:
    mine = getattr(pack(language), part)
    for field in fields(mine):
        found = getattr(mine, field.name)
        for lines in found.values() if isinstance(found, dict) else (found,):
            for line in lines:
                re.compile(re.sub(r"\{[a-z]+\}", "", line))


def test_a_language_of_words_says_which(language: Language) -> None:
    about = pack(language).about
    assert pack(language).name.istitle()
    assert about.keyboard
    assert pack(language).stem("".join(about.keyboard)[:6])
    assert len(pack(language).values.months) == len(pack(language).values.month_stems) == 12


# --- what we say ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["messages", "reasons", "widget"])
def test_the_catalogue_has_every_message_with_the_same_variables(language: Language, name: str) -> None:
    ours, english = catalogue.keys(name, language), catalogue.keys(name, "en")
    # A meaning may wait for its translation: it is said in English, and docs/reason-codes.md lists it at its top.
    assert ours <= english if name == "reasons" else ours == english
    assert _variables(name, language).items() <= _variables(name, "en").items()


@pytest.mark.parametrize("name", ["messages", "reasons", "widget"])
def test_every_choice_by_number_has_the_plural_forms_of_the_language(language: Language, name: str) -> None:
    from babel import Locale

    forms = set(Locale(language).plural_form.tags) | {"other"}
    for choice in re.findall(r"\{ *\$\w+ *->(.*?)\n *\}", _source(name, language), re.DOTALL):
        offered = set(re.findall(r"\[(\w+)\]", choice))
        if offered & {"one", "few", "many", "other"}:
            assert forms - {"many"} <= offered or forms <= offered, choice


def test_everything_is_said_in_letters_of_the_language(language: Language) -> None:
    for key in catalogue.keys("reasons", language):
        text = catalogue.meaning(ReasonCode(key.replace("-", "_").upper()), language)
        assert pack(language).script.letter.search(text), key


def _source(name: str, language: Language) -> str:
    from importlib import resources

    return resources.files("circumspect.language").joinpath(language, f"{name}.ftl").read_text("utf-8")


def _variables(name: str, language: Language) -> dict[str, set[str]]:
    messages = re.split(r"\n(?=[a-z][\w-]* = )", "\n" + _source(name, language))
    return {one.split(" = ")[0].strip(): set(re.findall(r"\$(\w+)", one)) for one in messages if " = " in one}


# --- what people say --------------------------------------------------------------------------------------------------


def test_ordinary_messages_are_told_to_be_in_it(language: Language) -> None:
    wrong = {
        text: found
        for text in samples(language)["ordinary"]
        for kept in (None, *LANGUAGES)
        if (found := detect(text, kept, "en")) != language
    }
    assert wrong == {}


def test_a_name_or_an_id_changes_no_language(language: Language) -> None:
    for text in ("iPhone 15 Pro", "Dana Levi", "W-12345", "dana@example.com", "ok", "👍"):
        assert detect(text, language, "en") == language, text


@pytest.mark.parametrize(("key", "answer"), [("assents", "confirm"), ("refuses", "deny"), ("neither", "other")])
def test_yes_and_no_are_read(language: Language, key: str, answer: str) -> None:
    said = samples(language)[key]
    assert {text: classify(text, language, values=CANCEL) for text in said} == dict.fromkeys(said, answer)


def test_yes_and_no_are_read_in_a_conversation_in_another_language(language: Language) -> None:
    for other in LANGUAGES:
        assert classify(samples(language)["assents"][0], other, values=CANCEL) == "confirm", other
        assert classify(samples(language)["refuses"][0], other, values=CANCEL) == "deny", other


def test_wishes_and_orders_are_told_from_mere_mention(language: Language) -> None:
    said = samples(language)
    assert implies_destruction(said["wish"])
    assert asks_outright(said["order"])
    assert not implies_destruction(said["no_wish"])
    assert not asks_outright(said["no_wish"])


def test_every_kind_of_action_is_asked_for(language: Language) -> None:
    said = samples(language)["asks_for"]
    assert {kind for kind, text in said.items() if kind in find_wanted_actions(fold(text))} == set(said)


def test_agreement_in_a_transcript_is_read(language: Language) -> None:
    said = samples(language)
    assert consent(said["agrees"]) == "yes"
    assert consent(said["takes_back"]) == "unclear"
    assert asks_to_confirm(said["asks_to_confirm"])


def test_courtesy_demands_and_spam_are_known(language: Language) -> None:
    said = samples(language)
    assert small_talk(said["thanks"], language) == "thanks"
    assert _stances(said["demand"], language) == ["demands"]
    assert _stances(said["question"], language) == ["asks"]
    assert "promo" in signs(said["spam"], language)


def _stances(sample: dict[str, str], language: Language) -> list[str]:
    return [one.stance for one in topics(sample["text"], language) if one.name == sample["topic"]]


# --- values -----------------------------------------------------------------------------------------------------------


def test_days_times_and_numbers_are_found(language: Language) -> None:
    said = samples(language)
    for text, day in said["days"].items():
        assert tuple(day) in FoldedText(text).days, text
    for text, clock in said["clocks"].items():
        assert tuple(clock) in FoldedText(text).clocks, text
    for text, number in said["numbers"].items():
        assert says_number(number, fold(text)), text


def test_values_in_documents_are_read(language: Language) -> None:
    said = samples(language)
    for text, (currency, amount) in said["money"].items():
        assert ("money", currency, amount) in _stated(text), text
    for text, hours in said["durations"].items():
        assert ("duration", "hours", hours) in _stated(text), text
    assert ("percentage", "%", 15) in _stated(said["percentage"])


def _stated(text: str) -> set[tuple[str, str, float]]:
    return {(one.kind, one.unit, one.amount) for one in values(text)}


def test_sentences_are_told_apart(language: Language) -> None:
    said = samples(language)["sentences"]
    assert split_sentences(" ".join(said)) == said
    for short in pack(language).about.abbreviations:
        assert len(split_sentences(f"{short} 12345")) == 1, short


# --- what must not pass -----------------------------------------------------------------------------------------------


def test_an_order_in_somebody_elses_text_is_held(language: Language) -> None:
    for text in samples(language)["injected"]:
        mail = PastCall(ToolCall("read_mail", {}), {"body": text}, True, False, 1)
        asked = Utterance("user", samples(language)["ordinary"][0], 0)
        call = ToolCall("cancel_order", {"order_id": "999"})
        spec = ToolSpec("cancel_order", parameters={"type": "object", "properties": {"order_id": {"type": "string"}}})
        facts = Facts(call, spec, None, "destructive", "adaptive", NOW, session=History((asked, mail)))
        findings = judge(facts, GROUNDING_RULES)[1]
        assert ReasonCode.UNTRUSTED_SOURCE in {finding.reason for finding in findings}, text


def test_the_order_itself_is_recognised(language: Language) -> None:
    """However a stranger words it nothing is done unasked; a recognised order is held even after the user asked for
    something like it."""
    from circumspect.policy.grounding.actions import commands

    for text in samples(language)["injected"]:
        assert any("delete" in command.actions for command in commands(text)), text


def test_a_claim_that_nothing_backs_is_caught_and_one_that_is_true_stands(language: Language) -> None:
    for kind, reply in samples(language)["claims"].items():
        assert [claim.action for claim in find_unsupported_claims(reply, language, [])] == [kind], reply
    did = PastCall(ToolCall("cancel_order", {}), "done", True, True, 0)
    assert not find_unsupported_claims(samples(language)["claims"]["delete"], language, [did])
    for reply in samples(language)["no_claims"]:
        assert not claims_in(reply), reply


async def test_a_conversation_is_asked_in_the_language_and_its_yes_runs(language: Language, tmp_path: Path) -> None:
    said = samples(language)
    asked = next(text for text in said["ordinary"] if "12345" in text)
    ran: list[str] = []

    @tool(effect="destructive")
    async def cancel_order(order_id: str) -> str:
        """Cancel an order."""
        ran.append(order_id)
        return "done"

    opinion = '{"decision": "PROCEED", "reasoning": "asked for", "message": ""}'
    drafts = [says("", tool="cancel_order", params={"order_id": "12345"}, destructive=True), opinion]
    agent = Agent(
        "t",
        tools=[cancel_order],
        model=ScriptedModel(drafts),
        database=f"sqlite:///{tmp_path}/c.db",
    )
    try:
        turn = await agent.turn(asked, conversation="c1")
        assert turn.outcome == "asked", (turn.reason_codes, turn.reply)
        assert turn.pending is not None
        assert pack(language).script.letter.search(turn.reply)
        assert not ran
        turn = await agent.turn(said["assents"][0], conversation="c1")
        assert ran == ["12345"]
    finally:
        await agent.close()


async def test_a_false_claim_is_not_said_to_the_user(language: Language, tmp_path: Path) -> None:
    said = samples(language)

    @tool(effect="destructive")
    async def cancel_order(order_id: str) -> str:
        """Cancel an order."""
        return "done"

    false = said["claims"]["delete"]
    agent = Agent("t", tools=[cancel_order], model=ScriptedModel([false] * 4), database=f"sqlite:///{tmp_path}/c.db")
    try:
        turn = await agent.turn(said["ordinary"][0], conversation="c1")
        assert ReasonCode.UNSUPPORTED_CLAIM in turn.reason_codes
        assert false not in turn.reply
    finally:
        await agent.close()


def test_a_pack_is_refused_with_the_heading_that_is_missing(language: Language, monkeypatch: Any) -> None:
    from circumspect.errors import ConfigError
    from circumspect.language import pack as module

    lists = {heading: lines for heading, lines in read_lists(language, "claims").items() if heading != "frames"}
    monkeypatch.setattr(module, "read_lists", lambda *_: lists)
    with pytest.raises(ConfigError, match=r"claims.txt has no heading \[frames\]"):
        _ = LanguagePack(language).claims
