"""What was said and what was told: every message with every answer that its sender got, over whichever door.

A `Said` is one message, sent as often as it takes; a `Told` is one answer to it, or what of one had come when the
connection broke. The doors differ in form only: `make_request` writes a message for its door, `History.note` reads what
came back.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Door = Literal["messages", "events", "completions", "approvals"]


@dataclass(frozen=True)
class Said:
    """One message with its key."""

    tenant: str
    conversation: str
    text: str
    key: str
    order: str = ""
    """What it is about: orders are numbered so that no two conversations talk of the same one."""
    agrees: bool = False
    """After this message the call may run."""
    door: Door = "messages"
    earlier: tuple[tuple[str, str], ...] = ()
    """Who said what before, as a client of the OpenAI endpoint sends it along."""
    keyless: bool = False
    """The key is not sent: whoever hears nothing sends the same again."""


@dataclass(frozen=True)
class Told:
    said: Said
    sent: float
    at: float
    status: int
    """Of HTTP; 0 when the connection broke."""
    reply: str = ""
    outcome: str = ""
    reasons: tuple[str, ...] = ()
    turn: str = ""
    final: bool = False
    """Nobody sends the message again after this."""
    retry_after: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)


class History:
    def __init__(self) -> None:
        self.told: list[Told] = []
        self.sent: dict[Said, float] = {}
        """When each message was first sent."""
        self._lock = threading.Lock()

    def begin(self, said: Said) -> float:
        now = time.monotonic()
        with self._lock:
            self.sent.setdefault(said, now)
        return now

    def note(self, said: Said, sent: float, status: int, text: str, retry_after: str = "") -> Told:
        read = {"events": _read_events, "completions": _read_completion, "approvals": _read_decision}
        body, whole = read.get(said.door, _read_turn)(text)
        told = Told(
            said=said,
            sent=sent,
            at=time.monotonic(),
            status=status,
            reply=str(body.get("reply") or body.get("problem") or ""),
            outcome=str(body.get("outcome") or ""),
            reasons=tuple(body.get("reason_codes") or ()),
            turn=str(body.get("turn_id") or ""),
            final=(status == 200 and whole) or body.get("code") == "settled",
            retry_after=retry_after,
            body=body,
        )
        with self._lock:
            self.told.append(told)
        return told


def make_request(said: Said) -> tuple[str, dict[str, str], dict[str, Any]]:
    """Path, headers and body."""
    headers = {} if said.keyless else {"Idempotency-Key": said.key}
    if said.door == "completions":
        talk = [{"role": role, "content": text} for role, text in (*said.earlier, ("user", said.text))]
        body: dict[str, Any] = {"model": "circumspect", "messages": talk}
        if not said.keyless:
            body["metadata"] = {"conversation_id": said.conversation}
        return "/v1/chat/completions", headers, body
    if said.door == "events":
        headers["Accept"] = "text/event-stream"
    return f"/v1/conversations/{said.conversation}/messages", headers, {"content": said.text}


def _read_turn(text: str) -> tuple[Mapping[str, Any], bool]:
    try:
        return dict(json.loads(text)), True
    except ValueError:
        return {}, False


def _read_events(text: str) -> tuple[Mapping[str, Any], bool]:
    pieces = ""
    if not text.startswith("event:"):
        return _read_turn(text)
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if lines.get("event") in ("done", "error"):
            return dict(json.loads(lines["data"])), lines["event"] == "done"
        if lines.get("event") == "text":
            pieces += json.loads(lines["data"])["text"]
    return {"reply": pieces}, False


def _read_completion(text: str) -> tuple[Mapping[str, Any], bool]:
    body, whole = _read_turn(text)
    if "choices" not in body:
        return body, False
    return {**body["circumspect"], "reply": body["choices"][0]["message"]["content"]}, whole


def _read_decision(text: str) -> tuple[Mapping[str, Any], bool]:
    body, whole = _read_turn(text)
    return dict(body["turn"]) if "turn" in body else body, whole and "turn" in body
