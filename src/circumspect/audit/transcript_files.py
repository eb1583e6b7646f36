"""Conversations from files: `.jsonl`, `.json`, each also as `.gz`. In: paths. Out: `Transcript`s and `Problem`s.

One conversation is in memory at a time. A line of JSONL is a conversation; of a JSON document the outermost array (or
its `simulations`) is read element by element. A file whose outermost array holds messages is one conversation.

What may surprise: nothing raises on bad content. What cannot be read becomes a `Problem` with its line, and reading
goes on; only a file that cannot be opened at all is an error.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal, cast

import orjson

from circumspect.audit.json_stream import JsonPiece, Truncated, pieces
from circumspect.audit.tool_defs import BadTools, Specs, Toolbox, specs_of
from circumspect.audit.transcript_steps import TranscriptCall, read_call
from circumspect.errors import ConfigError
from circumspect.values import Json

LINE_LIMIT = 1 << 28
UNPACKED = 1 << 18
_STREAMED = ("simulations", "conversations", "transcripts", "results", "runs", "traces", "data")
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


def read(paths: Iterable[str | Path], toolbox: Toolbox | None = None) -> Iterator[Transcript | TranscriptProblem]:
    """Every conversation of every file, in order."""
    toolbox = toolbox or Toolbox()
    for one in paths:
        path = Path(one)
        try:
            with _open_stream(path) as stream:
                yield from read_stream(stream, path.name, folder=path.parent, lines=_is_lines(path), toolbox=toolbox)
        except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
            yield TranscriptProblem(path.name, 0, "malformed", f"the compressed file is damaged: {problem}")
        except OSError as problem:
            raise ConfigError(
                f"Cannot read {path}: {problem.strerror or problem}.", fix="Check the path and its permissions."
            ) from None


def _open_stream(path: Path) -> IO[bytes]:
    stream = path.open("rb")
    # Looked at and not read: a pipe cannot go back to its beginning.
    if stream.peek(2)[:2] == b"\x1f\x8b":
        stream.close()
        # A line at a time out of a large buffer: the module's own is refilled several times a line.
        return io.BufferedReader(cast("io.RawIOBase", gzip.open(path, "rb")), UNPACKED)
    return stream


def _is_lines(path: Path) -> bool:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    return not suffixes or suffixes[-1] != ".json"


def read_stream(
    stream: IO[bytes], name: str, *, folder: Path | None, lines: bool, toolbox: Toolbox
) -> Iterator[Transcript | TranscriptProblem]:
    """The conversations of one open file. `folder` is where its tools files are looked for; None looks nowhere."""
    reader = _Reader(name, folder, toolbox)
    start = stream.read(4)
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        yield TranscriptProblem(name, 1, "encoding", "the file is UTF-16; save it as UTF-8")
        return
    start += stream.read(1 << 16)
    rest = _Ahead(start[3:] if start[:3] == b"\xef\xbb\xbf" else start, stream)
    if lines or _starts_with_a_line(rest.start):
        yield from reader.lines(rest)
    else:
        yield from reader.document(rest)


def read_lines(
    lines: Iterable[tuple[int, bytes]], name: str, *, folder: Path | None, toolbox: Toolbox
) -> Iterator[Transcript | TranscriptProblem]:
    """The conversations of some lines of a file, each with its number in it."""
    reader = _Reader(name, folder, toolbox)
    for number, line in lines:
        if line.strip():
            yield from reader.conversations(line, number)


def _starts_with_a_line(start: bytes) -> bool:
    """The first line is a JSON value of its own: conversations by lines, whatever the file is called."""
    line, newline, more = start.partition(b"\n")
    if not newline or not more.strip():
        return False
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False


class _Ahead:
    """A stream with some bytes put back in front."""

    def __init__(self, start: bytes, stream: IO[bytes]) -> None:
        self.start = start
        self.stream = stream

    def read(self, size: int) -> bytes:
        start, self.start = self.start, b""
        return start + self.stream.read(max(0, size - len(start)))

    def readline(self, limit: int) -> bytes:
        start, self.start = self.start, b""
        if (end := start.find(b"\n")) >= 0:
            self.start = start[end + 1 :]
            return start[: end + 1]
        return start + self.stream.readline(limit)


@dataclass(slots=True)
class _Reader:
    name: str
    folder: Path | None
    toolbox: Toolbox

    def lines(self, stream: _Ahead) -> Iterator[Transcript | TranscriptProblem]:
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

    def document(self, stream: _Ahead) -> Iterator[Transcript | TranscriptProblem]:
        """A JSON document. One whose elements are messages, or that has messages of its own, is one conversation."""
        held: dict[str, Any] = {}
        messages: list[Any] = []
        first = 1
        try:
            for piece in pieces(cast("IO[bytes]", stream), _STREAMED):
                value = self._parse_piece(piece)
                if isinstance(value, TranscriptProblem):
                    yield value
                elif piece.key in _STREAMED or (piece.key is None and not messages and _is_conversation(value)):
                    yield from self.conversation(self._with_tools(value, held), piece.line)
                elif piece.key is None:
                    first = first if messages else piece.line
                    messages.append(value)
                else:
                    held[piece.key] = value
        except Truncated as problem:
            yield TranscriptProblem(self.name, problem.line, "malformed", str(problem))
        if messages:
            yield from self.conversation({"messages": messages}, first)
        elif _is_conversation(held):
            yield from self.conversation(held, 1)

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
            yield self._describe_bad_json(line, number, problem)
            return
        if type(value) is list and value and _is_conversation(value[0]):
            for one in value:
                yield from self.conversation(one, number)
        else:
            yield from self.conversation({"messages": value} if isinstance(value, list) else value, number)

    def conversation(self, value: Any, line: int) -> Iterator[Transcript | TranscriptProblem]:
        if not isinstance(value, Mapping):
            yield TranscriptProblem(
                self.name, line, "malformed", f"a conversation must be an object, not {type(value).__name__}"
            )
            return
        messages = next((value[key] for key in _MESSAGES if isinstance(value.get(key), list)), None)
        identity = _identity(value, self.name, line)
        proposal = value.get("proposal")
        if messages is None and proposal is None:
            yield TranscriptProblem(self.name, line, "empty", "there are no messages", identity)
            return
        try:
            specs = self.toolbox.specs(value.get("tools"), self.folder)
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
