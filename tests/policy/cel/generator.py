"""Expressions and values by chance: every operator, loop and function, mostly well typed and sometimes not."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

NAMES = ("a", "b", "c", "d", "e", "f")
TEXTS = ("", "a", "b", "abc", "A b", "héé", "1", " 12", "-3.5", "1e3", "true", "f", "x,y,,z", "ß😀", "%", "\n", "nan")
PATTERNS = (
    "a", "^a", "b$", "a|b", "[a-c]+", "[^a]", "(a|b)*c", r"\\d+", r"\\bx", r"\\w+", r"\\s", "a?b", ".", "^$", "(?i)A",
    "a{1,2}", "[[:alpha:]]", r"[\\s\\S]", r"\\W", "x,y", "é", "(?s).", r"[\\d,-]",
)  # fmt: skip
FORMATS = ("%s", "%d", "%f", "%.2f", "%e", "%x", "%X", "%o", "%b", "%s %s", "%%", "%", "%q", "a%sb", "%.3e", "%.0f")
MOMENTS = (
    "2026-01-01T00:00:00Z", "2024-02-29T23:59:59.5+02:00", "1969-12-31T23:59:59.999999999Z", "2026-06-30T23:59:60Z",
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-01-01", "x", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z",
    "2026-01-01t10:11:12.123456z",
)  # fmt: skip
DURATIONS = ("1h", "-90m", "1.5s", "24h", "0", "1h30m", "100ms", "3us", "7ns", "1d", "", "2562047h", "+1s")
ZONES = ("UTC", "Asia/Tokyo", "America/New_York", "+02:00", "-05:30", "Nowhere", "05:00")
KINDS = ("bool", "int", "double", "string", "list", "map", "timestamp", "duration", "dyn", "null")
INTS = ("0", "1", "2", "3", "-1", "-7", "10", "9223372036854775807", "-9223372036854775808", "0x10")
DOUBLES = ("0.0", "1.0", "0.5", "-2.5", "1e10", "1.5", "123456.789", "1e308", "-0.0", "2.0", "1e-7", ".5")


class Generator:
    """`wrong` is how often something of another type is put where one is wanted."""

    def __init__(self, chance: random.Random, wrong: float = 0.04) -> None:
        self.chance = chance
        self.wrong = wrong
        self.variables: list[str] = []

    def pick(self, options: Any) -> Any:
        return self.chance.choice(options)

    def quote(self, text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"

    # --- values

    def value(self, depth: int = 3) -> Any:
        kinds = ["text", "int", "double", "bool", "null", "text", "int"] + (["list", "map"] * 3 if depth else [])
        match self.pick(kinds):
            case "text":
                return self.pick(TEXTS)
            case "int":
                return self.pick((0, 1, 2, 3, -1, 10, 100, 2**53 + 1, 2**63 - 1, -(2**63)))
            case "double":
                return self.pick((0.0, 1.0, 0.5, -2.5, 1e10, 3.0, 1e300, 2.0**53, 2.0**63, float("inf")))
            case "bool":
                return self.pick((True, False))
            case "list":
                return [self.value(depth - 1) for _ in range(self.pick((0, 1, 2, 3)))]
            case "map":
                return {name: self.value(depth - 1) for name in self.chance.sample(NAMES, self.pick((0, 1)))}
        return None

    def values(self) -> dict[str, Any]:
        return {
            "args": {name: self.value() for name in self.chance.sample(NAMES, self.pick((2, 4, 6)))},
            "facts": {"t": {self.pick(("k", "abc", 1, 2)): self.value()}},
            "results": {"t": [self.value() for _ in range(2)]},
            "user": [self.pick(TEXTS) for _ in range(2)],
            "calls": [{"tool": "t", "ok": True}],
            "now": datetime(2026, self.pick((1, 7, 12)), 17, 13, 14, 15, 123456, tzinfo=UTC),
            "tenant": self.pick(TEXTS),
        }

    # --- expressions

    def make(self, kind: str, depth: int) -> str:
        if self.chance.random() < self.wrong:
            kind = self.pick(KINDS)
        if depth > 0 and self.chance.random() < 0.08:
            return f"({self.make('bool', depth - 1)} ? {self.make(kind, depth - 1)} : {self.make(kind, depth - 1)})"
        if kind != "dyn" and self.chance.random() < 0.25:
            kind = "dyn"
        return getattr(self, f"_{kind}")(depth)

    def _leaf(self, options: Any) -> str:
        return str(self.pick(options))

    def _body(self, kind: str, depth: int) -> tuple[str, str]:
        name = self.pick(("x", "y", "z"))
        self.variables.append(name)
        body = self.make(kind, depth - 1)
        self.variables.pop()
        return name, body

    def _dyn(self, depth: int) -> str:
        if self.variables and self.chance.random() < 0.6:
            found = self.pick(self.variables)
        else:
            found = self.pick((f"args.{self.pick(NAMES)}", f"args.{self.pick(NAMES)}", "results.t", "facts.t"))
        for _ in range(self.pick((0, 0, 0, 1, 2))):
            found += self.pick((f".{self.pick(NAMES)}", f"[{self.pick(INTS)}]", "[0]"))
            if self.chance.random() < 0.3:
                found = f"dyn({found}[{self.quote(self.pick((*TEXTS, *NAMES)))}])"
        return f"dyn({found})" if self.chance.random() < 0.05 else found

    def _null(self, depth: int) -> str:
        return "null"

    def _bool(self, depth: int) -> str:
        if depth <= 0:
            return self._leaf(("true", "false", "args.a", "has(args.b)"))
        deeper, other = depth - 1, self.pick(KINDS)
        one = lambda kind: self.make(kind, deeper)  # noqa: E731
        match self.pick(range(24)):
            case 0 | 1 | 2:
                return f"({one('bool')} || {one('bool')})"
            case 3 | 4 | 5:
                return f"({one('bool')} && {one('bool')})"
            case 6:
                return f"!{one('bool')}"
            case 7 | 8:
                right = self.pick((one(other), one(other), one(other), "[]", "{}", "args"))
                return f"({one(other)} {self.pick(('==', '!='))} {right})"
            case 9 | 10:
                ordered = self.pick(("int", "double", "string", "timestamp", "duration", "bool", "dyn"))
                return f"({one(ordered)} {self.pick(('<', '<=', '>', '>='))} {one(ordered)})"
            case 11 | 12:
                return f"({one(self.pick(('string', 'int', 'dyn')))} in {self.pick((one('list'), one('map'), one('dyn'), 'args', '[]'))})"
            case 13 | 14:
                name, body = self._body("bool", depth)
                return f"{one(self.pick(('list', 'dyn', 'dyn')))}.{self.pick(('all', 'exists', 'exists_one'))}({name}, {body})"
            case 15:
                return f"has({self.pick(('args', 'results', 'args.a', 'facts.t', one('map')))}.{self.pick(NAMES)})"
            case 16:
                return f"{one('string')}.{self.pick(('startsWith', 'endsWith', 'contains'))}({one('string')})"
            case 17:
                return f"{one('string')}.matches('{self.pick(PATTERNS)}')"
            case 18:
                return f"bool({one(self.pick(('string', 'bool')))})"
            case 19:
                return f"math.{self.pick(('isNaN', 'isInf', 'isFinite'))}({one('double')})"
            case 20:
                names = ("int", "double", "string", "bool", "list", "map", "null_type", "type")
                return f"(type({one(other)}) == {self.pick(names)})"
            case 21:
                return f"(type({one(other)}) == type({one(self.pick(KINDS))}))"
        return one("dyn")

    def _int(self, depth: int) -> str:
        if depth <= 0:
            return self._leaf(INTS)
        one = lambda kind: self.make(kind, depth - 1)  # noqa: E731
        match self.pick(range(10)):
            case 0 | 1 | 2:
                return f"({one('int')} {self.pick(('+', '-', '*', '/', '%'))} {one('int')})"
            case 3:
                return f"-{one('int')}"
            case 4:
                sized = one(self.pick(("string", "list", "map", "dyn")))
                return self.pick((f"size({sized})", f"{sized}.size()"))
            case 5:
                return f"int({one(self.pick(('int', 'double', 'string', 'timestamp')))})"
            case 6:
                more = self.pick(("", f", {one('int')}"))
                return f"{one('string')}.{self.pick(('indexOf', 'lastIndexOf'))}({one('string')}{more})"
            case 7:
                return self._number("int", depth)
            case 8:
                parts = (
                    "FullYear",
                    "Month",
                    "Date",
                    "DayOfMonth",
                    "DayOfWeek",
                    "DayOfYear",
                    "Hours",
                    "Minutes",
                    "Seconds",
                )
                zone = self.pick(("", self.quote(self.pick(ZONES))))
                return f"{one('timestamp')}.get{self.pick((*parts, 'Milliseconds'))}({zone})"
        return f"{one('duration')}.get{self.pick(('Hours', 'Minutes', 'Seconds', 'Milliseconds'))}()"

    def _number(self, kind: str, depth: int) -> str:
        one = lambda kind: self.make(kind, depth - 1)  # noqa: E731
        match self.pick(range(4)):
            case 0:
                others = [one(self.pick((kind, kind, "double"))) for _ in range(self.pick((1, 2, 3)))]
                return f"math.{self.pick(('greatest', 'least'))}({', '.join(others)})"
            case 1:
                return f"math.{self.pick(('greatest', 'least'))}([{one(kind)}, {one(kind)}])"
            case 2:
                return f"math.{self.pick(('abs', 'sign'))}({one(kind)})"
        return f"math.{self.pick(('greatest', 'least'))}({one('dyn')})"

    def _double(self, depth: int) -> str:
        if depth <= 0:
            return self._leaf(DOUBLES)
        one = lambda kind: self.make(kind, depth - 1)  # noqa: E731
        match self.pick(range(7)):
            case 0 | 1 | 2:
                return f"({one('double')} {self.pick(('+', '-', '*', '/'))} {one('double')})"
            case 3:
                return f"-{one('double')}"
            case 4:
                return f"double({one(self.pick(('int', 'double', 'string')))})"
            case 5:
                return f"math.{self.pick(('round', 'ceil', 'floor', 'trunc', 'sqrt'))}({one('double')})"
        return self._number("double", depth)

    def _string(self, depth: int) -> str:
        if depth <= 0:
            return self.quote(self.pick(TEXTS))
        one = lambda kind: self.make(kind, depth - 1)  # noqa: E731
        match self.pick(range(11)):
            case 0 | 1:
                return f"({one('string')} + {one('string')})"
            case 2:
                return f"string({one(self.pick(('int', 'double', 'string', 'bool', 'timestamp', 'duration')))})"
            case 3:
                return f"{one('string')}.{self.pick(('lowerAscii', 'upperAscii', 'trim', 'reverse'))}()"
            case 4:
                return f"{one('string')}.charAt({one('int')})"
            case 5:
                more = self.pick(("", f", {one('int')}"))
                return f"{one('string')}.substring({one('int')}{more})"
            case 6:
                more = self.pick(("", f", {one('int')}"))
                return f"{one('string')}.replace({one('string')}, {one('string')}{more})"
            case 7:
                return f"{one('list')}.join({self.pick(('', one('string')))})"
            case 8:
                return f"{self.quote(self.pick(FORMATS))}.format([{one(self.pick(KINDS))}, {one(self.pick(KINDS))}])"
            case 9:
                return f"{self.quote(self.pick(FORMATS))}.format({one('list')})"
        return self.quote(self.pick(TEXTS))

    def _list(self, depth: int) -> str:
        if depth <= 0:
            return self._leaf(("[1, 2, 3]", "['a', 'b']", "[1.5]", "user", "[1, 'a', null]", "results.t"))
        one = lambda kind: self.make(kind, depth - 1)  # noqa: E731
        match self.pick(range(7)):
            case 0 | 1:
                kind = self.pick(KINDS)
                return f"[{', '.join(one(kind) for _ in range(self.pick((1, 2, 3))))}]"
            case 2:
                return f"({one('list')} + {one('list')})"
            case 3:
                more = self.pick(("", f", {one('int')}"))
                return f"{one('string')}.split({one('string')}{more})"
            case 4:
                name, body = self._body("bool", depth)
                return f"{one(self.pick(('list', 'dyn')))}.filter({name}, {body})"
            case 5:
                name, body = self._body(self.pick(KINDS), depth)
                return f"{one(self.pick(('list', 'dyn', 'map')))}.map({name}, {body})"
        name, condition = self._body("bool", depth)
        return f"{one('list')}.map({name}, {condition}, {name})"

    def _map(self, depth: int) -> str:
        if depth <= 0:
            return self._leaf(("{'a': 1}", "{1: 'x'}", "facts.t"))
        keys = self.chance.sample(("'a'", "'b'", "1", "'abc'", "tenant", "size(user)"), 1)
        make = self.pick((self._dyn, self._string, self._list, self._map, self._duration, lambda _: self.pick(INTS)))
        return "{" + ", ".join(f"{key}: {make(depth - 1)}" for key in keys) + "}"

    def _timestamp(self, depth: int) -> str:
        one = lambda kind: self.make(kind, depth - 1)  # noqa: E731
        if depth <= 0:
            return self.pick(("now", f"timestamp('{self.pick(MOMENTS)}')"))
        match self.pick(range(4)):
            case 0:
                return f"({one('timestamp')} {self.pick('+-')} {one('duration')})"
            case 1:
                return f"({one('duration')} + {one('timestamp')})"
            case 2:
                return f"timestamp({one(self.pick(('int', 'string', 'timestamp')))})"
        return f"timestamp('{self.pick(MOMENTS)}')"

    def _duration(self, depth: int) -> str:
        if depth <= 0:
            return f"duration('{self.pick(DURATIONS)}')"
        one = lambda kind: self.make(kind, depth - 1)  # noqa: E731
        match self.pick(range(4)):
            case 0:
                return f"({one('timestamp')} - {one('timestamp')})"
            case 1:
                return f"({one('duration')} {self.pick('+-')} {one('duration')})"
            case 2:
                return f"duration({one(self.pick(('string', 'duration')))})"
        return f"duration('{self.pick(DURATIONS)}')"
