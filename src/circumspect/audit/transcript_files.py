"""Conversations from files: `.jsonl`, `.json`, each also as `.gz`. In: paths. Out: `Transcript`s and `Problem`s.

One conversation is in memory at a time. A line of JSONL is a conversation; of a JSON document the outermost array (or
its `simulations`) is read element by element. A file whose outermost array holds messages is one conversation.

What may surprise: nothing raises on bad content. What cannot be read becomes a `Problem` with its line, and reading
goes on; only a file that cannot be opened at all is an error.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Literal, cast

import orjson

from circumspect.audit.file_streams import LINE_LIMIT, PeekedStream, is_lines, open_stream, starts_with_a_line
from circumspect.audit.json_stream import JsonPiece, Truncated, pieces
from circumspect.audit.readers.csv_rows import find_delimiter, read_rows
from circumspect.audit.readers.joined_talk import JoinedTalk, TalkJoiner
from circumspect.audit.readers.record_formats import CSV, PLAIN, find_reader
from circumspect.audit.readers.talk_pieces import RecordFormat, TalkPiece
from circumspect.audit.tool_defs import BadTools, Specs, Toolbox, specs_of
from circumspect.audit.transcript_steps import TranscriptCall, Unknown, read_call
from circumspect.audit.unread_calls import describe_record, find_unread_call
from circumspect.errors import ConfigError
from circumspect.values import Json

STREAMED = (
    "simulations",
    "conversations",
    "transcripts",
    "results",
    "runs",
    "traces",
    "data",
    "samples",
    "requests",
    "observations",
    "resourceSpans",
    "resourceLogs",
)
_LOOKED_INTO = frozenset(
    (
        *("request", "response", "response_body", "responseBody", "res", "completion", "choices", "output"),
        *("outputs", "candidates", "system", "toolConfig", "epoch"),
    )
)
"""A record that has one of these beside its messages may be a log of requests and the like."""
_MESSAGES = ("messages", "traj", "trajectory", "history", "items", "input")

ProblemKind = Literal[
    "malformed",
    "encoding",
    "unknown_message",
    "unknown_piece",
    "orphan_result",
    "long_message",
    "tools",
    "arguments",
    "empty",
    "unknown_format",
    "unread_answer",
    "nothing_read",
    "split",
]


@dataclass(frozen=True, slots=True)
class TranscriptProblem:
    """Something that could not be read, and was left out. `message` is -1 when the whole conversation was."""

    path: str
    line: int
    kind: ProblemKind
    problem: str
    id: str = ""
    message: int = -1

    def to_json(self) -> dict[str, Json]:
        return {
            "problem": self.problem,
            "kind": self.kind,
            "path": self.path,
            "line": self.line,
            "message": self.message,
            **({"conversation": self.id} if self.id else {}),
        }

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" + (f", message {self.message}" if self.message >= 0 else "")
        return f"{where}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Transcript:
    """One conversation as it was written down. `specs` is None when the file says nothing about its tools."""

    id: str
    messages: list[Any]
    specs: Specs | None
    untrusted: frozenset[str] | None
    """Tools whose results strangers can write; None when the file does not say."""
    proposal: TranscriptCall | None = None
    """Only this call is ruled on, after all of the messages."""
    path: str = ""
    line: int = 0
    meta: Mapping[str, Any] = field(default_factory=dict)
    label: Any = None
    since: int = 0
    """Calls of messages before this one are ruled on in another conversation."""
    record: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """All that the record held."""


def read(
    paths: Iterable[str | Path], toolbox: Toolbox | None = None, format_name: str | None = None
) -> Iterator[Transcript | TranscriptProblem]:
    """Every conversation of every file, in order; those that many records make up come last."""
    reading = Reading(toolbox or Toolbox(), format_name)
    for one in paths:
        path = Path(one)
        try:
            with open_stream(path) as stream:
                yield from reading.read_stream(stream, path.name, path.parent, lines=is_lines(path))
        except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
            yield TranscriptProblem(path.name, 0, "malformed", f"the compressed file is damaged: {problem}")
        except OSError as problem:
            raise ConfigError(
                f"Cannot read {path}: {problem.strerror or problem}.", fix="Check the path and its permissions."
            ) from None
    yield from reading.finish()


def read_stream(
    stream: IO[bytes],
    name: str,
    *,
    folder: Path | None,
    lines: bool,
    toolbox: Toolbox,
    format_name: str | None = None,
) -> Iterator[Transcript | TranscriptProblem]:
    """The conversations of one open file. `folder` is where its tools files are looked for; None looks nowhere."""
    reading = Reading(toolbox, format_name)
    yield from reading.read_stream(stream, name, folder, lines=lines)
    yield from reading.finish()


def read_lines(
    lines: Iterable[tuple[int, bytes]],
    name: str,
    *,
    folder: Path | None,
    toolbox: Toolbox,
    format_name: str | None = None,
) -> Iterator[Transcript | TranscriptProblem]:
    """The conversations of some lines of a file, each with its number in it."""
    reading = Reading(toolbox, format_name)
    reader = _Reader(name, folder, reading)
    for number, line in lines:
        if line.strip():
            yield from reader.conversations(line, number)
    yield from reading.finish()


@dataclass(slots=True)
class Reading:
    """Some files that are read one after the other: what one of them begins, another may go on with."""

    toolbox: Toolbox
    format_name: str | None = None
    """The format that all records have; None recognises each."""
    joiner: TalkJoiner = field(default_factory=TalkJoiner)

    def read_stream(
        self, stream: IO[bytes], name: str, folder: Path | None, *, lines: bool
    ) -> Iterator[Transcript | TranscriptProblem]:
        reader = _Reader(name, folder, self)
        start = stream.read(4)
        if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
            yield TranscriptProblem(name, 1, "encoding", "the file is UTF-16; save it as UTF-8")
            return
        start += stream.read(1 << 16)
        rest = PeekedStream(start[3:] if start[:3] == b"\xef\xbb\xbf" else start, stream)
        found: Iterator[Transcript | TranscriptProblem]
        if delimiter := self._find_delimiter(rest.start):
            found = reader.rows(rest, delimiter)
        elif lines or starts_with_a_line(rest.start):
            found = reader.lines(rest)
        else:
            found = reader.document(rest)
        anything = False
        for one in found:
            anything = True
            yield one
        if not anything and not reader.pieces:
            said = "it holds no conversation" if rest.seen else "the file is empty"
            yield TranscriptProblem(name, 1, "nothing_read", said)
        elif reader.silent and not reader.answered:
            said = f"there are {reader.silent:,} answers of the model, and none of them gave anything"
            yield TranscriptProblem(name, 1, "nothing_read", said)

    def _find_delimiter(self, start: bytes) -> str:
        if self.format_name not in (None, CSV) or start.lstrip()[:1] in (b"{", b"["):
            return ""
        header = start.partition(b"\n")[0].decode("utf-8", "replace").strip()
        return find_delimiter(header) or ("," if self.format_name == CSV else "")

    def finish(self) -> Iterator[Transcript | TranscriptProblem]:
        """The conversations that many records make up."""
        for talk in self.joiner.finish():
            yield from self.give_out(talk)

    def give_out(self, talk: JoinedTalk) -> Iterator[Transcript | TranscriptProblem]:
        if talk.split:
            said = "its records lie too far apart to be kept together; it was read in parts"
            yield TranscriptProblem(talk.path, talk.line, "split", said, talk.id)
        try:
            specs = self.toolbox.specs(talk.tools, None)
        except (BadTools, TypeError) as problem:
            yield TranscriptProblem(talk.path, talk.line, "tools", str(problem), talk.id)
            specs = None
        yield Transcript(talk.id, talk.messages, specs, None, None, talk.path, talk.line, since=talk.since)


@dataclass(slots=True)
class _Reader:
    name: str
    folder: Path | None
    reading: Reading
    pieces: int = 0
    """Of conversations that are not whole yet."""
    answered: int = 0
    silent: int = 0
    """Answers that gave something, and those that were there and gave nothing."""

    def rows(self, stream: PeekedStream, delimiter: str) -> Iterator[Transcript | TranscriptProblem]:
        try:
            for piece, line, size in read_rows(stream.text_lines(), delimiter):
                yield from self._add(piece, line, size)
        except Unknown as problem:
            yield TranscriptProblem(self.name, 1, "malformed", str(problem))

    def _add(self, piece: TalkPiece, line: int, size: int) -> Iterator[Transcript | TranscriptProblem]:
        self.pieces += 1
        self.answered += piece.answered
        if piece.unread:
            self.silent += not piece.answered
            yield TranscriptProblem(self.name, line, "unread_answer", piece.unread, piece.id)
        if piece.thread.endswith(" "):  # without a name of its own it is the file's
            piece = replace(piece, thread=f"{piece.thread}{self.name}")
        elif not piece.thread:
            piece = replace(piece, thread=f"{self.name}:{line}:{self.pieces}")
        for talk in self.reading.joiner.add(piece, self.name, line, size):
            yield from self.reading.give_out(talk)

    def lines(self, stream: PeekedStream) -> Iterator[Transcript | TranscriptProblem]:
        number = 0
        while line := stream.readline(LINE_LIMIT):
            number += 1
            if len(line) >= LINE_LIMIT and not line.endswith(b"\n"):
                while (more := stream.readline(LINE_LIMIT)) and not more.endswith(b"\n"):
                    pass
                yield TranscriptProblem(
                    self.name, number, "malformed", f"the line is longer than {LINE_LIMIT >> 20} MiB"
                )
            elif line.strip():
                yield from self.conversations(line, number)

    def document(self, stream: PeekedStream) -> Iterator[Transcript | TranscriptProblem]:
        """A JSON document. One whose elements are messages, or that has messages of its own, is one conversation."""
        held: dict[str, Any] = {}
        messages: list[Any] = []
        first, elements = 1, 0
        try:
            for piece in pieces(cast("IO[bytes]", stream), STREAMED):
                value = self._parse_piece(piece)
                if isinstance(value, TranscriptProblem):
                    yield value
                elif not piece.is_element and piece.key is not None:
                    held[piece.key] = value
                elif piece.key is not None or (not messages and not self._is_message(value)):
                    elements += 1
                    value = self._with_tools(value, held)
                    yield from self.conversation(value, piece.line, len(piece.data), lines=False)
                else:
                    first = first if messages else piece.line
                    messages.append(value)
        except Truncated as problem:
            yield TranscriptProblem(self.name, problem.line, "malformed", str(problem))
        if messages:
            yield from self.conversation({"messages": messages}, first)
        elif held and (not elements or _is_conversation(held)):
            yield from self.conversation(held, 1, lines=False)

    def _is_message(self, value: Any) -> bool:
        """An element of the outermost array that is a message, and no record of its own."""
        if not isinstance(value, Mapping) or _is_conversation(value):
            return False
        if self.reading.format_name is not None:
            return self.reading.format_name == PLAIN
        return not value.keys().isdisjoint(("role", "type", "kind")) and find_reader(value, lines=False) is None

    def _parse_piece(self, piece: JsonPiece) -> Any:
        try:
            return orjson.loads(piece.data)
        except orjson.JSONDecodeError as problem:
            return self._describe_bad_json(piece.data, piece.line, problem)

    def _describe_bad_json(self, data: bytes, line: int, problem: orjson.JSONDecodeError) -> TranscriptProblem:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as wrong:
            return TranscriptProblem(self.name, line, "encoding", f"not UTF-8 at byte {wrong.start}")
        return TranscriptProblem(self.name, line, "malformed", f"not JSON: {str(problem)[:120]}")

    def _with_tools(self, value: Any, held: Mapping[str, Any]) -> Any:
        """tau2-bench keeps the tools once, in front of all simulations."""
        info = held.get("info")
        environment = info.get("environment_info") if isinstance(info, Mapping) else None
        tools = environment.get("tool_defs") if isinstance(environment, Mapping) else held.get("tools")
        if tools and isinstance(value, dict) and "tools" not in value:
            return {**value, "tools": tools}
        return value

    def conversations(self, line: bytes, number: int) -> Iterator[Transcript | TranscriptProblem]:
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as problem:
            yield from self._describe_bad_line(line, number, problem)
            return
        if type(value) is not list:
            yield from self.conversation(value, number, len(line))
        elif value and not self._is_message(value[0]) and isinstance(value[0], Mapping):
            for one in value:
                yield from self.conversation(one, number, len(line) // len(value), lines=False)
        else:
            yield from self.conversation({"messages": value}, number)

    def _describe_bad_line(
        self, line: bytes, number: int, problem: orjson.JSONDecodeError
    ) -> Iterator[Transcript | TranscriptProblem]:
        """Loggers write words in front of a JSON-RPC message; it is read from where it begins."""
        begins = line.find(b"{")
        if begins > 0 and b'"jsonrpc"' in line:
            try:
                value, _ = json.JSONDecoder().raw_decode(line[begins:].decode("utf-8"))
            except (ValueError, RecursionError):
                value = None
            if isinstance(value, Mapping):
                yield from self.conversation(value, number, len(line))
                return
        yield self._describe_bad_json(line, number, problem)

    def conversation(
        self, value: Any, line: int, size: int = 0, *, lines: bool = True
    ) -> Iterator[Transcript | TranscriptProblem]:
        """One record: a conversation, a part of some, or several. `lines`: it stands on a line of its own."""
        # By far the commonest record takes the short way.
        forced = self.reading.format_name
        if forced is None and type(value) is dict and type(value.get("messages")) is list:
            is_plain = value.keys().isdisjoint(_LOOKED_INTO)
        else:
            is_plain = forced == PLAIN
        if is_plain:
            yield from self._read_plain(value, line)
        elif not isinstance(value, Mapping):
            yield TranscriptProblem(self.name, line, "malformed", describe_record(value))
        elif reader := find_reader(value, forced, lines=lines):
            yield from self._read_record(reader, value, line, size)
        elif _is_conversation(value):
            yield from self._read_plain(value, line)
        elif several := next((value[key] for key in STREAMED if isinstance(value.get(key), list)), None):
            for one in several:
                if isinstance(one, Mapping) and any(isinstance(one.get(key), list) for key in STREAMED):
                    yield TranscriptProblem(self.name, line, "unknown_format", describe_record(one))
                else:
                    yield from self.conversation(self._with_tools(one, value), line, size // len(several), lines=False)
        else:
            kind: ProblemKind = "unknown_format" if value else "empty"
            yield TranscriptProblem(self.name, line, kind, describe_record(value), _identity(value, self.name, line))

    def _read_record(
        self, reader: RecordFormat, value: Mapping[str, Any], line: int, size: int
    ) -> Iterator[Transcript | TranscriptProblem]:
        found = 0
        try:
            for piece in reader.read(value):
                found += 1
                yield from self._add(piece, line, size)
        except Unknown as problem:
            yield TranscriptProblem(self.name, line, "unknown_message", str(problem))
            return
        if not found and (unread := find_unread_call((), value)):
            yield TranscriptProblem(self.name, line, "unknown_piece", unread[0], _identity(value, self.name, line))

    def _read_plain(self, value: Any, line: int) -> Iterator[Transcript | TranscriptProblem]:
        if not isinstance(value, Mapping):
            yield TranscriptProblem(self.name, line, "malformed", describe_record(value))
            return
        messages = next((value[key] for key in _MESSAGES if isinstance(value.get(key), list)), None)
        identity = _identity(value, self.name, line)
        proposal = value.get("proposal")
        if not messages and proposal is None:
            said = describe_record(value) if messages is None else "it holds no conversation: there are no messages"
            yield TranscriptProblem(self.name, line, "empty", said, identity)
            return
        try:
            specs = self.reading.toolbox.specs(value.get("tools"), self.folder)
        except (BadTools, TypeError) as problem:
            yield TranscriptProblem(self.name, line, "tools", str(problem), identity)
            return
        call = None
        if proposal is not None:
            if not isinstance(proposal, Mapping) or not isinstance(proposal.get("tool"), str):
                yield TranscriptProblem(self.name, line, "malformed", "a proposal must be {tool, arguments}", identity)
                return
            call = read_call(proposal["tool"], proposal.get("arguments"), "")
        untrusted = value.get("untrusted_tools")
        yield Transcript(
            identity,
            messages or [],
            specs,
            frozenset(name for name in untrusted if isinstance(name, str)) if isinstance(untrusted, list) else None,
            call,
            self.name,
            line,
            value["meta"] if isinstance(value.get("meta"), Mapping) else {},
            value.get("label"),
            record=value,
        )


def _is_conversation(value: Any) -> bool:
    return isinstance(value, Mapping) and (
        any(isinstance(value.get(key), list) for key in _MESSAGES) or isinstance(value.get("proposal"), Mapping)
    )


def _identity(value: Mapping[str, Any], name: str, line: int) -> str:
    if isinstance(value.get("id"), str | int):
        return str(value["id"])
    if "task_id" in value:
        return f"task {value['task_id']}" + (f", trial {value['trial']}" if value.get("trial") is not None else "")
    return f"{name}:{line}"


def specs_from(path: str | Path) -> Specs:
    """Tool definitions from a file of their own, for transcripts that carry none."""
    try:
        return specs_of(orjson.loads(Path(path).read_text("utf-8-sig")))
    except OSError as problem:
        raise ConfigError(f"Cannot read {path}: {problem.strerror}.", fix="Check the path.") from None
    except UnicodeDecodeError as problem:
        raise ConfigError(f"{path} is not UTF-8 text (byte {problem.start}).", fix="Save it as UTF-8.") from None
    except (orjson.JSONDecodeError, BadTools) as problem:
        fix = "Give a JSON list of tools, such as OpenAI tool definitions."
        raise ConfigError(f"{path} holds no tool definitions: {problem}.", fix=fix) from None
