"""The forty proposals of `proposals.yaml` as chat messages, the call at the end, and what is right about it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

FOLDER = Path(__file__).parent
PERSON = "u1"
Kind = Literal["right", "yes", "wrong"]
Outcome = Literal["ran", "asked", "held"]
"""What became of a proposal: it ran at once, it runs when a person says yes, or no yes makes this call run."""


@dataclass(frozen=True)
class Proposal:
    name: str
    kind: Kind
    messages: list[dict[str, Any]]
    tool: str
    arguments: dict[str, Any]

    @property
    def call(self) -> dict[str, Any]:
        return {"id": "proposed", "name": self.tool, "arguments": self.arguments}


@dataclass(frozen=True)
class House:
    """The tools as JSON schemas, and what is proposed to do with them."""

    tools: dict[str, dict[str, Any]]
    proposals: list[Proposal]

    @property
    def definitions(self) -> list[dict[str, Any]]:
        return list(self.tools.values())


def load_house() -> House:
    file = yaml.safe_load((FOLDER / "proposals.yaml").read_text())
    tools = {name: _define(name, params) for name, params in file["tools"].items()}
    return House(tools, [_read(one) for one in file["proposals"]])


def _define(name: str, params: dict[str, str]) -> dict[str, Any]:
    properties = {param: {"type": kind} for param, kind in params.items()}
    schema = {"type": "object", "properties": properties, "required": list(params), "additionalProperties": False}
    return {
        "name": name,
        "description": name.replace("_", " ").capitalize() + ".",
        "inputSchema": schema,
    }


def _read(one: dict[str, Any]) -> Proposal:
    messages: list[dict[str, Any]] = []
    for at, said in enumerate(one["talk"]):
        if "call" not in said:
            [(role, text)] = said.items()
            messages.append({"role": role, "content": text})
            continue
        function = {"name": said["call"], "arguments": json.dumps(said["args"])}
        call = {"id": f"call{at}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(said["result"])})
    [(tool, arguments)] = one["call"].items()
    return Proposal(one["name"], one["is"], messages, tool, arguments)
