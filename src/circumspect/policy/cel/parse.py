"""Text -> syntax tree, by CEL's grammar. A Pratt parser: operators by how tightly they bind, the rest by what they
begin with.

What may surprise: chains of `&&` and `||` become balanced trees, so that a long list of alternatives is not a deep one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from circumspect.policy.cel.syntax import ExpressionError, SyntaxNode, locate
from circumspect.policy.cel.tokens import LONGEST_INT, SourceToken, split_tokens

_DEEPEST = 64
"""Levels of nesting; beyond them a condition cannot be read by people either."""
_BINDING = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 3),
    **dict.fromkeys("+-", 4),
    **dict.fromkeys("*/%", 5),
}
_RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_LOOPS = {"all": (2,), "exists": (2,), "exists_one": (2,), "filter": (2,), "map": (2, 3)}
_NAMESPACES = ("math", "strings")
"""Words before the point in the names of some functions: `math.abs`."""


def parse(source: str) -> SyntaxNode:
    """The tree of an expression. Raises `ExpressionError`."""
    return _Parser(source).parse_all()


class _Parser:
    def __init__(self, source: str) -> None:
        self._source = source
        self._tokens = list(split_tokens(source))
        self._at = 0
        self._nesting = 0
        self._depths: list[int] = []

    def parse_all(self) -> SyntaxNode:
        node = self._expression()
        if self._token.kind != "end":
            raise self._unexpected()
        return node

    # --- tokens

    @property
    def _token(self) -> SourceToken:
        return self._tokens[self._at]

    def _take(self, sign: str) -> SourceToken | None:
        token = self._token
        if token.kind != "sign" or token.text != sign:
            return None
        self._at += 1
        return token

    def _expect(self, sign: str) -> SourceToken:
        token = self._take(sign)
        if token is None:
            raise self._unexpected(f", '{sign}' is")
        return token

    def _unexpected(self, rather: str = "") -> ExpressionError:
        token = self._token
        what = "it ends too early" if token.kind == "end" else f"'{token.text}' is not expected here{rather}"
        return self._error(token.position, f"Syntax error: {what}")

    def _error(self, position: int, problem: str) -> ExpressionError:
        return ExpressionError(f"{problem} {locate(self._source, position)}")

    def _make(
        self, kind: Any, position: int, name: str = "", parts: Sequence[SyntaxNode] = (), **more: Any
    ) -> SyntaxNode:
        depth = 1 + max((self._depths[part.id] for part in parts), default=0)
        if depth > _DEEPEST:
            raise self._too_deep(position)
        self._depths.append(depth)
        return SyntaxNode(kind, len(self._depths) - 1, position, name, parts=tuple(parts), **more)

    def _too_deep(self, position: int) -> ExpressionError:
        return self._error(position, f"it is nested too deeply: more than {_DEEPEST} levels")

    # --- operators

    def _expression(self) -> SyntaxNode:
        self._nesting += 1
        if self._nesting > _DEEPEST:
            raise self._too_deep(self._token.position)
        node = self._binary(1)
        if sign := self._take("?"):
            then = self._binary(1)
            self._expect(":")
            node = self._make("call", sign.position, "_?_:_", (node, then, self._expression()))
        self._nesting -= 1
        return node

    def _binary(self, weakest: int) -> SyntaxNode:
        left = self._unary()
        while self._token.kind == "sign" and (binding := _BINDING.get(self._token.text, 0)) >= weakest:
            sign = self._token
            if binding <= 2:
                left = self._chain(left, sign.text, binding)
                continue
            self._at += 1
            name = "@in" if sign.text == "in" else f"_{sign.text}_"
            left = self._make("call", sign.position, name, (left, self._binary(binding + 1)))
        return left

    def _chain(self, first: SyntaxNode, sign: str, binding: int) -> SyntaxNode:
        parts, positions = [first], []
        while token := self._take(sign):
            positions.append(token.position)
            parts.append(self._binary(binding + 1))

        def balance(low: int, high: int) -> SyntaxNode:
            if low == high:
                return parts[low]
            middle = (low + high) // 2
            return self._make("call", positions[middle], f"_{sign}_", (balance(low, middle), balance(middle + 1, high)))

        return balance(0, len(parts) - 1)

    def _unary(self) -> SyntaxNode:
        for sign, name in (("!", "!_"), ("-", "-_")):
            if first := self._take(sign):
                count = 1
                while self._take(sign):
                    count += 1
                if sign == "-" and count == 1 and type(self._token.value) in (int, float):
                    return self._member(self._literal(first.position, negative=True))
                node = self._member(self._primary())
                return self._make("call", first.position, name, (node,)) if count % 2 else node
        return self._member(self._primary())

    # --- what operators stand between

    def _literal(self, position: int, negative: bool = False) -> SyntaxNode:
        token = self._token
        self._at += 1
        value = -token.value if negative else token.value
        if type(value) is int and not -LONGEST_INT <= value < LONGEST_INT:
            raise self._error(position, f"the number {token.text} is too large")
        return self._make("const", position, constant=value)

    def _primary(self) -> SyntaxNode:
        token = self._token
        if token.kind == "literal":
            return self._literal(token.position)
        if token.kind == "name":
            self._at += 1
            if bracket := self._take("("):
                return self._call(token, bracket, None)
            if token.text in _RESERVED:
                raise self._error(token.position, f"'{token.text}' is a reserved word")
            return self._make("ident", token.position, token.text)
        if self._take("("):
            node = self._expression()
            self._expect(")")
            return node
        if self._take("["):
            return self._make("list", token.position, parts=self._list_until("]"))
        if self._take("{"):
            return self._make("map", token.position, parts=self._list_until("}", pairs=True))
        if token.text == ".":
            raise self._error(token.position, "Syntax error: a name does not begin with a point")
        raise self._unexpected()

    def _list_until(self, end: str, pairs: bool = False) -> list[SyntaxNode]:
        """Expressions with commas between them; one may follow the last, but not the last argument of a call."""
        found: list[SyntaxNode] = []
        while not self._take(end):
            if found:
                self._expect(",")
                if end != ")" and self._take(end):
                    break
            found.append(self._expression())
            if pairs:
                self._expect(":")
                found.append(self._expression())
        return found

    def _member(self, node: SyntaxNode) -> SyntaxNode:
        while True:
            if bracket := self._take("["):
                node = self._make("call", bracket.position, "_[_]", (node, self._expression()))
                self._expect("]")
            elif point := self._take("."):
                field = self._token
                if field.kind != "name":
                    raise self._unexpected(", a name is")
                self._at += 1
                if bracket := self._take("("):
                    node = self._call(field, bracket, node)
                else:
                    node = self._make("select", point.position, field.text, (node,))
            elif self._token.text == "{" and self._token.kind == "sign" and node.kind in ("ident", "select"):
                raise self._error(self._token.position, "messages (Name{…}) are not used here; write a map: {'a': 1}")
            else:
                return node

    # --- calls

    def _call(self, name: SourceToken, bracket: SourceToken, target: SyntaxNode | None) -> SyntaxNode:
        arguments = self._list_until(")")
        if target is None and name.text == "has":
            return self._has(bracket, arguments)
        if target is None:
            return self._make("call", bracket.position, name.text, arguments)
        if name.text in _LOOPS:
            return self._loop(name.text, bracket, target, arguments)
        if target.kind == "ident" and target.name in _NAMESPACES:
            return self._namespaced(f"{target.name}.{name.text}", bracket, arguments)
        return self._make("call", bracket.position, name.text, (target, *arguments), member=True)

    def _has(self, bracket: SourceToken, arguments: list[SyntaxNode]) -> SyntaxNode:
        if len(arguments) != 1 or arguments[0].kind != "select":
            raise self._error(bracket.position, "has() takes a field, such as has(args.note)")
        return self._make("has", bracket.position, arguments[0].name, arguments[0].parts)

    def _loop(self, name: str, bracket: SourceToken, over: SyntaxNode, arguments: list[SyntaxNode]) -> SyntaxNode:
        if len(arguments) not in _LOOPS[name]:
            raise self._error(bracket.position, f"{name}() takes a name and what to do with it: .{name}(x, …)")
        variable, *body = arguments
        if variable.kind != "ident":
            raise self._error(variable.position, f"{name}() begins with a plain name for the element")
        return self._make("loop", bracket.position, name, (over, *body), bound=variable.name)

    def _namespaced(self, name: str, bracket: SourceToken, arguments: list[SyntaxNode]) -> SyntaxNode:
        if name in ("math.greatest", "math.least"):
            if not arguments or not all(map(_may_be_number, arguments)):
                raise self._error(bracket.position, f"{name}() takes numbers, or a list of numbers")
            if len(arguments) > 2:
                arguments = [self._make("list", bracket.position, parts=arguments)]
        return self._make("call", bracket.position, name, arguments)


def _may_be_number(node: SyntaxNode) -> bool:
    """Not for what is plainly something else."""
    if node.kind == "list":
        return bool(node.parts) and all(part.kind != "list" and _may_be_number(part) for part in node.parts)
    return type(node.constant) in (int, float) if node.kind == "const" else node.kind != "map"
