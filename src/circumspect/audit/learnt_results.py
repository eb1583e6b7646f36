"""Transcripts -> what the results of each tool are like, as JSON schemas, so that a policy's conditions can be held
against what really comes back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from circumspect.audit.message_formats import steps
from circumspect.audit.transcript_files import Transcript
from circumspect.audit.transcript_steps import TranscriptCall, TranscriptResult, Unknown, has_failed, result_value
from circumspect.policy.value_kinds import JsonSchema, learn_schema
from circumspect.values import Json

MOST = 1_000
"""Results of one tool that are looked at."""


def learn_results(transcripts: Iterable[Transcript]) -> Mapping[str, JsonSchema]:
    """By tool; only of calls that succeeded and gave more than words."""
    found: dict[str, list[Json]] = {}
    for transcript in transcripts:
        open_calls: dict[str, str] = {}
        for message in transcript.messages:
            try:
                read = list(steps(message))
            except Unknown:
                continue
            for step in read:
                if isinstance(step, TranscriptCall):
                    open_calls[step.call.id] = step.call.tool
                elif isinstance(step, TranscriptResult) and (tool := open_calls.pop(step.call_id, "")):
                    value = result_value(step.content)
                    known = found.setdefault(tool, [])
                    if not step.failed and not has_failed(step.content, value) and len(known) < MOST:
                        known.append(value)
    return {tool: schema for tool, values in found.items() if (schema := learn_schema(values))}
