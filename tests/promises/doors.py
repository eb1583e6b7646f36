"""The ways in. Each takes a person's words, or their button, to the product as its users do, and brings back what was
displayed: `Shown`. Nothing here knows what may run."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import httpx
import jwt
import mcp_types as mcp
from mcp import Client, MCPError
from tests.promises.site import PASSWORD, SIGNING, STAFF, Site

from circumspect.cli import chat
from circumspect.errors import CircumspectError
from circumspect.server.end_users import END_USER_TOKEN
from circumspect.server.gateway import ASKED, Gateway
from circumspect.values import ConversationId, Mode, TenantId, TurnResult


@dataclass(frozen=True)
class Shown:
    """What came back. `asks` names the question in it, when there is one."""

    text: str = ""
    asks: str | None = None
    colleague: bool = False
    turn: str | None = None
    """Names this reply, for clients that say what they had before them."""
    refused: bool = False
    """No reply: an error, or nothing at all."""


@dataclass
class Tab:
    """Where one person sits before one conversation."""

    person: str | None
    conversation: str
    mode: Mode
    seen: str | None = None
    """The newest reply in it."""
    history: list[dict[str, str]] = field(default_factory=list)


class Door(Protocol):
    name: str
    types: bool
    """Words can be typed here, and so a yes can be."""
    knows_people: bool
    """It can tell one person from another."""
    apart: bool
    """Everybody has a conversation of their own, whatever id they name."""
    at_once: bool
    """Two messages can be on their way at the same time."""
    buttons: bool
    """A yes can name its question."""
    keyed: bool
    """Messages carry a key, so that one that is sent again is the same."""
    believes: bool
    """It takes its program's word for who decides for a colleague."""

    async def begin(self, person: str | None, mode: Mode) -> str: ...
    async def say(self, tab: Tab, text: str, key: str) -> Shown: ...
    async def press(self, tab: Tab, question: str, yes: bool, key: str) -> Shown: ...


@dataclass
class ConversationApi:
    site: Site
    name: str = "conversation API"
    types: bool = True
    knows_people: bool = True
    apart: bool = False
    at_once: bool = True
    buttons: bool = True
    keyed: bool = True
    believes: bool = False

    async def begin(self, person: str | None, mode: Mode) -> str:
        tab = Tab(person, f"c{next(self.site.numbers)}", mode)
        made = await self._post(tab, "/v1/conversations", {"id": tab.conversation, **_name(tab)}, "")
        return str(made.json()["id"])

    async def say(self, tab: Tab, text: str, key: str) -> Shown:
        body = {"content": text, **_name(tab), **_seen(tab)}
        return _show_turn(await self._post(tab, f"/v1/conversations/{tab.conversation}/messages", body, key))

    async def press(self, tab: Tab, question: str, yes: bool, key: str) -> Shown:
        body = {"intent_id": question, "decision": "approve" if yes else "deny", **_name(tab)}
        return _show_turn(await self._post(tab, f"/v1/conversations/{tab.conversation}/confirmations", body, key))

    async def _post(self, tab: Tab, path: str, body: Mapping[str, Any], key: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.site.keys[tab.mode, 'chat']}", **_sign(self.site, tab)}
        keyed = {"Idempotency-Key": key} if key else {}
        return await self.site.http.post(path, json=body, headers={**headers, **keyed})


@dataclass
class OpenAiEndpoint:
    """The wire format of OpenAI's clients: the whole talk each time, the conversation named beside it."""

    site: Site
    name: str = "OpenAI endpoint"
    types: bool = True
    knows_people: bool = True
    apart: bool = False
    at_once: bool = True
    buttons: bool = True
    keyed: bool = True
    believes: bool = False

    async def begin(self, person: str | None, mode: Mode) -> str:
        return f"o{next(self.site.numbers)}"

    async def say(self, tab: Tab, text: str, key: str) -> Shown:
        said = [*tab.history, {"role": "user", "content": text}]
        named = {"conversation_id": tab.conversation, **_seen(tab)}
        body: dict[str, Any] = {"model": "circumspect", "messages": said, "metadata": named}
        if tab.person:
            body["user"] = tab.person
        headers = {"Authorization": f"Bearer {self.site.keys[tab.mode, 'chat']}", **_sign(self.site, tab)}
        answer = await self.site.http.post(
            "/v1/chat/completions", json=body, headers={**headers, "Idempotency-Key": key}
        )
        if answer.status_code != 200:
            return Shown(answer.text, refused=True)
        told = answer.json()
        content = told["choices"][0]["message"]["content"]
        tab.history = [*said, {"role": "assistant", "content": content}]
        return _show(content, told["circumspect"]["pending"], told["circumspect"]["turn_id"])

    async def press(self, tab: Tab, question: str, yes: bool, key: str) -> Shown:
        """It has no buttons; whoever uses it has the API beside it."""
        return await ConversationApi(self.site).press(tab, question, yes, key)


@dataclass
class Widget:
    site: Site
    name: str = "widget"
    types: bool = True
    knows_people: bool = True
    apart: bool = False
    at_once: bool = True
    buttons: bool = True
    keyed: bool = True
    believes: bool = False

    def __post_init__(self) -> None:
        self._visitors: dict[tuple[str | None, Mode], str] = {}

    async def begin(self, person: str | None, mode: Mode) -> str:
        return await self._begin(Tab(person, "", mode))

    async def _begin(self, tab: Tab) -> str:
        told = (await self._post(tab, "", {}, "")).json()
        if "visitor" in told:
            self._visitors[tab.person, tab.mode] = told["visitor"]
        return str(told["id"])

    async def say(self, tab: Tab, text: str, key: str) -> Shown:
        return _show_stream(
            await self._post(tab, f"/{tab.conversation}/messages", {"content": text, **_seen(tab)}, key)
        )

    async def press(self, tab: Tab, question: str, yes: bool, key: str) -> Shown:
        body = {"intent_id": question, "decision": "approve" if yes else "deny"}
        return _show_stream(await self._post(tab, f"/{tab.conversation}/confirmations", body, key))

    async def _post(self, tab: Tab, path: str, body: Mapping[str, Any], key: str) -> httpx.Response:
        """A visitor is known by the site's own token, or by one that the widget gave them when they first came."""
        headers = {"Authorization": f"Bearer {self.site.keys[tab.mode, 'widget']}", **_sign(self.site, tab)}
        if END_USER_TOKEN not in headers and path:
            if (tab.person, tab.mode) not in self._visitors:
                await self._begin(tab)
            headers[END_USER_TOKEN] = self._visitors[tab.person, tab.mode]
        url = f"/widget/conversations{path}"
        return await self.site.http.post(url, json=body, headers={**headers, "Idempotency-Key": key.ljust(16, "0")})


@dataclass
class Library:
    site: Site
    name: str = "library"
    types: bool = True
    knows_people: bool = True
    apart: bool = False
    at_once: bool = True
    buttons: bool = True
    keyed: bool = True
    believes: bool = True

    async def begin(self, person: str | None, mode: Mode) -> str:
        return f"l{next(self.site.numbers)}"

    async def say(self, tab: Tab, text: str, key: str) -> Shown:
        agent = self.site.agents[tab.mode]
        said = agent.turn(text, conversation=tab.conversation, key=key, person=tab.person, seen=tab.seen)
        return await _show_result(said)

    async def press(self, tab: Tab, question: str, yes: bool, key: str) -> Shown:
        agent, by = self.site.agents[tab.mode], tab.person or "user"
        verb: Literal["approve", "deny"] = "approve" if yes else "deny"
        decided = agent.decide(question, verb, by=by, conversation=tab.conversation, person=tab.person)
        return await _show_result(decided)


@dataclass
class Terminal:
    """`circumspect chat`, one line from a pipe at a time."""

    site: Site
    name: str = "terminal"
    types: bool = True
    knows_people: bool = False
    apart: bool = False
    at_once: bool = False
    buttons: bool = False
    keyed: bool = False
    believes: bool = False

    async def begin(self, person: str | None, mode: Mode) -> str:
        return f"t{next(self.site.numbers)}"

    async def say(self, tab: Tab, text: str, key: str) -> Shown:
        agent = self.site.agents[tab.mode]

        class Session(chat.ChatSession):
            def agent(self) -> Any:
                return _KeptOpen(agent)

        session = Session("shop", None, None, "", "en", tab.conversation, None, debug=False, as_json=True)
        out = io.TextIOWrapper(io.BytesIO(), "utf-8")
        stdin, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(f"{text}\n".encode()), "utf-8")
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                await chat._from_pipe(session)
        finally:
            sys.stdin = stdin
        out.seek(0)
        told = json.loads(out.read())
        return _show(told["reply"], told["pending"], told["turn_id"])

    async def press(self, tab: Tab, question: str, yes: bool, key: str) -> Shown:
        raise NotImplementedError


class _KeptOpen:
    """An agent that outlives the command."""

    def __init__(self, agent: Any) -> None:
        self.turn = agent.turn

    async def close(self) -> None:
        """The site closes it."""


@dataclass
class McpGateway:
    """An MCP client whose model calls tools and whose user is shown a form. A person is a client with a name."""

    site: Site
    name: str = "MCP gateway"
    types: bool = False
    knows_people: bool = True
    apart: bool = True
    at_once: bool = True
    buttons: bool = True
    keyed: bool = True
    believes: bool = False

    async def begin(self, person: str | None, mode: Mode) -> str:
        return f"mcp:{next(self.site.numbers)}"

    async def say(self, tab: Tab, text: str, key: str) -> Shown:
        shown = Shown()
        for call in [one for batch in self.site.model.script for one in batch]:
            shown = await self._call(tab, call.tool, dict(call.arguments))
            if not shown.asks:
                continue
            self._asked[shown.asks] = (call.tool, dict(call.arguments))
            break
        return shown

    def __post_init__(self) -> None:
        self._asked: dict[str, tuple[str, dict[str, Any]]] = {}

    async def press(self, tab: Tab, question: str, yes: bool, key: str) -> Shown:
        tool, arguments = self._asked.get(question, ("cancel_order", {"order_id": "1"}))
        given = mcp.ElicitResult(action="accept", content={"confirm": True}) if yes else _not_quite_yes(key)
        return await self._call(tab, tool, arguments, {ASKED: given}, question)

    async def _call(
        self, tab: Tab, tool: str, arguments: dict[str, Any], responses: Any = None, state: str | None = None
    ) -> Shown:
        person = tab.person or "anonymous"
        conversation = ConversationId(f"{tab.conversation}:{person}")
        gateway = Gateway(self.site.services, TenantId(tab.mode), conversation, person)

        async def form(context: Any, params: Any) -> Any:
            raise AssertionError("nobody is asked behind our back")

        async with Client(gateway.server(), elicitation_callback=form) as client:
            try:
                told: Any = await client.session.call_tool(
                    tool, arguments, input_responses=responses, request_state=state, allow_input_required=True
                )
            except MCPError as problem:
                return Shown(str(problem), refused=True)
        if isinstance(told, mcp.InputRequiredResult):
            return Shown(told.input_requests[ASKED].params.message, told.request_state, turn="")
        return Shown("\n".join(part.text for part in told.content))


def _not_quite_yes(key: str) -> mcp.ElicitResult:
    """What clients send when they mean no, and what they send when they did not read the form."""
    contents: list[Any] = [{"confirm": "no"}, {"confirm": "true"}, {"confirm": False}, {}, {"confirm": True, "x": 1}]
    given = contents[sum(map(ord, key)) % len(contents)]
    return mcp.ElicitResult.model_construct(action="accept", content=given)


@dataclass
class Console:
    """Operators: the playground to talk in, approvals by the pages or by the API under them."""

    site: Site
    name: str = "console"
    types: bool = True
    knows_people: bool = True
    apart: bool = False
    at_once: bool = True
    buttons: bool = True
    keyed: bool = True
    believes: bool = False

    async def begin(self, person: str | None, mode: Mode) -> str:
        if person not in STAFF:
            return await ConversationApi(self.site).begin(person, mode)
        made = await self._submit(person, "/playground", {"tenant": mode})
        return made.headers["location"].rpartition("/")[2] if made.status_code == 303 else "nowhere"

    async def say(self, tab: Tab, text: str, key: str) -> Shown:
        if tab.person not in STAFF:
            return await ConversationApi(self.site).say(tab, text, key)
        path = f"/playground/{tab.mode}/{tab.conversation}/messages"
        return _show_stream(await self._submit(tab.person, path, {"content": text, **_seen(tab)}))

    async def press(self, tab: Tab, question: str, yes: bool, key: str) -> Shown:
        if tab.person not in STAFF:
            return await ConversationApi(self.site).press(tab, question, yes, key)
        path = f"/playground/{tab.mode}/{tab.conversation}/confirmations"
        answer = {"intent_id": question, "answer": "approve" if yes else "deny"}
        return _show_stream(await self._submit(tab.person, path, answer))

    async def look(self, who: str, approval: str) -> dict[str, Any] | None:
        answer = await self.site.http.get(f"/v1/approvals/{approval}", headers=await self._headers(who))
        return dict(answer.json()) if answer.status_code == 200 else None

    async def decide(self, who: str, approval: str, verb: str, by_page: bool, **fields: Any) -> str | None:
        """The id of what waits anew after an edit."""
        if by_page and who in STAFF:
            form = {name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()}
            answer = await self._submit(who, f"/approvals/{approval}/{verb}", form)
            where = answer.headers.get("location", "").partition("?")[0].rpartition("/")[2]
            return where if verb == "edit" and answer.status_code == 303 and where != approval else None
        path = f"/v1/approvals/{approval}/{verb}"
        answer = await self.site.http.post(path, json=fields, headers=await self._headers(who))
        pending = answer.json()["turn"]["pending"] if answer.status_code == 200 else None
        return pending["intent_id"] if pending else None

    async def _headers(self, who: str) -> dict[str, str]:
        if who not in STAFF:
            return {"Authorization": f"Bearer {who}"}
        known = await self.site.http.get("/v1/session", headers={"Authorization": f"Bearer {self.site.sessions[who]}"})
        if known.status_code == 401:
            again = await self.site.http.post("/v1/session", json={"name": who, "password": PASSWORD})
            self.site.sessions[who] = again.json()["token"]
        return {"Authorization": f"Bearer {self.site.sessions[who]}"}

    async def _submit(self, who: str, path: str, form: Mapping[str, str]) -> httpx.Response:
        await self._headers(who)
        cookies = {"Cookie": f"circumspect_session={self.site.sessions[who]}", "Sec-Fetch-Site": "same-origin"}
        return await self.site.http.post(path, data=form, headers=cookies)


DOORS: tuple[type[Any], ...] = (ConversationApi, OpenAiEndpoint, Widget, McpGateway, Console, Terminal, Library)


def _sign(site: Site, tab: Tab) -> dict[str, str]:
    """The adaptive tenant's people are known by tokens that it signs; the other one's by its word."""
    if tab.person is None or tab.mode != "adaptive" or tab.person in STAFF:
        return {}
    said = {"sub": tab.person, "exp": int(site.clock.now().timestamp()) + 60}
    return {END_USER_TOKEN: jwt.encode(said, SIGNING, "HS256", headers={"kid": "a"})}


def _name(tab: Tab) -> dict[str, str]:
    return {"person": tab.person} if tab.person else {}


def _seen(tab: Tab) -> dict[str, str]:
    return {"seen": tab.seen} if tab.seen else {}


def _show(text: str, pending: Mapping[str, Any] | None, turn: str | None) -> Shown:
    if not pending:
        return Shown(text, turn=turn)
    return Shown(text, pending["intent_id"], pending.get("kind") == "approval", turn)


def _show_turn(answer: httpx.Response) -> Shown:
    if answer.status_code != 200:
        return Shown(answer.text, refused=True)
    told = answer.json()
    return _show(told["reply"], told["pending"], told["turn_id"])


def _show_stream(answer: httpx.Response) -> Shown:
    if answer.status_code != 200:
        return Shown(answer.text, refused=True)
    event, _, data = answer.text.strip().rpartition("\n\n")[2].partition("\n")
    if event != "event: done":
        return Shown(answer.text, refused=True)
    told = json.loads(data.removeprefix("data: "))
    return _show(told.get("reply", told.get("text", "")), told["pending"], told.get("turn_id", told.get("turn")))


async def _show_result(coming: Awaitable[TurnResult]) -> Shown:
    try:
        result = await coming
    except CircumspectError as problem:
        return Shown(str(problem), refused=True)
    if result.lost:
        return Shown(result.reply, refused=True)
    asked = result.pending
    return Shown(result.reply, asked.id if asked else None, bool(asked and asked.kind == "approval"), result.turn)
