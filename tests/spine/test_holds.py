"""What a turn held is read off its journal, and only where there is something to read."""

from __future__ import annotations

from circumspect.holds import TurnHolds, read_holds
from circumspect.journal import AssessmentEvent, IntentEvent, Journal, RulingEvent
from circumspect.reasons import ReasonCode
from circumspect.values import JournalEntry

SURE = AssessmentEvent(
    "", prompt="p", confidence=0.9, tool_call=None, tool_params={}, missing_params=(), is_destructive=False,
    needs_confirmation=False, needs_more_context=(), native_calls=(),
)  # fmt: skip


class Closed:
    """An entry that nobody needs to look into."""

    kind, content, reason = "assessment", "", None

    @property
    def meta(self) -> dict[str, object]:
        raise AssertionError("nothing is held where nothing was ruled on")


def test_a_turn_in_which_nothing_was_ruled_on_is_not_read() -> None:
    assert read_holds([Closed(), JournalEntry("notice", "hello")]) == TurnHolds((), (), ())  # type: ignore[list-item]
    assert read_holds(()) == TurnHolds((), (), ())


def test_a_ruling_after_an_assessment_is_read() -> None:
    notes = Journal()
    notes.write(SURE)
    ruling = RulingEvent(
        "", tool="cancel", arguments={}, verdict="confirm", effect="destructive", confidence=0.9, findings=()
    )
    notes.write(ruling, ReasonCode.CONFIRMATION_REQUIRED)
    [held] = read_holds(notes.entries).held
    assert (held.seq, held.call.tool, held.verdict, held.draft) == (1, "cancel", "confirm", 2)


def test_an_answer_without_a_ruling_is_read() -> None:
    notes = Journal()
    notes.write(IntentEvent("drop", intent="int_1"), ReasonCode.DENIED_BY_USER)
    [answer] = read_holds(notes.entries).answers
    assert (answer.intent, answer.kind) == ("int_1", "refused")
