"""A server below a path: every address that leaves it has the prefix, whether the proxy takes that away or leaves it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.requests import Request
from tests.patience import PATIENCE, wait_until
from tests.server.console.building import FLAGS, SAME, ConsoleHouse, chromium
from tests.server.house import PASSWORD

from circumspect.errors import ConfigError
from circumspect.server.config import load_settings
from circumspect.server.path_prefix import PathPrefix, add_prefix, read_prefix, require_free_prefix, without_prefix

PREFIX = "/agent/x"
PAGES = ["/", "/conversations", "/escalations", "/approvals", "/reviews", "/experiments", "/policies", "/policies/shop",
         "/tenants", "/tenants/shop", "/usage", "/notifications", "/log", "/playground", "/account",
         "/account/second-factor", "/overview", "/overview/needs", "/first-steps", "/colleagues", "/new-tenant",
         "/new-review", "/new-experiment", "/tenants/shop/tools", "/tenants/shop/widget", "/nothing"]  # fmt: skip
PIECES = ("/overview/needs", "/first-steps")
ADDRESS = re.compile(r"""\s(?:href|src|action|formaction|hx-[a-z-]+|data-trial|data-base|data-ask)=["'](/[^"']*)""")


@pytest.fixture(scope="module")
def below(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleHouse]:
    folder = tmp_path_factory.mktemp("below")
    with ConsoleHouse(f"sqlite:///{folder}/c.db", public_url=f"http://127.0.0.1{PREFIX}/") as house:
        yield house


@pytest.fixture(params=[PREFIX, ""], ids=["left by the proxy", "taken away by the proxy"])
def visitor(request: pytest.FixtureRequest, below: ConsoleHouse) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=below.url + request.param, trust_env=False, timeout=PATIENCE) as client:
        token = below.signed_in("root")
        client.headers["Cookie"] = f"circumspect_session={token}"
        yield client


@pytest.mark.parametrize("path", PAGES)
def test_every_address_on_a_page_has_the_prefix_once(visitor: httpx.Client, path: str) -> None:
    answer = visitor.get(path, headers={"Accept": "text/html"})
    assert answer.status_code == (404 if path == "/nothing" else 200), answer.text[:300]
    found = ADDRESS.findall(answer.text)
    assert len(found) > (0 if path in PIECES else 5)
    wrong = [one for one in found if not one.startswith(f"{PREFIX}/") or one.startswith(f"{PREFIX}{PREFIX}")]
    assert wrong == []
    for address in {one for one in found if one.startswith(f"{PREFIX}/static/")}:
        assert visitor.get(address.removeprefix(PREFIX)).status_code == 200


def test_every_address_on_the_sign_in_page_has_the_prefix(visitor: httpx.Client) -> None:
    del visitor.headers["Cookie"]
    shown = visitor.get("/login?next=/usage").text
    assert "data-ask=" in shown
    assert [one for one in ADDRESS.findall(shown) if not one.startswith(f"{PREFIX}/")] == []


def test_the_customers_page_is_below_the_prefix(below: ConsoleHouse, visitor: httpx.Client) -> None:
    asked = visitor.get("/customer/login").text
    signed = visitor.post("/customer/login", data={"key": below.token("shop", "read")}, headers=SAME)
    assert signed.headers["location"] == f"{PREFIX}/customer"
    assert all(f"Path={PREFIX}/customer" in one for one in signed.headers.get_list("set-cookie"))
    cookie = "; ".join(one.partition(";")[0] for one in signed.headers.get_list("set-cookie"))
    for shown in (asked, visitor.get("/customer", headers={"Cookie": cookie}).text):
        found = ADDRESS.findall(shown)
        assert len(found) > 3
        assert [one for one in found if not one.startswith(f"{PREFIX}/")] == []


def test_who_is_not_signed_in_is_sent_below_the_prefix_and_back(visitor: httpx.Client) -> None:
    del visitor.headers["Cookie"]
    sent = visitor.get("/escalations?state=all", headers={"Accept": "text/html"})
    assert (sent.status_code, sent.headers["location"]) == (303, f"{PREFIX}/login?next=%2Fescalations%3Fstate%3Dall")
    shown = {"HX-Request": "true", "HX-Current-URL": f"http://127.0.0.1{PREFIX}/escalations"}
    asked = visitor.get("/counts", headers=shown)
    assert asked.headers["hx-redirect"] == f"{PREFIX}/login?next=%2Fescalations"
    said = {"name": "noa", "password": PASSWORD, "next": "/escalations"}
    signed = visitor.post("/login", data=said, headers=SAME)
    assert signed.headers["location"] == f"{PREFIX}/escalations"
    cookies = signed.headers.get_list("set-cookie")
    assert cookies
    assert all(f"Path={PREFIX};" in f"{one};" for one in cookies), cookies


def test_the_api_is_below_the_prefix_and_says_so(below: ConsoleHouse, visitor: httpx.Client) -> None:
    assert visitor.get("/openapi.json").json()["servers"] == [{"url": f"http://127.0.0.1{PREFIX}"}]
    answer = visitor.get("/v1/models", headers={"Authorization": f"Bearer {below.token()}"})
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert "permissions-policy" not in answer.headers, "headers of pages are for pages"
    for path in ("/healthz", "/readyz"):
        assert visitor.get(path).status_code == 200


def test_the_chat_for_other_sites_is_below_the_prefix(below: ConsoleHouse, visitor: httpx.Client) -> None:
    frame = visitor.get("/widget", params={"key": below.token("shop", "widget")})
    assert frame.status_code == 200, frame.text
    found = ADDRESS.findall(frame.text)
    assert f"{PREFIX}/" in found
    assert all(one.startswith(f"{PREFIX}/") for one in found), found
    assert 'new URL(".", script.src)' in visitor.get("/widget.js").text


def test_what_only_begins_like_the_prefix_is_not_below_it(below: ConsoleHouse) -> None:
    for path in (f"{PREFIX}y/healthz", f"{PREFIX}{PREFIX}/healthz", "/agent/healthz"):
        assert below.client().get(path).status_code == 404


@pytest.mark.parametrize(
    ("sent", "seen"),
    [(b"Location: /x", b"/a/x"), (b"Location: /a/x", b"/a/x"), (b"Location: //evil", b"//evil"),
     (b"Location: https://other/x", b"https://other/x"), (b"Set-Cookie: c=1; Path=/; HttpOnly", b"c=1; Path=/a; HttpOnly"),
     (b"Set-Cookie: c=1; Path=/customer", b"c=1; Path=/a/customer"), (b"X-Other: /x", b"/x"),
     (b"Set-Cookie: __Host-c=1; Path=/; Secure", b"__Host-c=1; Path=/; Secure")],
)  # fmt: skip
def test_headers_lead_below_the_prefix(sent: bytes, seen: bytes) -> None:
    name, _, value = sent.partition(b": ")
    assert PathPrefix(lambda *_: None, "/a")._outside(name.lower(), value) == seen  # type: ignore[arg-type, return-value]


def test_what_people_wrote_is_left_alone() -> None:
    said = '<a href="/x">href=&#34;/y&#34; href=/z</a><img src="//other/x">'
    assert add_prefix(said, "/a") == '<a href="/a/x">href=&#34;/y&#34; href=/z</a><img src="//other/x">'
    assert add_prefix(said, "") == said


def test_a_prefix_that_is_a_path_of_ours_is_refused() -> None:
    with pytest.raises(ConfigError, match="itself"):
        require_free_prefix("/v1/agent", ["/v1/models", "/login"])
    require_free_prefix("/agent", ["/v1/models"])
    require_free_prefix("", ["/"])


@pytest.mark.parametrize(
    "wrong", ["https://h/a?b", "https://h/a#b", "https://h/a b", "https://h/../a", "https://h/a//b", 'https://h/"x']
)
def test_a_path_that_is_not_plain_is_refused(wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="plain names"):
        load_settings(public_url=wrong)


def test_a_prefix_is_read_and_taken_away() -> None:
    assert [read_prefix(one) for one in (None, "https://h", "https://h/", "https://h/a/b/")] == ["", "", "", "/a/b"]
    request = Request({"type": "http", "circumspect.prefix": "/a", "headers": []})
    assert [without_prefix(request, one) for one in ("/a", "/a/b", "/ab", "/b")] == ["/", "/b", "/ab", "/b"]


# --- a real proxy ---------------------------------------------------------------------------------------------------

NGINX = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{
    listen 127.0.0.1:{port};
    location {prefix}/ {{
      proxy_pass {url}{end};
      proxy_set_header Host $http_host;
      proxy_buffering off;
    }}
  }}
}}
"""


@pytest.fixture(params=["", "/"], ids=["leaves the prefix", "takes it away"])
def proxied(request: pytest.FixtureRequest, below: ConsoleHouse, tmp_path: Path) -> Iterator[str]:
    beside = Path(sys.executable).parent
    program = shutil.which("nginx", path=os.pathsep.join([str(beside), os.environ.get("PATH", ""), "/usr/sbin"]))
    if program is None:
        pytest.skip("NO PROXY: run `make services` to test behind nginx")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    conf = NGINX.format(folder=tmp_path, port=port, prefix=PREFIX, url=below.url, end=request.param)
    (tmp_path / "nginx.conf").write_text(conf)
    process = subprocess.Popen([program, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")])

    def answers() -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        return False

    try:
        wait_until(answers, pause=0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(PATIENCE)


def test_behind_nginx_everything_is_found(below: ConsoleHouse, proxied: str) -> None:
    with httpx.Client(base_url=proxied, trust_env=False, timeout=PATIENCE, follow_redirects=True) as client:
        assert client.get("/healthz").status_code in (403, 404), "nothing of ours is outside the path"
        page = client.get(f"{PREFIX}/escalations")
        assert page.url.path == f"{PREFIX}/login"
        said = {"name": "rita", "password": PASSWORD, "next": "/escalations"}
        page = client.post(f"{PREFIX}/login", data=said, headers=SAME)
        assert (page.status_code, page.url.path) == (200, f"{PREFIX}/escalations")
        for address in set(ADDRESS.findall(page.text)) - {f"{PREFIX}/logout", f"{PREFIX}/language", f"{PREFIX}/"}:
            assert client.get(address).status_code == 200, address
        key = {"Authorization": f"Bearer {below.token()}"}
        talk = client.post(f"{PREFIX}/v1/conversations", json={}, headers=key).json()["id"]
        path = f"{PREFIX}/v1/conversations/{talk}/messages"
        streamed = client.post(path, json={"content": "hello"}, headers={**key, "Accept": "text/event-stream"})
        assert streamed.headers["content-type"].startswith("text/event-stream")
        assert "data:" in streamed.text


@pytest.mark.skipif(chromium() is None, reason="no Chromium here")
def test_a_browser_clicks_through_the_console_behind_nginx(proxied: str) -> None:
    from playwright.sync_api import sync_playwright

    missing: list[str] = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.on("response", lambda answer: missing.append(answer.url) if answer.status >= 400 else None)
        page.goto(f"{proxied}{PREFIX}/conversations")
        page.fill("[name=name]", "root")
        page.fill("[name=password]", PASSWORD)
        page.press("[name=password]", "Enter")
        page.wait_for_url(f"**{PREFIX}/conversations")
        paths = page.eval_on_selector_all("header.side nav a", "all => all.map(one => one.getAttribute('href'))")
        assert len(paths) > 5
        for path in paths:
            page.click(f"header.side nav a[href='{path}']")
            page.wait_for_url(f"**{path}")
            page.wait_for_selector("main h1")
            assert page.url.startswith(f"{proxied}{PREFIX}/"), page.url
        browser.close()
    assert missing == []
