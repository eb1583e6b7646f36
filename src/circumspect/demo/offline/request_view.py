"""ModelRequest in, `Seen` out: what the request tells, as values. Nothing else reaches the offline model.

A tool is known by its specification, by a fetched `tool_schema:NAME` block or, at the least, by its signature line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache

from circumspect.bounded_cache import BoundedCache
from circumspect.demo.offline.lexicon import ParsedText, concepts, fold_letters, read, stem
from circumspect.values import ChatMessage, Json, JsonObject, Language, ModelRequest

_SCHEMA = "tool_schema:"
_ANALYSIS = "analyse_user_request"
NOTHING = "(there is nothing under this key)"
_SIGNATURE = re.compile(r"^[\s*-]*([A-Za-z_][\w.-]*)\s*\(([^)]*)\)\s*(?:[—–:-]+\s*(.*))?$")
_NAME_ONLY = re.compile(r"^[\s*-]*([A-Za-z_][\w.-]*)\s*(?:[—–:]+\s*(.*))?$")
_FACT = re.compile(r"^(Name|Description|Hours|Phone|E-mail|Today):[ \t]*(.*)$", re.MULTILINE)
_known_tools: BoundedCache[OfferedTool] = BoundedCache(most=512, heaviest=4_000_000)
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True, slots=True)
class Param:
    name: str
    required: bool
    schema: JsonObject = field(default_factory=dict)


@dataclass(frozen=True)
class OfferedTool:
    """A tool as the model sees it. `action` is the first verb in its name; `objects` is what else the name says."""

    name: str
    params: tuple[Param, ...]
    action: str | None
    objects: tuple[str, ...]
    description: str = ""
    detailed: bool = False
    """The whole schema is known, not only the names of the required parameters."""
    about: ParsedText | None = None
    """The description, read."""
    takes: frozenset[str] = frozenset()
    """The things its parameters are about."""

    @property
    def is_destructive(self) -> bool:
        return self.action in concepts().destructive

    @property
    def is_read(self) -> bool:
        return self.action in concepts().read or (self.action is None and bool({"status", "stock"} & {*self.objects}))


@dataclass(frozen=True)
class RequestContents:
    language: Language
    assessed: bool
    """The reply must end with a self-assessment."""
    business: Mapping[str, str]
    today: date | None
    tools: tuple[OfferedTool, ...]
    keys: frozenset[str]
    """Context keys that may be asked for."""
    blocks: Mapping[str, str]
    messages: tuple[ChatMessage, ...]

    def may_ask(self, key: str) -> bool:
        offered = key in self.keys or (key.startswith(_SCHEMA) and f"{_SCHEMA}NAME" in self.keys)
        return offered and key not in self.blocks

    def text_of(self, key: str) -> str:
        """The block's text, or nothing: an answer that nothing is there is not a text."""
        text = self.blocks.get(key, "").strip()
        return "" if text == NOTHING else text


def read_request(request: ModelRequest) -> RequestContents:
    blocks = {block.key: block.text for block in request.blocks}
    business = {label: value.strip() for label, value in _FACT.findall(blocks.get("business", "")) if value.strip()}
    return RequestContents(
        language=request.language,
        assessed="<assessment>" in request.instructions or not blocks.keys().isdisjoint({"tools", "context"}),
        business=business,
        today=_today(business.get("Today", "")),
        tools=_tools(request, blocks),
        keys=frozenset(line.strip(" -*") for line in blocks.get("context", "").splitlines() if line.strip()),
        blocks={key: text for key, text in blocks.items() if key not in ("business", "tools", "context")},
        messages=tuple(said for said in request.messages if not _is_analysis(said)),
    )


def _is_analysis(said: ChatMessage) -> bool:
    """What the agent noted about the message for itself: nobody said it, and it is not to be quoted."""
    named = {said.tool, *(call.tool for call in said.calls)}
    return _ANALYSIS in named or (said.role == "assistant" and said.text.startswith("## Request analysis"))


def _today(text: str) -> date | None:
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


def _tools(request: ModelRequest, blocks: Mapping[str, str]) -> tuple[OfferedTool, ...]:
    found = {
        tool.name: _tool(tool.name, tool.description, json.dumps(tool.parameters, default=str), "")
        for tool in request.tools
    }
    for line in blocks.get("tools", "").splitlines():
        signature = _SIGNATURE.match(line) or _NAME_ONLY.match(line)
        if signature is None or signature[1] in found:
            continue
        name, *rest = (part or "" for part in signature.groups())
        names, description = (rest[0], rest[1]) if len(rest) == 2 else ("", rest[0])
        found[name] = _tool(name, description, _schema(blocks.get(f"{_SCHEMA}{name}", "")), names)
    return tuple(found.values())


def _schema(text: str) -> str:
    """The `parameters` of a schema block, as JSON; empty where there is none."""
    if not text.startswith("{"):
        return ""
    try:
        loaded = json.loads(text)
    except ValueError:
        return ""
    return json.dumps(loaded.get("parameters", {})) if isinstance(loaded, dict) else ""


def tool_by_name(name: str) -> OfferedTool:
    """All that a bare name tells."""
    return _tool(name, "", "", "")


def _tool(name: str, description: str, schema: str, names: str) -> OfferedTool:
    key = (name, description, schema, names)
    known = _known_tools.get(key)
    if known is None:
        known = _read_tool(*key)
        _known_tools.put(key, known, sum(map(len, key)))
    return known


def _read_tool(name: str, description: str, schema: str, names: str) -> OfferedTool:
    action, objects = _meaning(name)
    parameters: Mapping[str, Json] = json.loads(schema) if schema else {}
    properties = parameters.get("properties")
    required = parameters.get("required")
    if isinstance(properties, Mapping):
        needed = {str(item) for item in required} if isinstance(required, list) else set()
        params = [Param(key, key in needed, _flat(value, parameters.get("$defs"))) for key, value in properties.items()]
        params.sort(key=lambda param: not param.required)
    else:
        params = [Param(part.strip(), True) for part in names.split(",") if part.strip()]
    takes = frozenset(concept for param in params for piece in pieces(param.name) for concept in meanings(piece))
    return OfferedTool(
        name, tuple(params), action, objects, description.strip(), bool(schema), read(description), takes
    )


def _flat(schema: Json, shared: Json) -> JsonObject:
    """A parameter's schema without detours: references followed, and of "this or null" this."""
    if not isinstance(schema, Mapping):
        return {}
    ref = schema.get("$ref")
    if isinstance(ref, str) and isinstance(shared, Mapping):
        found = shared.get(ref.rpartition("/")[2])
        known = found if isinstance(found, Mapping) else {}
        return {**known, **{key: schema[key] for key in schema if key != "$ref"}}
    for key in ("anyOf", "oneOf", "allOf"):
        options = schema.get(key)
        if isinstance(options, list):
            real = [option for option in options if isinstance(option, Mapping) and option.get("type") != "null"]
            if len(real) == 1:
                return {**_flat(real[0], shared), **{name: schema[name] for name in schema if name != key}}
    return schema


@lru_cache(maxsize=2048)
def pieces(name: str) -> tuple[str, ...]:
    """`getOrderStatus`, `get_order_status`, `get-order-status` → get, order, status."""
    return tuple(fold_letters(piece) for piece in _PIECES.findall(name))


@lru_cache(maxsize=2048)
def meanings(piece: str) -> frozenset[str]:
    """The concepts that a piece of an English identifier stands for."""
    known = concepts()
    found: set[str] = set()
    for mention in read(piece).mentions:
        found |= mention.concepts & (known.actions | known.things)
    return frozenset(found)


def _meaning(name: str) -> tuple[str | None, tuple[str, ...]]:
    known = concepts()
    action: str | None = None
    objects: list[str] = []
    for piece in pieces(name):
        if piece in known.hollow:
            continue
        found = meanings(piece)
        acts = found & known.actions
        if acts and action is None and not objects:
            action = pick_meaning(piece, acts)
        elif found:
            objects.append(pick_meaning(piece, found & known.things or found))
        else:
            objects.append(stem(piece))
    if action is None:
        # `order_cancel` and `stock_check`: the verb may come last.
        action = next((item for item in objects if item in known.actions), None)
        objects = [item for item in objects if item != action]
    if "escalate" in objects:
        return "escalate", ()
    return action, tuple(objects)


def pick_meaning(piece: str, found: frozenset[str]) -> str:
    return piece if piece in found else min(found)
