"""Calls that a model wrote into its words, as templates for open models have it: `<tool_call>{…}</tool_call>`.

What may surprise: only that notation, with JSON in it, is read. Of the others `find_written_call` tells that they are
there, so that nobody takes the talk for one without calls. Whoever describes the notation writes no call: a system's
and a user's words are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from circumspect.audit.transcript_steps import (
    TranscriptCall,
    TranscriptGap,
    TranscriptResult,
    TranscriptStep,
    TranscriptText,
    parse_json,
    read_named_call,
    read_result,
)

_OPENS, _CLOSES = "<tool_call>", "</tool_call>"
_RETURNS, _RETURNED = "<tool_response>", "</tool_response>"
_OTHERS = re.compile(
    r"<tool_calls?[>|]|<\|?tool_call|<function(?:=\w|_calls?>|call>)|<(?:antml:)?invoke name=|<tool_code>"
    r"|<\|python_tag\|>|\[TOOL_(?:CALLS|REQUEST)\]|<\uff5ctool\u2581calls?\u2581begin\uff5c>|<start_function_call>|```tool_code"
    r"|(?<![\w.])to=functions\.\w"
    r"|(?:^|\n)[ \t*]{0,8}Action[ \t]?:[^\n]{1,200}\n{1,3}[ \t*]{0,8}Action Input[ \t]?:"
)
_MARKS = ("<", "[TOOL_", "```tool_code", "to=functions.", "Action")
"""One of these stands in each of them: most replies have none."""
_BARE = re.compile(
    r'\s{0,8}\{\s{0,8}"(?:name|function|tool|action)"\s?:\s?"[\w.-]{1,80}"\s{0,8},\s{0,8}"\w{1,20}"\s?:\s?\{'
)


def has_written_calls(text: str) -> bool:
    return _OPENS in text


def read_written_calls(text: str) -> Sequence[TranscriptStep]:
    """An assistant's words without the calls in them, and the calls."""
    said: list[str] = []
    found: list[TranscriptStep] = []
    at = 0
    while (start := text.find(_OPENS, at)) >= 0:
        said.append(text[at:start])
        start += len(_OPENS)
        end = text.find(_CLOSES, start)
        inner = text[start : end if end >= 0 else len(text)].strip()
        at = end + len(_CLOSES) if end >= 0 else len(text)
        found.append(_read_call(inner))
    said.append(text[at:])
    words = "".join(said).strip()
    return (*((TranscriptText("assistant", words),) if words else ()), *found)


def _read_call(inner: str) -> TranscriptCall | TranscriptGap:
    value = parse_json(inner)
    if isinstance(value, Mapping):
        call = read_named_call(value)
        if call.call.tool:
            return call
    return TranscriptGap(f"{_OPENS}{inner[:20]}")


def read_written_results(text: str) -> Sequence[TranscriptResult]:
    """What tools returned, where a message holds nothing else; empty where it holds anything else."""
    rest, found = text.strip(), list[TranscriptResult]()
    while rest.startswith(_RETURNS):
        inner, closed, rest = rest[len(_RETURNS) :].partition(_RETURNED)
        if not closed:
            return ()
        found.append(_read_result(inner.strip()))
        rest = rest.lstrip()
    return () if rest else found


def _read_result(inner: str) -> TranscriptResult:
    """The value as it stands there, or between the name of the tool and its own."""
    value = parse_json(inner)
    if isinstance(value, Mapping) and {"name", "content"} <= value.keys() <= {"name", "content", "tool_call_id"}:
        return read_result(None, value["name"], value["content"], False)
    return TranscriptResult("", "", inner, False)


def find_written_call(text: str) -> str:
    """A sign of a call in an assistant's words, in a notation that is not read; nothing without any."""
    if any(mark in text for mark in _MARKS) and (hit := _OTHERS.search(text)):
        return hit[0].strip()[:40]
    return text.strip()[:40] if _BARE.match(text) else ""
