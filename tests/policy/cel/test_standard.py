"""CEL's rules, one by one, after the language definition and its conformance tests; and what we leave out of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from circumspect.policy.cel.check import check
from circumspect.policy.cel.compile import compile_tree
from circumspect.policy.cel.parse import parse
from circumspect.policy.cel.syntax import ExpressionError
from circumspect.policy.cel.values import BudgetSpentError, CelError, make_plain, read_datetime
from circumspect.policy.expressions import DECLARED

VALUES: dict[str, Any] = {
    "args": {"n": 1, "d": 2.5, "s": "héllo", "l": [1, 2, 3], "m": {"x": 1}, "t": True, "z": None, "big": 2**63},
    "user": ["a", "b"],
    "now": read_datetime(datetime(2026, 5, 17, 13, 14, 15, 123456, tzinfo=UTC)),
}


def evaluate(source: str, values: dict[str, Any] = VALUES) -> Any:
    node = parse(source)
    check(source, node, DECLARED)
    return make_plain(compile_tree(node, UTC)(values))


TRUE = r"""
1 + 2 * 3 == 7
(1 + 2) * 3 == 9
10 - 2 - 3 == 5
5 / -2 == -2
-5 % 3 == -2
5 % -3 == 2
1.0 / 0.0 > 1e308
math.isNaN(0.0 / 0.0)
0.0 / 0.0 != 0.0 / 0.0
!(0.0 / 0.0 in [0.0 / 0.0])
-0.0 == 0.0
9223372036854775806 + 1 == 9223372036854775807
-9223372036854775808 < 0
0x1F == 31
1e3 == 1000.0
.5 == 0.5
args.n == 1.0
args.n < args.d
args.big > 9223372036854775807
args.big == 9223372036854775808.0
!(dyn(9223372036854775807) < 9223372036854775808.0)
!(args.t == 1)
args.z == null
!(args.s == 1)
[args.n, 2] == [1.0, 2.0]
{'a': args.n} == {'a': 1.0}
{'a': 1, 'b': 2} == {'b': 2, 'a': 1}
1.0 in [args.n]
2 in args.l
'x' in args.m
!('y' in args.m)
args.l[0] == 1
args.l[1.0] == 2
{1: 'a'}[1] == 'a'
has(args.m.x)
!has(args.m.y)
size('h\u00e9llo') == 5
size('\U0001f600') == 1
'\x41\101\n' == 'AA\n'
r'\d' == '\\d'
'a' + 'b' == "ab"
'b' > 'a' && 'a' < 'aa'
true > false
[1] + [2] == [1, 2]
size([]) == 0 && size({}) == 0
true || args.nothing
args.nothing || true
!(false && args.nothing)
!(args.nothing && false)
args.n || true
(args.n > 0 ? 'yes' : 'no') == 'yes'
false ? args.nothing : true
[].all(x, false)
![].exists(x, true)
args.l.all(x, x > 0)
args.l.exists(x, 1 / (x - 2) == 1)
!args.l.all(x, x / (x - 2) > 0)
args.l.exists_one(x, x == 2)
!args.l.exists_one(x, x > 1)
args.l.filter(x, x > 1) == [2, 3]
args.l.map(x, x * 2) == [2, 4, 6]
args.l.map(x, x > 1, x * 2) == [4, 6]
args.m.exists(key, key == 'x')
args.l.exists(x, args.l.exists(y, x + y == 6))
args.l.all(x, args.l.exists(x, x == 3))
int('-7') == -7
int(2.9) == 2 && int(-2.9) == -2
int(timestamp('1970-01-01T00:01:00Z')) == 60
double('1e3') == 1000.0
string(1.0) == '1' && string(0.1 + 0.2) == '0.30000000000000004'
string(1234567.0) == '1.234567e+06' && string(1e-7) == '1e-07'
string(-7) == '-7' && string(true) == 'true'
bool('true') && !bool('False')
type(args.n) == int && type(args.d) == double && type([]) == list && type(null) == null_type
type(type(1)) == type
'abc'.matches('b') && matches('abc', '^a.c$') && !'abc'.matches('^b')
'A1 b'.matches(r'\w\d\s\w') && !'\u0663'.matches(r'\d')
'x\ny'.matches('(?m)^y$') && !'x\ny'.matches('^y$')
'abc'.startsWith('a') && 'abc'.endsWith('c') && 'abc'.contains('b')
'h\u00e9'.charAt(1) == '\u00e9' && 'abc'.charAt(3) == ''
'abc'.substring(1) == 'bc' && 'abc'.substring(1, 2) == 'b' && 'abc'.substring(1, 3) == 'bc'
'abcabc'.indexOf('c', 3) == 5 && 'abcabc'.lastIndexOf('c', 4) == 2
'a,b'.split(',') == ['a', 'b'] && 'abc'.split('', 2) == ['a', 'bc'] && 'a'.split(',', 0) == []
'aaa'.replace('a', 'b', 2) == 'bba'
['a', 'b'].join('-') == 'a-b'
'\u00a0 a '.trim() == 'a' && 'A\u00c9'.lowerAscii() == 'a\u00c9' && 'abc'.reverse() == 'cba'
'%s|%d|%.2f|%x|%b|%%'.format(['a', 1, 785, 255, 5]) == 'a|1|785.00|ff|101|%'
'%s'.format([{'b': [1, null], 'a': true}]) == '{a: true, b: [1, null]}'
math.greatest(1, 2.5) == 2.5 && math.least([3, 1, 2]) == 1 && math.greatest(1, 2, 3) == 3
math.round(2.5) == 3.0 && math.round(-2.5) == -3.0 && math.round(0.49999999999999994) == 0.0
math.abs(-3) == 3 && math.ceil(1.2) == 2.0 && math.floor(-1.2) == -2.0 && math.trunc(-1.9) == -1.0
duration('1h30m') == duration('90m') && duration('-1.5s') < duration('0')
string(duration('90m')) == '5400s' && string(duration('1.5s')) == '1.500s'
timestamp('2026-05-17T15:14:15.123456+02:00') == now
now - timestamp('2026-05-17T13:14:14.123456Z') == duration('1s')
now + duration('24h') > now && now - duration('1ns') < now
string(timestamp('2026-01-01T00:00:00.000000001Z')) == '2026-01-01T00:00:00.000000001Z'
timestamp('2026-06-30T23:59:60Z') == timestamp('2026-07-01T00:00:00Z')
now.getFullYear() == 2026 && now.getMonth() == 4 && now.getDate() == 17 && now.getDayOfMonth() == 16
now.getDayOfWeek() == 0 && now.getDayOfYear() == 136 && now.getHours('Asia/Tokyo') == 22
now.getHours('-02:30') == 10 && now.getMinutes('-02:30') == 44 && now.getMilliseconds() == 123
duration('3661.5s').getHours() == 1 && duration('3661.5s').getMilliseconds() == 500
""".strip().splitlines()


@pytest.mark.parametrize("source", TRUE)
def test_what_the_standard_says_is_true(source: str) -> None:
    assert evaluate(source) is True


ERRORS = r"""
args.nothing
args.n.x
args.l[3]
args.l[-1]
args.l[0.5]
args.l['0']
args.m['y']
args.m[true]
args.s[0]
has(args.n.x)
1 / 0
1 % 0
9223372036854775807 + 1
-9223372036854775808 - 1
9223372036854775807 * 2
-9223372036854775808 / -1
-args.s
args.n + args.d
args.n + 1.0
args.s + 1
args.s < 1
args.l < args.l
!args.n
args.n && true
false || args.nothing
true && args.nothing
args.n ? 1 : 2
args.n in args.s
args.l in args.m
args.s.exists(x, true)
args.l.all(x, x)
args.l.exists(x, args.m[x] == 1)
args.l.filter(x, x)
args.l.filter(x, 1 / (x - 2) == 1)
args.l.exists_one(x, 1 / (x - 2) == 1)
{args.s: 1, 'héllo': 2}
{args.t: 1}
int('1.5')
int('0x10')
int(1e30)
int(0.0 / 0.0)
double('1_0')
double('\u0663')
bool('yes')
timestamp('2026-01-01')
timestamp('2026-02-30T00:00:00Z')
timestamp('9999-12-31T23:59:59Z') + duration('1s')
timestamp('9999-12-31T23:59:59Z') - timestamp('0001-01-01T00:00:00Z')
duration('1d')
duration('1h-1m')
now.getHours('Nowhere')
now.getHours('../../etc/passwd')
'abc'.charAt(4)
'abc'.substring(2, 1)
'abc'.indexOf('c', -1)
args.l.join()
'%d'.format(['a'])
'%s %s'.format([1])
'%q'.format([1])
'%.1001f'.format([1.0])
math.greatest(args.l.filter(x, false))
math.abs(-9223372036854775808)
sum(args.l.map(x, args.s))
zip(args.l, user)
time('tomorrow')
args.l.mentions('a')
""".strip().splitlines()


@pytest.mark.parametrize("source", ERRORS)
def test_what_the_standard_calls_an_error_is_not_decided(source: str) -> None:
    with pytest.raises(CelError):
        evaluate(source)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("argz.x == 1", "undeclared reference to 'argz.x' (at character 5)"),
        ("args.x == 1 ||\n argz", "undeclared reference to 'argz' (line 2, character 2)"),
        ("args.foo()", "undeclared reference to 'foo'"),
        ("1 + 'a'", "+ cannot take (int, string) (at character 3)"),
        ("1 + 1.0", "write it with a point, 100.0 (at character 3)"),
        ("1 == 'a'", "== cannot take (int, string)"),
        ("[1] == ['a']", "(list(int), list(string))"),
        ("true ? 1 : 'a'", "cannot take (bool, int, string)"),
        ("'abc'.foo", "no fields, so no 'foo'"),
        ("'abc'.all(x, true)", "cannot be gone through"),
        ("[1].all(x, 1)", "all() asks for true or false, and this is int"),
        ("[1].mentions('a')", "mentions cannot take (list(int), string)"),
        ("size(1)", "size cannot take (int)"),
        ("size('a', 'b')", "another number of arguments"),
        ("contains('a', 'b')", "it is written x.contains()"),
        ("args.x.time()", "it is written time(x)"),
        ("[1].exists(1, true)", "plain name"),
        ("[1].exists(x)", "takes a name"),
        ("has(args)", "has() takes a field"),
        ("math.greatest('a')", "takes numbers"),
        ("math.greatest([])", "takes numbers"),
        ("{'a': 1, 'a': 2}", "there twice"),
        ("{1.5: 1}", "not double"),
        ("{true: 1}", "not bool"),
        ("1u", "without a sign"),
        ("b'a'", "bytes"),
        ("bytes('a')", "is CEL, but not used here"),
        ("math.bitAnd(1, 2)", "is CEL, but not used here"),
        ("google.protobuf.Timestamp{seconds: 1}", "messages"),
        ("args.?a", "not expected"),
        (".args", "begin with a point"),
        ("args.`a`", "has no meaning here"),
        ("duration(1)", "duration cannot take (int)"),
        ("9223372036854775808", "too large"),
        ("--9223372036854775808", "too large"),
        ("args.a = 1", "write =="),
        ("'a", "does not end"),
        ("'a\nb'", "does not end"),
        (r"'\q'", "a backslash itself is written twice"),
        (r"'\ud800'", "stands for no character"),
        ("for", "reserved"),
        ("args.in", "not expected"),
        ("f(1,)", "not expected"),
        ("", "ends too early"),
        ("(" * 500, "nested too deeply"),
        ("1" + "+1" * 500, "nested too deeply"),
        ("!" * 3000 + "(" * 70, "nested too deeply"),
        ("args" + ".a" * 500, "nested too deeply"),
        ("[" * 500, "nested too deeply"),
        ("true ? 1 : " * 500, "nested too deeply"),
        ("'a'.matches(args.s)", "must be written out"),
        ("'a'.matches('(')", "no pattern"),
        ("'a'.matches('a**')", "repeats nothing"),
        ("'a'.matches('*')", "repeats nothing"),
        ("'a'.matches('(?=a)')", "repeats nothing"),
        (r"'a'.matches(r'(a)\1')", "cannot be used"),
        ("'a'.matches('[b-a]')", "no range"),
        ("'a'.matches('((a{1000}){1000}){1000}')", "no pattern"),
        ("'a'.matches('a{')", "cannot be used"),
    ],
)
def test_what_cannot_run_is_refused_before_it_runs(source: str, says: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        evaluate(source)
    assert says in str(refused.value)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(ExpressionError) as refused:
        evaluate("argz == 1 || foo(2) || 1 + 'a' == 2")
    assert [word in str(refused.value) for word in ("argz", "foo", "+ cannot take")] == [True] * 3


def test_a_long_list_of_alternatives_is_no_deep_one() -> None:
    assert evaluate(" || ".join(["args.nothing == 1"] * 200 + ["true"])) is True


# --- strangers write the values -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ("args.l.all(x, true)", {"l": [1] * 10_000}),
        ("args.l.all(a, args.l.all(b, args.l.all(c, a + b + c > -1)))", {"l": [1] * 200}),
        ("args.l.all(x, !(x in args.k))", {"l": list(range(9_000)), "k": [-1.5] * 10_000}),
        ("args.l.all(x, args.k != args.j)", {"l": [1] * 9_000, "k": [1] * 9_999, "j": [1.0] * 9_998 + [2.0]}),
        ("args.l.exists(x, args.s.lowerAscii() == 'b')", {"l": [1] * 9_000, "s": "A" * 1_000_000}),
        ("size(args.l.map(x, args.s + 'b')) > 0", {"l": [1] * 9_000, "s": "A" * 1_000_000}),
        ("args.l.map(x, args.k) == args.l.map(x, args.k)", {"l": [1] * 9_000, "k": [1] * 9_999}),
        ("args.nothing || args.l.all(x, true)", {"l": [1] * 10_000}),
        ("args.l.all(x, true) || true", {"l": [1] * 10_000}),
    ],
)
def test_a_loop_that_costs_too_much_is_stopped_and_nothing_hides_it(source: str, values: dict[str, Any]) -> None:
    with pytest.raises(BudgetSpentError):
        evaluate(source, {"args": values})


def test_a_loop_may_go_round_as_often_as_the_library_let_it() -> None:
    assert evaluate("args.l.all(x, true)", {"args": {"l": [1] * 9_999}}) is True
    assert evaluate("args.l.exists(x, x == 1)", {"args": {"l": [1] * 20_000}}) is True


@pytest.mark.parametrize("source", ["args.l.join(args.s) == ''", "args.s.replace('a', args.s) == ''"])
def test_a_text_does_not_grow_without_bounds(source: str) -> None:
    with pytest.raises(CelError, match="too long"):
        evaluate(source, {"args": {"l": ["a"] * 9_999, "s": "a" * 100_000}})


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(a|a?)+b", r"a\\w+ b", "(.*a){12}b", "(?i)(a*)*c"])
def test_no_text_makes_a_pattern_slow(pattern: str) -> None:
    """Each of these takes Python's own `re` longer than anybody waits."""
    assert evaluate(f"args.s.matches('{pattern}')", {"args": {"s": "a" * 50_000 + "!"}}) is False


def test_half_a_character_is_not_matched() -> None:
    with pytest.raises(CelError):
        evaluate("args.s.matches('a')", {"args": {"s": "\ud800"}})


def test_values_leave_as_plain_python() -> None:
    assert evaluate("[now - duration('1h')]") == [datetime(2026, 5, 17, 12, 14, 15, 123456, tzinfo=UTC)]
    assert evaluate("{'a': duration('-1.5s')}") == {"a": timedelta(seconds=-1.5)}


def test_what_is_missing_is_named() -> None:
    with pytest.raises(CelError) as found:
        evaluate("args.l.all(x, args.m[args.s] == x)")
    assert found.value.absent == "héllo"
