"""An audit as a job: transcripts, a part of a file to a chunk -> every row of the audit, in order.

    job = audit_of(Order((path,), policy_text))
    for row in run(job, engine, ledger):
        summary.add(row_of(row))

A file with a conversation a line falls into parts of a megabyte; any other is a chunk of its own.

What may surprise: rows come back whole, and are counted by whoever started the run. Which calls a report shows depends
on those before them, so that counting is not divided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from circumspect import __version__
from circumspect.audit.auditor import Auditor
from circumspect.audit.file_parts import PART, FilePart, PartReader, is_joined, parts
from circumspect.audit.rulings import AuditedCall, AuditRow, Unsupported
from circumspect.audit.tool_defs import Specs, Toolbox
from circumspect.audit.transcript_files import TranscriptProblem, read
from circumspect.errors import ConfigError
from circumspect.hashing import digest
from circumspect.lab.batch.job import BatchJob, Chunk, ChunkFunction
from circumspect.policy.grounding.tracing import Traced
from circumspect.policy.grounding.untrue import UntrueSentence
from circumspect.policy.load import load
from circumspect.stores import codec
from circumspect.values import Allow, Ask, Confirm, Deny, Escalate, JsonObject, RuleFinding, Verdict


@dataclass(frozen=True)
class AuditOrder:
    """Everything that the result depends on. Paths hold from any folder, and for everyone who works on it."""

    paths: tuple[str, ...]
    policy: str | None = None
    """Its text."""
    specs: Specs | None = None
    at: datetime | None = None
    """What time it was; None is when the run began."""
    size: int = PART
    format_name: str | None = None
    """The format of all records; None recognises each."""


def audit_of(order: AuditOrder) -> BatchJob[AuditOrder]:
    identity = digest(
        {
            "version": __version__,
            "files": [[path, *_state(Path(path))] for path in order.paths],
            "policy": order.policy,
            "specs": {name: codec.spec_document(spec) for name, spec in (order.specs or {}).items()},
            "at": order.at.isoformat() if order.at else None,
            "size": order.size,
            **({"format": order.format_name} if order.format_name else {}),
        }
    )
    return BatchJob("audit", identity[:24], order, begin, list_chunks)


def _state(path: Path) -> tuple[int, int]:
    try:
        state = path.stat()
    except OSError as problem:
        raise ConfigError(f"Cannot read {path}: {problem.strerror}.", fix="Check the path.") from None
    return state.st_size, state.st_mtime_ns


def list_chunks(order: AuditOrder) -> Sequence[Chunk]:
    found: list[Chunk] = []
    at = (order.at or datetime.now(UTC)).isoformat()
    together: list[Path] = []
    for path in map(Path, order.paths):
        if len(order.paths) > 1 and is_joined(path, order.format_name):
            together.append(path)
            continue
        pieces = parts(path, order.size, order.format_name)
        for part in pieces:
            detail: JsonObject = {"path": str(path), "at": at, "part": [part.start, part.end, part.line]}
            found.append(Chunk(len(found), f"{path} from line {part.line:,}", part.end - part.start, detail))
        if not pieces:
            found.append(Chunk(len(found), str(path), path.stat().st_size, {"paths": [str(path)], "at": at}))
    if together:
        # What one of them begins, another may go on with: the requests of a batch and its results, a rotated log.
        size = sum(path.stat().st_size for path in together)
        names = ", ".join(map(str, together[:3]))
        found.append(Chunk(len(found), names, size, {"paths": [str(path) for path in together], "at": at}))
    return found


@contextmanager
def begin(order: AuditOrder) -> Iterator[ChunkFunction]:
    policy, toolbox = load(order.policy) if order.policy is not None else None, Toolbox()
    auditors: dict[str, Auditor] = {}
    reader = PartReader(toolbox)

    def work(chunk: Chunk) -> Sequence[bytes]:
        detail: Mapping[str, Any] = chunk.detail
        at = detail["at"]
        if at not in auditors:
            auditors[at] = Auditor(policy, order.specs, now=datetime.fromisoformat(at))
        # A conversation may go on from the one before, which here is whatever was worked on last.
        auditors[at].last.clear()
        part = FilePart(*detail["part"]) if "part" in detail else None
        if part:
            found = reader.read(Path(detail["path"]), part)
        else:
            found = read(map(Path, detail["paths"]), toolbox, order.format_name)
        rows: list[bytes] = []
        for one in found:
            rows += [
                encode_row(row)
                for row in ([one] if isinstance(one, TranscriptProblem) else auditors[at].audit_transcript(one))
            ]
        return rows

    with closing(reader):
        yield work


# --- rows -----------------------------------------------------------------------------------------------------------

_VERDICTS: Mapping[str, type[Verdict]] = {one.kind: one for one in (Allow, Confirm, Ask, Escalate, Deny)}
_NAMES: Mapping[type[Any], tuple[str, ...]] = {
    one: tuple(part.name for part in fields(one))
    for one in (AuditedCall, TranscriptProblem, Traced, UntrueSentence, *_VERDICTS.values())
}


def _values(one: Any) -> list[Any]:
    return [getattr(one, name) for name in _NAMES[type(one)]]


def encode_row(row: AuditRow) -> bytes:
    """A row of an audit as one line, with all that there is in it."""
    said: list[Any]
    match row:
        case AuditedCall():
            said = ["ruled", _values(row)]
            findings, grounding = (_NAMES[AuditedCall].index(name) for name in ("findings", "grounding"))
            said[1][findings] = [[one.rule, one.verdict.kind, _values(one.verdict), one.reason] for one in row.findings]
            said[1][grounding] = [_values(one) for one in row.grounding]
        case Unsupported():
            said = ["unsupported", [row.id, row.index, _values(row.claim), row.path, row.line]]
        case TranscriptProblem():
            said = ["problem", _values(row)]
    return codec.dumps(said).encode()


def decode_row(line: bytes) -> AuditRow:
    parsed: Any = codec.loads(line)
    kind, values = parsed
    match kind:
        case "ruled":
            said = dict(zip(_NAMES[AuditedCall], values, strict=True))
            said["findings"] = tuple(_finding(*one) for one in said["findings"])
            said["grounding"] = tuple(Traced(*one) for one in said["grounding"])
            said["unchecked"] = tuple(said["unchecked"])
            return AuditedCall(**said)
        case "unsupported":
            identity, index, claim, path, number = values
            return Unsupported(identity, index, UntrueSentence(*claim), path, number)
    return TranscriptProblem(*values)


def _finding(rule: str, kind: str, values: Sequence[Any], reason: str | None) -> RuleFinding:
    make: Any = _VERDICTS[kind]
    whole = [tuple(value) if isinstance(value, list) else value for value in values]
    return RuleFinding(rule, make(*whole), codec.reason(reason))
