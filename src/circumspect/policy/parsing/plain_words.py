"""What a model wrote for the user -> the words of it that a person may read.

A model that has been shown forms and calls may answer in one where plain words were asked for. Nobody is shown an
object: where it has a field with words, these are the reply, and where it has none there is no reply.

The one choice that may surprise: an object beside words is left alone unless it is one of our forms. An answer about
JSON may quote some.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from circumspect.forms.loose_json import parse_intact, repair_json
from circumspect.values import Json

_SAID = ("reply", "response", "message", "answer", "text", "content")
_OURS = frozenset(("reply", "tool", "tool_call", "tool_params", "arguments", "assessment"))
_OPENING = re.compile(r"""\{\s*["'“}]""")
_LABEL = re.compile(r"\s*(?:error|reply|assistant)\s*:\s*", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2,}")
_FENCE = re.compile(r"```\w*")
_MOST = 20


def read_plain_words(text: str) -> str:
    """The words for the user; empty where there are none."""
    if not (objects := [*_find_objects(text)]):
        return _strip_label(text)
    outside = _leave_out(text, objects)
    if _WORD.search(_FENCE.sub("", outside)):
        forms = [one for one in objects if one[2].keys() & _OURS]
        return _strip_label(_leave_out(text, forms).strip() if forms else text)
    said = (str(members[name]) for _, _, members in objects for name in _SAID if isinstance(members.get(name), str))
    return next((read_plain_words(one) for one in said if one.strip()), "")


def _strip_label(text: str) -> str:
    """How results are marked for the model is not for the user."""
    label = _LABEL.match(text)
    return text[label.end() :] if label else text


def _find_objects(text: str) -> Iterator[tuple[int, int, Mapping[str, Json]]]:
    """Where each object begins and ends, and what is in it. One that breaks off reaches to the end."""
    at = 0
    for _ in range(_MOST):
        brace = _OPENING.search(text, at)
        if brace is None:
            return
        rest = text[brace.start() :]
        found = parse_intact(rest)
        if found.end is None:
            yield brace.start(), len(text), {**(repair_json(rest) or {}), **found.members}
            return
        at = brace.start() + found.end
        yield brace.start(), at, found.members


def _leave_out(text: str, objects: list[tuple[int, int, Mapping[str, Json]]]) -> str:
    kept, at = [], 0
    for start, end, _ in objects:
        kept.append(text[at:start])
        at = end
    return "".join((*kept, text[at:]))
