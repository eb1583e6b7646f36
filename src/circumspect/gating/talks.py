"""The conversations that a gate has read, and one ruling at a time in each of them."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from circumspect.gating.foreign_talk import ForeignTalk
from circumspect.values import ConversationId, Execution, ToolSpec

log = logging.getLogger(__name__)

KEPT = 256
"""Conversations that are kept as they were read. One that is not among them is read again."""


class Talks:
    """Loops of several threads may share a gate: whoever looks into a talk holds `guard`."""

    def __init__(self, specs: Mapping[str, ToolSpec], is_open_world: Callable[[str], bool]) -> None:
        self.guard = threading.RLock()
        self._specs, self._is_open_world = specs, is_open_world
        self._kept: OrderedDict[ConversationId, ForeignTalk] = OrderedDict()
        self._busy: dict[tuple[int, str], tuple[asyncio.Lock, list[None]]] = {}

    def follow(self, conversation: ConversationId, messages: Sequence[Any] | None) -> ForeignTalk:
        with self.guard:
            talk = self._kept.get(conversation)
            if talk is None or (messages is not None and not talk.goes_on(messages)):
                talk = self._kept[conversation] = ForeignTalk(self._specs, self._is_open_world)
                if len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(conversation)
            if messages:
                before = talk.unread
                talk.read(messages)
                if talk.unread > before:
                    log.warning(
                        "%d of the messages of conversation %r cannot be read, and count for nothing: %s. "
                        "`circumspect docs audit` lists the formats.",
                        talk.unread - before, conversation, talk.why_unread,
                    )  # fmt: skip
        return talk

    def note(self, ended: Execution) -> None:
        if talk := self._kept.get(ended.conversation):
            talk.note((ended,))
            talk.waiting.pop(ended.call.hash, None)

    def turn(self, conversation: ConversationId) -> _Turn:
        return _Turn(self._busy, conversation)

    def clear(self) -> None:
        self._kept.clear()


class _Turn:
    """One ruling at a time in a conversation; nothing is kept of conversations that nobody rules on."""

    def __init__(self, busy: dict[tuple[int, str], tuple[asyncio.Lock, list[None]]], conversation: ConversationId):
        # A lock belongs to its loop. Between loops the book decides who is first.
        self.busy, self.key = busy, (id(asyncio.get_running_loop()), str(conversation))
        self.lock, self.users = busy.setdefault(self.key, (asyncio.Lock(), []))

    async def __aenter__(self) -> None:
        self.users.append(None)
        await self.lock.acquire()

    async def __aexit__(self, *error: object) -> None:
        self.lock.release()
        self.users.pop()
        if not self.users:
            self.busy.pop(self.key, None)
