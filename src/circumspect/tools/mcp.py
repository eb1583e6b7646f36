"""McpTools: a definition of an MCP server -> its tools as ours, over one session that all turns share.

A server that died is started or connected again by the next call. What was under way when it died is unknown, and is
reported so. A call that the server refused, or that never left, is a failure. Closing ends the session and, where there
is one, the server's process.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Self, cast

from circumspect import outgoing
from circumspect.errors import CircumspectError, ToolError, ToolTimeout
from circumspect.extras import explain_imports
from circumspect.tools.definitions import (
    Secret,
    Secrets,
    check_languages,
    hide_secrets_json,
    no_secrets,
    reveal,
    words,
)
from circumspect.tools.mcp_definition import McpDefinition, McpToolSettings
from circumspect.tools.tool_errors import brief
from circumspect.values import Json, JsonObject, ToolSpec

with explain_imports():
    from mcp.shared.exceptions import MCPError
    from mcp_types import (
        HEADER_MISMATCH,
        INVALID_PARAMS,
        INVALID_REQUEST,
        METHOD_NOT_FOUND,
        CallToolResult,
        EmbeddedResource,
        RequestParamsMeta,
        ResourceLink,
        TextContent,
        TextResourceContents,
    )
    from mcp_types import Tool as ListedTool

    from circumspect.tools.mcp_http import NOT_SENT, REFUSED, streamable_http
    from circumspect.tools.mcp_session import McpSession
    from circumspect.tools.mcp_specs import specs_of
    from circumspect.tools.mcp_stdio import stdio

__all__ = ["McpDefinition", "McpTool", "McpToolSettings", "McpTools"]

KEY = "circumspect/idempotency-key"
_NOTHING_HAPPENED = frozenset((NOT_SENT, REFUSED, METHOD_NOT_FOUND, INVALID_PARAMS, HEADER_MISMATCH))
_MOST_COMPLAINTS = 500
_BETWEEN_LOOKS = 1.0

logger = logging.getLogger(__name__)


class McpTool:
    """One tool of a server. Keeps the promises of `tools.toolset.Tool`."""

    def __init__(self, server: McpTools, remote: str, spec: ToolSpec) -> None:
        self._server = server
        self._remote = remote
        self._spec = spec

    def __repr__(self) -> str:
        return f"<MCP tool {self._spec.signature}>"

    @property
    def spec(self) -> ToolSpec:
        return self._spec

    async def call(self, arguments: JsonObject, key: str) -> Json:
        return await self._server.call(self._remote, self._spec, arguments, key)

    async def lookup(self, arguments: JsonObject, key: str) -> Json | None:
        raise ToolError(f"{self._spec.name} cannot be looked up: MCP has no such question.")


class McpTools:
    """The tools of one server: `async with McpTools(definition) as server: Toolset(server.tools())`."""

    def __init__(
        self,
        definition: McpDefinition,
        *,
        secrets: Secrets = no_secrets,
        declared: Callable[[str], bool] = lambda name: False,
        allow: Iterable[str] = (),
        verify: ssl.SSLContext | None = None,
    ) -> None:
        """`declared` tells whether the policy file says what the tool of this name does; `allow` lists private hosts
        that may be called; `verify` trusts a certificate authority of one's own."""
        for name, settings in definition.tools.items():
            check_languages(f"{definition.name}, {name}", settings.phrases)
        self._allow = outgoing.Allowed.of(allow)
        if definition.url is not None:
            outgoing.check_url(definition.url, self._allow)
        self._definition = definition
        self._secrets = secrets
        self._declared = declared
        self._verify = verify
        self._hidden: list[str] = []
        self._complaints = 0
        self._last = ""
        self._tools: dict[str, McpTool] = {}
        self._session: McpSession | None = None
        self._connecting: asyncio.Task[McpSession] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._changed = False
        self._old: set[asyncio.Task[None]] = set()
        self._closed = False

    def __repr__(self) -> str:
        return f"<MCP server {self._definition.name}, {len(self._tools)} tools>"

    async def __aenter__(self) -> Self:
        try:
            await self._get_session()
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        self._closed = True
        for task in (self._connecting, self._looking):
            if task:
                task.cancel()
                await asyncio.wait({task})
        if self._session:
            await self._session.close()
        if self._old:
            await asyncio.wait(self._old)

    def tools(self) -> tuple[McpTool, ...]:
        """The tools as the server lists them now, those that went away included: they say `configured=False`."""
        return tuple(self._tools.values())

    # --- calling -----------------------------------------------------------------------------------------------------

    async def call(self, remote: str, spec: ToolSpec, arguments: JsonObject, key: str) -> Json:
        """Run one of the server's tools. Raises `ToolError` or `ToolTimeout`, within the tool's timeout."""
        clock = asyncio.get_running_loop().time
        until = clock() + spec.timeout
        session = await self._soon(spec.timeout / 2)
        for attempt in range(2):
            asked = session.client.session.call_tool(
                remote,
                dict(arguments),
                meta=cast(RequestParamsMeta, {KEY: key}),
                allow_input_required=True,
                allow_claimed=True,
            )
            try:
                return self._result(spec, await session.wait_for(asked, until - clock()))
            except TimeoutError:
                raise ToolTimeout(f"{spec.name} did not answer within {spec.timeout:g} s.") from None
            except MCPError as error:
                if attempt == 0 and _session_is_gone(error):
                    self._retire(session)
                    session = await self._soon((until - clock()) / 2)
                    continue
                raise self._to_tool_error(spec, error) from None
            except CircumspectError:
                raise
            except Exception as error:
                raise self._after(spec, f"its answer cannot be used: {words(brief(error), self._hidden)}") from None
        raise AssertionError("unreachable")

    def _to_tool_error(self, spec: ToolSpec, error: MCPError) -> ToolError:
        said = words(error.message, self._hidden)
        if error.code == HEADER_MISMATCH:
            self._look_again()
        if error.code in _NOTHING_HAPPENED:
            return ToolError(f"{spec.name}: {said}")
        return ToolTimeout(f"{spec.name} was cut off, and it is not known whether it happened: {said}")

    def _after(self, spec: ToolSpec, problem: str) -> ToolError:
        """The tool has run. To report a mere failure would tell everyone that nothing happened."""
        kind = ToolError if spec.effect == "read" else ToolTimeout
        return kind(f"{spec.name}: {problem}")

    def _result(self, spec: ToolSpec, result: Any) -> Json:
        if not isinstance(result, CallToolResult):
            raise ToolError(f"{spec.name} asks for something in return, which is not supported. It did not run.")
        text = "\n".join(_text(block) for block in result.content)
        if result.is_error:
            raise ToolError(f"{spec.name}: {words(text, self._hidden) or 'the server reported an error.'}")
        given = text if result.structured_content is None else result.structured_content
        return hide_secrets_json(given, self._hidden)

    # --- connecting --------------------------------------------------------------------------------------------------

    async def _soon(self, within: float) -> McpSession:
        """A session to call through. Half of a call's time: the other half is the server's to answer."""
        try:
            async with asyncio.timeout(within):
                return await self._get_session()
        except TimeoutError:
            raise ToolError(f"{self._definition.name} did not connect in time; nothing was sent.", fix=_FIX) from None

    async def _get_session(self) -> McpSession:
        """The session, made anew if there is none. Callers who come meanwhile wait for the same one."""
        if self._closed:
            raise ToolError(f"{self._definition.name} was closed; nothing was sent.")
        if self._session and self._session.alive:
            return self._session
        if self._connecting is None or self._connecting.done():
            self._connecting = asyncio.create_task(self._connect())
            self._connecting.add_done_callback(_consume_exception)
        return await asyncio.shield(self._connecting)

    async def _connect(self) -> McpSession:
        name = self._definition.name
        if self._session:
            self._retire(self._session)
        session = self._new_session()
        try:
            await session.open(self._definition.connect_timeout)
            listed = await session.wait_for(session.tools(), self._definition.connect_timeout)
        except TimeoutError:
            self._retire(session)
            raise ToolError(f"{name} did not connect in time; nothing was sent.", fix=_FIX) from None
        except CircumspectError:
            self._retire(session)
            raise
        except Exception as error:
            self._retire(session)
            problem = error.message if isinstance(error, MCPError) else brief(error)
            last = f" It said: {self._last}" if self._last else ""
            raise ToolError(
                f"{name} cannot be connected, and nothing was sent: {words(problem, self._hidden)}.{last}", fix=_FIX
            ) from None
        except BaseException:
            self._retire(session)
            raise
        self._session = session
        self._take(listed)
        return session

    def _new_session(self) -> McpSession:
        session: McpSession

        def end_session(why: str) -> None:
            if session.alive:
                logger.warning("the MCP server %s has left: %s", self._definition.name, why)
            session.hang_up(why)

        session = McpSession(self._transport(end_session), self._look_again)
        return session

    def _transport(self, ended: Callable[[str], None]) -> AbstractAsyncContextManager[Any]:
        said, name = self._definition, self._definition.name
        revealed = {one: reveal(self._secrets, one, name) for one in said.secrets()}
        self._hidden = [*{*self._hidden, *revealed.values()}]
        self._complaints, self._last = 0, ""
        if said.command is not None:
            return stdio(
                said.command,
                said.args,
                _with_secrets(said.env, revealed),
                said.cwd,
                max_bytes=said.max_bytes,
                on_stderr=self._complain,
                on_end=ended,
            )
        assert said.url is not None
        return streamable_http(
            said.url,
            _with_secrets(said.headers, revealed),
            allow=self._allow,
            connect_timeout=said.connect_timeout,
            max_bytes=said.max_bytes,
            verify=self._verify,
        )

    def _retire(self, session: McpSession) -> None:
        """Hang up without waiting for it."""
        session.hang_up()
        task = asyncio.create_task(session.close())
        self._old.add(task)
        task.add_done_callback(self._old.discard)

    def _complain(self, line: str) -> None:
        self._complaints += 1
        if self._complaints <= _MOST_COMPLAINTS:
            self._last = words(line, self._hidden)
            logger.debug("%s: %s", self._definition.name, self._last)

    # --- what the server lists ---------------------------------------------------------------------------------------

    def _look_again(self) -> None:
        """The list has changed. However often a server says so, it is read at most once a second."""
        self._changed = True
        if not self._closed and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look())
            self._looking.add_done_callback(_consume_exception)

    async def _look(self) -> None:
        while self._changed and self._session and self._session.alive:
            self._changed = False
            try:
                self._take(await self._session.wait_for(self._session.tools(), self._definition.timeout))
            except Exception as error:
                logger.warning("%s: its tools could not be listed (%s)", self._definition.name, type(error).__name__)
            await asyncio.sleep(_BETWEEN_LOOKS)

    def _take(self, listed: Iterable[ListedTool]) -> None:
        now = specs_of(self._definition, listed, self._declared, self._hidden)
        for remote, tool in self._tools.items():
            spec = now.get(remote) or replace(tool.spec, configured=False)
            if spec != tool.spec:
                tool._spec = spec
        for remote, spec in now.items():
            if remote not in self._tools:
                self._tools[remote] = McpTool(self, remote, spec)


_FIX = "Check the command or the URL, and the secrets it names."


def _with_secrets(values: Mapping[str, str | Secret], revealed: Mapping[str, str]) -> dict[str, str]:
    return {name: revealed[value.secret] if isinstance(value, Secret) else value for name, value in values.items()}


def _session_is_gone(error: MCPError) -> bool:
    """The SDK's word for a 404: the server has forgotten the session, and so did not take the call."""
    return error.code == INVALID_REQUEST and error.message == "Session terminated"


def _text(block: object) -> str:
    match block:
        case TextContent():
            return block.text
        case EmbeddedResource(resource=TextResourceContents() as resource):
            return resource.text
        case ResourceLink():
            return str(block.uri)
    return f"[{getattr(block, 'type', 'content')}, left out]"


def _consume_exception(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()
