"""HTTP tools against real servers: what is sent, what an answer means, and that arguments stay data."""

from __future__ import annotations

import asyncio
import json
import logging
from base64 import b64encode
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.patience import PATIENCE
from tests.tools.raw_server import RawServer, answer, hang_up, silence

from circumspect import outgoing
from circumspect.errors import ToolError, ToolTimeout
from circumspect.tools import Toolset
from circumspect.tools.definitions import read
from circumspect.tools.http_tool import HttpTool, HttpToolDefinition
from circumspect.tools.templates import expand

ANYTHING = {
    "type": "object",
    "properties": {name: {} for name in ("id", "text", "number", "flag", "list", "object", "more")},
    "required": ["id"],
}
SECRET = "s3cr3t-t0ken/with+signs"


def http_tool(server: RawServer, path: str = "/things/{id}", *, client: Any = None, **said: Any) -> HttpTool:
    request = {"url": server.url + path} | said.pop("request", {})
    if "lookup" in said:
        said["lookup"] = said["lookup"] | {"url": server.url + said["lookup"]["url"]}
    data = {"name": "thing", "parameters": ANYTHING, "timeout": PATIENCE, "request": request} | said
    return HttpTool(
        read(HttpToolDefinition, data),
        secrets={"token": SECRET, "user": "shop"}.__getitem__,
        allow=["127.0.0.1"],
        client=client,
    )


# --- what is sent ----------------------------------------------------------------------------------------------------


async def test_a_placeholder_that_is_a_whole_value_keeps_its_type():
    body = {
        "n": "{number}",
        "f": "{flag}",
        "l": "{list}",
        "o": "{object}",
        "t": "no. {number}: {text}",
        "fix": 1,
        "b": "{{x}}",
    }
    async with RawServer() as server:
        tool = http_tool(server, request={"method": "POST", "json": body})
        arguments = {
            "id": "1",
            "number": 3,
            "flag": False,
            "list": [1, "a"],
            "object": {"k": None},
            "text": '"},{"x":"',
        }
        assert await tool.call(arguments, "key") == {"ok": True}
    assert server.asked[0].json == {
        "n": 3, "f": False, "l": [1, "a"], "o": {"k": None}, "t": 'no. 3: "},{"x":"', "fix": 1, "b": "{x}",
    }  # fmt: skip
    assert server.asked[0].headers["content-type"] == "application/json"


async def test_a_value_whose_argument_was_not_given_is_left_out():
    request = {
        "method": "POST", "query": {"q": "{text}", "always": "1"}, "headers": {"X-T": "{text}"},
        "json": {"a": "{text}", "b": "said: {text}", "c": ["{text}", "{id}"], "n": "{number}"},
    }  # fmt: skip
    async with RawServer() as server:
        await http_tool(server, "/things/{id}{?more}", request=request).call({"id": "1", "number": None}, "k")
    asked = server.asked[0]
    assert asked.target == "/things/1?always=1"
    assert asked.json == {"c": ["1"]}
    assert "x-t" not in asked.headers


async def test_arguments_in_a_url_are_percent_encoded():
    async with RawServer() as server:
        tool = http_tool(server, "/a/{id}/b{?text,list*}", request={"query": {"f": "{flag}", "l": "{list}"}})
        await tool.call({"id": "x/y?z#ä &", "text": "1&admin=true", "list": ["a", "b c"], "flag": True}, "k")
    target = server.asked[0].target
    assert target.startswith("/a/x%2Fy%3Fz%23%C3%A4%20%26/b?")
    assert parse_qs(urlsplit(target).query) == {
        "text": ["1&admin=true"], "list": ["a", "b c"], "f": ["true"], "l": ["a", "b c"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "value", ["..", ".", "../admin", "a/../../b", "..\\x", "%2e%2e/..", "", "a\r\nb", "a\0", {"a": 1}, [[1]]]
)
async def test_an_argument_that_would_leave_its_place_in_the_path_is_refused_and_nothing_is_sent(value: Any):
    async with RawServer() as server:
        with pytest.raises(ToolError) as refused:
            await http_tool(server, request={"method": "DELETE"}).call({"id": value}, "k")
        assert not isinstance(refused.value, ToolTimeout)
        assert server.asked == []


async def test_two_arguments_cannot_make_a_climb_together():
    async with RawServer() as server:
        tool = http_tool(server, "/a/{id}{text}/b", parameters=ANYTHING | {"required": ["id", "text"]})
        with pytest.raises(ToolError, match=r"another place"):
            await tool.call({"id": ".", "text": "."}, "k")


@given(st.text())
def test_no_text_changes_the_shape_of_a_url(text: str):
    try:
        url = expand("https://crm.example.com/a/{id}/b{?q}", {"id": text, "q": text})
    except ToolError:
        return
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc, parts.fragment) == ("https", "crm.example.com", "")
    assert parts.path.count("/") == 3
    assert parts.path.startswith("/a/")
    assert parts.path.endswith("/b")
    assert list(parse_qs(parts.query, keep_blank_values=True)) == ["q"]


@pytest.mark.parametrize("value", ["a\r\nX-Admin: 1", "a\nb", "a\0b", "שלום"])
async def test_a_header_cannot_be_broken_out_of(value: str):
    async with RawServer() as server:
        with pytest.raises(ToolError, match="X-T"):
            await http_tool(server, request={"headers": {"X-T": "{text}"}}).call({"id": "1", "text": value}, "k")
        assert server.asked == []


async def test_forms_and_texts_are_sent_as_such():
    async with RawServer() as server:
        form = {"a": "{text}", "l": "{list}", "n": "{number}"}
        arguments = {"id": "1", "text": "x&y=z", "list": ["1", "2"], "number": 1.5}
        await http_tool(server, request={"method": "POST", "form": form}).call(arguments, "k")
        await http_tool(server, request={"method": "PUT", "text": "{text}"}).call({"id": "1", "text": "שלום"}, "k")
    assert parse_qs(server.asked[0].body.decode()) == {"a": ["x&y=z"], "l": ["1", "2"], "n": ["1.5"]}
    assert server.asked[1].body.decode() == "שלום"
    assert server.asked[1].headers["content-type"] == "text/plain; charset=utf-8"


async def test_the_key_is_sent_with_what_changes_something_and_not_with_what_reads():
    async with RawServer() as server:
        await http_tool(server, effect="write").call({"id": "1"}, "exec-1")
        await http_tool(server, effect="read").call({"id": "1"}, "exec-2")
        await http_tool(server, idempotency_header="X-Request-Id").call({"id": "1"}, "exec-3")
        body = {"method": "POST", "json": {"key": "{idempotency_key}"}}
        await http_tool(server, request=body, idempotency_header=None, recovery="keyed").call({"id": "1"}, "exec-4")
    first, second, third, fourth = server.asked
    assert first.headers["idempotency-key"] == "exec-1"
    assert "idempotency-key" not in second.headers
    assert third.headers["x-request-id"] == "exec-3"
    assert "idempotency-key" not in third.headers
    assert fourth.json == {"key": "exec-4"}


async def test_every_way_to_show_who_we_are():
    ways = [
        {"bearer": {"secret": "token"}},
        {"basic": {"username": {"secret": "user"}, "password": {"secret": "token"}}},
        {"basic": {"username": "me", "password": {"secret": "token"}}},
        {"header": {"name": "X-Api-Key", "value": {"secret": "token"}}},
        {"query": {"name": "api_key", "value": {"secret": "token"}}},
    ]
    async with RawServer() as server:
        for way in ways:
            await http_tool(server, auth=way).call({"id": "1"}, "k")
        await http_tool(server, auth=[ways[0], ways[4]]).call({"id": "1"}, "k")
    got = [one.headers.get("authorization") for one in server.asked]
    assert got[0] == f"Bearer {SECRET}"
    assert got[1] == "Basic " + b64encode(f"shop:{SECRET}".encode()).decode()
    assert got[2] == "Basic " + b64encode(f"me:{SECRET}".encode()).decode()
    assert server.asked[3].headers["x-api-key"] == SECRET
    assert parse_qs(urlsplit(server.asked[4].target).query) == {"api_key": [SECRET]}
    assert got[5] == f"Bearer {SECRET}"
    assert "api_key" in server.asked[5].target


async def test_a_secret_that_was_rotated_is_used_at_once():
    secrets = {"token": "old-one"}
    async with RawServer() as server:
        data = {"name": "t", "request": {"url": server.url}, "auth": {"bearer": {"secret": "token"}}}
        tool = HttpTool(read(HttpToolDefinition, data), secrets=secrets.__getitem__, allow=["127.0.0.1"])
        await tool.call({}, "k")
        secrets["token"] = "new-one"
        await tool.call({}, "k")
        del secrets["token"]
        with pytest.raises(ToolError, match="needs the secret 'token'"):
            await tool.call({}, "k")
    assert [one.headers["authorization"] for one in server.asked] == ["Bearer old-one", "Bearer new-one"]


# --- what came back --------------------------------------------------------------------------------------------------


async def test_the_result_is_the_answer_or_what_is_selected_of_it():
    orders = {"data": {"orders": [{"id": 1, "status": "open", "internal": "x"}, {"id": 2, "status": "sent"}]}}
    async with RawServer(answer(200, orders)) as server:
        assert await http_tool(server).call({"id": "1"}, "k") == orders
        some = http_tool(server, request={"result": "data.orders[].{id: id, status: status}"})
        assert await some.call({"id": "1"}, "k") == [{"id": 1, "status": "open"}, {"id": 2, "status": "sent"}]
    async with RawServer(answer(200, "plain words")) as server:
        assert await http_tool(server).call({"id": "1"}, "k") == "plain words"
    async with RawServer(answer(204)) as server:
        assert await http_tool(server).call({"id": "1"}, "k") == {"status": 204}


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (404, {"message": "no such order"}, "no such order"),
        (400, {"error": {"message": "bad date"}}, "bad date"),
        (422, {"detail": [{"msg": "x", "message": "too long"}]}, "too long"),
        (409, "conflict", "conflict"),
        (403, {}, "403"),
        (429, {"error": "slow down"}, "slow down"),
        (308, None, "308"),
    ],
)
async def test_a_refusal_means_that_nothing_happened(status: int, body: Any, said: str):
    async with RawServer(answer(status, body, location="/x")) as server:
        with pytest.raises(ToolError, match=said) as refused:
            await http_tool(server, effect="write").call({"id": "1"}, "k")
        assert type(refused.value) is ToolError
        assert len(server.asked) == 1


@pytest.mark.parametrize(
    "reply",
    [
        answer(500, {"message": "oops"}),
        answer(503),
        answer(303, location="/done"),
        hang_up,
        silence,
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{",
        b"nonsense\r\n\r\n",
        answer(200, "{not json", content_type="application/json"),
        answer(200, "x" * 3_000_000),
        answer(200, "[" * 5000, content_type="application/json"),
    ],
    ids=["500", "503", "303", "hang up", "silence", "half", "no http", "not json", "too large", "too deep"],
)
async def test_after_the_request_has_left_a_failure_leaves_the_outcome_unknown(reply: Any):
    async with RawServer(reply) as server:
        with pytest.raises(ToolTimeout):
            await http_tool(server, effect="write", timeout=1, request={"method": "POST"}).call({"id": "1"}, "k")
        assert len(server.asked) == 1


async def test_a_server_that_drips_cannot_stretch_the_timeout():
    async def drip(asked, writer):
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
        while True:
            writer.write(b"x")
            await asyncio.sleep(0.05)

    async with RawServer(drip) as server, asyncio.timeout(PATIENCE):
        with pytest.raises(ToolTimeout):
            await http_tool(server, timeout=0.4).call({"id": "1"}, "k")


async def test_a_connection_that_was_never_made_means_that_nothing_happened():
    async with RawServer() as server:
        pass
    with pytest.raises(ToolError, match="nothing was sent") as refused:
        await http_tool(server, effect="write").call({"id": "1"}, "k")
    assert type(refused.value) is ToolError


async def test_a_resolver_that_hangs_means_that_nothing_happened():
    async def never(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    data = {"name": "t", "timeout": 0.4, "effect": "write", "request": {"url": "https://crm.example.com/"}}
    async with outgoing.client(resolve=never) as client:
        with pytest.raises(ToolError, match="nothing was sent") as refused:
            await HttpTool(read(HttpToolDefinition, data), client=client).call({}, "k")
    assert type(refused.value) is ToolError


async def test_a_tool_cannot_be_led_inside():
    async def inside(host: str, port: int) -> list[str]:
        return ["169.254.169.254"]

    data = {"name": "t", "effect": "read", "request": {"url": "https://crm.example.com/"}}
    async with outgoing.client(resolve=inside) as client:
        with pytest.raises(ToolError, match="not on the public internet") as refused:
            await HttpTool(read(HttpToolDefinition, data), client=client).call({}, "k")
    assert type(refused.value) is ToolError


async def test_a_redirect_is_never_followed_even_by_a_client_that_would():
    async with RawServer() as inside, RawServer(answer(302, location=inside.url)) as server:
        async with outgoing.client(allow=["127.0.0.1"], follow_redirects=True) as client:
            with pytest.raises(ToolError, match="redirect"):
                await http_tool(server, effect="read", client=client).call({"id": "1"}, "k")
        assert inside.asked == []


@pytest.mark.parametrize(
    ("said", "times"),
    [({"effect": "read"}, 2), ({"recovery": "keyed", "effect": "write"}, 2), ({"effect": "write"}, 1)],
)
async def test_a_server_that_asks_to_wait_is_asked_once_more_where_that_is_safe(said: Any, times: int):
    async with RawServer(answer(429, {}, retry_after="0"), answer(200, {"ok": 1})) as server:
        if times == 2:
            assert await http_tool(server, **said).call({"id": "1"}, "k") == {"ok": 1}
        else:
            with pytest.raises(ToolError, match="429"):
                await http_tool(server, **said).call({"id": "1"}, "k")
        assert len(server.asked) == times


@pytest.mark.parametrize("when", ["3600", "Fri, 31 Dec 2100 23:59:59 GMT", "soon", "-1"])
async def test_a_wait_that_is_too_long_or_makes_no_sense_is_not_waited_for(when: str):
    async with RawServer(answer(429, {}, retry_after=when)) as server:
        with pytest.raises(ToolError, match="429"):
            await http_tool(server, effect="read").call({"id": "1"}, "k")
        assert len(server.asked) == 1


async def test_a_date_in_the_past_is_no_wait():
    async with RawServer(answer(429, {}, retry_after="Fri, 31 Dec 1999 23:59:59 GMT"), answer(200, {})) as server:
        await http_tool(server, effect="read").call({"id": "1"}, "k")
        assert len(server.asked) == 2


# --- looking up ------------------------------------------------------------------------------------------------------


async def test_a_call_can_be_looked_up_by_its_key():
    lookup = {"url": "/calls/{idempotency_key}", "query": {"id": "{id}"}, "result": "found[0]"}
    async with RawServer(answer(200, {"found": [{"done": True}]})) as server:
        tool = http_tool(server, lookup=lookup, effect="write")
        assert tool.spec.recovery == "lookup"
        assert await tool.lookup({"id": "7"}, "exec-1") == {"done": True}
        assert server.asked[0].target == "/calls/exec-1?id=7"
        assert server.asked[0].method == "GET"


@pytest.mark.parametrize("reply", [answer(404, {"message": "unknown"}), answer(200, {"found": []}), answer(200, {})])
async def test_what_is_not_found_is_none(reply: bytes):
    async with RawServer(reply) as server:
        tool = http_tool(server, lookup={"url": "/calls/{idempotency_key}", "result": "found[0]"}, effect="write")
        assert await tool.lookup({"id": "7"}, "exec-1") is None


async def test_a_lookup_that_fails_is_not_mistaken_for_not_found():
    for reply in (answer(500), answer(401), hang_up):
        async with RawServer(reply) as server:
            tool = http_tool(server, lookup={"url": "/calls/{idempotency_key}"}, effect="write")
            with pytest.raises(ToolError):
                await tool.lookup({"id": "7"}, "exec-1")


async def test_a_tool_without_a_lookup_says_so():
    async with RawServer() as server:
        with pytest.raises(ToolError, match="cannot be looked up"):
            await http_tool(server).lookup({"id": "1"}, "k")


# --- secrets and sharing ---------------------------------------------------------------------------------------------

AUTHS = [
    {"bearer": {"secret": "token"}},
    {"basic": {"username": "me", "password": {"secret": "token"}}},
    {"header": {"name": "X-Api-Key", "value": {"secret": "token"}}},
    {"query": {"name": "api_key", "value": {"secret": "token"}}},
]


@pytest.mark.parametrize("auth", AUTHS, ids=lambda auth: next(iter(auth)))
@pytest.mark.parametrize("status", [200, 302, 400, 500])
async def test_a_secret_is_in_no_log_no_error_and_no_result_even_if_the_server_repeats_it(auth, status, caplog):
    caplog.set_level(logging.DEBUG)

    async def echo(asked, writer):
        body = {
            "message": f"{asked.target} {asked.headers}",
            "deep": [{"all": asked.target, asked.target: str(asked.headers)}],
        }
        writer.write(answer(status, body, location=f"/again?{asked.target}"))
        await writer.drain()
        writer.close()

    shown = ""
    async with RawServer(echo) as server:
        tool = http_tool(server, auth=auth, effect="write", request={"method": "POST", "json": {"id": "{id}"}})
        try:
            shown = json.dumps(await tool.call({"id": "1"}, "k"))
        except ToolError as error:
            shown = "".join(map(repr, (error, error.args, error.__cause__, error.__context__))) + str(error)
    sent = str(server.asked[0])
    spellings = [SECRET, b64encode(f"me:{SECRET}".encode()).decode(), "s3cr3t-t0ken%2Fwith%2Bsigns"]
    assert any(one in sent for one in spellings)
    for one in spellings:
        assert one not in shown
        assert one not in caplog.text
        assert not any(one in str(record.__dict__) for record in caplog.records)
        assert one not in repr(tool) + repr(tool.spec) + repr(tool.__dict__.get("_definition"))


async def test_many_calls_share_one_client_and_do_not_get_in_each_others_way():
    async def mirror(asked, writer):
        writer.write(answer(200, {"id": asked.target.rpartition("/")[2]}))
        await writer.drain()
        writer.close()

    async with RawServer(mirror) as server, outgoing.client(allow=["127.0.0.1"]) as client:
        tools = Toolset([http_tool(server, effect="read", client=client)])
        results = await asyncio.gather(*(tools.call("thing", {"id": str(n)}, f"k{n}") for n in range(50)))
    assert results == [{"id": str(n)} for n in range(50)]


def test_a_tool_without_a_client_works_in_one_event_loop_after_another():
    async def once(tool_of: Any) -> Any:
        async with RawServer() as server:
            return await tool_of(server).call({"id": "1"}, "k")

    assert [asyncio.run(once(http_tool)) for _ in range(2)] == [{"ok": True}] * 2


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=6,
    )
)
def test_whatever_an_argument_is_the_body_holds_exactly_that(value: Any):
    from circumspect.tools.http_tool import HttpRequest, _fields

    request = HttpRequest.model_validate({"method": "POST", "url": "https://a.example/", "json": {"x": "{v}", "y": 1}})
    try:
        fields = _fields(request, {"v": value})
    except ToolError:
        assert any("\ud800" <= sign <= "\udfff" for sign in json.dumps(value, ensure_ascii=False))
        return
    assert json.loads(fields["content"]) == {"x": value, "y": 1}
