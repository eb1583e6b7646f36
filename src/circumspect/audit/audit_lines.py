"""audit_lines: transcripts, one a line, and a policy's text -> what would have been held, as lines of JSON.

For a process of its own (`confined`): every call is held against all that was said before it, so that a talk of a
thousand calls costs a million looks, and whoever sends one must not keep others waiting for it.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from circumspect.audit.auditor import Auditor
from circumspect.audit.rulings import line_of
from circumspect.audit.summary import NOTHING_PROPOSED, AuditSummary
from circumspect.audit.tool_defs import Toolbox
from circumspect.audit.transcript_files import TranscriptProblem, read_stream
from circumspect.errors import PolicyError
from circumspect.policy.check_text import read_specs
from circumspect.policy.load import load

TASK = f"{__name__}:audit_lines"


def audit_lines(data: bytes, facts: Mapping[str, Any]) -> dict[str, Any]:
    """`facts`: `policy` (a text, or None to guess) and its `name`, the `specs` of tools, and what time it is `now`.

    Out comes `lines`; or `unread`, why there was nothing to rule on; or `unsound`, what is wrong with the policy.
    """
    try:
        policy = None if facts["policy"] is None else load(facts["policy"], name=facts["name"])
    except PolicyError as error:
        return {"unsound": {"problem": error.problem, "fix": error.fix, "findings": error.findings}}
    auditor = Auditor(policy, read_specs(facts["specs"]) or None, now=datetime.fromisoformat(facts["now"]))
    summary, out = AuditSummary(), io.BytesIO()
    for one in read_stream(io.BytesIO(data), "transcripts", folder=None, lines=True, toolbox=Toolbox()):
        rows: Any = (one,) if isinstance(one, TranscriptProblem) else auditor.audit_transcript(one)
        for row in rows:
            summary.add(row)
            out.write(line_of(row))
    if unread := next(iter(summary.unread_files.values()), None):
        return {"unread": f"not everything could be read: {unread.problem}"}
    if not summary.ruled_files:
        return {"unread": NOTHING_PROPOSED}
    out.write(orjson.dumps({"summary": summary.to_json()}) + b"\n")
    return {"lines": out.getvalue().decode()}
