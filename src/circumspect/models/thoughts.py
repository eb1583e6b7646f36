"""Text in which a model thinks aloud between `<think>` and `</think>` -> what it says to the user."""

from __future__ import annotations

_BEGIN, _END = "<think>", "</think>"


def strip_thoughts(text: str) -> str:
    """Without thoughts. Of one that never ends only the tag is left out: it may be all there is."""
    if _BEGIN not in text:
        return text
    reader = ThoughtFilter()
    return reader.take(text) + reader.end()


class ThoughtFilter:
    """The same for text that comes in pieces: a piece that might begin a tag waits for the next."""

    def __init__(self) -> None:
        self._thinking = False
        self._held = ""

    def take(self, piece: str) -> str:
        self._held += piece
        shown = ""
        while True:
            if self._thinking:
                _, found, rest = self._held.partition(_END)
                if not found:
                    return shown
                self._thinking, self._held = False, rest
            before, found, rest = self._held.partition(_BEGIN)
            if not found:
                kept = _measure_beginning(before)
                self._held = before[len(before) - kept :]
                return shown + before[: len(before) - kept]
            shown, self._thinking, self._held = shown + before, True, rest

    def end(self) -> str:
        """What is left when there will be no more."""
        rest, self._held = self._held, ""
        return rest


def _measure_beginning(text: str) -> int:
    """How many characters at the end could begin a tag."""
    return next((size for size in range(len(_BEGIN) - 1, 0, -1) if text.endswith(_BEGIN[:size])), 0)
