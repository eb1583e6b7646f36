"""Inspect eval logs (`.json`): a sample holds its messages, and its model events the tools that were offered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from circumspect.audit.readers.talk_pieces import RecordFormat, TalkPiece, find_text


def recognises(record: Mapping[str, Any]) -> bool:
    return "epoch" in record and "target" in record and isinstance(record.get("messages"), list)


def read(record: Mapping[str, Any]) -> Iterator[TalkPiece]:
    events = record.get("events")
    offered = (
        one["tools"]
        for one in (events if isinstance(events, list) else ())
        if isinstance(one, Mapping) and one.get("event") == "model" and isinstance(one.get("tools"), list)
    )
    tools = {find_text(tool, "name"): tool for some in offered for tool in some if isinstance(tool, Mapping)}
    name = f"{record.get('id')}, epoch {record.get('epoch')}"
    yield TalkPiece(record["messages"], list(tools.values()) or None, id=name)


INSPECT = RecordFormat("inspect", recognises, read)
