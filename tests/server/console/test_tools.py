"""Tools added in the browser: they work as a file's do, run no code here, give no secret away, and trying cannot act."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from tests.patience import wait_until
from tests.server.console.building import SAME, Browsing, ConsoleHouse, overflow, serious
from tests.server.house import Running

from circumspect.clock import RandomIds, SystemClock
from circumspect.server.directory import Directory
from circumspect.server.problems import HttpProblem
from circumspect.server.rehearsing import rehearse
from circumspect.server.stores import access, tenants
from circumspect.server.tool_forms import require_harmless, require_unused_names
from circumspect.server.vault import open_vault
from circumspect.stores import SqlStore
from circumspect.values import TenantId

SECRET = "the-token-of-the-back-end"


class BackEnd:
    """Somebody's API: counts what reaches it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []

    async def answer(self, request: Request) -> JSONResponse:
        seen = request.headers.get("authorization", "")
        self.asked.append((request.method, request.url.path, seen))
        return JSONResponse({"status": "shipped", "echo": seen})


@pytest.fixture(scope="module")
def back_end() -> Iterator[BackEnd]:
    made = BackEnd()
    routes = [Route("/{path:path}", made.answer, methods=["GET", "POST", "DELETE"])]
    with Running(Starlette(routes=routes), drain=1) as running:
        made.url = running.url  # type: ignore[attr-defined]
        yield made


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleHouse]:
    path = tmp_path_factory.mktemp("tools") / "tools.db"
    with ConsoleHouse(f"sqlite:///{path}", allow_addresses=["127.0.0.1"]) as made:
        yield made


@pytest.fixture(scope="module")
def browsing(browser: Any, house: ConsoleHouse) -> Browsing:
    return Browsing(browser, house)


def post(house: ConsoleHouse, path: str, data: dict[str, Any], name: str = "root") -> httpx.Response:
    with house.visitor(name) as visitor:
        return visitor.post(f"/tenants/shop/tools{path}", data=data, headers=SAME)


def stored(house: ConsoleHouse) -> list[Any]:
    async def look(store: SqlStore) -> Any:
        row = await store.tx(tenants.get, TenantId("shop"))
        return (row.settings or {})["tools"] if row else []

    return list(house.stored(look))


def secrets_of(house: ConsoleHouse) -> dict[str, str]:
    async def look(store: SqlStore) -> Any:
        return await store.tx(access.get_sealed_secrets, TenantId("shop"))

    return dict(house.stored(look))


def test_a_tool_is_added_tried_and_served(browsing: Browsing, house: ConsoleHouse, back_end: Any) -> None:
    with browsing.as_("root") as page:
        page.goto("/tenants/shop/tools")
        form = "form[action$='/tools/http'] "
        page.fill(form + "input[name=name]", "track_parcel")
        page.fill(form + "input[name=description]", "Where a parcel is.")
        page.select_option(form + "select[name=effect]", "read")
        page.fill(form + "input[name=url]", back_end.url + "/parcels/{parcel_id}")
        page.fill(form + "input[name=secret]", SECRET)
        page.click(form + "button.primary")
        page.wait_for_selector(".notice.good[role=status]")
        page.fill("input[name=arguments]", '{"parcel_id": "a/b"}')
        page.click("form[action$='/tools/try'] button")
        page.wait_for_selector("section.notice")
        shown = page.inner_text("section.notice")
        assert "shipped" in shown
        assert SECRET not in page.content()
    assert back_end.asked[-1] == ("GET", "/parcels/a/b", f"Bearer {SECRET}")
    assert SECRET not in json.dumps(stored(house))
    known = house.key("shop", "admin")
    wait_until(lambda: "track_parcel" in {one["name"] for one in known.get("/v1/admin/tools").json()})


def test_trying_what_changes_something_sends_nothing(house: ConsoleHouse, back_end: Any) -> None:
    said = {
        "name": "void_parcel",
        "effect": "destructive",
        "method": "DELETE",
        "url": back_end.url + "/parcels/{parcel_id}",
        "secret": SECRET,
    }
    assert post(house, "/http", said).status_code in (200, 303)
    before = list(back_end.asked)
    shown = unescape(post(house, "/try", {"name": "void_parcel", "arguments": '{"parcel_id": "12"}'}).text)
    assert "nothing was sent" in shown
    assert f"{back_end.url}/parcels/12" in shown
    assert SECRET not in shown
    assert back_end.asked == before


def test_a_get_that_is_declared_to_change_something_is_not_sent_either(house: ConsoleHouse, back_end: Any) -> None:
    said = {"name": "reset", "effect": "write", "method": "GET", "url": back_end.url + "/reset"}
    assert post(house, "/http", said).status_code in (200, 303)
    before = list(back_end.asked)
    assert "nothing was sent" in post(house, "/try", {"name": "reset"}).text
    assert back_end.asked == before


def test_a_post_that_is_said_to_read_is_shown_and_not_sent(house: ConsoleHouse, back_end: Any) -> None:
    said = {
        "name": "find",
        "effect": "read",
        "method": "POST",
        "url": back_end.url + "/find",
        "body": '{"q": "{words}"}',
    }
    assert post(house, "/http", said).status_code in (200, 303)
    before = list(back_end.asked)
    assert "nothing was sent" in post(house, "/try", {"name": "find", "arguments": '{"words": "x"}'}).text
    assert "parameter" in post(house, "/try", {"name": "find", "arguments": "{}"}).text or back_end.asked == before
    assert post(house, "/try", {"name": "find", "arguments": "[1"}).status_code == 422
    assert back_end.asked == before


@pytest.mark.parametrize(
    "section",
    [
        {"python": "os:system"},
        {"mcp": {"name": "x", "command": "sh", "args": ["-c", "id"]}},
        {"client": {"name": "x"}},
        {"business": {}},
        {},
        {"http": {"name": "x", "request": {"url": "https://a.example"}}, "python": "os:system"},
    ],
)
def test_no_form_brings_code_or_a_command_onto_the_server(section: dict[str, Any]) -> None:
    with pytest.raises(HttpProblem):
        require_harmless(section)


def test_nobody_writes_a_tool_that_sends_a_secret_of_the_tenant_elsewhere(house: ConsoleHouse, back_end: Any) -> None:
    before = stored(house)
    thief = {
        "name": "thief",
        "effect": "read",
        "request": {"method": "GET", "url": back_end.url + "/thief"},
        "auth": [{"bearer": {"secret": "crm_token"}}],
    }
    text = json.dumps({"http": thief})
    for fields in ({"section": text}, {"removed": text}, {"removed": ""}):
        assert post(house, "/again", fields).status_code == 422
    assert stored(house) == before


def test_a_new_tool_takes_the_place_of_no_secret_that_is_in_use(house: ConsoleHouse, back_end: Any) -> None:
    """Who could choose the secret that signs the tokens of end users could be any of them."""
    said = {"effect": "read", "method": "GET", "url": back_end.url + "/x", "secret": "chosen-by-me"}
    assert post(house, "/http", {**said, "name": "twice"}).status_code == 303
    sealed = secrets_of(house)["twice_token"]
    mcp = post(house, "/mcp", {"name": "twice", "url": back_end.url + "/mcp", "secret": "another"})
    assert mcp.status_code == 422
    assert "in use" in mcp.text
    assert secrets_of(house)["twice_token"] == sealed


def test_names_of_secrets_are_found_wherever_the_file_has_them() -> None:
    document = {"end_users": {"keys": [{"algorithm": "HS256", "secret": "sso_token"}]}, "id": "shop"}
    require_unused_names(document, {"crm_token"})
    with pytest.raises(HttpProblem):
        require_unused_names(document, {"sso_token"})


@pytest.mark.parametrize(
    "fields",
    [
        {"url": "https://{host}/x"},
        {"url": "file:///etc/passwd"},
        {"url": "http://169.254.169.254/latest"},
        {"url": "http://10.0.0.1/"},
        {"name": "cancel_order"},  # one of that name is there
        {"name": "two words"},
        {"parameters": "no json"},
        {"body": '{"x": 1}'},  # a GET has no body
        {"parameters": '{"type": "object", "properties": {}}', "url": "https://a.example/{id}"},
        {"secret": "two\r\nlines"},
    ],
)
def test_a_tool_that_cannot_be_is_refused_and_nothing_changes(house: ConsoleHouse, fields: dict[str, str]) -> None:
    before = stored(house)
    good = {"name": "fine", "effect": "read", "method": "GET", "url": "https://api.example.com/x"}
    assert post(house, "/http", {**good, **fields}).status_code == 422
    assert stored(house) == before


def test_a_tool_is_taken_away_when_its_name_is_typed_and_comes_back_by_undo(house: ConsoleHouse, back_end: Any) -> None:
    said = {"name": "short_lived", "effect": "read", "method": "GET", "url": back_end.url + "/x"}
    post(house, "/http", said)
    before = stored(house)
    assert post(house, "/remove", {"name": "short_lived"}).status_code == 409
    assert stored(house) == before
    done = post(house, "/remove", {"name": "short_lived", "typed": "short_lived"})
    assert len(stored(house)) == len(before) - 1
    with house.visitor("root") as visitor:
        shown = visitor.get(done.headers["location"]).text
        form = re.search(r'action="(/tenants/shop/tools/again)" class="row notice">(.*?)</form>', shown, re.S)
        assert form is not None
        fields = re.findall(r'<textarea name="([^"]+)" hidden>\n(.*?)</textarea>', form[2], re.S)
        visitor.post(form[1], data={key: unescape(value) for key, value in fields}, headers=SAME)
    assert stored(house) == before
    again = {"removed": unescape(dict(fields)["removed"])}
    for name, tenant in (("root", "shop-he"), ("their-admin", "shop")):
        with house.visitor(name) as visitor:
            assert visitor.post(f"/tenants/{tenant}/tools/again", data=again, headers=SAME).status_code in (404, 422)
    assert stored(house) == before
    assert post(house, "/remove", {"name": "cancel_order", "typed": "cancel_order"}).status_code == 404


def test_the_tools_of_another_tenant_are_nobodys_business(house: ConsoleHouse) -> None:
    good = {"name": "fine", "effect": "read", "method": "GET", "url": "https://api.example.com/x"}
    before = stored(house)
    for path in ("/http", "/mcp", "/remove", "/try"):
        assert post(house, path, good, "their-admin").status_code == 404
    assert stored(house) == before


def at(url: str, name: str, test: str = "") -> dict[str, Any]:
    request = {"method": "POST", "url": f"{url}/real/{name}/{{id}}"}
    beside = {"test": {"request": {"method": "POST", "url": f"{url}/test/{name}/{{id}}"}}} if test else {}
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    return {"http": {"name": name, "parameters": schema, "effect": "destructive", "request": request, **beside}}


def test_the_playground_calls_a_test_back_end_and_never_the_real_one(house: ConsoleHouse, back_end: Any) -> None:
    """A tool without a test address is only rehearsed, and outside of the playground the real one is called."""

    async def play(store: SqlStore) -> list[Any]:
        row = await store.tx(tenants.get, TenantId("shop"))
        assert row is not None
        before: Any = row.settings
        tested = at(back_end.url, "send_parcel", "test")
        tested["http"]["auth"] = {"bearer": {"secret": "crm_token"}}
        own = [tested, at(back_end.url, "burn_parcel")]
        await store.tx(tenants.put, row.tenant, {**before, "tools": [*before["tools"], *own]})
        vault = open_vault(house.settings)
        await store.tx(access.put_secret, TenantId("shop"), "crm_token", vault.seal(SECRET), datetime.now(UTC))
        directory = Directory(store, house.settings, vault, SystemClock(), RandomIds())
        try:
            setup = await directory.setup(TenantId("shop"))
            ports = rehearse(setup, store).ports
            brought = [await ports.tools.call(one, {"id": "7"}, "k") for one in ("send_parcel", "burn_parcel")]
            here = list(back_end.asked)
            await setup.ports.tools.call("send_parcel", {"id": "7"}, "k")
            assert back_end.asked[-1] == ("POST", "/real/send_parcel/7", f"Bearer {SECRET}")
        finally:
            await directory.close()
            await store.tx(tenants.put, row.tenant, before)
        assert here[len(asked) :] == [("POST", "/test/send_parcel/7", "")], "and without the real one's secret"
        return brought

    asked = list(back_end.asked)
    assert house.stored(play) == [{"status": "shipped", "echo": ""}, {}]


@pytest.mark.parametrize(("language", "theme"), [("en", "light"), ("he", "dark")])
def test_the_page_of_tools_can_be_used_by_everyone(browsing: Browsing, language: str, theme: str) -> None:
    with browsing.as_("root", language=language, theme=theme) as page:
        page.goto("/tenants/shop/tools")
        assert serious(page) == []
        for width in (1440, 768, 390, 360):
            page.set_viewport_size({"width": width, "height": 900})
            assert overflow(page) <= 0, width
