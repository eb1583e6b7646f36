"""What every answer says to browsers and caches, and which names the server answers to."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.testclient import TestClient
from tests.patience import PATIENCE
from tests.server.house import House, Running, is_a_problem

from circumspect.errors import ConfigError
from circumspect.server import console
from circumspect.server.app import create_app
from circumspect.server.config import Settings, load_settings
from circumspect.server.host_names import read_host


@pytest.fixture(scope="module")
def https(furnished: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    path = shutil.copy(furnished, tmp_path_factory.mktemp("https"))
    names = ("inside", "*.shops.example")
    with House(f"sqlite:///{path}", public_url="https://Agent.Example.org", allowed_hosts=names) as house:
        yield house


ANSWERS = [
    ("GET", "/healthz", 200), ("GET", "/readyz", 200), ("GET", "/metrics", 401), ("GET", "/openapi.json", 200),
    ("GET", "/v1/conversations", 200), ("GET", "/v1/nothing", 404), ("DELETE", "/v1/conversations", 405),
    ("POST", "/v1/conversations", 422), ("HEAD", "/v1/conversations", 200), ("GET", "/nothing", 404),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "status"), ANSWERS)
def test_no_answer_of_the_api_is_guessed_kept_framed_or_read_by_others(
    https: House, method: str, path: str, status: int
) -> None:
    body = {"json": {"nonsense": 1}} if method == "POST" else {}
    answer = https.key().request(method, path, **body)
    assert answer.status_code == status, answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["strict-transport-security"].startswith("max-age=31536000")
    if path != "/nothing":
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["referrer-policy"] == "no-referrer"
    for name in ("x-content-type-options", "cache-control", "strict-transport-security"):
        assert len(answer.headers.get_list(name)) <= 1, "said once"


def test_a_stream_has_the_headers_too(https: House) -> None:
    client = https.key()
    talk = https.conversation(client)
    path = f"/v1/conversations/{talk}/messages"
    headers = {"Accept": "text/event-stream"}
    with client.stream("POST", path, json={"content": "hello"}, headers=headers) as answer:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "no-store" in answer.headers["cache-control"] or "no-cache" in answer.headers["cache-control"]
        answer.read()


def test_over_plain_http_nobody_is_told_to_stay_with_https(house: House) -> None:
    assert "strict-transport-security" not in house.client().get("/healthz").headers


# --- names ----------------------------------------------------------------------------------------------------------

OURS = ["agent.example.org", "AGENT.example.org:443", "agent.example.org.", "inside", "inside:8000", "a.shops.example",
        "localhost", "localhost:8000", "127.0.0.1", "127.0.0.1:9", "[::1]:8000"]  # fmt: skip
OTHERS = ["evil.example", "agent.example.org.evil.example", "evil.example:8000", "shops.example", "a.b.shops.example",
          "agent.example.org@evil.example", "agent.example.org/x", "10.9.8.7", "[fe80::1]", "0.0.0.0", "", "localhost.evil.example",
          "agent.example.org:x", "agent.example.org, evil.example", "ägent"]  # fmt: skip


@pytest.mark.parametrize("host", OURS)
def test_the_names_of_this_server_are_answered_to(https: House, host: str) -> None:
    assert https.key().get("/v1/models", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", OTHERS)
def test_any_other_name_is_refused_in_words_before_anything_is_read(https: House, host: str) -> None:
    client = https.key()
    for path in ("/v1/models", "/openapi.json", "/metrics", "/nothing"):
        answer = client.get(path, headers={b"Host": host.encode()})  # type: ignore[dict-item]
        told = is_a_problem(answer, 421, "unknown_host")
        assert "allowed_hosts" in told["fix"]
        assert "evil" not in answer.text
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_two_names_in_one_request_are_none(https: House) -> None:
    address = urlsplit(https.url)
    with socket.create_connection((address.hostname, address.port), PATIENCE) as raw:
        raw.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: agent.example.org\r\nHost: evil.example\r\n\r\n")
        assert raw.recv(12) in (b"HTTP/1.1 421", b"HTTP/1.1 400")


@pytest.mark.parametrize("host", ["10.1.2.3:8000", "anything.example", ""])
def test_probes_are_answered_by_whatever_address_they_come(https: House, host: str) -> None:
    for path in ("/healthz", "/readyz"):
        assert https.client().get(path, headers={"Host": host}).status_code == 200


def test_a_forwarded_name_counts_for_nothing(https: House) -> None:
    client = https.key()
    sent = {"Host": "evil.example", "X-Forwarded-Host": "agent.example.org", "Forwarded": "host=agent.example.org"}
    is_a_problem(client.get("/v1/models", headers=sent), 421)
    assert client.get("/v1/models", headers={"X-Forwarded-Host": "evil.example"}).status_code == 200


def test_pages_are_refused_under_a_foreign_name_too(furnished: Path, tmp_path: Path) -> None:
    settings = Settings(database=f"sqlite:///{shutil.copy(furnished, tmp_path)}", secret_key="s" * 32)
    app = create_app(settings)
    console.install(app)
    with Running(app) as running, httpx.Client(base_url=running.url, trust_env=False, timeout=PATIENCE) as client:
        assert client.get("/login").status_code == 200
        refused = client.get("/login", headers={"Host": "rebound.example"})
        assert refused.status_code == 421
        assert "<form" not in refused.text


def test_any_name_at_all_can_be_allowed(tmp_path: Path) -> None:
    settings = Settings(database=f"sqlite:///{tmp_path}/any.db", secret_key="s" * 32, allowed_hosts="*")
    with TestClient(create_app(settings)) as client:
        assert client.get("/openapi.json", headers={"Host": "whatever.example"}).status_code == 200


@pytest.mark.parametrize("wrong", ["https://a.example", "a.example:80", "a b", "a/b", "**", "*.*.x", "a.*.x"])
def test_a_name_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(ConfigError, match="no host name"):
        load_settings(allowed_hosts=wrong)


def test_a_host_is_read_without_its_port() -> None:
    assert read_host(b"[2001:DB8::1]:80") == "2001:db8::1"
    assert read_host(b"user@host") is None
