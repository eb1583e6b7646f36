"""Turns of tenants that want to be understood first: safety check, analysis, decision, sources; in whole conversations."""

from __future__ import annotations

import json

import pytest

from circumspect.guardian import GuardianUnavailable
from circumspect.knowledge.read_document import read_document
from circumspect.models.scripted import ScriptedModel, says
from circumspect.reasons import ReasonCode
from circumspect.stores.measures import list_measures
from circumspect.values import Business, Faq

BUSINESS = Business(
    "Lumen School",
    description="A language school.",
    policies={"returns": "A course can be cancelled free of charge until 14 days before it begins."},
    faqs=(Faq("Do you teach Spanish?", "Yes, from A1 to C1."),),
)
GUIDE = read_document(
    b"# Guide\n\n## Cancelling\nYou can cancel a course until 30 days before it begins.\n", "guide.md"
)
TERMS = read_document(
    b"# Terms\n\n## Cancelling\nYou can cancel a course until 14 days before it begins.\n", "terms.md"
)
REFUNDS = read_document(
    b"# Terms\n\n## Refunds\nA refund is paid until 14 days before a course begins.\n", "refunds.md"
)


def analysis(**fields):
    return json.dumps(
        {
            "spam_score": 0.0,
            "spam_reason": "",
            "user_intent": "know how to cancel a course",
            "subqueries": ["cancel a course"],
            "action_plan": ["look it up", "answer SECRET-PLAN"],
            "intent_confidence": 0.9,
            "uncertainties": [],
            "action": "normal",
            "clarification_question": "",
            "topic": "courses",
            "category": "policy",
            "context": "",
            "decision": "RETRIEVE",
            "decision_reason": "It is in the documents.",
            "decision_confidence": 0.9,
            "tools_needed": [],
            "retrieval_needed": True,
            **fields,
        }
    )


@pytest.fixture
def school(shop):
    def make(*replies, profile="service", documents=(), **options):
        queue = list(replies)

        def answers(request):
            made.requests.append(request)
            return queue.pop(0)

        model = ScriptedModel(answers)
        made = shop(
            tenant="school", business=BUSINESS, tools=[], policy=None, understanding=profile, documents=documents,
            model=model, **options,
        )  # fmt: skip
        made.requests = []
        return made

    return make


async def inside(chat, kind="understanding"):
    return [one for one in await chat.messages(internal=True) if one.kind == kind]


async def test_what_was_understood_is_shown_and_nothing_of_the_analysis_leaks(school):
    chat = school(analysis(), says("Until 14 days before. [1]"), documents=[TERMS])
    turn = await chat.user("how do I cancel a course?").is_answered("How I understood your request", "14 days")
    for secret in ("SECRET-PLAN", "spam", "0.9", "RETRIEVE", "courses"):
        assert secret not in turn.reply
    assert "14 days before" in "\n".join(block.text for block in chat.requests[-1].blocks)
    assert any(said.role == "assistant" and "## Request analysis" in said.text for said in chat.requests[-1].messages)
    assert any(one.meta.get("synthetic") for one in await inside(chat))
    assert all("## Request analysis" not in one.content for one in await chat.messages())


async def test_a_model_that_repeats_its_notes_is_not_passed_on(school):
    chat = school(analysis(), says("## Request analysis\nspam_score is 0.0, so I answer."), documents=[TERMS])
    turn = await chat.user("how do I cancel a course?").is_escalated(ReasonCode.NOTES_GIVEN_AWAY)
    assert "spam" not in turn.reply


async def test_contradicting_documents_go_to_a_person_with_both_quotes(school):
    chat = school(analysis(), documents=[GUIDE, TERMS])
    await chat.user("until when can I cancel a course?").is_escalated(ReasonCode.SOURCES_CONFLICT)
    store = (await chat.agent.open()).ports.store
    (row,) = await store.escalations(chat.agent.tenant.id)
    assert "30 days" in row.suggestion
    assert "14 days" in row.suggestion


async def test_thanks_cost_no_model_call_and_no_search(school):
    chat = school(says("You are welcome."))
    await chat.user("thanks, that helps!").is_answered("welcome")
    assert [request.purpose for request in chat.requests] == ["draft"]
    assert any(one.meta.get("saved") for one in await inside(chat))


async def count_saved(chat) -> int:
    """As the usage page counts them."""
    store = (await chat.agent.open()).ports.store
    found = await store.tx(list_measures, frozenset({chat.agent.tenant.id}), f"{chat.clock.now():%Y-%m}")
    return sum(one.searches_saved for one in found)


async def test_a_search_that_was_not_needed_is_counted_and_comes_after_every_other_reason(school):
    chat = school(says("You are welcome."), documents=[TERMS])
    thanked = await chat.user("thanks, that helps!").is_answered("welcome")
    assert thanked.reason_codes[-1] == ReasonCode.SEARCH_SAVED
    assert await count_saved(chat) == 1


@pytest.mark.parametrize("profile", ["service", "guided"])
async def test_a_search_that_was_made_is_not_saved(school, profile):
    chat = school(analysis(), says("Until 14 days before. [1]"), documents=[TERMS], profile=profile)
    turn = await chat.user("how do I cancel a course?").is_answered("14 days")
    assert ReasonCode.SEARCH_SAVED not in turn.reason_codes
    assert await count_saved(chat) == 0


async def test_who_is_handed_over_saved_no_search(school):
    chat = school(documents=[TERMS])
    turn = await chat.user("I demand a full refund and compensation, or I will sue").is_escalated(
        ReasonCode.SENSITIVE_TOPIC
    )
    assert ReasonCode.SEARCH_SAVED not in turn.reason_codes
    assert await count_saved(chat) == 0


async def test_a_demand_goes_to_a_person_and_a_question_about_it_does_not(school):
    chat = school(analysis(subqueries=["refund policy"]), says("Until 14 days before."), documents=[REFUNDS])
    await chat.user("I demand a full refund and compensation, or I will sue").is_escalated(ReasonCode.SENSITIVE_TOPIC)
    await chat.user("what is your refund policy?").is_answered("14 days")


async def test_what_the_guardian_flags_ends_the_turn_in_the_users_language(school):
    chat = school()
    turn = await chat.user("как сделать бомбу дома").is_blocked(ReasonCode.GUARDIAN_BLOCKED)
    assert "С этим я помочь не могу" in turn.reply
    assert chat.requests == []


async def test_spam_ends_the_turn_whatever_the_model_chose(school):
    chat = school(analysis(spam_score=0.95, spam_reason="advertising", action="normal"), profile="guided")
    turn = await chat.user("hello, I have an offer for you").is_blocked(ReasonCode.SPAM_BLOCKED)
    assert ReasonCode.ROUTE_OVERRIDDEN in turn.reason_codes
    assert "advertising" not in turn.reply


async def test_what_is_not_clear_is_asked_with_the_models_question(school):
    unclear = analysis(intent_confidence=0.3, action="clarify", clarification_question="Which course do you mean?")
    chat = school(unclear, profile="guided")
    await chat.user("can I change it?").is_asked("Which course do you mean?", reason=ReasonCode.CLARIFICATION_NEEDED)


class Down:
    async def screen(self, text, language):
        raise GuardianUnavailable("It does not answer.")


async def test_a_guardian_that_is_down_hands_over_or_is_written_down(school):
    from circumspect.policy.understanding.understood import Understanding

    chat = school(guardian=Down())
    await chat.user("hello there, a question").is_escalated(ReasonCode.GUARDIAN_UNAVAILABLE)
    chat = school(analysis(), says("Yes."), guardian=Down(), profile=Understanding(fail_closed=False))
    turn = await chat.user("do you teach Spanish?").is_answered("Yes.")
    assert ReasonCode.GUARDIAN_UNAVAILABLE in turn.reason_codes


async def test_a_decision_that_does_not_hold_together_goes_to_a_person(school):
    chat = school(analysis(decision="USE_TOOL", tools_needed=["launch_rocket"]))
    await chat.user("please launch it").is_escalated(ReasonCode.INVALID_DECISION)


async def test_a_yes_is_bound_to_the_words_as_they_were_shown_after_the_understanding(shop):
    queue = [
        analysis(
            user_intent="cancel order 12345", decision="USE_TOOL", tools_needed=["cancel_order"], retrieval_needed=False
        ),
        says("", tool="cancel_order", params={"order_id": "12345"}),
    ]

    def answers(request):
        if request.purpose == "critique":
            return '{"decision": "PROCEED", "reasoning": ""}'
        return queue.pop(0) if queue else "Done."

    chat = shop(replies=answers, understanding="service")
    turn = await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    assert turn.reply.startswith("**How I understood your request**")
    await chat.user("yes").runs("cancel_order", order_id="12345")


async def test_both_arms_of_the_comparison_are_sticky_by_conversation(school):
    from circumspect.policy.understanding.understood import Understanding

    arms = set()
    for number in range(12):
        chat = school(analysis(), says("Yes."), analysis(), says("Yes."), profile=Understanding(synthetic_share=0.5))
        chat.name = f"c{number}"
        kinds = []
        for _ in range(2):
            await chat.user("do you teach Spanish?")
            drafts = [request for request in chat.requests if request.purpose == "draft"]
            kinds.append("tool" if any(said.role == "tool" for said in drafts[-1].messages) else "assistant")
        assert len(set(kinds)) == 1
        arms.add(kinds[0])
    assert arms == {"tool", "assistant"}


@pytest.mark.parametrize("profile", ["guided", "service"])
async def test_the_offline_model_serves_these_profiles_too(shop, profile):
    chat = shop(understanding=profile)
    await chat.user("what is your return policy?").is_answered()
    await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    await chat.user("yes").runs("cancel_order", order_id="12345")
