"""Batches of OpenAI, Anthropic and Gemini: the requests, and the results that name them by `custom_id` (`key`).

Given both files, each result is put behind its request; the requests alone hold what was said before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from circumspect.audit.readers.model_bodies import read_logged_answer, read_request, report_answer
from circumspect.audit.readers.talk_pieces import RecordFormat, TalkPiece, find_mapping, find_text
from circumspect.audit.transcript_steps import Unknown


def recognises(record: Mapping[str, Any]) -> bool:
    if "custom_id" in record:
        return any(isinstance(record.get(key), Mapping) for key in ("body", "params", "response", "result")) or bool(
            record.get("error")
        )
    return isinstance(record.get("key"), str) and any(
        isinstance(record.get(key), Mapping) for key in ("request", "response")
    )


def read(record: Mapping[str, Any]) -> Iterator[TalkPiece]:
    name = find_text(record, "custom_id", "key")
    request = read_request(find_mapping(record, "body", "params", "request"))
    if request is not None:
        yield TalkPiece(request.messages, request.tools, f"batch {name}", "whole", "0", id=name)
    result = find_mapping(record, "response", "result")
    body = next((result[key] for key in ("body", "message") if result.get(key)), result)
    answer = read_logged_answer(body)
    if answer is not None and body is result and not answer.messages:
        answer = None  # a word about a request that was not answered
    if answer is not None:
        yield TalkPiece(answer.messages, None, f"batch {name}", "next", "1", "", "", name, *report_answer(answer))
    elif request is None or result or record.get("error"):
        kind = find_text(result, "type") or find_text(find_mapping(record, "error"), "code", "message") or "no answer"
        raise Unknown(f"the request of {name!r} has no answer in the batch: {kind[:40]}")


BATCH = RecordFormat("batch", recognises, read)
