"""A multipart request -> the files and fields in it: received to disk piece by piece, and gone when the block ends.

    async with receive_upload(request, files=1) as received:
        file = received.only_file()

What is wrong with it is said in words. How large it may be is `BodyLimit`'s to say, before anything comes here. The one
choice that may surprise: a name with a path in it is refused, not shortened, since two files of one name would then
replace each other. A field may come as a file, too: that is how curl sends `-F request=@case.json`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from circumspect.server.problems import HttpProblem

UPLOAD_PATHS = frozenset({"/v1/admin/documents", "/v1/evaluations/upload", "/documents/upload"})
"""Where files are received: what has a bound of its own, larger than that of other requests."""
UPLOAD_INSTEAD = "Documents may be larger as files: POST /v1/evaluations/upload."
"""For whoever writes them into the request of an evaluation."""
FILE = "file"
LONGEST_NAME = 200
_FIELDS = 4
_TAIL = 400
"""The last boundary is looked for in so many bytes of the end."""
_ODD = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class ReceivedFile:
    name: str
    media_type: str | None
    content: UploadFile

    async def read(self) -> bytes:
        return await self.content.read()


@dataclass(frozen=True, slots=True)
class ReceivedUpload:
    files: tuple[ReceivedFile, ...]
    fields: Mapping[str, str]

    def only_file(self) -> ReceivedFile:
        if len(self.files) != 1:
            raise _refuse("There are several files in the request.", "Send one file at a time.")
        return self.files[0]


@asynccontextmanager
async def receive_upload(
    request: Request, *, files: int, fields: tuple[str, ...] = ()
) -> AsyncIterator[ReceivedUpload]:
    """At most so many files, and only these fields beside them. Raises `HttpProblem`."""
    how = _explain(fields)
    kind, _, rest = request.headers.get("content-type", "").partition(";")
    if kind.strip().lower() != "multipart/form-data" or "boundary=" not in rest.lower():
        raise HttpProblem(415, "unsupported_media_type", "The request is not an upload of a file.", fix=how)
    pieces = _require_end(request.stream(), rest)
    parser = MultiPartParser(
        request.headers,
        pieces,
        max_files=files + 1 + len(fields),
        max_fields=_FIELDS,
        max_part_size=_largest_field(request),
    )
    try:
        form = await parser.parse()
    except MultiPartException as problem:
        if problem.message.startswith("Too many files"):
            raise _too_many(files) from None
        if problem.message.startswith("Part exceeded"):
            raise _large_field("A part that is no file", _largest_field(request)) from None
        raise HttpProblem(400, "bad_upload", f"The upload cannot be read: {problem.message}", fix=how) from None
    except ClientDisconnect:
        raise _cut_off() from None
    except OSError:
        raise HttpProblem(503, "no_room", "There is no room for the file.", fix="Try again later.") from None
    try:
        parts = [await _read_field(name, part, fields, _largest_field(request)) for name, part in form.multi_items()]
        yield _check_parts(parts, files, fields)
    finally:
        await asyncio.shield(form.close())


def _explain(fields: tuple[str, ...]) -> str:
    """How it is sent, as curl does it."""
    beside = "".join(f", and one named `{name}`" for name in fields)
    return (
        f"Send multipart/form-data with the file in a part named `file`{beside}: "
        f"curl -F file=@policy.pdf{''.join(f' -F {name}=@{name}.json' for name in fields)}"
    )


async def _read_field(
    name: str, part: UploadFile | str, fields: tuple[str, ...], most: int
) -> tuple[str, UploadFile | str]:
    """What was sent as a file, in a part that is a field: its text."""
    if isinstance(part, str) or name not in fields:
        return name, part
    data = await part.read(most + 1)
    if len(data) > most:
        raise _large_field(f"The part `{name}`", most)
    try:
        return name, data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _refuse(f"The part `{name}` is not UTF-8 text.", _explain(fields)) from None


def _largest_field(request: Request) -> int:
    settings = request.app.state.services.settings
    return int(settings.max_body_bytes)


async def _require_end(stream: AsyncGenerator[bytes, None], parameters: str) -> AsyncGenerator[bytes, None]:
    """What comes by, and a refusal if it ends without the last boundary: the parser would be silent about it. Raised
    in here, for then the parser closes what it has opened."""
    boundary = re.search(r'boundary="?([^";]{1,200})', parameters, re.IGNORECASE)
    last = f"--{boundary[1].strip() if boundary else ''}--".encode("latin-1", "replace")
    kept = b""
    async for piece in stream:
        kept = (kept + piece)[-_TAIL:]
        yield piece
    if last not in kept:
        raise _cut_off()


def _cut_off() -> HttpProblem:
    return HttpProblem(400, "cut_off", "The upload was cut off in the middle.", fix="Send it again.")


def _check_parts(parts: list[tuple[str, UploadFile | str]], most: int, known: tuple[str, ...]) -> ReceivedUpload:
    files, fields, how = list[ReceivedFile](), dict[str, str](), _explain(known)
    for name, part in parts:
        if isinstance(part, str):
            if name == FILE:
                raise _refuse("The part `file` is no file: it has no file name.", how)
            if name in fields:
                raise _refuse(f"There are two parts named `{name}`.", "Send it once.")
            if name not in known:
                raise _foreign(name, how)
            fields[name] = part
        elif name != FILE:
            raise _foreign(name, how)
        else:
            files.append(ReceivedFile(_check_name(part.filename or ""), part.content_type, part))
    if not files:
        raise _refuse("There is no part named `file` in the request.", how)
    if len(files) > most:
        raise _too_many(most)
    if len({one.name for one in files}) < len(files):
        raise _refuse("Two files have the same name.", "Give each its own name.")
    if any(not one.content.size for one in files):
        raise _refuse("The file is empty.", "Send one with something in it.")
    return ReceivedUpload(tuple(files), fields)


def _check_name(name: str) -> str:
    if not name or len(name) > LONGEST_NAME or _ODD.search(name):
        raise _refuse("The file has no usable name.", f"Give it one of 1 to {LONGEST_NAME} letters, in one line.")
    if "/" in name or "\\" in name or name.strip(". ") == "":
        raise _refuse("The file's name is a path.", "Send the name alone: policy.pdf")
    return name


def _too_many(most: int) -> HttpProblem:
    return _refuse("There are too many files in the request.", f"Send at most {most}.")


def _large_field(what: str, most: int) -> HttpProblem:
    fix = "Send documents as files, in parts named `file`; the operator can raise max_body_bytes."
    return HttpProblem(413, "too_large", f"{what} has more than {most} bytes.", fix=fix)


def _foreign(name: str, how: str) -> HttpProblem:
    return _refuse(f"The upload has a part named `{name[:LONGEST_NAME]}`, which does not belong there.", how)


def _refuse(problem: str, fix: str) -> HttpProblem:
    return HttpProblem(422, "invalid", problem, fix=fix)
