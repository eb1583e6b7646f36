"""Answers of a service: what has nothing behind it is not said, and a number in brackets means something."""

from __future__ import annotations

import json

import pytest
from tests.conversations.test_understanding import analysis

from circumspect import tool
from circumspect.errors import ModelUnavailable
from circumspect.knowledge.read_document import read_document
from circumspect.models.scripted import ScriptedModel, says
from circumspect.reasons import ReasonCode
from circumspect.server.schemas.conversations import MessageShown
from circumspect.values import Business

POOL = read_document(
    b"# House rules\n\n## Swimming pool\nThe swimming pool costs 8 euros a visit and opens at 9:00. "
    b"Children pay half until 15 March 2026.\n\n## Pets\nDogs are welcome in the garden, on a lead.\n",
    "rules.md",
)


HOTEL = Business("Hotel Lumen", phone="+49 30 5550100")


@pytest.fixture
def hotel(shop):
    def make(*replies, documents=(POOL,), tools=(), business=HOTEL, profile="service", **options):
        queue = list(replies)

        def answers(request):
            made.requests.append(request)
            reply = queue.pop(0)
            if isinstance(reply, Exception):
                raise reply
            return reply

        made = shop(
            tenant="hotel", business=business, tools=list(tools), policy=None,
            understanding=profile, documents=documents, model=ScriptedModel(answers), **options,
        )  # fmt: skip
        made.requests = []
        return made

    return make


def about(query, intent="", **fields):
    return analysis(user_intent=intent or query or "something", subqueries=[query] if query else [], **fields)


async def escalations(chat):
    return await (await chat.agent.open()).ports.store.escalations(chat.agent.tenant.id)


PRICE = "What does the swimming pool cost?"
HOURS = Business("Hotel Lumen", phone="+49 30 5550100", hours="Monday to Thursday 8:00–18:00, closed on Fridays")
INVENTED = [
    ("What does diesel cost at the pool?", "The swimming pool costs 8 euros a visit. [1]"),
    (PRICE, "Yes, that is 50 euros. [1]"),
    (PRICE, "It costs 8 euros. [9]"),
    (PRICE, "It costs 8 dollars a visit. [1]"),
    (PRICE, "The swimming pool costs 8 euros a visit, 20% less for guests. [1]"),
    ("When does the swimming pool open?", "The swimming pool opens at 7:30. [1]"),
    ("Until when do children pay half at the pool?", "Children pay half until 1 March 2026. [1]"),
    (PRICE, "The swimming pool costs 8 euros. [1] Book it at pool@hotel-lumen.example."),
    (PRICE, "The swimming pool costs 8 euros. [1] Call +49 30 777 888 99 for more."),
    ("Is the swimming pool 50 euros?", "Yes, the swimming pool costs 50 euros. [1]"),
    ("Is there a sauna beside the swimming pool?", "Yes, there is. [1]"),
    ("Is there a sauna beside the swimming pool?", "Yes, our Finnish sauna and steam bath await you. [1]"),
    ("Are dogs allowed in the swimming pool?", "Yes, every suite has free towels and bowls. [2]"),
]


@pytest.mark.parametrize(("asked", "answer"), INVENTED)
async def test_an_invented_answer_is_not_said_and_a_person_gets_the_question(hotel, asked, answer):
    chat = hotel(about("swimming pool"), says(answer), says(answer))
    turn = await chat.user(asked).is_escalated(ReasonCode.UNSURE_OF_ANSWER)
    assert "I do not know that" in turn.reply
    assert not any(piece in turn.reply for piece in ("50", "[", "dollars", "sauna", "@", "777", "towels"))
    assert [one.summary for one in await escalations(chat)] == [asked]


BORNE_OUT = [
    (PRICE, "The swimming pool costs 8 euros a visit. [1]"),
    (PRICE, "8 euros a visit [1]."),
    ("When does the pool open?", "It opens at 9 am. [1] Is there anything else?"),
    ("I have 3 children, when do children pay half?", "Your 3 children pay half until March 15, 2026. [1]"),
    ("May I bring my dog?", "Dogs are welcome in the garden, as long as they are on a lead. [1]"),
    ("What is your phone number?", "You can call us: +49 30 555 01 00."),
]


@pytest.mark.parametrize(("asked", "answer"), BORNE_OUT)
async def test_an_answer_that_its_source_bears_out_is_given(hotel, asked, answer):
    chat = hotel(about(asked), says(answer))
    await chat.user(asked).is_answered(answer)


async def test_what_the_business_says_of_itself_is_behind_an_answer(hotel):
    opening = "Our opening hours: Monday to Thursday 8:00–18:00, closed on Fridays."
    chat = hotel(about("opening hours"), says(opening), business=HOURS)
    await chat.user("What are your opening hours on Friday?").is_answered("closed on Fridays")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("When are you open?", "Our hours: Monday to Thursday 8:00–18:00."),
        ("מתי אתם פתוחים?", "שעות הפתיחה שלנו: 8:00–18:00."),
        ("Wann haben Sie geöffnet?", "Wir haben von 8:00 bis 18:00 geöffnet."),
        ("Когда вы открыты?", "Мы открыты с 8:00 до 18:00."),
    ],
)
async def test_hours_are_the_answer_to_when_a_business_is_open(hotel, asked, said):
    chat = hotel(about("opening"), says(said), business=HOURS)
    await chat.user(asked).is_answered("8:00")


async def test_the_hours_of_the_business_are_not_those_of_something_in_it(hotel):
    said = says("Monday to Thursday 8:00–18:00, closed on Fridays.")
    chat = hotel(about("sauna"), said, said, business=HOURS)
    await chat.user("When is the sauna open?").is_escalated(ReasonCode.UNSURE_OF_ANSWER)


async def test_numbers_mean_something_where_only_the_request_is_understood(hotel):
    chat = hotel(about("swimming pool"), says("The swimming pool costs 8 euros a visit. [1]"), profile="guided")
    turn = await chat.user(PRICE).is_answered("[1]")
    assert [(one.number, one.document) for one in turn.sources] == [(1, "rules.md")]


async def test_a_model_that_is_told_what_nothing_says_may_put_it_right(hotel):
    chat = hotel(about("swimming pool"), says("It is 50 euros. [1]"), says("The swimming pool costs 8 euros. [1]"))
    turn = await chat.user(PRICE).is_answered("8 euros. [1]")
    assert ReasonCode.UNSUPPORTED_CLAIM in turn.reason_codes


async def test_the_numbers_of_an_answer_are_returned_with_their_passages(hotel):
    chat = hotel(about("swimming pool"), says("The swimming pool costs 8 euros a visit. [1]"))
    turn = await chat.user(PRICE).is_answered("[1]")
    (source,) = turn.to_json()["sources"]
    assert (source["number"], source["document"], source["page"]) == (1, "rules.md", None)
    assert "8 euros a visit" in source["quote"]
    assert 0 < source["score"] <= 1
    stored = [one for one in await chat.messages() if one.role == "assistant"]
    assert stored[-1].meta["sources"] == json.loads(json.dumps(turn.to_json()["sources"]))


async def test_passages_about_something_else_are_no_ground_for_an_answer(hotel):
    chat = hotel(about("helicopter landing permission for visiting astronauts"))
    turn = await chat.user("Do visiting astronauts get landing permission?").is_escalated(ReasonCode.UNSURE_OF_ANSWER)
    assert "I do not know that" in turn.reply
    assert [request.purpose for request in chat.requests] == ["analyse"]


async def test_an_answer_in_another_language_is_asked_for_again_and_then_a_person_answers(hotel):
    strange = says("Das Schwimmbad kostet 8 Euro für jeden Besuch, und es öffnet um neun Uhr.")
    chat = hotel(about("swimming pool"), strange, strange)
    turn = await chat.user(PRICE).is_escalated(ReasonCode.WRONG_LANGUAGE)
    assert [request.purpose for request in chat.requests] == ["analyse", "draft", "draft"]
    assert "Schwimmbad" not in turn.reply
    (handed,) = await escalations(chat)
    assert (handed.reason, handed.summary) == (ReasonCode.WRONG_LANGUAGE, PRICE)
    assert "8 euros a visit" in handed.suggestion


async def test_a_model_that_does_not_know_hands_over(hotel):
    chat = hotel(about("swimming pool"), says("I could not find information about a sauna in our documents."))
    await chat.user("Is there a sauna beside the swimming pool?").is_escalated(ReasonCode.UNSURE_OF_ANSWER)


async def test_what_the_model_noted_for_itself_is_no_source(hotel):
    noted = about("swimming pool", context="The pool costs 50 euros.", action_plan=["Say that it costs 50 euros."])
    chat = hotel(noted, says("It costs 50 euros."), says("It costs 50 euros."))
    await chat.user(PRICE).is_escalated(ReasonCode.UNSURE_OF_ANSWER)


async def test_an_answer_without_any_search_has_to_rest_on_something_too(hotel):
    chat = hotel(about("", decision="REASON_ONLY", retrieval_needed=False), says("It is 50 euros."), says("50 euros."))
    await chat.user(PRICE).is_escalated(ReasonCode.UNSURE_OF_ANSWER)


@tool(effect="read")
async def get_weather(city: str) -> str:
    """The weather in a city."""
    raise RuntimeError("the weather service does not answer")


@pytest.mark.parametrize("answer", ["It is sunny and warm in Berlin.", "Berlin has 24 degrees."])
async def test_a_tool_that_failed_gives_no_answer(hotel, answer):
    asked = says("", tool="get_weather", params={"city": "Berlin"})
    decided = about("", decision="USE_TOOL", tools_needed=["get_weather"], retrieval_needed=False)
    chat = hotel(decided, asked, says(answer), says(answer), tools=[get_weather])
    turn = await chat.user("What is the weather in Berlin?").is_escalated(ReasonCode.UNSURE_OF_ANSWER)
    assert "sunny" not in turn.reply
    assert "24" not in turn.reply


async def test_a_tool_that_failed_may_be_done_without_where_the_answer_says_so(hotel):
    asked = says("", tool="get_weather", params={"city": "Berlin"})
    decided = about("", decision="USE_TOOL", tools_needed=["get_weather"], retrieval_needed=False)
    chat = hotel(decided, asked, says("Sorry, I could not look the weather up just now."), tools=[get_weather])
    await chat.user("What is the weather in Berlin?").is_answered("could not look the weather up")


async def test_a_model_that_is_down_hands_the_message_to_a_person(hotel):
    chat = hotel(ModelUnavailable("The model does not answer.", fix="Try again."))
    turn = await chat.user(PRICE).is_escalated(ReasonCode.MODEL_FAILED)
    assert "technical difficulties" in turn.reply
    (row,) = await escalations(chat)
    assert (row.reason, row.summary, row.state) == (ReasonCode.MODEL_FAILED, PRICE, "open")


async def test_a_model_that_goes_down_before_the_answer_does_so_too(hotel):
    chat = hotel(about("swimming pool"), ModelUnavailable("The model does not answer.", fix="Try again."))
    await chat.user(PRICE).is_escalated(ReasonCode.MODEL_FAILED)
    assert len(await escalations(chat)) == 1


ASIDE = [
    ("What does the swimming pool cost for students?", "The swimming pool costs 8 euros a visit. [1]"),
    ("What will the swimming pool cost in 2027?", "The swimming pool costs 8 euros a visit. [1]"),
    ("How much does the swimming pool cost?", "The swimming pool is open to children. [1]"),
    ("What is the deposit for a bathrobe at the pool?", "The swimming pool costs 8 euros a visit. [1]"),
]


@pytest.mark.parametrize(("asked", "answer"), ASIDE)
async def test_a_true_sentence_about_something_else_is_no_answer(hotel, asked, answer):
    chat = hotel(about("swimming pool"), says(answer), says(answer))
    turn = await chat.user(asked).is_escalated(ReasonCode.UNSURE_OF_ANSWER)
    assert "8 euros" not in turn.reply


async def test_whoever_takes_over_finds_a_suggested_answer_with_its_sources_and_nothing_of_it_is_sent(hotel):
    invented = says("The swimming pool costs 50 euros. [1]")
    chat = hotel(about("swimming pool"), invented, invented)
    turn = await chat.user(PRICE).is_escalated(ReasonCode.UNSURE_OF_ANSWER)
    (row,) = await escalations(chat)
    assert "The swimming pool costs 8 euros a visit and opens at 9:00. [1]" in row.suggestion
    assert "[1] House rules" in row.suggestion
    assert "50 euros" not in row.suggestion
    assert "8 euros" not in "".join([turn.reply, *(one.content for one in await chat.messages())])


async def test_where_no_sentence_bears_on_the_question_nothing_is_suggested(hotel):
    chat = hotel(about("helicopter landing permission for visiting astronauts"))
    await chat.user("Do visiting astronauts get landing permission?").is_escalated(ReasonCode.UNSURE_OF_ANSWER)
    assert [one.suggestion for one in await escalations(chat)] in ([None], [""])


async def test_the_sources_of_an_answer_are_shown_with_the_message_to_whoever_reads_it_later(hotel):
    chat = hotel(about("swimming pool"), says("The swimming pool costs 8 euros a visit. [1]"))
    turn = await chat.user(PRICE).is_answered("[1]")
    *_, asked, answered = (MessageShown.of_message(one, internal=False) for one in await chat.messages())
    assert (asked.sources, answered.sources, answered.meta) == (None, turn.to_json()["sources"], None)


# --- what a model would rather answer from its own head -----------------------------------------------------------------


@pytest.mark.parametrize(
    "decided",
    [
        {"decision": "REASON_ONLY"},
        {"decision": "CLARIFY", "clarification_question": PRICE, "action": "clarify"},
        {"decision": "CLARIFY", "clarification_question": "What would the pool cost you?", "action": "clarify"},
        {"decision": "CLARIFY", "clarification_question": "Какой бассейн вы имеете в виду?", "action": "clarify"},
        {"decision": "RETRIEVE", "intent_confidence": 0.4, "clarification_question": PRICE, "action": "clarify"},
    ],
    ids=["by itself", "asked back", "in other words", "in another language", "though not understood"],
)
async def test_a_question_that_documents_speak_of_is_looked_up_whatever_the_model_decides(hotel, decided):
    chat = hotel(about("the price of a product", **decided), says("The swimming pool costs 8 euros a visit. [1]"))
    turn = await chat.user(PRICE).is_answered()
    assert [one.document for one in turn.sources] == ["rules.md"]
    assert "8 euros" in turn.reply


async def test_a_question_back_that_asks_for_something_is_asked(hotel):
    question = "For an adult or for a child?"
    chat = hotel(about("pool", decision="CLARIFY", clarification_question=question, action="clarify"))
    assert question in (await chat.user(PRICE).is_asked()).reply


async def test_where_no_document_has_it_either_a_person_is_asked_and_not_the_user(hotel):
    asked, back = "Can I pay by carrier pigeon?", "Is payment by carrier pigeon accepted?"
    chat = hotel(about("pigeon", decision="CLARIFY", clarification_question=back, action="clarify"))
    turn = await chat.user(asked).is_escalated(ReasonCode.UNSURE_OF_ANSWER)
    assert back not in turn.reply


async def test_what_a_model_makes_of_a_question_does_not_hide_the_question_from_the_documents(hotel):
    chat = hotel(about("the history of the company"), says("The swimming pool costs 8 euros a visit. [1]"))
    turn = await chat.user(PRICE).is_answered()
    assert [one.section for one in turn.sources] == ["1.1"]


async def test_what_no_document_speaks_of_and_what_is_no_question_stays_with_the_model(hotel):
    for said in ("Who wrote Faust?", "I had a lovely day."):
        chat = hotel(about("", decision="REASON_ONLY"), says("I see."))
        turn = await chat.user(said)
        assert not turn.sources
        assert "I see." in turn.reply


APART = [
    ("How long is the lead time for a pump?", "The lead time for a pump is 11 weeks. [1]", True),
    ("How high is the grant for a pump?", "The grant for a pump is 11 weeks. [1]", False),
    ("How high is the grant for a pump?", "The grant for a pump is 165 euros. [1]", False),
    ("What does the service of a pump cost?", "The service of a pump costs 165 euros. [1]", True),
    ("What does the service of a boiler cost?", "The service of a boiler costs 165 euros. [1]", False),
]
PUMPS = read_document(
    b"# Our work\n\nThe lead time for a pump is 11 weeks from the order. You apply for the grant for a pump before "
    b"you sign.\n\nThe service of a pump costs 165 euros. The service of a boiler is done in June.\n",
    "pumps.md",
)


@pytest.mark.parametrize(("asked", "answer", "so"), APART)
async def test_a_figure_that_the_documents_have_of_something_else_is_no_answer(hotel, asked, answer, so):
    chat = hotel(about("pumps"), says(answer), says(answer), documents=[PUMPS])
    turn = await (chat.user(asked).is_answered() if so else chat.user(asked).is_escalated(ReasonCode.UNSURE_OF_ANSWER))
    assert ("11 weeks" in turn.reply or "165" in turn.reply) == so


async def test_a_model_that_would_look_it_up_with_a_tool_it_has_not_does_not_know(hotel):
    wanted = says("", tool="search_price", params={"of": "pool"})
    chat = hotel(about("swimming pool"), wanted, wanted)
    await chat.user(PRICE).is_escalated(ReasonCode.UNSURE_OF_ANSWER)


async def test_and_may_answer_when_it_is_told_so(hotel):
    wanted = says("", tool="search_price", params={"of": "pool"})
    chat = hotel(about("swimming pool"), wanted, says("The swimming pool costs 8 euros a visit. [1]"))
    await chat.user(PRICE).is_answered("8 euros")
    assert "search_price" in chat.requests[-1].system or "search_price" in str(chat.requests[-1].messages)


async def test_beside_such_a_call_it_says_only_what_is_written(hotel):
    wanted = says("The swimming pool costs 9 euros a visit. [1]", tool="search_price", params={"of": "pool"})
    chat = hotel(about("swimming pool"), wanted, wanted)
    turn = await chat.user(PRICE).is_escalated(ReasonCode.UNSURE_OF_ANSWER)
    assert "9 euros" not in turn.reply


TICKETS = read_document(
    b"""# Tickets 2026

A ticket for one evening in the large hall costs
38 euros, in the small hall 21 euros. Students pay 12
euros in the small hall.

Before you come, have a look at the age that is printed
on the ticket. From 14 to 99 years is fine.

## 4 Refunds

Until two days before the evening we pay 80 % back. Code K22 at the
box office means that the hall has changed.

## Courses

A course in English costs 95 euros.

## Houses

Choir evenings have ten songs of 5 minutes each. They start on 7 September 2026. The balcony opens half an hour after the
hall. A balcony pass is valid for 18 months. The heated terrace closes late. The lift runs for two hours after the last
song.

The Lyra is our large house. It is 19 metres high. The Orpheum is small and has a bar. Where is the cloakroom? The
cloakroom is on the left and closes at 23:00.
""",
    "tickets.md",
)
READ = [
    ("What does a ticket in the large hall cost?", "A ticket in the large hall costs 38 euros.", True),
    ("What age is printed on the ticket?", "From 14 to 99 years is fine.", True),
    ("What did a ticket in the small hall cost in 2025?", "A ticket in the small hall cost 21 euros.", False),
    ("What does a ticket in the small hall cost in 2026?", "A ticket in the small hall costs 21 euros.", True),
    ("What do members pay in the small hall?", "Members pay 12 euros in the small hall.", False),
    ("How many percent of a ticket are refunded?", "Two days before the evening.", False),
    ("How many percent do you refund?", "We refund 80 % until two days before the evening.", True),
    ("What does code K23 mean?", "The hall has changed.", False),
    ("What does code K22 mean?", "Code K22 means that the hall has changed.", True),
    ("What does a course in French cost?", "A course in French costs 95 euros.", False),
    ("What does a velvet balcony chair cost?", "A velvet balcony chair costs 38 euros.", False),
    ("How high is the Orpheum in metres?", "It is 19 metres high.", False),
    ("How high is the Lyra in metres?", "The Lyra is 19 metres high.", True),
    ("How much is the cloakroom?", "The cloakroom closes at 23:00.", False),
    ("When does the cloakroom close?", "The cloakroom closes at 23:00.", True),
    ("Is there a cloakroom?", "Where is the cloakroom? [1]", False),
    ("When do the choir evenings start?", "The choir evenings have ten songs of 5 minutes each.", False),
    ("When do the choir evenings start?", "They start on 7 September 2026.", True),
    ("When does the balcony open?", "The balcony opens half an hour after the hall.", True),
    ("How long can I use a balcony pass?", "A balcony pass is valid for 18 months.", True),
    ("How long is a used pass valid?", "A balcony pass is valid for 18 months.", False),
    ("How warm is the heated balcony?", "The balcony opens half an hour after the hall.", False),
    ("How warm is the heated terrace?", "The lift runs for two hours after the last song.", False),
]


@pytest.mark.parametrize(("asked", "answer", "so"), READ)
async def test_a_figure_is_read_with_its_year_its_case_its_heading_and_over_the_end_of_a_line(hotel, asked, answer, so):
    chat = hotel(about("tickets"), says(answer), says(answer), documents=[TICKETS])
    turn = await chat.user(asked)
    assert turn.outcome == ("answered" if so else "escalated")
    assert (answer in turn.reply) == so


INVENTED_INTENTS = [
    "The swimming pool, which costs 50 euros. [9]",
    "A question to pool@elsewhere.example.",
    "Посетитель спрашивает, сколько стоит бассейн для детей.",
]


@pytest.mark.parametrize("intent", INVENTED_INTENTS)
async def test_what_was_understood_says_no_figure_that_nobody_named_and_speaks_the_users_language(hotel, intent):
    chat = hotel(about("swimming pool", intent), says("The swimming pool costs 8 euros a visit. [1]"))
    turn = await chat.user(PRICE).is_answered("8 euros")
    assert "How I understood your request" not in turn.reply


async def test_what_was_understood_may_repeat_the_users_own_figures(hotel):
    chat = hotel(about("swimming pool", "Is the pool 50 euros?"), says("The swimming pool costs 8 euros a visit. [1]"))
    await chat.user("Is the swimming pool 50 euros? What does it cost?").is_answered("Is the pool 50 euros?")


async def test_a_question_back_has_no_figure_that_nobody_named(hotel):
    chat = hotel(about("", action="clarify", intent_confidence=0.2, clarification_question="The suite for 900 euros?"))
    turn = await chat.user("I want one of those, please, for my family").is_asked("tell me a little more")
    assert "900" not in turn.reply


# --- codes ----------------------------------------------------------------------------------------------------------

CODES = read_document(b"# Error codes\n\n## E-141\nE-141 means that the water inlet is blocked.\n", "codes.md")
INLET = says("E-141 means that the water inlet is blocked. [1]")


@pytest.mark.parametrize("answer", [INLET, says("That means that the water inlet is blocked.")])
@pytest.mark.parametrize("profile", ["guided", "service"])
async def test_a_neighbouring_error_code_is_no_answer_in_any_profile(hotel, profile, answer):
    chat = hotel(about("error E-114", decision="RETRIEVE"), answer, answer, documents=(CODES,), profile=profile)
    turn = await chat.user("What does error E-114 mean?")
    assert turn.outcome == "escalated"
    assert ReasonCode.UNSURE_OF_ANSWER in turn.reason_codes
    assert "inlet" not in turn.reply


@pytest.mark.parametrize("profile", ["guided", "service"])
@pytest.mark.parametrize("code", ["E-141", "E141"])
async def test_the_code_that_is_there_is_answered_with_its_source_however_it_is_spelled(hotel, profile, code):
    chat = hotel(about(f"error {code}", decision="RETRIEVE"), INLET, documents=(CODES,), profile=profile)
    turn = await chat.user(f"What does error {code} mean?")
    assert turn.outcome == "answered"
    assert [one.document for one in turn.sources] == ["codes.md"]
