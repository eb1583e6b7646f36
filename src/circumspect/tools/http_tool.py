"""HttpTool: a definition -> a tool that is called over HTTP.

What an answer means for the ledger: below 400 it happened; 4xx, it was refused and nothing happened; 5xx or a
connection that broke after the request had begun to leave, nobody knows. A connection that was never made sent nothing.

Secrets are looked up for each call, added below the client where nothing logs them, and struck out of whatever the
server says. The tool works in any event loop: without a `client` of its own it opens one for each call.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from circumspect import outgoing
from circumspect.errors import ToolError, ToolTimeout
from circumspect.extras import explain_imports
from circumspect.tools import templates
from circumspect.tools.definitions import Secrets, has_secrets, hide_secrets_json, no_secrets, reveal, words
from circumspect.tools.http_definition import Auth, Basic, HttpRequest, HttpToolDefinition, NamedSecret, check
from circumspect.tools.templates import KEY, Absent
from circumspect.tools.tool_errors import brief
from circumspect.values import Json, JsonObject, ToolSpec

with explain_imports():
    import httpx2

__all__ = ["Auth", "Basic", "HttpRequest", "HttpTool", "HttpToolDefinition", "NamedSecret"]

_NOT_DONE = frozenset((301, 307, 308))
"""Redirects that say "ask there instead". After the others a call that changes something may well have happened."""


class HttpTool:
    """A tool behind a URL. Keeps the promises of `tools.toolset.Tool`."""

    def __init__(
        self,
        definition: HttpToolDefinition,
        *,
        secrets: Secrets = no_secrets,
        client: httpx2.AsyncClient | None = None,
        allow: Iterable[str] = (),
    ) -> None:
        """`client` comes from `outgoing.client` and is closed by whoever made it; `allow` is for when there is none."""
        check(definition)
        self._definition = definition
        self._secrets = secrets
        self._needs = definition.secrets()
        self._client = client
        self._allow = outgoing.Allowed.of(allow)
        if client is None:
            for request in (definition.request, definition.lookup):
                if request:
                    outgoing.check_url(request.url.partition("{")[0], self._allow)
        self._ready = ToolSpec(
            name=definition.name,
            description=definition.description,
            parameters=definition.parameters or {"type": "object", "properties": {}},
            returns=definition.returns,
            effect=definition.effect,
            recovery=definition.recovery or ("lookup" if definition.lookup else "blind"),
            timeout=definition.timeout,
            open_world=definition.open_world,
            phrases=dict(definition.phrases),
        )
        self._unready = replace(self._ready, configured=False)

    def __repr__(self) -> str:
        return f"<HTTP tool {self._ready.signature}>"

    @property
    def spec(self) -> ToolSpec:
        return self._ready if has_secrets(self._secrets, self._needs) else self._unready

    async def call(self, arguments: JsonObject, key: str) -> Json:
        response, hidden = await self._exchange(self._definition.request, arguments, key, repeatable=self._repeatable)
        return self._result(self._definition.request, response, hidden)

    async def lookup(self, arguments: JsonObject, key: str) -> Json | None:
        wanted = self._definition.lookup
        if wanted is None:
            raise ToolError(f"{self._ready.name} cannot be looked up.", fix="Give its definition a lookup request.")
        response, hidden = await self._exchange(wanted, arguments, key, repeatable=True)
        if response.status_code == 404:
            return None
        return self._result(wanted, response, hidden)

    def describe_request(self, arguments: JsonObject) -> JsonObject:
        """What a call would send, without its secrets. Nothing is sent. Raises `ToolError` as a call would."""
        wanted = self._definition.request
        given = {name: value for name, value in arguments.items() if value is not None}
        fields = _fields(wanted, given | {KEY: "…"})
        body = fields.get("content", fields.get("data"))
        return {
            "method": wanted.method,
            "url": str(fields["url"]),
            "headers": dict(fields["headers"]),
            **({} if body is None else {"body": body.decode() if isinstance(body, bytes) else body}),
        }

    @property
    def _repeatable(self) -> bool:
        return self._ready.effect == "read" or self._ready.recovery == "keyed"

    # --- sending -----------------------------------------------------------------------------------------------------

    async def _exchange(
        self, wanted: HttpRequest, arguments: JsonObject, key: str, *, repeatable: bool
    ) -> tuple[httpx2.Response, list[str]]:
        """The server's answer, whole, and what must not be shown of it."""
        name, patience = self._ready.name, self._ready.timeout
        sending, hidden = self._prepare_request(wanted, arguments, key)
        try:
            async with asyncio.timeout(patience) as limit, self._open() as client:
                response = await sending.through(client)
                wait = _retry_after(response)
                left = (limit.when() or 0.0) - asyncio.get_running_loop().time()
                if response.status_code == 429 and repeatable and wait is not None and wait < left:
                    await asyncio.sleep(wait)
                    response = await sending.through(client)
                return response, hidden
        except outgoing.BlockedAddress as error:
            raise ToolError(f"{name} may not be called: {error.problem}", fix=error.fix) from error
        except outgoing.UnusableAnswer as error:
            raise self._after(error.problem) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
            if not sending.begun:
                raise ToolError(
                    f"{name} could not be reached, and nothing was sent: {words(brief(error), hidden)}"
                ) from None
            raise ToolTimeout(
                f"{name} was cut off, and it is not known whether it happened: {words(brief(error), hidden)}"
            ) from None

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[httpx2.AsyncClient]:
        if self._client is not None:
            yield self._client
        else:
            async with outgoing.client(allow=self._allow) as client:
                yield client

    def _prepare_request(self, wanted: HttpRequest, arguments: JsonObject, key: str) -> tuple[_Sending, list[str]]:
        definition = self._definition
        values = {name: reveal(self._secrets, name, definition.name) for name in self._needs}
        secret_headers: dict[str, str] = {}
        secret_query: dict[str, str] = {}
        hidden: list[str] = []
        for auth in definition.auth:
            headers, query, spellings = auth.build_credentials(values)
            secret_headers |= {name: templates.header(name, value) for name, value in headers.items()}
            secret_query |= query
            hidden += spellings
        given = {name: value for name, value in arguments.items() if value is not None} | {KEY: key}
        fields = _fields(wanted, given)
        if definition.idempotency_header and definition.effect != "read" and wanted is definition.request:
            fields["headers"][definition.idempotency_header] = key
        patience = httpx2.Timeout(definition.timeout, connect=min(5.0, definition.timeout / 2))
        sealed = outgoing.seal(fields["url"], headers=secret_headers, query=secret_query)
        return _Sending(wanted.method, fields, patience, sealed), hidden

    # --- what came back ----------------------------------------------------------------------------------------------

    def _result(self, wanted: HttpRequest, response: httpx2.Response, hidden: Sequence[str]) -> Json:
        status = response.status_code
        if status >= 300:
            raise self._to_tool_error(response, hidden)
        if not response.content:
            return {"status": status}
        try:
            result = _read(response)
            if wanted.result:
                import jmespath

                result = jmespath.search(wanted.result, result)
            return hide_secrets_json(result, hidden)
        except (ValueError, RecursionError) as error:
            raise self._after(f"its answer ({status}) cannot be read ({type(error).__name__})") from None

    def _to_tool_error(self, response: httpx2.Response, hidden: Sequence[str]) -> ToolError:
        name, status = self._ready.name, response.status_code
        said = words(_message(response), hidden)
        answer = f"{name}: the server answered {status} {response.reason_phrase}".rstrip() + (
            f": {said}" if said else "."
        )
        if status >= 500:
            return ToolTimeout(f"{answer} It is not known whether it happened.")
        if status < 400 and status not in _NOT_DONE:
            return self._after(f"it answered with a redirect ({status}), and redirects are not followed")
        return ToolError(answer)

    def _after(self, problem: str) -> ToolError:
        """The request had arrived. To report a mere failure would tell everyone that nothing happened."""
        kind = ToolError if self._ready.effect == "read" else ToolTimeout
        return kind(f"{self._ready.name}: {problem}")


@dataclass
class _Sending:
    """One request on its way. `begun`: some of it may have reached the server."""

    method: str
    fields: Mapping[str, Any]
    patience: httpx2.Timeout
    sealed: Mapping[str, object]
    begun: bool = False

    async def through(self, client: httpx2.AsyncClient) -> httpx2.Response:
        self.begun = False
        extensions = {**self.sealed, "trace": self._trace, "timeout": self.patience.as_dict()}
        request = client.build_request(self.method, extensions=extensions, **self.fields)
        return await client.send(request, auth=None, follow_redirects=False)

    async def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith("send_request_headers.started"):
            self.begun = True


def _fields(wanted: HttpRequest, given: JsonObject) -> dict[str, Any]:
    """The parts of a request, filled in. Raises `ToolError` where an argument does not fit its place."""
    url = httpx2.URL(templates.expand(wanted.url, given))
    query = templates.fill(dict(wanted.query), given)
    assert isinstance(query, Mapping)
    for name, value in query.items():
        each = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        for one in each:
            url = url.copy_add_param(name, templates.as_text(one))
    filled = {name: templates.fill(value, given) for name, value in wanted.headers.items()}
    headers = {name: templates.header(name, value) for name, value in filled.items() if not isinstance(value, Absent)}
    fields: dict[str, Any] = {"url": url, "headers": headers}
    try:
        if wanted.has_json:
            body = templates.fill(wanted.json_body, given)
            headers.setdefault("Content-Type", "application/json")
            fields["content"] = orjson.dumps(None if isinstance(body, Absent) else body)
        elif wanted.form is not None:
            form = templates.fill(dict(wanted.form), given)
            assert isinstance(form, Mapping)
            fields["data"] = {name: _form_value(value) for name, value in form.items()}
        elif wanted.text is not None:
            text = templates.fill(wanted.text, given)
            headers.setdefault("Content-Type", "text/plain; charset=utf-8")
            fields["content"] = "" if isinstance(text, Absent) else templates.as_text(text).encode()
    except (UnicodeError, TypeError) as error:
        raise ToolError(f"The arguments cannot be sent ({type(error).__name__}).") from None
    return fields


def _form_value(value: Json) -> str | list[str]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [templates.as_text(item) for item in value]
    return templates.as_text(value)


def _read(response: httpx2.Response) -> Json:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        return orjson.loads(response.content)  # type: ignore[no-any-return]
    return response.text


def _message(response: httpx2.Response) -> str:
    """The server's own words about what is wrong, wherever it put them."""
    if response.headers.get("content-type", "").startswith("text/html"):
        return ""
    try:
        said = _read(response)
    except ValueError:
        return ""
    for _ in range(4):
        if isinstance(said, Mapping):
            found = next(
                (said[name] for name in ("message", "detail", "error", "errors", "title") if said.get(name)), ""
            )
            said = found
        elif isinstance(said, Sequence) and not isinstance(said, str):
            said = said[0] if said else ""
    return said if isinstance(said, str) else ""


def _retry_after(response: httpx2.Response) -> float | None:
    said = response.headers.get("retry-after", "").strip()
    if said.isdecimal():
        return float(said)
    try:
        return max(0.0, (parsedate_to_datetime(said) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
