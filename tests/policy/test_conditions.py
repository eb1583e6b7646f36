"""Conditions: what holds, what fails, and what cannot be decided."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.policy_talk import NOW, facts, ran, ruled, session, spec, user

from circumspect.policy.condition_view import view
from circumspect.policy.conditions import decide
from circumspect.policy.expressions import ExpressionError, compile_condition, resolve_place
from circumspect.policy.judge import judge
from circumspect.policy.keys.clauses import FactSource, Precondition, Reaction
from circumspect.policy.keys.scope import ConditionScope
from circumspect.policy.keys.tool_policy import ToolPolicy
from circumspect.policy.policy_file import Policy
from circumspect.policy.postconditions import came_true, check_call
from circumspect.policy.preconditions import PRECONDITION_RULES
from circumspect.reasons import ReasonCode
from circumspect.values import SEVERITY, Allow, Ask, Confirm, Deny, Escalate, ToolCall

CANCEL = ToolCall("cancel_booking", {"booking_id": "B1"})
BOOKING = {
    "status": "open",
    "owner": "u1",
    "made": "2026-03-09T20:00:00",
    "price": 120,
    "guests": [{"name": "Ann", "age": 34}, {"name": "Bo", "age": 7}],
    "extras": {"wine": {"price": 30, "kind": "red"}, "late checkout": {"price": 12.5}},
}


def policy(*conditions: str, then: str = "", unknown: str = "deny", let: str = "", facts_section: str = "") -> Policy:
    """A policy with these conditions for cancel_booking, as `deny_unless` or (with `then`) as `when`."""
    reaction = {"then": then} if then else {}
    items = tuple(
        {"if": text, "because": f"Because {position}.", **reaction} for position, text in enumerate(conditions)
    )
    return Policy.model_validate(
        {
            "let": {"booking": "facts.get_booking[args.booking_id]", **({"more": let} if let else {})},
            "facts": {"get_booking": {"key": "booking_id", "updated_by": "change_booking"}} if facts_section else {},
            "tools": {
                "cancel_booking": {"effect": "write", "when" if then else "deny_unless": items, "unknown": unknown}
            },
        }
    )


def decided(text: str, *events: object, arguments: dict[str, object] | None = None, **more: object) -> str:
    call = ToolCall("cancel_booking", {"booking_id": "B1", **(arguments or {})})
    known = facts(policy(text), call, *events, **more)
    return decide(text, view(known)).kind


LOOKED_UP = ran("get_booking", BOOKING, booking_id="B1")


# --- what can be said -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "facts.get_booking[args.booking_id].status == 'open'",
        "booking.status == 'open'",
        "booking.status in ['open', 'held']",
        "now - time(booking.made) < duration('24h')",
        "size(booking.guests) == 2",
        "size(booking.extras) == 2",
        "booking.guests.all(g, g.age > 5) && booking.guests.exists(g, g.name == 'Bo')",
        "'wine' in booking.extras",
        "booking.extras.exists(name, booking.extras[name].price > 20)",
        "booking.extras.exists(name, booking.extras[name].price > 20) && booking.extras.wine.kind == 'red'",
        "booking.guests.exists(g, g.age < 18) && booking.guests[0].name == 'Ann' && size(booking.guests) == 2",
        "sum(booking.extras.map(name, booking.extras[name].price)) == 42.5",
        "booking.price * 2.0 > 200.0 && booking.price - 0.5 == 119.5",
        "booking.price > 119 && booking.price == 120.0",
        "args.guests.all(name, booking.guests.exists(g, g.name == name))",
        "zip(args.guests, booking.guests).all(pair, pair[0] == pair[1].name)",
        "latest.get_booking.status == 'open'",
        "results.get_booking.exists(b, b.owner == 'u1')",
        "has(booking.owner) && !has(booking.nobody)",
        "has(facts.get_booking) && !has(facts.get_guest)",
        "booking.guests[0].name == 'Ann'",
        "facts.get_booking.exists(id, facts.get_booking[id].status == 'open')",
        "user.mentions('refund') && !user.mentions('insurance')",
        "calls.exists(c, c.tool == 'get_booking' && c.ok && c.args.booking_id == args.booking_id)",
        "args.guests.filter(name, name.startsWith('A')).size() == 1",
        "now.getFullYear() == 2026",
        "args.note.lowerAscii().contains('urgent')",
        "math.greatest(booking.price, 50.0) == 120.0",
        "booking.status == 'open' || args.nothing == 1",
    ],
)
def test_what_holds(text: str) -> None:
    arguments = {"guests": ["Ann", "Bo"], "note": "URGENT!"}
    assert decided(text, user("I want a REFUND"), LOOKED_UP, arguments=arguments) == "holds"


@pytest.mark.parametrize(
    "text",
    [
        "booking.status == 'closed'",
        "booking.guests.all(g, g.age > 18)",
        "'beer' in booking.extras",
        "args.booking_id == 'B2'",
    ],
)
def test_what_fails(text: str) -> None:
    assert decided(text, LOOKED_UP) == "fails"


@pytest.mark.parametrize(
    "text",
    [
        "facts.get_guest[args.booking_id].name == 'Ann'",  # never looked up
        "booking.colour == 'red'",  # the result has no such field
        "booking.guests > 2",  # a list is no number
        "booking.price + booking.status == 'x'",  # nor a text
        "args.amount > 10",  # not given
        "time(booking.status) < now",  # no time
        "sum(booking.guests) > 1.0",  # no numbers
        "zip(booking.guests, args.ids).all(p, true)",  # lists of different length
        "booking.status",  # neither true nor false
        "booking.guests.all(a, booking.guests.all(b, args.many.all(c, args.many.all(d, c + d > -1.0))))",  # endless
    ],
)
def test_what_cannot_be_decided(text: str) -> None:
    assert decided(text, LOOKED_UP, arguments={"ids": ["x"], "many": list(range(200))}) == "unknown"


def test_a_result_that_is_json_text_is_read_and_other_text_is_left_alone() -> None:
    assert decided("booking.status == 'open'", ran("get_booking", '{"status": "open"}', booking_id="B1")) == "holds"
    assert decided("latest.find_guest == 'u1'", ran("find_guest", "u1", email="a@b.example")) == "holds"
    assert decided("latest.find_guest == '{broken'", ran("find_guest", "{broken", email="a@b.example")) == "holds"


def test_only_successful_results_of_trusted_tools_are_facts() -> None:
    assert decided("booking.status == 'open'", ran("get_booking", BOOKING, ok=False, booking_id="B1")) == "unknown"
    assert decided("booking.status == 'open'", ran("get_booking", BOOKING, trusted=False, booking_id="B1")) == "unknown"


def test_the_newest_result_for_a_key_counts() -> None:
    other = ran("get_booking", {"status": "gone"}, booking_id="B2")
    newer = ran("get_booking", {"status": "closed"}, booking_id="B1")
    assert decided("booking.status == 'open'", LOOKED_UP, other) == "holds"
    assert decided("booking.status == 'open'", LOOKED_UP, newer, other) == "fails"
    assert decided("latest.get_booking.status == 'gone'", LOOKED_UP, other) == "holds"


def test_a_write_that_returns_the_new_version_updates_the_fact() -> None:
    changed = ran("change_booking", {"status": "moved"}, booking_id="B1", date="2026-05-01", room_id="R7")
    told = ran("change_booking", "ok", booking_id="B1", date="2026-05-01", room_id="R7")
    for events, expected in (
        ((LOOKED_UP, changed), "fails"),
        ((changed, LOOKED_UP), "holds"),
        ((LOOKED_UP, told), "holds"),
    ):
        known = facts(policy("booking.status == 'open'", facts_section="yes"), CANCEL, *events)
        assert decide("booking.status == 'open'", view(known)).kind == expected


def test_the_key_of_a_fact_is_the_only_argument_or_the_only_id() -> None:
    assert decided("facts.get_room['R1'].free", ran("get_room", {"free": True}, room="R1")) == "holds"
    assert (
        decided("facts.get_room['R1'].free", ran("get_room", {"free": True}, room_id="R1", night="2026-05-01"))
        == "holds"
    )
    assert (
        decided("facts.get_room['R1'].free", ran("get_room", {"free": True}, room_id="R1", hotel_id="H1")) == "unknown"
    )


def test_a_name_can_lead_to_another_fact() -> None:
    known = facts(
        policy("more.member", let="facts.get_guest[booking.owner]"),
        CANCEL,
        LOOKED_UP,
        ran("get_guest", {"member": True}, id="u1"),
    )
    assert decide("more.member", view(known)).kind == "holds"


def test_times_without_a_zone_are_in_the_zone_of_the_policy() -> None:
    made = ran("get_booking", {"made": "2026-03-10 07:30:00"}, booking_id="B1")
    text = "now - time(booking.made) < duration('1h')"
    here = facts(policy(text).model_copy(update={"timezone": "America/New_York"}), CANCEL, made)
    assert decide(text, view(here)).kind == "holds"  # 07:30 in New York is 11:30 UTC, and it is noon
    assert decided(text, made) == "fails"
    assert decided(text, ran("get_booking", {"made": "2026-03-10T11:30:00Z"}, booking_id="B1")) == "holds"


def test_now_may_come_with_any_zone_or_none() -> None:
    text = "now == time('2026-03-10T12:00:00+00:00')"
    assert decided(text, now=NOW.astimezone(timezone(timedelta(hours=5)))) == "holds"
    assert decided(text, now=NOW.replace(tzinfo=None)) == "holds"


def test_numbers_that_no_decimal_can_tell_apart_stay_apart() -> None:
    big = 2**53
    assert decided("args.a == args.b", arguments={"a": big, "b": big + 1}) == "fails"
    assert decided("args.a + 1.0 == args.b + 1.0", arguments={"a": big * 2, "b": big * 2 + 1}) == "unknown"


def test_the_newest_words_count_even_before_they_are_in_the_record() -> None:
    known = facts(policy("user.mentions('insured')"), CANCEL, user("hello"))
    with_words = type(known)(**{name: getattr(known, name) for name in known.__slots__} | {"words": "I am INSURED"})
    assert decide("user.mentions('insured')", view(known)).kind == "fails"
    assert decide("user.mentions('insured')", view(with_words)).kind == "holds"


# --- verdicts -------------------------------------------------------------------------------------------------------


def test_a_failed_condition_denies_with_its_reason() -> None:
    verdict, findings = ruled(policy("booking.status == 'closed'", "booking.price < 5"), CANCEL, LOOKED_UP)
    assert verdict == Deny("Because 0. Because 1.")
    assert [finding.reason for finding in findings] == [ReasonCode.PRECONDITION_FAILED]


def test_a_missing_fact_is_held_and_the_model_is_told_what_to_look_up() -> None:
    verdict, findings = ruled(policy("booking.status == 'open'"), CANCEL)
    assert verdict == Deny('Look up get_booking(booking_id="B1") first.')
    assert [finding.reason for finding in findings] == [ReasonCode.FACT_NEEDED]


def test_a_fact_whose_key_is_not_known_yet_waits_for_the_one_that_gives_it() -> None:
    chained = policy("more.member", let="facts.get_guest[booking.owner]")
    assert ruled(chained, CANCEL)[0] == Deny('Look up get_booking(booking_id="B1") first.')
    assert ruled(chained, CANCEL, LOOKED_UP)[0] == Deny('Look up get_guest("u1") first.')


@pytest.mark.parametrize(
    ("parameters", "call"),
    [
        ({"booking_id": "string"}, 'get_booking(booking_id="B1")'),
        ({"reservation": "string"}, 'get_booking(reservation="B1")'),
        ({"ref_id": "string", "language": "string"}, 'get_booking(ref_id="B1")'),
        ({"hotel": "string", "number": "string"}, 'get_booking("B1")'),
        ({"booking_id": "string", "hotel_id": "string"}, 'get_booking(booking_id="B1")'),
    ],
)
def test_a_look_up_is_named_with_a_parameter_that_it_has(parameters: dict[str, str], call: str) -> None:
    verdict, _ = ruled(policy("booking.status == 'open'"), CANCEL, tools=[spec("get_booking", parameters)])
    assert verdict == Deny(f"Look up {call} first.")


def test_the_policys_own_word_for_the_key_of_a_look_up_comes_first() -> None:
    text = policy("booking.status == 'open'").model_copy(update={"facts": {"get_booking": FactSource(key="number")}})
    tool = spec("get_booking", {"hotel_id": "string", "number": "string"})
    assert ruled(text, CANCEL, tools=[tool])[0] == Deny('Look up get_booking(number="B1") first.')


def test_a_lookup_that_a_loop_misses_is_named() -> None:
    text = "booking.guests.all(g, facts.get_guest[g.name].member)"
    verdict, _ = ruled(policy(text), CANCEL, LOOKED_UP, ran("get_guest", {"member": True}, name="Ann"))
    assert verdict == Deny('Look up get_guest("Bo") first.')


def test_a_lookup_that_gave_nothing_is_not_asked_for_again() -> None:
    verdict, _ = ruled(
        policy("booking.status == 'open'"), CANCEL, ran("get_booking", "Error", ok=False, booking_id="B1")
    )
    assert isinstance(verdict, Deny)
    assert "gave nothing" in verdict.problem
    assert "Because 0." in verdict.problem
    assert "Look up" not in verdict.problem


def test_what_cannot_be_decided_asks_the_user_where_the_policy_says_so() -> None:
    verdict, findings = ruled(policy("booking.status == 'open'", unknown="ask"), CANCEL)
    assert verdict == Ask(invalid={"booking_id": "condition"})
    assert [finding.reason for finding in findings] == [ReasonCode.FACT_NEEDED]


def test_a_definite_no_is_said_before_what_is_not_known() -> None:
    verdict, findings = ruled(policy("args.booking_id == 'B2'", "booking.status == 'open'"), CANCEL)
    assert verdict == Deny("Because 0.")
    assert {finding.reason for finding in findings} == {ReasonCode.PRECONDITION_FAILED, ReasonCode.FACT_NEEDED}


@pytest.mark.parametrize(
    ("then", "mode", "expected"),
    [
        ("deny", "standard", Deny("Because 0.")),
        ("escalate", "standard", Escalate()),
        ("ask", "standard", Ask(invalid={"booking_id": "condition"})),
        ("four_eyes", "standard", Confirm(by="colleague")),
        ("confirm", "adaptive", Confirm()),
        ("confirm", "standard", Confirm()),
    ],
)
def test_when_a_condition_holds_its_consequence_follows(then: str, mode: str, expected: object) -> None:
    assert ruled(policy("booking.status == 'open'", then=then), CANCEL, LOOKED_UP, mode=mode)[0] == expected
    assert ruled(policy("booking.status == 'closed'", then=then), CANCEL, LOOKED_UP, mode=mode)[0] == Allow()


@pytest.mark.parametrize("mode", ["standard", "adaptive"])
def test_whether_a_confirmation_is_wanted_needs_its_facts_in_every_mode(mode: str) -> None:
    assert isinstance(ruled(policy("booking.status == 'open'", then="confirm"), CANCEL, mode=mode)[0], Deny)


def test_a_condition_that_is_no_condition_holds_the_call() -> None:
    broken = Policy(tools={"cancel_booking": ToolPolicy(deny_unless=(Precondition(condition="((", because="No."),))})
    assert ruled(broken, CANCEL)[0] == Deny("It cannot be decided whether this holds: No.")


def test_two_calls_in_one_session_are_examined_apart() -> None:
    text = "args.booking_id == 'B1'"
    first = facts(policy(text), CANCEL)
    second = type(first)(
        **{name: getattr(first, name) for name in first.__slots__}
        | {"call": ToolCall("cancel_booking", {"booking_id": "B9"})}
    )
    assert judge(first, PRECONDITION_RULES)[0] == Allow()
    assert judge(second, PRECONDITION_RULES)[0] == Deny("Because 0.")
    assert judge(first, PRECONDITION_RULES)[0] == Allow()


# --- requirements ---------------------------------------------------------------------------------------------------

REQUIRES = """
tools:
  cancel_booking:
    effect: write
    requires:
      - call: [find_guest_by_mail, find_guest_by_name]
      - call: get_booking
        same: booking_id
      - call: check_identity
        where: call.result.verified && call.args.id == latest.find_guest_by_mail
        because: Verify who is speaking.
"""


def test_what_is_required_must_have_succeeded_before() -> None:
    found = ran("find_guest_by_mail", "u1", email="a@b.example")
    verified = ran("check_identity", {"verified": True}, id="u1")
    verdict, findings = ruled(REQUIRES, CANCEL)
    assert verdict == Deny(
        'First call find_guest_by_mail or find_guest_by_name. First call get_booking(booking_id="B1"). '
        "Verify who is speaking."
    )
    assert [finding.reason for finding in findings] == [ReasonCode.REQUIREMENT_NOT_MET]
    assert ruled(REQUIRES, CANCEL, found, LOOKED_UP, verified)[0] == Allow()
    failed = ran("get_booking", "Error", ok=False, booking_id="B1")
    assert ruled(REQUIRES, CANCEL, found, failed, verified)[0] == Deny('First call get_booking(booking_id="B1").')
    other = ran("get_booking", BOOKING, booking_id="B2")
    assert ruled(REQUIRES, CANCEL, found, other, verified)[0] == Deny('First call get_booking(booking_id="B1").')
    someone_else = ran("check_identity", {"verified": True}, id="u2")
    assert ruled(REQUIRES, CANCEL, found, LOOKED_UP, someone_else)[0] == Deny("Verify who is speaking.")


# --- afterwards -----------------------------------------------------------------------------------------------------

VERIFY = """
tools:
  cancel_booking:
    effect: write
    verify:
      call: get_booking
      args: {booking_id: args.booking_id, fresh: "true"}
      expect: result.status == 'cancelled'
"""


def test_a_postcondition_says_what_to_look_up_and_whether_it_came_true() -> None:
    known = facts(VERIFY, CANCEL)
    assert check_call(known) == ToolCall("get_booking", {"booking_id": "B1", "fresh": True})
    assert came_true(known, '{"status": "cancelled"}').kind == "holds"
    assert came_true(known, {"status": "open"}).kind == "fails"
    assert came_true(known, "Error").kind == "unknown"
    assert check_call(facts(VERIFY, ToolCall("cancel_booking", {}))) is None
    assert check_call(facts("tools: {a: {effect: read}}", ToolCall("a"))) is None


# --- compiling ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("bookng.status == 'x'", "undeclared reference to 'bookng"),
        ("args.x ==", "Syntax error"),
        ("1 + 1", "a number, not true or false"),
        ("'yes'", "a text, not true or false"),
        ("args.amount - 100 > 0.5", "100.0"),
        ("args.amount * 2 > args.limit", "write 2.0"),
        ("args.amount % 2 == 0", "int(…)"),
        ("args.list.all(args, true)", "already has a meaning"),
        ("f(args.x)", "undeclared reference to 'f'"),
        ("(" * 200, ""),
    ],
)
def test_what_is_no_condition_is_refused_in_words(text: str, says: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        compile_condition(text, ConditionScope(let={"booking": "facts.get_booking[args.booking_id]"}))
    assert says in str(refused.value)


def test_names_must_be_places_and_not_go_round_in_circles() -> None:
    scope = ConditionScope(
        let={
            "a": "b.x",
            "b": "a.y",
            "sum_of": "args.x + 1.0",
            "any": "facts.t[args.x + '1']",
            "fine": "facts.t[args.id][0].x",
        }
    )
    assert str(resolve_place("fine", scope)) == "facts.t[args.id][0].x"
    for name, says in (("a", "circle"), ("sum_of", "must be a place"), ("any", "must be a place")):
        with pytest.raises(ExpressionError, match=says):
            resolve_place(name, scope)


def test_a_condition_knows_what_it_reads() -> None:
    scope = ConditionScope(let={"booking": "facts.get_booking[args.booking_id]"})
    read = {str(path) for path in compile_condition("booking.guests.all(g, g.age > 5) && args.n > 1", scope).places}
    assert {"facts.get_booking[args.booking_id].guests[*].age", "args.booking_id", "args.n"} <= read


# --- properties -----------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1000, 1000)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=12,
)
CONDITIONS = (
    "args.a == args.b",
    "args.a.b.c == 1",
    "args.a.exists(x, x.b == args.c)",
    "args.a.all(x, x.all(y, y.b > 1))",
    "args.a.map(x, x.b).exists(y, y == args.c)",
    "args.a.filter(x, x.b == 1).size() > 0",
    "args.a.filter(x, x.b == 1).exists(y, y.c == 1)",
    "args.a.filter(x, x.b == 1).map(y, y.c)[0] == 1",
    "'b' in args.a || size(args.b) == 2",
    "args.a[args.b].c == args.d",
    "args.a[args.b.c] == args.d",
    "args.a.exists(k, args.a[k].b == 1)",
    "args.a.exists(k, k in args.b && args.b[k].c == 2)",
    "args.a[0].b == args.a[1].b",
    "has(args.a.b) && !has(args.c.d)",
    "has(args.a.b.c) ? args.a.b.c == 1 : args.d",
    "zip(args.a, args.b).all(p, p[0] == p[1])",
    "sum(args.a.map(x, x.b)) > 1.0",
    "args.a.exists(x, args.b.exists(y, x.c == y.c && x == y))",
    "size(args.a) == 1 && args.a.b == args.c",
    "args.a + args.b > 2.0 || args.c",
    "args == {}",
    "args.a.exists_one(x, x.b == 1)",
    "[args.a, args.b].exists(x, x.c == 1)",
    "{'k': args.a}['k'].b == 1",
    "thing.b == 1 || thing.c in args.d",
    "args.a.exists(k, args.a[k].b == 1) && args.a.c.d == args.d",
    "args.a.exists(x, x.b == 1) || args.a[0].c == args.b",
)


@given(st.sampled_from(CONDITIONS), st.dictionaries(st.sampled_from("abcd"), JSON, max_size=4))
def test_reading_only_what_is_named_decides_as_reading_everything(text: str, arguments: dict[str, object]) -> None:
    known = facts(Policy(let={"thing": "args.a"}, tools={"t": ToolPolicy(effect="write")}), ToolCall("t", arguments))
    seen = view(known)
    compiled = compile_condition(text, seen.scope)
    everything = {"args": arguments, **({"thing": arguments["a"]} if "a" in arguments else {})}
    if compiled.arithmetic:
        everything = _decimal(everything)
    few, all_of_it = compiled.evaluate(seen.values(compiled)), compiled.evaluate(everything)
    assert (few if isinstance(few, bool) else None) == (all_of_it if isinstance(all_of_it, bool) else None)


def _decimal(value: object) -> object:
    match value:
        case dict():
            return {key: _decimal(item) for key, item in value.items()}
        case list():
            return [_decimal(item) for item in value]
        case int() if not isinstance(value, bool):
            return float(value)
    return value


TEXTS = st.sampled_from(CONDITIONS) | st.text(max_size=12)


@given(
    st.lists(TEXTS, max_size=3),
    TEXTS,
    st.sampled_from([None, "confirm", "ask", "four_eyes", "escalate", "deny"]),
    st.sampled_from(["deny", "ask"]),
    st.dictionaries(st.sampled_from("abcd"), JSON, max_size=4),
)
def test_one_more_condition_never_loosens_the_verdict_and_none_ever_raises(
    texts: list[str], more: str, then: str | None, unknown: str, arguments: dict[str, object]
) -> None:
    def with_conditions(*conditions: Precondition | Reaction) -> ToolPolicy:
        return ToolPolicy.model_construct(
            effect="write",
            unknown=unknown,
            deny_unless=tuple(one for one in conditions if isinstance(one, Precondition)),
            when=tuple(one for one in conditions if isinstance(one, Reaction)),
            requires=(),
            limits=(),
            let={},
        )

    before = [Precondition.model_construct(condition=text, because="No.") for text in texts]
    added = (
        Reaction.model_construct(condition=more, then=then, because="Why.")
        if then
        else Precondition.model_construct(condition=more, because="No.")
    )
    verdicts = []
    for conditions in (before, [*before, added]):
        known = facts(Policy(), ToolCall("t", arguments))
        ruled_on = type(known)(
            **{name: getattr(known, name) for name in known.__slots__}
            | {"policy": with_conditions(*conditions), "mode": "adaptive", "session": session()}
        )
        verdict, findings = judge(ruled_on, PRECONDITION_RULES)
        assert ReasonCode.RULE_FAILED not in [finding.reason for finding in findings]
        verdicts.append(SEVERITY[verdict.kind])
    assert verdicts[0] <= verdicts[1]


@given(JSON, JSON, st.datetimes(timezones=st.just(UTC), min_value=datetime(1980, 1, 1), max_value=datetime(2100, 1, 1)))
def test_whatever_a_tool_returned_nothing_raises(result: object, key: object, now: datetime) -> None:
    call = ToolCall("cancel_booking", {"booking_id": key})
    text = "now - time(booking.made) < duration('24h') || booking.guests.all(g, g.a in booking.extras)"
    verdict, findings = ruled(policy(text), call, ran("get_booking", result, booking_id=key), now=now)
    assert verdict.kind in SEVERITY
    assert ReasonCode.RULE_FAILED not in [finding.reason for finding in findings]


# --- the same condition again ---------------------------------------------------------------------------------------


def test_what_could_not_be_decided_is_decided_again_once_it_is_known() -> None:
    text = "booking.status == 'open'"
    assert decided(text) == "unknown"
    assert decided(text, LOOKED_UP) == "holds"
    assert decided(text, ran("get_booking", {**BOOKING, "status": "closed"}, booking_id="B1")) == "fails"
    assert decided(text) == "unknown"


FORGED = ran("get_booking", BOOKING, booking_id="B1", vouched=False)


@pytest.mark.parametrize(
    "condition",
    [
        "facts.get_booking[args.booking_id].status == 'open'",
        "latest.get_booking.status == 'open'",
        "results.get_booking.exists(one, one.status == 'open')",
    ],
)
def test_what_only_a_client_says_establishes_nothing(condition):
    assert decided(condition, LOOKED_UP) == "holds"
    assert decided(condition, FORGED) == "unknown"


def test_what_only_a_client_says_does_not_replace_what_we_looked_up():
    ours = ran("get_booking", {**BOOKING, "status": "closed"}, booking_id="B1")
    assert decided("facts.get_booking[args.booking_id].status == 'open'", ours, FORGED) == "fails"


def test_a_call_that_only_a_client_says_was_made_is_no_earlier_call():
    assert decided("calls.exists(one, one.tool == 'get_booking')", FORGED) == "fails"
    required = (
        "version: 1\ntools:\n  get_booking: {effect: read}\n  cancel_booking: {effect: write, requires: [get_booking]}"
    )
    assert isinstance(ruled(required, CANCEL, LOOKED_UP)[0], Allow)
    verdict, findings = ruled(required, CANCEL, FORGED)
    assert isinstance(verdict, Deny)
    assert [one.reason for one in findings] == [ReasonCode.REQUIREMENT_NOT_MET]


def test_the_model_is_told_to_look_up_what_so_far_only_a_client_says():
    verdict, _ = ruled(policy("booking.status == 'open'"), CANCEL, FORGED)
    assert isinstance(verdict, Deny)
    assert "Look up get_booking" in verdict.problem


# --- who speaks -------------------------------------------------------------------------------------------------------


def decided_for(condition: str, **who: object) -> str:
    return decide(condition, view(replace(facts(policy(condition), CANCEL, LOOKED_UP), **who))).kind


def test_own_things_can_be_told_from_others():
    own = "facts.get_booking[args.booking_id].owner == person.id"
    assert decided_for(own, person="u1") == "holds"
    assert decided_for(own, person="u2") == "fails"


def test_nobody_in_particular_is_no_person():
    assert decided_for("facts.get_booking[args.booking_id].owner == person.id") == "unknown"
    assert decided_for("has(person.id)") == "fails"


def test_what_no_token_says_is_not_known():
    assert decided_for("person.claims.level == 'gold'", person="u1", claims={"level": "gold"}) == "holds"
    assert decided_for("person.claims.level == 'gold'", person="u1", claims={"level": "silver"}) == "fails"
    assert decided_for("person.claims.level == 'gold'", person="u1") == "unknown"
    assert decided_for("'refunds' in person.claims.may", person="u1", claims={"may": ["refunds"]}) == "holds"
