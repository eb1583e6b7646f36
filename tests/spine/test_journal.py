"""Journal events: what is stored of them, that it is read back as it was, and that nothing stored can break a reader."""

import importlib
import pkgutil
from dataclasses import fields
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import circumspect.web.reasoning
from circumspect.journal import (
    _EVENTS,
    AssessmentEvent,
    ButtonAnswerEvent,
    CallRecord,
    ClientOutcomeEvent,
    ContextEvent,
    ContextKeyEvent,
    CritiqueEvent,
    DraftEvent,
    ExecutionEvent,
    FindingRecord,
    ImportedMessageEvent,
    IntentEvent,
    Journal,
    LookEvent,
    ModelCallEvent,
    NoticeEvent,
    PersonReplyEvent,
    PromptEvent,
    RemarkEvent,
    ReplyEvent,
    RulingEvent,
    ToldOutcomeEvent,
    UnreadableCritiqueEvent,
    UserMessageEvent,
    find_events,
    read_event,
)
from circumspect.policy.understanding.analysis import Analysis
from circumspect.policy.understanding.journal_events import (
    AnalysisMessageEvent,
    ConfidenceRecord,
    ConflictEvent,
    ConflictSideRecord,
    DecisionRecord,
    FactorRecord,
    RetrievalEvent,
    ScreeningEvent,
    SourceRecord,
    TopicRecord,
    UnderstoodEvent,
)
from circumspect.reasons import ReasonCode
from circumspect.stores.codec import dumps, loads_object
from circumspect.values import EntryKind, JournalEntry, Message, TurnId
from circumspect.web.reasoning.reasoned import (
    Completeness,
    ContextAnalysis,
    Effort,
    FoundPage,
    Hop,
    Missing,
    SearchJudgement,
    Switch,
)
from circumspect.web.reasoning.reasoning_events import (
    CompletenessEvent,
    ContextAnalysisEvent,
    EffortRecord,
    HopEvent,
    ReasonedEvent,
    ReasoningCallEvent,
    SwitchEvent,
)

CALL = CallRecord("cancel", {"order_id": "1", "lines": [1, {"a": None}]})
JUDGED = SearchJudgement(True, 0.8, warnings=(ReasonCode.LOW_CONFIDENCE,))
THOUGHT = ContextAnalysis("PAGE", 0.7, missing=(Missing("password"),))
HOP = Hop("prices", results=(FoundPage("Prices", "https://a.example/"),), judgement=JUDGED)
SWITCH = Switch("MEMORY", "PAGE", 0.6, ReasonCode.SOURCE_SWITCHED)
COMPLETE = Completeness(True, 0.9)
RULING = RulingEvent(
    "cancel: ask",
    tool="cancel",
    arguments={"order_id": "1"},
    verdict="ask",
    effect="destructive",
    confidence=None,
    policy="v1",
    at="2026-03-02T09:00:00+00:00",
    missing=("reason",),
    findings=(
        FindingRecord("required_arguments_are_present", "ask", "MISSING_PARAM"),
        FindingRecord("x", "allow", None),
    ),
)
EVENTS = [
    UserMessageEvent("hello", principal="colleague"),
    ButtonAnswerEvent("Yes", principal="customer", button="int_1"),
    ImportedMessageEvent("hello"),
    ReplyEvent("Done.", outcome="acted", reason_codes=("ACTION_DONE",)),
    PersonReplyEvent("I am Dana.", operator="dana"),
    NoticeEvent("interrupted"),
    NoticeEvent("model_down", problem="It is down."),
    NoticeEvent("search_failed", critical=False),
    ClientOutcomeEvent("clicked", execution="exec_1", verified={"happened": "clicked"}),
    IntentEvent("run", intent="intent_1"),
    IntentEvent("nothing", intent=None),
    ContextEvent("faqs", round=1, keys=("faqs",)),
    ContextKeyEvent("nope", key="nope"),
    ModelCallEvent("text", prompt="phrase@1"),
    ModelCallEvent("text", prompt="analyse@1+decide@2", purpose="analyse"),
    DraftEvent("text", prompt="standard@1", calls=(CALL,)),
    DraftEvent("text", prompt="standard@1", calls=()),
    AssessmentEvent(
        "text",
        prompt="adaptive@1",
        confidence=0.8,
        tool_call=None,
        tool_params={},
        missing_params=("reason",),
        is_destructive=True,
        needs_confirmation=False,
        needs_more_context=(),
        native_calls=(CALL,),
    ),
    RULING,
    CritiqueEvent("Fine.", prompt="critique@1", decision="PROCEED", message="", tool="cancel"),
    UnreadableCritiqueEvent("an opinion that could not be read", text="?"),
    LookEvent("look: no", tool="look", arguments={}, error="It is down."),
    LookEvent("look: yes", tool="look", arguments={}, error="", result={"a": [1]}),
    ExecutionEvent("cancel: done", execution="e", tool="cancel", arguments={}, state="succeeded", result=None, error=""),
    ToldOutcomeEvent("cancel: happened", execution="e", tool="cancel", outcome="happened", told_by="noa"),
    ScreeningEvent("screened", categories=("hate",), flagged=True, scores={"hate": 0.9}, source="rules"),
    AnalysisMessageEvent("## Request analysis"),
    UnderstoodEvent(
        "normal",
        action="normal",
        overridden=False,
        analysis=Analysis("to cancel", 0.9, "normal", action_plan=("Look.", "Ask.")),
        decision=DecisionRecord("USE_TOOL", 0.7, "They ask.", ("cancel",), False, ""),
        categories=(),
        topics=(TopicRecord("refund", "asks"),),
        ends=None,
    ),
    ConflictEvent(
        "5 against 6",
        conflict="number",
        subject="days",
        sides=(ConflictSideRecord("a", "s", (0, 4), "5 days", "5"), ConflictSideRecord("b", "s", (1, 5), "6 days", "6")),
    ),
    RetrievalEvent(
        "answer",
        searches=1,
        saved=False,
        queries=("days",),
        sources=(SourceRecord(1, "a.md", "A", "s", None, (0, 4), 0.5),),
        confidence=ConfidenceRecord(0.8, False, 1.0, (FactorRecord("source_quality", 0.8, 0.3, 0.24, "one"),)),
        verdict="answer",
    ),
    ReasoningCallEvent(
        "{}", prompt="reason@1", purpose="analyse", role="smart", model="m", seconds=0.5, fallbacks=0, degraded=False
    ),
    ContextAnalysisEvent("PAGE", analysis=THOUGHT),
    HopEvent("searched", hop=HOP),
    SwitchEvent("MEMORY → PAGE", switch=SWITCH),
    CompletenessEvent("complete", completeness=COMPLETE),
    ReasonedEvent(
        "goes on",
        source="PAGE",
        confidence=0.9,
        ends=None,
        question="",
        thought="It is there.",
        missing=(),
        analysis=THOUGHT,
        hops=(HOP,),
        switches=(SWITCH,),
        completeness=COMPLETE,
        findings="",
        summary="",
        searches=1,
        saved=False,
        degraded=False,
        unverified=False,
        changes_something=True,
        models=EffortRecord(Effort(1, 0.5), Effort()),
    ),
    RemarkEvent("no readable opinion", "critique"),
]  # fmt: skip
KINDS: tuple[EntryKind, ...] = tuple(_EVENTS)


def written(event):
    notes = Journal()
    notes.write(event)
    return notes.entries[0]


def stored(event):
    """The entry after it has been in a database."""
    entry = written(event)
    meta = loads_object(dumps(entry.meta)) if entry.meta else {}
    return Message(1, TurnId("t"), "internal", entry.kind, entry.content, datetime(2026, 3, 2, tzinfo=UTC), None, meta)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_an_event_is_read_as_it_was_written_from_the_journal_and_from_the_store(event):
    assert read_event(written(event)) == event
    assert read_event(stored(event)) == event


def test_every_event_that_is_declared_is_among_them():
    for module in pkgutil.iter_modules(circumspect.web.reasoning.__path__, "circumspect.web.reasoning."):
        importlib.import_module(module.name)
    assert {one for some in _EVENTS.values() for one in some} == {type(event) for event in EVENTS} - {RemarkEvent}


def test_the_stored_keys_are_those_of_the_first_version():
    """Databases hold rows under these names, and the console's queries ask for some of them."""
    assert written(RULING).meta == {
        "tool": "cancel",
        "arguments": {"order_id": "1"},
        "verdict": "ask",
        "effect": "destructive",
        "confidence": None,
        "problem": "",
        "policy": "v1",
        "at": "2026-03-02T09:00:00+00:00",
        "missing": ["reason"],
        "findings": [
            {"rule": "required_arguments_are_present", "verdict": "ask", "reason": "MISSING_PARAM"},
            {"rule": "x", "verdict": "allow", "reason": None},
        ],
    }
    assert written(SwitchEvent("", switch=SWITCH)).meta["switch"]["from"] == "MEMORY"
    assert written(NoticeEvent("interrupted")).meta == {}
    assert {"prompt"} <= {one.name for one in fields(PromptEvent)}


def test_what_a_newer_version_wrote_is_read_without_what_it_added():
    entry = written(RULING)
    newer = JournalEntry(entry.kind, entry.content, None, {**entry.meta, "mood": "good"})
    assert read_event(newer) == RULING


@pytest.mark.parametrize(
    "damage",
    [{"verdict": "perhaps"}, {"findings": "none"}, {"findings": [{"rule": "x"}]}, {"arguments": []}, {"confidence": "high"}, {"confidence": 10**400}],
)  # fmt: skip
def test_what_cannot_be_read_is_a_remark_and_loses_nothing(damage):
    meta = {**written(RULING).meta, **damage}
    entry = JournalEntry("policy", "cancel: perhaps", None, meta)
    assert read_event(entry) == RemarkEvent("cancel: perhaps", "policy", meta)
    assert written(read_event(entry)).meta == meta


def test_what_is_no_object_is_a_remark():
    assert read_event(JournalEntry("policy", "odd", None, ["odd"])) == RemarkEvent("odd", "policy")


def test_events_are_found_by_their_class_or_by_what_they_have_in_common():
    entries = [written(event) for event in EVENTS]
    assert [*find_events(entries, RulingEvent)] == [RULING]
    assert {type(event) for event in find_events(entries, PromptEvent)} == {
        ModelCallEvent,
        DraftEvent,
        AssessmentEvent,
        CritiqueEvent,
        ReasoningCallEvent,
    }


@pytest.mark.parametrize("reason", [[], {}, None, 7, "OF_A_NEWER_VERSION"])
def test_a_reason_that_is_none_of_ours_is_no_crash(reason):
    switch = {**written(SwitchEvent("", switch=SWITCH)).meta["switch"], "reason": reason}
    assert isinstance(read_event(JournalEntry("understanding", "", None, {"switch": switch})), RemarkEvent)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
KEYS = st.sampled_from(sorted({key for event in EVENTS for key in event.to_json()}))


@given(st.sampled_from(KINDS), st.text(), st.dictionaries(KEYS, JSON))
def test_no_stored_row_breaks_a_reader(kind, content, meta):
    event = read_event(JournalEntry(kind, content, None, meta))
    assert (event.kind, event.content) == (kind, content)


@given(st.sampled_from(EVENTS), KEYS, JSON)
def test_no_damaged_field_breaks_a_reader(event, key, value):
    entry = written(event)
    damaged = JournalEntry(entry.kind, entry.content, None, {**entry.meta, key: value})
    assert read_event(damaged).kind == event.kind
