"""G6-G8: the block is read as it was meant, or not at all, and no part of it is ever shown."""

from __future__ import annotations

import json
import random
import re
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from circumspect.policy.parsing.assessment import UNREADABLE, read
from circumspect.policy.parsing.visible import Visible
from circumspect.reasons import ReasonCode
from circumspect.values import Assessment

REPLY = "I can cancel that order for you."
CALL: dict[str, object] = {
    "confidence": 7,
    "tool_call": "cancel_order",
    "tool_params": {"order_id": "12345"},
    "missing_params": [],
    "is_destructive": True,
    "needs_confirmation": True,
    "needs_more_context": [],
}
TALK: dict[str, object] = {**CALL, "tool_call": None, "tool_params": {}, "is_destructive": False}
AS_READ = Assessment(
    confidence=0.7,
    tool_call="cancel_order",
    tool_params={"order_id": "12345"},
    is_destructive=True,
    needs_confirmation=True,
)
JSON = json.dumps(CALL)


def tagged(block: object) -> str:
    return f"{REPLY}\n<assessment>{block if isinstance(block, str) else json.dumps(block)}</assessment>"


def assessed(**fields: object) -> Assessment:
    visible, assessment = read(tagged({**CALL, **fields}))
    assert visible == REPLY
    return assessment


def streamed(text: str, cuts: list[int]) -> str:
    visible = Visible()
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    pieces = [visible.feed(text[one:other]) for one, other in pairwise(places)]
    return "".join(pieces) + visible.finish()


def test_a_clean_block_is_read_and_left_out():
    assert read(tagged(CALL)) == (REPLY, AS_READ)


def test_a_pretty_printed_block_is_read_the_same():
    assert read(f"{REPLY}\n\n<assessment>\n{json.dumps(CALL, indent=2)}\n</assessment>\n") == (REPLY, AS_READ)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"```json\n<assessment>{JSON}</assessment>\n```", id="fence around the tags"),
        pytest.param(f"<assessment>\n```json\n{JSON}\n```\n</assessment>", id="fence inside the tags"),
        pytest.param(f"```json\n{JSON}\n```", id="fence and no tags"),
        pytest.param(f"~~~\n{JSON}\n~~~", id="other fence"),
        pytest.param(JSON, id="bare object"),
        pytest.param(f"**Assessment:**\n```json\n{JSON}\n```", id="a heading instead of tags"),
        pytest.param(f"[assessment]{JSON}[/assessment]", id="square brackets"),
        pytest.param(f"<assessment>{JSON}", id="no closing tag"),
        pytest.param(f"<assessment>{JSON}</assess", id="half a closing tag"),
        pytest.param(f"<assessment>{JSON}<assessment>", id="an opening tag to close"),
        pytest.param(f"<assessment><assessment>{JSON}</assessment></assessment>", id="doubled tags"),
        pytest.param(f"{JSON}</assessment>", id="no opening tag"),
        pytest.param(f"assessment>{JSON}</assessment>", id="half an opening tag"),
        pytest.param(f'<ASSESSMENT lang="en">{JSON}</Assessment>', id="attributes and odd case"),
        pytest.param(f"< assessment >{JSON}< / assessment >", id="spaces in the tags"),
        pytest.param(f"<assess\u200bment>{JSON}</assess\u00adment>", id="invisible characters"),
        pytest.param(f"<assessment>\u200f{JSON}\u200f</assessment>", id="direction marks"),
        pytest.param(f"&lt;assessment&gt;{JSON}&lt;/assessment&gt;", id="entities"),
        pytest.param(f"&#60;assessment&#62;{JSON}&#x3C;/assessment&#x3E;", id="numeric entities"),
        pytest.param(f"＜assessment＞{JSON}＜/assessment＞", id="full-width brackets"),
        pytest.param(f"<аssessment>{JSON}</аssessment>", id="a Cyrillic letter in the tag"),
        pytest.param(f"<assesment>{JSON}</assesment>", id="misspelt"),
        pytest.param(f"<self_assessment>{JSON}</self_assessment>", id="renamed"),
        pytest.param(f"<assessment>{JSON}\nI am fairly sure.</assessment>", id="remarks after the object"),
        pytest.param(f"<assessment>Here it is: {JSON}</assessment>", id="remarks before the object"),
        pytest.param(f"<assessment>{JSON[:-1]},}}</assessment>", id="trailing comma"),
        pytest.param(f"<assessment>{{ // sure\n{JSON[1:-1]} /* that is all */ }}</assessment>", id="comments"),
        pytest.param(f"<assessment>{CALL!r}</assessment>", id="single quotes, True and None"),
        pytest.param("<assessment>" + re.sub('"(.*?)"', r"“\1”", JSON) + "</assessment>", id="curly quotes"),
        pytest.param('<assessment>{"assessment": ' + JSON + "}</assessment>", id="wrapped in itself"),
        pytest.param("<assessment>" + JSON.replace("tool_call", "toolCall") + "</assessment>", id="camel case"),
    ],
)
def test_form_does_not_matter(text):
    assert read(f"{REPLY}\n{text}") == (REPLY, AS_READ)


@pytest.mark.parametrize("text", ["", REPLY, f"{REPLY} <", f"{REPLY} </", f"{REPLY} <asse", f"{REPLY} <assess"])
def test_no_block_is_the_most_careful_assessment(text):
    visible, assessment = read(text)
    assert visible == text.split(" <")[0]
    assert assessment == UNREADABLE
    assert assessment.confidence == 0.1
    assert assessment.tool_call is None
    assert assessment.reasons == (ReasonCode.ASSESSMENT_UNPARSABLE,)


@pytest.mark.parametrize(
    "block",
    [
        "",
        "{",
        "[]",
        "null",
        "8",
        "{'confidence'",
        '{"confidence": 9}{"confidence": 2}',
        '{"confidence": 9, "tool_call": ["cancel_order"]}',
        '{"confidence": 9, "tool_call": {"name": "cancel_order"}}',
        '{"confidence": 9, "tool_call": "cancel_order", "tool_params": "order 12345"}',
        '{"confidence": 9, "tool_call": "cancel_order", "tool_params": ["12345"]}',
        '{"confidence": 9, "tool_call": "cancel_order", "tool_params": {"amount": NaN}}',
        '{"confidence": 9, "tool_call": "cancel_order", "tool_call": "refund", "tool_params": {}}',
        '{"confidence": 9, "tool_call": "refund", "tool_params": {"amount": 10, "amount": 1000}}',
        '{"confidence": 9, "tool_call": "refund", "toolCall": "cancel_order", "tool_params": {}}',
        '{"confidence": 9, "tool_call": "refund", "tol_params": {"amount": 10}}',
        '{"confidence": 9, "tool_call": "refund", "tool_params": {"amount": 10}, "mising_params": ["reason"]}',
        '{"confidence": 9, "tool_call": "refund", "tool_params": {"amount": 10}, "חסר": ["reason"]}',
        '{"confidence": 9, "tool_call": "refund", "tool_params": {"note": "he said "yes""}, "missing_params": []}',
        '{"confidence": 9, "missing_params": true, "tool_call": null}',
        '{"a":' * 5000 + "1" + "}" * 5000,
        "[" * 100_000,
    ],
)
def test_what_could_be_read_in_two_ways_is_not_read(block):
    assert read(tagged(block)) == (REPLY, UNREADABLE)


def test_a_number_cut_short_never_becomes_a_call():
    whole = '{"confidence": 9, "tool_call": "refund", "tool_params": {"amount": 1000}, "missing_params": []}'
    for cut in range(len(whole)):
        for closing in ("", "</assessment>", "</asse", "\n```"):
            visible, assessment = read(f"{REPLY}\n<assessment>{whole[:cut]}{closing}")
            assert visible == REPLY
            assert assessment.tool_call is None or assessment.tool_params == {"amount": 1000}


def test_flags_that_were_cut_off_count_as_raised():
    cut = '{"confidence": 9, "tool_call": "refund", "tool_params": {"amount": 10}, "is_destr'
    assessment = read(tagged(cut))[1]
    assert (assessment.tool_call, assessment.tool_params) == ("refund", {"amount": 10})
    assert assessment.is_destructive
    assert assessment.needs_confirmation


def test_a_damaged_block_without_a_call_still_tells_what_it_can():
    assessment = read(tagged('{"confidence": 8 "tool_call": null, "needs_more_context": ["faqs"]}'))[1]
    assert (assessment.confidence, assessment.needs_more_context) == (0.8, ("faqs",))


@pytest.mark.parametrize(
    ("said", "confidence"),
    [
        (1, 0.1),
        (10, 1.0),
        (7.5, 0.75),
        ("8", 0.8),
        (" 8 ", 0.8),
        ("8/10", 0.8),
        ("4 / 5", 0.8),
        ("8 out of 10", 0.8),
        ("80%", 0.8),
        ("7,5", 0.75),
        (0, 0.0),
        (-3, 0.0),
        (0.85, 0.85),
        (11, 1.0),
        (10**300, 1.0),
        (True, 0.1),
        (None, 0.1),
        ("high", 0.75),
        ("not 9", 0.1),
        ("8/0", 0.0),
        ("nan", 0.1),
        ([8], 0.1),
        ({}, 0.1),
    ],
)
def test_confidence_is_read_however_it_was_put(said, confidence):
    assert assessed(confidence=said).confidence == pytest.approx(confidence)


@pytest.mark.parametrize(
    ("block", "confidence"),
    [
        ("**Assessment:** confidence: 8/10", 0.8),
        ("**Assessment:**\n- Confidence: 8/10\n- Tool_call: none", 0.8),
        ("Self-assessment: confidence: 80%", 0.8),
        ("### Assessment\nConfidence: 8", 0.8),
        ("Assessment:\nconfidence: not 9", 0.1),
        ("<assessment>confidence: high</assessment>", 0.75),
    ],
)
def test_an_assessment_in_lines_is_hidden_and_read_like_one_in_tags(block, confidence):
    words, assessment = read(f"{REPLY}\n\n{block}")
    assert (words, assessment.confidence, assessment.tool_call) == (REPLY, confidence, None)
    assert assessment.readable


def test_a_call_in_lines_counts_only_when_it_is_whole():
    whole = 'Assessment:\nconfidence: 8\ntool_call: refund\ntool_params: {"amount": 10}'
    assert read(f"{REPLY}\n{whole}")[1].tool_params == {"amount": 10}
    for broken in (whole[:-3], whole.replace('{"amount": 10}', "ten"), whole + "\ntool_call: cancel_order"):
        assert read(f"{REPLY}\n{broken}") == (REPLY, UNREADABLE)


@pytest.mark.parametrize("tag", ["tool_call", "toolcall", "function_call"])
def test_a_call_in_tags_of_its_own_is_hidden_and_is_a_call_without_an_assessment(tag):
    call = '{"name": "cancel_order", "arguments": {"order_id": "12345"}}'
    words, assessment = read(f"{REPLY}\n<{tag}>\n{call}\n</{tag}>")
    assert words == REPLY
    assert (assessment.tool_call, assessment.tool_params) == ("cancel_order", {"order_id": "12345"})
    assert assessment.reasons == (ReasonCode.ASSESSMENT_MISSING,)
    other = call.replace("12345", "12346")
    assert read(f"<{tag}>{call}</{tag}><{tag}>{other}</{tag}>")[1] == UNREADABLE
    assert read(f"{REPLY}\n<{tag}>{call[:-9]}")[1].tool_call is None


@pytest.mark.parametrize("said", [None, "", "null", "none", "None", "N/A", False])
def test_many_words_mean_no_tool(said):
    assert assessed(tool_call=said).tool_call is None


@pytest.mark.parametrize("name", ["Cancel_Order", "cancel_order ", "cancelOrder", "ביטול"])
def test_the_name_of_a_tool_is_left_exactly_as_it_was_written(name):
    assert assessed(tool_call=name).tool_call == name


def test_parameters_given_as_a_string_of_json_are_read():
    assert assessed(tool_params='{"order_id": "12345"}').tool_params == {"order_id": "12345"}


def test_large_whole_numbers_keep_every_digit():
    assert assessed(tool_params={"order_id": 123456789012345678901234}).tool_params == {
        "order_id": 123456789012345678901234
    }


@pytest.mark.parametrize(
    ("said", "names"),
    [
        (["order_id"], ("order_id",)),
        (["order_id", "order_id", " "], ("order_id",)),
        ("order_id, reason", ("order_id", "reason")),
        ({"order_id": "the number"}, ("order_id",)),
        ([{"name": "order_id"}], ("order_id",)),
        (None, ()),
        ("none", ()),
        (False, ()),
        ([7], ("7",)),
    ],
)
def test_missing_parameters_are_read_however_they_were_put(said, names):
    assert assessed(missing_params=said).missing_params == names


@pytest.mark.parametrize(
    ("said", "flag"),
    [
        *((raised, True) for raised in (True, "true", "yes", 1, "perhaps", {"a": 1})),
        *((lowered, False) for lowered in (False, "false", "No", 0, None, "")),
    ],
)
def test_a_flag_is_raised_unless_it_clearly_is_not(said, flag):
    assert assessed(is_destructive=said).is_destructive is flag
    assert assessed(needs_confirmation=said).needs_confirmation is flag


def test_wanting_more_context_without_saying_which_is_not_lost():
    assert assessed(needs_more_context=True).needs_more_context == ("unspecified",)


@pytest.mark.parametrize(
    "block",
    [
        {"ביטחון": 7, "כלי": "cancel_order", "פרמטרים": {"order_id": "12345"}, "הרסני": "כן", "דורש אישור": "כן"},
        {
            "уверенность": 7,
            "инструмент": "cancel_order",
            "параметры": {"order_id": "12345"},
            "деструктивно": "да",
            "нужно_подтверждение": "да",
        },
        {**CALL, "note": "הלקוח בטוח"},
        {**CALL, "note": "клиент уверен"},
    ],
)
@pytest.mark.parametrize("escaped", [True, False])
def test_hebrew_and_russian_are_read_and_remarked_on(block, escaped):
    visible, assessment = read(tagged(json.dumps(block, ensure_ascii=escaped)))
    assert visible == REPLY
    assert assessment.reasons == (ReasonCode.ASSESSMENT_NOT_ENGLISH,)
    assert (assessment.tool_call, assessment.tool_params) == ("cancel_order", {"order_id": "12345"})
    assert assessment.confidence == 0.7
    assert assessment.is_destructive
    assert assessment.needs_confirmation


def test_two_blocks_that_agree_are_one():
    assert read(f"{tagged(CALL)}\n{tagged(CALL)}")[1] == AS_READ


def test_of_two_blocks_the_most_careful_reading_holds():
    first = {**CALL, "confidence": 3, "missing_params": ["reason"], "needs_confirmation": False}
    second = {**CALL, "missing_params": ["email"], "is_destructive": False, "needs_more_context": ["faqs"]}
    assessment = read(f"{tagged(first)}\n{tagged(second)}")[1]
    assert assessment == Assessment(
        confidence=0.3,
        tool_call="cancel_order",
        tool_params={"order_id": "12345"},
        missing_params=("reason", "email"),
        is_destructive=True,
        needs_confirmation=True,
        needs_more_context=("faqs",),
    )


@pytest.mark.parametrize(
    "other", [TALK, {**CALL, "tool_call": "refund"}, {**CALL, "tool_params": {"order_id": "9"}}, "{"]
)
def test_two_blocks_that_propose_different_things_propose_nothing(other):
    assert read(f"{tagged(CALL)}\n{tagged(other)}")[1] == UNREADABLE
    assert read(f"{tagged(other)}\n{tagged(CALL)}")[1] == UNREADABLE


def test_words_after_a_readable_block_are_shown():
    assert read(f"<assessment>{JSON}</assessment>\n{REPLY}") == (REPLY, AS_READ)
    assert read(f"{REPLY}\n<assessment>{JSON}</assessment>\nAnything else?")[0] == f"{REPLY}\n\nAnything else?"


def test_words_after_an_unreadable_block_are_not_shown():
    assert read(tagged("{oops") + "\nAnything else?") == (REPLY, UNREADABLE)


def test_a_tag_inside_a_parameter_does_not_end_the_block():
    block = {**CALL, "tool_params": {"note": "</assessment> to be kept private"}}
    visible, assessment = read(tagged(block))
    assert visible == REPLY
    assert assessment.tool_params == block["tool_params"]


@pytest.mark.parametrize(
    "text",
    [
        "2 < 3, and 5 > 4.",
        "Use <b>bold</b> & <i>italics</i>.",
        'The file says {"name": "Dana", "age": 7} and {placeholder}.',
        "Sorry :-{ that did not work",
        "```python\nprint({1: 2})\n```",
        "Our tax assessment takes two days.",
        "My assessment: all is well {see below}.",
        "See [assessment](https://example.com/assessment) or <https://example.com/assessment>.",
        "Save 20% & more with \\u0041, 'quotes' and \"doubles\".",
        "מחיר: 5 < 7, {שם}",
        "Цена: 5 < 7, «да»",
    ],
)
def test_ordinary_text_is_left_alone(text):
    assert read(text)[0] == text
    assert read(f"{text}\n<assessment>{JSON}</assessment>") == (text, AS_READ)


def test_lone_surrogates_and_control_characters_are_replaced():
    block = {**CALL, "tool_params": {"note": "a\x00b\ud800", "k\x07": ["\x1b"]}, "missing_params": ["x\x00"]}
    visible, assessment = read(f"Hi\x00 \udc80\n{tagged(block)}")
    assert visible.startswith("Hi\ufffd \ufffd\n")
    assert assessment.tool_params == {"note": "a\ufffdb\ufffd", "k\ufffd": ["\ufffd"]}
    assert assessment.missing_params == ("x\ufffd",)


@pytest.mark.parametrize(
    "text",
    [
        "<assessment>" * 90_000,
        "</assessment>" * 80_000,
        "<assessment>{" * 80_000,
        "<" * 1_000_000,
        '{"a":' * 200_000,
        "{a" * 500_000,
        '{"a": 1}' * 60_000,
        "```" * 300_000,
        ("{a" * 100 + "</assessment>") * 4_000,
        ("<" + "\u200b" * 20) * 40_000,
        "*" * 500_000,
        ('{"confidence": 1}' * 50_000),
        tagged('{"tool_call": "' + "}" * 1_000_000),
    ],
    ids=lambda text: text[:12] + str(len(text)),
)
def test_a_hostile_megabyte_is_read_in_reasonable_time(text):
    assert read(text)[1] == UNREADABLE


def test_a_long_block_streamed_letter_by_letter_stays_hidden():
    visible = Visible()
    text = tagged({**CALL, "tool_params": {"note": "}" * 20_000}})
    assert "".join(visible.feed(letter) for letter in text) + visible.finish() == REPLY


def test_a_stream_shows_plain_words_long_before_its_end():
    visible = Visible()
    shown = "".join(visible.feed(f"word {number} ") for number in range(200))
    assert shown.startswith("word 0 word 1")
    assert len(shown) > 1400


TAGS = st.sampled_from(
    [
        ("<assessment>", "</assessment>"),
        ("< Assessment >", "</ Assessment >"),
        ("&lt;assessment&gt;", "&lt;/assessment&gt;"),
        ("＜assessment＞", "＜/assessment＞"),
        ("<assessment>\n```json\n", "\n```\n</assessment>"),
        ("```json\n<assessment>", "</assessment>\n```"),
    ]
)
WRITERS = st.sampled_from([json.dumps, lambda block: json.dumps(block, indent=1, ensure_ascii=False), repr])
MARKED = st.fixed_dictionaries(
    {
        "confidence": st.integers(1, 10),
        "tool_call": st.sampled_from([None, "zqx_refund"]),
        "tool_params": st.fixed_dictionaries(
            {
                "zqx_id": st.just("zqx-1"),
                "amount": st.integers(100, 999),
                "note": st.sampled_from(["zqx } b", 'zqx "q"']),
            }
        ),
        "missing_params": st.lists(st.just("zqx_m"), max_size=1),
        "is_destructive": st.booleans(),
        "needs_confirmation": st.booleans(),
        "needs_more_context": st.lists(st.just("zqx_c"), max_size=1),
    }
)
FRAGMENTS = (
    *"<>/{}\"':,\\`&[]#_\n ",
    *(
        "assess",
        "ment",
        "<assessment>",
        "</assessment>",
        "&lt;",
        "lt;",
        "%3c",
        "\\u003c",
        "＜",
        "\u200b",
        "<b>",
        "</b>",
    ),
    *("```", "```json\n", "Assessment:", "self-", "**", "confidence", '"tool_call": null', '{"a": 1}'),
    *(JSON, JSON[:40], JSON[40:], "word " * 60, "a" * 70, '{"a": "' + "b" * 300 + '"}'),
    *("hello", "שלום", "да", "\ud800", "\x00"),
)
NASTY = st.lists(
    st.sampled_from(FRAGMENTS),
    max_size=14,
).map("".join)


@settings(max_examples=1500)
@given(st.text(max_size=300), st.lists(st.integers(0, 10**6), max_size=20))
def test_any_text_is_read_and_streams_the_same(text, cuts):
    visible, assessment = read(text)
    visible.encode()
    assert 0 <= assessment.confidence <= 1
    assert streamed(text, cuts) == visible


@settings(max_examples=1500)
@given(NASTY, st.lists(st.integers(0, 10**6), max_size=40))
@example("x [assessment]```}:</b>" + '{"a": "' + "b" * 300 + '"}', list(range(40)))
def test_any_mixture_of_fragments_is_read_and_streams_the_same(text, cuts):
    assert streamed(text, cuts) == read(text)[0]


@settings(max_examples=1500)
@given(MARKED, TAGS, WRITERS, st.randoms(use_true_random=False), st.integers(0, 2), st.booleans())
def test_no_damage_to_a_block_shows_any_of_it(block, tags, writer, chance, edits, cut):
    text = damaged(tags[0] + writer(block) + tags[1], chance, edits)
    if cut:
        text = text[: chance.randrange(len(text) + 1)]
    visible, assessment = read(f"{REPLY}\n{text}")
    assert visible.startswith(REPLY)
    assert "zqx" not in visible
    assert not any(key in visible for key in CALL)
    if edits == 0 and assessment.tool_call:
        assert (assessment.tool_call, assessment.tool_params) == (block["tool_call"], block["tool_params"])


@settings(max_examples=800)
@given(MARKED, WRITERS, st.randoms(use_true_random=False), st.sampled_from(["", "```json\n", "```\n"]))
def test_an_object_without_tags_is_hidden_wherever_it_is_cut(block, writer, chance, fence):
    text = fence + writer(block)
    visible, assessment = read(f"{REPLY}\n{text[: chance.randrange(len(text) + 1)]}")
    assert visible.rstrip("`") in (REPLY, REPLY + "\n")
    if assessment.tool_call:
        assert assessment.tool_params == block["tool_params"]


@settings(max_examples=500)
@given(st.text(st.characters(exclude_characters="<{&", exclude_categories=["Cs", "Cc"]), max_size=200), MARKED)
def test_the_short_way_and_the_long_way_agree(words, block):
    text = f"{words}\n<assessment>{json.dumps(block)}</assessment>"
    long_way = Visible()
    assert read(text)[0] == long_way.feed(text) + long_way.finish()
    assert read(text)[1] == read(text + " ")[1] == read(text.replace("<assessment>", "<Assessment>"))[1]


def damaged(text: str, chance: random.Random, edits: int) -> str:
    for _ in range(edits):
        place = chance.randrange(len(text) + 1)
        text = chance.choice(
            [
                text[:place] + text[place + 1 :],
                text[:place] + chance.choice("\"'{}<>,:`\\\nx") + text[place:],
                text[:place] + chance.choice('abc"{}<>') + text[place + 1 :],
                text[:place] + text[place : place + 10] + text[place:],
            ]
        )
    return text
