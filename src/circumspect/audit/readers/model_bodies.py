"""What is sent to a model and what comes back, whosever model it is: OpenAI chat and Responses, Anthropic Messages,
Gemini `generateContent`, Bedrock Converse. Out come messages and tools as their writers wrote them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from circumspect.audit.readers.talk_pieces import find_text, open_json


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    messages: list[Any]
    tools: Any = None
    after: str = ""
    """The response that it goes on from: the messages before are not in it."""


def read_request(body: Any) -> LoggedRequest | None:
    """The messages and tools of a request; None when it is none."""
    body = open_json(body)
    if isinstance(body, list):
        return LoggedRequest(body) if _are_messages(body) else None
    if not isinstance(body, Mapping):
        return None
    if isinstance(contents := body.get("contents"), list):
        system = body.get("systemInstruction") or body.get("system_instruction")
        return LoggedRequest([*_system(system), *contents], find_tools(body))
    if isinstance(messages := body.get("messages"), list):
        if len(messages) == 1 and isinstance(messages[0], list):
            messages = messages[0]  # LangChain asks a batch of one
        return LoggedRequest([*_system(body.get("system")), *messages], find_tools(body))
    given = body.get("input")
    if isinstance(given, str) or (isinstance(given, list) and _are_messages(given)):
        said: list[Any] = [{"role": "user", "content": given}] if isinstance(given, str) else given
        after = body.get("previous_response_id")
        return LoggedRequest(
            [*_system(body.get("instructions")), *said], find_tools(body), after if isinstance(after, str) else ""
        )
    return None


def read_answer(body: Any) -> list[Any] | None:
    """What the model said, as messages; None when it is no answer."""
    body = open_json(body)
    if isinstance(body, list):
        return body if _are_messages(body) else None
    if not isinstance(body, Mapping):
        return None
    for key, inner in (("choices", "message"), ("candidates", "content"), ("generations", "message")):
        if isinstance(found := body.get(key), list) and found:
            first = found[0][0] if isinstance(found[0], list) and found[0] else found[0]
            message = first.get(inner) if isinstance(first, Mapping) else None
            return [message] if isinstance(message, Mapping) else None
    output = body.get("output")
    if isinstance(output, list) and _are_messages(output):
        return output
    if isinstance(output, Mapping) and isinstance(output.get("message"), Mapping):
        return [output["message"]]
    if isinstance(body.get("message"), Mapping):
        return [body["message"]]
    if _is_message(body):
        return [body]
    if isinstance(messages := body.get("messages"), list):
        return messages
    return None


def find_tools(body: Mapping[str, Any]) -> Any:
    """The tool definitions of a request, those of Gemini and Bedrock out of their wrappings; None without any."""
    found = open_json(body.get("tools"))
    if isinstance(config := body.get("toolConfig"), Mapping):
        found = config.get("tools")
    if not isinstance(found, list) or not found:
        return None
    tools: list[Any] = []
    for one in found:
        if not isinstance(one, Mapping):
            continue
        declared = one.get("functionDeclarations") or one.get("function_declarations")
        if isinstance(declared, list):
            tools += [_lower_types(tool) for tool in declared]
        elif isinstance(spec := one.get("toolSpec"), Mapping):
            schema = spec.get("inputSchema")
            tools.append({**spec, "inputSchema": schema.get("json") if isinstance(schema, Mapping) else None})
        else:
            tools.append(one)
    return tools


def _lower_types(value: Any, depth: int = 0) -> Any:
    """Gemini writes the types of a schema in capitals."""
    if isinstance(value, list):
        return [_lower_types(one, depth + 1) for one in value] if depth < 50 else []
    if not isinstance(value, Mapping):
        return value
    if depth >= 50:
        return {}
    return {
        key: one.lower() if key == "type" and isinstance(one, str) else _lower_types(one, depth + 1)
        for key, one in value.items()
    }


def _system(said: Any) -> list[Any]:
    if isinstance(said, str):
        return [{"role": "system", "content": said}] if said else []
    parts = said.get("parts") if isinstance(said, Mapping) else said
    if not isinstance(parts, list):
        return []
    text = "\n".join(one["text"] for one in parts if isinstance(one, Mapping) and isinstance(one.get("text"), str))
    return [{"role": "system", "content": text}] if text else []


def _are_messages(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and _is_message(value[0])


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and (
        (isinstance(value.get("role"), str) and any(key in value for key in ("content", "parts", "tool_calls")))
        or find_text(value, "type") in ("message", "function_call", "function_call_output", "reasoning", "constructor")
        or (value.get("type") in ("human", "ai", "system", "tool") and ("content" in value or "data" in value))
    )
